#include "sum_gradient_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/model/reduction.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// Sums a block's lanes by a binary tree; returned in lane 0.
__device__ __forceinline__ double tree_sum(double lane, double* lanes) {
  lanes[threadIdx.x] = lane;
  for (int half = reduction_lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) lanes[threadIdx.x] += lanes[threadIdx.x + half];
  }
  __syncthreads();
  return lanes[0];
}

__global__ void __launch_bounds__(threads_per_block) reduce_batch(const __grid_constant__ ReduceLaunch launch) {
  wait_for_previous();
  const int64_t active = launch.active ? *launch.active / launch.count : launch.batch;
  const int64_t batch = active < launch.batch ? active : launch.batch;
  for (int64_t n = first_element(); n < launch.count; n += stride()) {
    double sum = 0;
    for (int64_t b = 0; b < batch; ++b) sum += launch.input[b * launch.count + n];
    launch.output[n] = launch.add ? launch.output[n] + sum : sum;
  }
}

__global__ void __launch_bounds__(threads_per_block) reduce_chunks(const __grid_constant__ ReduceLaunch launch) {
  wait_for_previous();
  static_assert(reduction_lanes == threads_per_block);
  __shared__ double lanes[reduction_lanes];
  const int64_t n_chunks = (launch.count + reduction_chunk - 1) / reduction_chunk;
  const int64_t active = launch.active ? *launch.active : launch.count;  // chunks beyond the summed inputs are 0
  const int64_t count = active < launch.count ? active : launch.count;
  for (int64_t chunk = blockIdx.x; chunk < n_chunks; chunk += gridDim.x) {
    const int64_t end = (chunk + 1) * reduction_chunk < count ? (chunk + 1) * reduction_chunk : count;
    double lane = 0;
    for (int64_t i = chunk * reduction_chunk + threadIdx.x; i < end; i += reduction_lanes) lane += launch.input[i];
    const double sum = tree_sum(lane, lanes);
    if (threadIdx.x == 0) launch.output[chunk] = sum;
    __syncthreads();
  }
}

__global__ void __launch_bounds__(threads_per_block) reduce_total(const __grid_constant__ ReduceLaunch launch) {
  wait_for_previous();
  __shared__ double lanes[reduction_lanes];
  double lane = 0;
  for (int64_t i = threadIdx.x; i < launch.count; i += reduction_lanes) lane += launch.input[i];
  const double sum = tree_sum(lane, lanes);
  if (threadIdx.x == 0) *launch.output = launch.add ? *launch.output + sum : sum;
}

}  // namespace

const void* reduce_batch_kernel() {
  return address(reduce_batch);
}
const void* reduce_chunks_kernel() {
  return address(reduce_chunks);
}
const void* reduce_total_kernel() {
  return address(reduce_total);
}

}  // namespace synfire::cuda
