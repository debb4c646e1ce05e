// The kernels that sum gradients, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_GRADIENTS_KERNELS_HPP
#define SYNFIRE_OPERATIONS_GRADIENTS_KERNELS_HPP

#include "row_sums.hpp"

#include <cuda/device_types.hpp>

namespace synfire::cuda {

// ---- sums of integers over rows -------------------------------------------------------------------------------------

// A block has 32 elements of the period and a share of the rows; a warp has every eighth of those.
inline constexpr int row_sum_threads = 256;
struct RowSumLaunch {
  operations::RowSums sums;
  bool finishes;  // with the sums: the last block of a tile to arrive finishes; the maxima make n_arrived ready
};
// A block for each tile and slot.
const void* row_maxima_kernel(bool wide);
const void* row_sums_kernel(bool wide);
// A block for each tile: everything, without the arrays.
const void* row_whole_kernel(bool wide);
// A thread for each entry.
const void* row_finish_kernel();

// ---- sums in the fixed order, in f64 --------------------------------------------------------------------------------

// A block of threads_per_block lanes per chunk (chunks, total), or a thread per neuron (batch); see
// model/reduction.hpp.
struct ReduceLaunch {
  const double* input;
  double* output;
  int64_t batch;
  int64_t count;
  const int64_t* active;  // how many inputs, from the first on, are summed; null: all
  bool add;               // to what the output holds
};

const void* reduce_batch_kernel();
const void* reduce_chunks_kernel();
const void* reduce_total_kernel();

}  // namespace synfire::cuda

#endif
