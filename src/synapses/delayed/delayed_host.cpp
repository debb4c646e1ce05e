// Synapses with delays on processors. Elements do not depend on each other.
#include "delayed_arrays_of.hpp"

#include <backends/host/host_launcher.hpp>
#include <operations/spikes/convert_spikes.hpp>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many elements the calling thread works alone; an element of a plane takes an exponential.
constexpr int64_t least_elements_for_threads = 1 << 16;
constexpr int64_t least_taps_for_threads = 1 << 12;

// keep_history_word() of a row, without divisions: long delays of small layers take little else.
void keep_history_row(const DelayedHistoryArrays& arrays, int64_t step, int64_t b) {
  const DelayedSpikes& spikes = arrays.spikes;
  const bool is_active = !arrays.n_active || b < static_cast<int64_t>(*arrays.n_active);
  const int64_t from = is_active ? spikes.n_steps - spikes.max_delay + step : step - spikes.max_delay;
  uint32_t* const next = arrays.next + step * arrays.next_pitch + b * spikes.words;
  for (int64_t word = 0; word < spikes.words; ++word) next[word] = spikes.word(from, b * spikes.words + word);
  next[spikes.words - 1] &= spikes.last_inputs;
}

template <class F>
void share_elements(int64_t count, bool share, host::Launcher& launcher, F f) {
  launcher.for_each_range(count, share, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

bool has_many_taps(const DelayedSynapse& synapse) {
  return synapse.spec().planes.n_weights() >= least_taps_for_threads;
}

template <class R>
void delay_all(const DelayedOutputs& op, host::Launcher& launcher) {
  const DelayedOutputsArrays<R> arrays = arrays_of<R>(op);
  share_elements(arrays.count(), wants_threads(op), launcher, [&](int64_t i) { delay_output(arrays, i); });
}
template <class R>
void prepare_all(const PrepareDelayed& op, host::Launcher& launcher) {
  const PrepareDelayedArrays<R> arrays = arrays_of<R>(op);
  launcher.for_each_range(arrays.connections.count(), wants_threads(op), [&](int64_t begin, int64_t end) {
    double parts[most_taps];
    for (int64_t i = begin; i < end; ++i) prepare_delayed(arrays, i, parts);
  });
}
template <class R>
void find_all(const DelayedGradient& op, host::Launcher& launcher) {
  const DelayedGradientArrays<R> arrays = arrays_of<R>(op);
  launcher.for_each_range(arrays.connections.count(), wants_threads(op), [&](int64_t begin, int64_t end) {
    double parts[most_taps];
    for (int64_t i = begin; i < end; ++i) find_delayed_gradient(arrays, i, parts);
  });
}
template <class R>
void fold_all(const DelayedInputGradient& op, host::Launcher& launcher) {
  const DelayedInputGradientArrays<R> arrays = arrays_of<R>(op);
  share_elements(arrays.count(), wants_threads(op), launcher, [&](int64_t i) { fold_delayed_gradient(arrays, i); });
}

}  // namespace

bool wants_threads(const DelayedInputs& op) {
  return arrays_of(op).count() >= least_elements_for_threads;
}
bool wants_threads(const DelayedHistory&) {
  return false;
}
bool wants_threads(const DelayedOutputs& op) {
  return op.extents.n_steps * op.extents.row() >= least_elements_for_threads;
}
bool wants_threads(const PrepareDelayed& op) {
  return has_many_taps(*op.synapse);
}
bool wants_threads(const DelayedGradient& op) {
  return has_many_taps(*op.synapse);
}
bool wants_threads(const DelayedInputGradient& op) {
  return op.n_steps * op.extents.row() * op.synapse->spec().n_taps() >= least_elements_for_threads;
}

void run(const DelayedInputs& op, host::Launcher& launcher) {
  if (op.packed) run(ConvertSpikes{op.extents, op.input, op.packed}, launcher);
  const DelayedInputsArrays arrays = arrays_of(op);
  share_elements(arrays.count(), wants_threads(op), launcher, [&](int64_t i) { delay_word(arrays, i); });
}
void run(const DelayedHistory& op, host::Launcher&) {
  const DelayedHistoryArrays arrays = arrays_of(op);
  for (int64_t step = 0; step < arrays.spikes.max_delay; ++step)
    for (int64_t b = 0; b < arrays.spikes.batch; ++b) keep_history_row(arrays, step, b);
}
void run(const DelayedOutputs& op, host::Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return delay_all<double>(op, launcher);
  delay_all<float>(op, launcher);
}
void run(const PrepareDelayed& op, host::Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return prepare_all<double>(op, launcher);
  prepare_all<float>(op, launcher);
}
void run(const DelayedGradient& op, host::Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return find_all<double>(op, launcher);
  find_all<float>(op, launcher);
}
void run(const DelayedInputGradient& op, host::Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return fold_all<double>(op, launcher);
  fold_all<float>(op, launcher);
}

}  // namespace synfire::operations
