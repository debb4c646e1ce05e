// Converts operands of operations on synapses of any kind to arguments of their kernels.
#ifndef SYNFIRE_SYNAPSES_PASSES_SYNAPSE_ARGUMENTS_OF_HPP
#define SYNFIRE_SYNAPSES_PASSES_SYNAPSE_ARGUMENTS_OF_HPP

#include "input_numbers.hpp"
#include "synapse_rows.hpp"

#include <base/view.hpp>
#include <operations/spikes/spikes_arrays_of.hpp>

namespace synfire::operations {

template <class E>
E* data_of(const View& view) {
  return static_cast<E*>(view.data);
}
template <class E>
cuda::RowArray<E> rows_of(const View& sequence, int64_t length) {
  return {data_of<E>(sequence), sequence.pitch, length};
}

template <class Op>
cuda::SequenceRows rows_of(const Op& op) {
  return {op.extents.n_steps, op.extents.batch, data_of<const uint32_t>(op.n_active),
          data_of<const int64_t>(op.layer_active), op.synapse->n_outputs()};
}

inline cuda::InputNumbers numbers_of(const View& input, const core::Extents& e, bool are_spikes) {
  if (are_spikes) return {e, true, storage_of(input.dtype), spikes_of(input), input.dtype};
  return {e, false, {}, {input.data, input.pitch, 0, 0}, input.dtype};
}

}  // namespace synfire::operations

#endif
