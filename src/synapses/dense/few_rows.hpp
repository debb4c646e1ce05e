// Weight gradients over few rows, which one launch computes, for several synapses at once.
#ifndef SYNFIRE_SYNAPSES_DENSE_FEW_ROWS_HPP
#define SYNFIRE_SYNAPSES_DENSE_FEW_ROWS_HPP

#include "dense.hpp"
#include "dense_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <span>

namespace synfire::operations {

bool has_held_rows(const DenseWeightGradient& op, const cuda::GpuShape& gpu);
// At most cuda::most_held_gradients, all with few rows. If there are several, their inputs are bits.
void enqueue_held_rows(std::span<const DenseWeightGradient> operations, cuda::Launcher& launcher);

}  // namespace synfire::operations

#endif
