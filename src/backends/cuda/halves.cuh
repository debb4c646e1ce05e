// Conversions between f32 and 16-bit storage by the GPU's own instructions, without cuda_fp16.h and cuda_bf16.h, so
// that the text compiles where only a run-time compiler is installed.
#ifndef SYNFIRE_BACKENDS_CUDA_HALVES_CUH
#define SYNFIRE_BACKENDS_CUDA_HALVES_CUH

#include <cstdint>

namespace synfire::cuda {
namespace {

__device__ __forceinline__ float f32_of_f16(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ __forceinline__ float f32_of_bf16(uint16_t bits) {
  return __uint_as_float(static_cast<unsigned int>(bits) << 16);
}

// To nearest, ties to even.
__device__ __forceinline__ uint16_t f16_of_f32(float value) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
__device__ __forceinline__ uint16_t bf16_of_f32(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  const unsigned int bits = __float_as_uint(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFFu;  // a NaN
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
#else
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#endif
}

// Two at once; the first is in the lower half.
__device__ __forceinline__ unsigned int f16_pair(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return f16_of_f32(low) | static_cast<unsigned int>(f16_of_f32(high)) << 16;
#else
  unsigned int pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#endif
}
__device__ __forceinline__ unsigned int bf16_pair(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return bf16_of_f32(low) | static_cast<unsigned int>(bf16_of_f32(high)) << 16;
#else
  unsigned int pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#endif
}

}  // namespace
}  // namespace synfire::cuda

#endif
