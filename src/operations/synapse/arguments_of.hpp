// Converts operations on synapses to arguments of their kernels.
#ifndef SYNFIRE_OPERATIONS_SYNAPSE_ARGUMENTS_OF_HPP
#define SYNFIRE_OPERATIONS_SYNAPSE_ARGUMENTS_OF_HPP

#include "kernels.hpp"
#include "synapse.hpp"

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
          data_of<const int64_t>(op.layer_active), op.synapse->spec().n_outputs};
}

template <class R>
cuda::KeptArray<R> kept_of(const Kept& kept, const core::Extents& e) {
  return {data_of<const uint32_t>(kept.mask), e.words_per_row(), data_of<const R>(kept.scale)};
}

// Of an exact synapse, with its input as bits.
inline cuda::SpikeProductLaunch spike_product_of(const SynapseForward& op, const cuda::RowArray<const uint32_t>& bits) {
  const core::SynapseSpec& spec = op.synapse->spec();
  return {rows_of(op),
          spec.n_inputs,
          spec.n_outputs,
          bits,
          data_of<const int32_t>(op.table),
          spec.table_pitch(),
          data_of<const uint8_t>(op.planes),
          core::SynapseSpec::even_words(spec.n_inputs),
          data_of<const int32_t>(op.grid),
          data_of<const int32_t>(op.bias_on_grid),
          rows_of<float>(op.output, spec.n_outputs),
          kept_of<float>(op.kept, op.extents),
          data_of<const float>(op.bias)};
}

}  // namespace synfire::operations

#endif
