// Products of bytes by a GPU's tensor cores (compute capability 8.0 and up), and copies to shared memory beside them.
#ifndef SYNFIRE_SYNAPSES_DENSE_TENSOR_CUH
#define SYNFIRE_SYNAPSES_DENSE_TENSOR_CUH

#include <cstdint>

namespace synfire::cuda {
namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

template <bool left_signed, bool right_signed>
__device__ __forceinline__ void multiply(int32_t (&sums)[4], const uint32_t (&left)[4], uint2 right) {
#define SYNFIRE_MMA(left_type, right_type)                                            \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." left_type "." right_type      \
               ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])           \
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right.x), "r"(right.y))
  if constexpr (left_signed && right_signed)
    SYNFIRE_MMA("s8", "s8");
  else if constexpr (left_signed)
    SYNFIRE_MMA("s8", "u8");
  else if constexpr (right_signed)
    SYNFIRE_MMA("u8", "s8");
  else
    SYNFIRE_MMA("u8", "u8");
#undef SYNFIRE_MMA
}

__device__ __forceinline__ uint2 right_part(const void* fragment) {
  const uint32_t* const words = static_cast<const uint32_t*>(fragment) + threadIdx.x % 32;
  return make_uint2(words[0], words[32]);
}

// Copies 16 bytes to shared memory. Copies between two commits are a group; wait_copies<n>() waits until at most the
// last n groups of this thread are not complete.
__device__ __forceinline__ void copy16(void* shared, const void* global) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
      "l"(global)
      : "memory");
}
__device__ __forceinline__ void copy4(void* shared, const void* global, bool exists) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
      "l"(global), "r"(exists ? 4 : 0)
      : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int n>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}

#endif

}  // namespace
}  // namespace synfire::cuda

#endif
