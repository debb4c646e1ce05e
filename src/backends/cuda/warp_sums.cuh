// Maxima and sums of integers over the threads of a warp, and their atomics: none of them has an order.
#ifndef SYNFIRE_BACKENDS_CUDA_WARP_SUMS_CUH
#define SYNFIRE_BACKENDS_CUDA_WARP_SUMS_CUH

#include <cstdint>

namespace synfire::cuda {
namespace {

// Both are returned in all threads of the warp, which must all call them.
__device__ __forceinline__ uint32_t warp_max(uint32_t value) {
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    const uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, value, half);
    value = other > value ? other : value;
  }
  return value;
}
__device__ __forceinline__ int64_t warp_sum(int64_t value) {
#pragma unroll
  for (int half = 16; half > 0; half /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, static_cast<long long>(value), half);
  return value;
}

__device__ __forceinline__ void add_atomically(int64_t* to, int64_t value) {
  if (value != 0) atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// A warp's share of a maximum or a sum, in memory that all blocks or all warps of a block share.
__device__ __forceinline__ void warp_max_to(uint32_t* to, uint32_t value) {
  value = warp_max(value);
  if (threadIdx.x % 32 == 0 && value != 0) atomicMax(to, value);
}
__device__ __forceinline__ void warp_sum_to(int64_t* to, int64_t value) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) add_atomically(to, value);
}

}  // namespace
}  // namespace synfire::cuda

#endif
