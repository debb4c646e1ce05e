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
  int32_t group;        // threads of one sample: a power of two up to 32
  int64_t tile;         // samples that a block computes at a time: a power of two up to model::reduction_chunk
  bool adds, finishes;  // in f32: sums the losses; writes the results
  bool clears;          // of loss_share_sums_kernel(): what the other kernels add to
};

// In f32, by loss_slots blocks of threads_per_block: the largest share of the divisor, and the sum of the shares. A
// block writes its slot.
const void* loss_share_maxima_kernel();
const void* loss_share_sums_kernel();
// The samples of predictions of this type; a block of threads_per_block for each tile. In f32, the largest loss and the
// number of correct predictions are 0 before, and if the kernel `finishes`, the last block to arrive sums the losses
// and writes the results; in f64 it always does.
const void* loss_samples_kernel(int32_t dtype);
// In f32: the sum of the losses, which is 0 before; the last block to arrive, or the only one, writes the results.
const void* loss_sums_kernel();
// In f64: the divisor of the mean, and scratch memory made ready; a block of threads_per_block for each chunk of
// samples.
const void* loss_divisor_kernel();
// Computes everything without scratch memory, in one block of loss_block_threads.
const void* loss_block_kernel(int32_t dtype);

}  // namespace synfire::cuda

#endif
