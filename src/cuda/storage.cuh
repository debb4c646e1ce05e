// Shared by kernels of all operations: storage types, the elements of a thread, addresses of instances.
#ifndef SYNFIRE_CUDA_STORAGE_CUH
#define SYNFIRE_CUDA_STORAGE_CUH

#include "device_types.hpp"
#include "halves.cuh"
#include "wait.cuh"

#include <synfire/model/elementary.hpp>

namespace synfire::cuda {
namespace {

using model::u32;

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

__device__ __forceinline__ float decode(float stored) {
  return stored;
}
__device__ __forceinline__ double decode(double stored) {
  return stored;
}
__device__ __forceinline__ float decode(F16 stored) {
  return f32_of_f16(stored.bits);
}
__device__ __forceinline__ float decode(Bf16 stored) {
  return f32_of_bf16(stored.bits);
}

template <class E, class R>
__device__ __forceinline__ E encode(R value) {
  if constexpr (sizeof(E) == sizeof(R))
    return value;
  else if constexpr (is_same<E, F16>)
    return {f16_of_f32(value)};
  else
    return {bf16_of_f32(value)};
}

// For kernels whose threads loop over any number of elements, threads_per_block in each block.
__device__ __forceinline__ int64_t first_element() {
  return static_cast<int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
}
__device__ __forceinline__ int64_t stride() {
  return static_cast<int64_t>(gridDim.x) * threads_per_block;
}

template <class Kernel>
const void* address(Kernel* kernel) {
  return reinterpret_cast<const void*>(kernel);
}

}  // namespace
}  // namespace synfire::cuda

#endif
