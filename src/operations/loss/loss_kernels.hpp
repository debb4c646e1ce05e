// The kernels of a loss, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_LOSS_LOSS_KERNELS_HPP
#define SYNFIRE_OPERATIONS_LOSS_LOSS_KERNELS_HPP

#include "loss_arguments.hpp"

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

// Threads of a block when there is only one.
inline constexpr int loss_block_threads = 512;

struct LossLaunch {
  operations::LossArguments loss;
  int32_t group;  // threads of one sample: a power of two up to 32
  int64_t tile;   // samples that a block computes at a time: a power of two up to model::reduction_chunk
};

// Computes the divisor of the mean and prepares scratch memory; a block of threads_per_block for each chunk of samples.
const void* loss_divisor_kernel();
// Computes the samples of predictions of this type, then the sums; a block of threads_per_block for each tile.
const void* loss_samples_kernel(int32_t dtype);
// Computes everything without scratch memory, in one block of loss_block_threads.
const void* loss_block_kernel(int32_t dtype);

}  // namespace synfire::cuda

#endif
