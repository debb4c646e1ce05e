// Shared by kernels of all operations: storage types, the elements of a thread, addresses of instances.
#ifndef SYNFIRE_BACKENDS_CUDA_CUDA_STORAGE_CUH
#define SYNFIRE_BACKENDS_CUDA_CUDA_STORAGE_CUH

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

// One element of an array of numbers of any of these types. In a kernel, what core::with_element_type() is on the host.
template <class R, class First, class... Rest>
__device__ __forceinline__ R number_at(core::ElementTypes<First, Rest...>, int32_t dtype, const void* data,
                                       int64_t at) {
  if constexpr (sizeof...(Rest) > 0)
    if (dtype != core::dtype_of<First>) return number_at<R>(core::ElementTypes<Rest...>{}, dtype, data, at);
  return static_cast<R>(decode(static_cast<const First*>(data)[at]));
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
