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
void prepare_all(const PrepareDelayed& op, host::Launcher& launcher) {
  const PrepareDelayedArrays<R> arrays = arrays_of<R>(op);
  launcher.for_each_range(arrays.connections.count(), wants_threads(op), [&](int64_t begin, int64_t end) {
    double parts[longest_delay + 1];
    for (int64_t i = begin; i < end; ++i) prepare_delayed(arrays, i, parts);
  });
}
template <class R>
void find_all(const DelayedGradient& op, host::Launcher& launcher) {
  const DelayedGradientArrays<R> arrays = arrays_of<R>(op);
  launcher.for_each_range(arrays.connections.count(), wants_threads(op), [&](int64_t begin, int64_t end) {
    double parts[longest_delay + 1];
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
void run(const DelayedHistory& op, host::Launcher& launcher) {
  const DelayedHistoryArrays arrays = arrays_of(op);
  share_elements(arrays.count(), wants_threads(op), launcher, [&](int64_t i) { keep_history_word(arrays, i); });
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
