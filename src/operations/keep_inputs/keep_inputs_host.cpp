// The operation, and its work on processors.
#include "keep_inputs_arrays_of.hpp"

#include <backends/host/host_launcher.hpp>
#include <graph/transients.hpp>
#include <operations/spikes/convert_spikes.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many elements the calling thread works alone.
constexpr int64_t keep_inputs_parallel_threshold = 1 << 17;

template <class F>
void share(const KeepInputs& op, int64_t count, host::Launcher& launcher, F f) {
  launcher.for_each_range(count, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

template <class E>
void keep_elements(const KeepInputs& op, const KeepInputsArrays& arrays, host::Launcher& launcher) {
  share(op, n_elements(arrays), launcher, [&](int64_t i) { keep_element<E>(arrays, i); });
}

}  // namespace

KeepInputs keep_inputs(int32_t transient, const Extents& extents, const View& mask, const View& input,
                       bool are_spikes) {
  const View kept =
      are_spikes
          ? transient_array(transient, SYNFIRE_DTYPE_BITS, {extents.n_steps, extents.batch, extents.words_per_row()})
          : transient_array(transient, input.dtype, {extents.n_steps, extents.batch, extents.n_neurons});
  return {extents, extents.n_neurons, mask, input, kept};
}

KeepInputs expand_mask(int32_t transient, const Extents& extents, const View& mask, int64_t n_channels) {
  const Extents ones = {1, extents.batch, extents.n_neurons};
  return {ones,
          n_channels,
          mask,
          {},
          transient_array(transient, SYNFIRE_DTYPE_BITS, {1, ones.batch, ones.words_per_row()})};
}

OperationLabel label(const KeepInputs& op) {
  char text[96];
  std::snprintf(text, sizeof text, "%lld of [%lld, %lld, %lld]", static_cast<long long>(op.n_channels),
                static_cast<long long>(op.extents.n_steps), static_cast<long long>(op.extents.batch),
                static_cast<long long>(op.extents.n_neurons));
  return {nullptr, text};
}

bool wants_threads(const KeepInputs& op) {
  return op.extents.n_steps * op.extents.row() >= keep_inputs_parallel_threshold;
}

void run(const KeepInputs& op, host::Launcher& launcher) {
  if (is_converted(op)) run(ConvertSpikes{op.extents, op.input, op.kept}, launcher);
  const KeepInputsArrays arrays = arrays_of(op);
  if (are_words(op)) return share(op, n_words(arrays), launcher, [&](int64_t i) { keep_word(arrays, i); });
  switch (bytes_of_dtype(op.kept.dtype)) {
    case 1:
      return keep_elements<uint8_t>(op, arrays, launcher);
    case 2:
      return keep_elements<uint16_t>(op, arrays, launcher);
    case 4:
      return keep_elements<uint32_t>(op, arrays, launcher);
    default:
      return keep_elements<uint64_t>(op, arrays, launcher);
  }
}

}  // namespace synfire::operations
