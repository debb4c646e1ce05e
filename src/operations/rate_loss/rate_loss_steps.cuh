// How many steps of batch rows count, found by a block.
#ifndef SYNFIRE_OPERATIONS_RATE_LOSS_RATE_LOSS_STEPS_CUH
#define SYNFIRE_OPERATIONS_RATE_LOSS_RATE_LOSS_STEPS_CUH

#include <operations/lane_tree.cuh>
#include <operations/reduce/counting.hpp>

namespace synfire::cuda {

// Every thread of a block of reduction_lanes must call this.
__device__ __forceinline__ model::u64 counted_steps(const core::Extents& e, const operations::Counting& counting,
                                                    model::u64* lanes) {
  const int64_t n_rows = counting.rows(e.batch);
  if (!counting.lengths) return static_cast<model::u64>(n_rows * e.n_steps);
  model::u64 lane = 0;
  for (int64_t b = threadIdx.x; b < n_rows; b += model::reduction_lanes)
    lane += static_cast<model::u64>(counting.steps(e.n_steps, b));
  return tree_sum(lane, lanes);
}

}  // namespace synfire::cuda

#endif
