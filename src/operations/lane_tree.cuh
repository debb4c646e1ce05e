// The sum of a block's lanes by the tree of model/reduction.hpp.
#ifndef SYNFIRE_OPERATIONS_LANE_TREE_CUH
#define SYNFIRE_OPERATIONS_LANE_TREE_CUH

#include <synfire/model/reduction.hpp>

namespace synfire::cuda {

// Every thread of the block has a lane, and calls this. `lanes` has room for reduction_lanes numbers.
template <class A>
__device__ __forceinline__ A tree_sum(A lane, A* lanes) {
  lanes[threadIdx.x] = lane;
  for (int half = model::reduction_lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) lanes[threadIdx.x] += lanes[threadIdx.x + half];
  }
  __syncthreads();
  const A sum = lanes[0];
  __syncthreads();
  return sum;
}

}  // namespace synfire::cuda

#endif
