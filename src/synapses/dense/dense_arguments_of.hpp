// Converts operations on synapses to arguments of their kernels.
#ifndef SYNFIRE_SYNAPSES_DENSE_DENSE_ARGUMENTS_OF_HPP
#define SYNFIRE_SYNAPSES_DENSE_DENSE_ARGUMENTS_OF_HPP

#include "dense.hpp"

#include <synapses/passes/synapse_arguments_of.hpp>
#include "dense_kernels.hpp"

namespace synfire::operations {

template <class R>
cuda::KeptArray<R> kept_of(const Kept& kept, const core::Extents& e) {
  return {data_of<const uint32_t>(kept.mask), e.words_per_row(), data_of<const R>(kept.scale)};
}

// For an exact synapse, with its input as bits.
inline cuda::SpikeProductLaunch spike_product_of(const DenseProduct& op, const cuda::RowArray<const uint32_t>& bits) {
  const DenseSpec& spec = op.synapse->spec();
  return {rows_of(op),
          spec.n_inputs,
          spec.n_outputs,
          bits,
          data_of<const int32_t>(op.table),
          spec.table_pitch(),
          data_of<const uint8_t>(op.planes),
          DenseSpec::even_words(spec.n_inputs),
          data_of<const int32_t>(op.grid),
          data_of<const int32_t>(op.bias_on_grid),
          rows_of<float>(op.output, spec.n_outputs),
          kept_of<float>(op.kept, op.extents),
          data_of<const float>(op.bias)};
}

}  // namespace synfire::operations

#endif
