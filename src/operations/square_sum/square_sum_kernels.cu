#include "square_sum_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <operations/lane_tree.cuh>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

template <class E>
__global__ void __launch_bounds__(reduction_lanes) square_sum(const __grid_constant__ SquareSumLaunch launch) {
  wait_for_previous();
  __shared__ double lanes[reduction_lanes];
  const operations::SquareSumArrays& arrays = launch.arrays;
  const E* const from = static_cast<const E*>(arrays.source);
  const int64_t n_chunks = arrays.n_chunks();
  for (int64_t chunk = blockIdx.x; chunk < n_chunks; chunk += gridDim.x) {
    double lane = 0;
    for (int64_t i = chunk * reduction_chunk + threadIdx.x; i < arrays.end_of(chunk); i += reduction_lanes) {
      const double value = static_cast<double>(from[i]);
      lane = fma(value, value, lane);
    }
    const double sum = tree_sum(lane, lanes);
    if (threadIdx.x != 0) continue;
    arrays.partials[chunk] = sum;
    if (n_chunks == 1) arrays.finish(sum);
  }
}

__global__ void __launch_bounds__(reduction_lanes) square_total(const __grid_constant__ SquareSumLaunch launch) {
  wait_for_previous();
  __shared__ double lanes[reduction_lanes];
  double lane = 0;
  for (int64_t chunk = threadIdx.x; chunk < launch.arrays.n_chunks(); chunk += reduction_lanes)
    lane += launch.arrays.partials[chunk];
  const double sum = tree_sum(lane, lanes);
  if (threadIdx.x == 0) launch.arrays.finish(sum);
}

}  // namespace

template <class E>
const void* square_sum_kernel() {
  return address(square_sum<E>);
}
template const void* square_sum_kernel<float>();
template const void* square_sum_kernel<double>();

const void* square_total_kernel() {
  return address(square_total);
}

}  // namespace synfire::cuda
