// The differences between the compilers of the model headers (g++, clang, nvcc for host and device, NVRTC): function
// qualifiers, fused multiply-add, absolute value, bit casts and integer names. Nothing else in model/ depends on the
// compiler, and files in model/ include only files in model/.
//
// Everything in model/ is in an inline namespace named after the instruction level for which it is compiled, so that
// the linker never merges template instances of two levels.
#ifndef SYNFIRE_MODEL_PLATFORM_HPP
#define SYNFIRE_MODEL_PLATFORM_HPP

#ifndef SYNFIRE_MODEL_LEVEL
#define SYNFIRE_MODEL_LEVEL generic
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SYNFIRE_MODEL_FN __host__ __device__ __forceinline__
#else
#define SYNFIRE_MODEL_FN inline __attribute__((always_inline))
#endif

// Before a loop: code for GPUs keeps it a loop.
#if defined(__CUDA_ARCH__)
#define SYNFIRE_MODEL_ROLLED _Pragma("unroll 1")
#else
#define SYNFIRE_MODEL_ROLLED
#endif

#define SYNFIRE_MODEL_BEGIN  \
  namespace synfire::model { \
  inline namespace SYNFIRE_MODEL_LEVEL {
#define SYNFIRE_MODEL_END \
  }                       \
  }

SYNFIRE_MODEL_BEGIN

using u32 = unsigned int;
using s32 = int;
using u64 = unsigned long long;
using s64 = long long;

static_assert(sizeof(u32) == 4 && sizeof(u64) == 8, "the bit tricks of model/ need 32- and 64-bit integers");

// a·b + c with one rounding, on every platform. Synfire has no other contraction.
#if defined(__MINGW32__) && !defined(__FMA__)
inline float exact_fma(float a, float b, float c);
inline double exact_fma(double a, double b, double c);
SYNFIRE_MODEL_FN float fma(float a, float b, float c) {
  return exact_fma(a, b, c);
}
SYNFIRE_MODEL_FN double fma(double a, double b, double c) {
  return exact_fma(a, b, c);
}
#else
SYNFIRE_MODEL_FN float fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

SYNFIRE_MODEL_FN double fma(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}
#endif

// |x|; a NaN stays a NaN.
SYNFIRE_MODEL_FN float absolute(float x) {
#if defined(__CUDA_ARCH__)
  return ::fabsf(x);
#else
  return __builtin_fabsf(x);
#endif
}

SYNFIRE_MODEL_FN double absolute(double x) {
#if defined(__CUDA_ARCH__)
  return ::fabs(x);
#else
  return __builtin_fabs(x);
#endif
}

SYNFIRE_MODEL_FN u32 bits_of(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  u32 bits;
  __builtin_memcpy(&bits, &x, sizeof bits);  // g++ 12 vectorises this form, not __builtin_bit_cast
  return bits;
#endif
}

SYNFIRE_MODEL_FN u64 bits_of(double x) {
#if defined(__CUDA_ARCH__)
  return static_cast<u64>(__double_as_longlong(x));
#else
  u64 bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}

SYNFIRE_MODEL_FN float from_bits(u32 x) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(x);
#else
  float value;
  __builtin_memcpy(&value, &x, sizeof value);
  return value;
#endif
}

SYNFIRE_MODEL_FN double from_bits(u64 x) {
#if defined(__CUDA_ARCH__)
  return __longlong_as_double(static_cast<s64>(x));
#else
  double value;
  __builtin_memcpy(&value, &x, sizeof value);
  return value;
#endif
}

// uniform ? a : b, for a condition that is the same for all neurons. On the host it selects bitwise, because g++ 12
// does not vectorise a loop that selects by a boolean from outside the loop.
template <class R>
SYNFIRE_MODEL_FN R choose(bool uniform, R a, R b) {
#if defined(__CUDA_ARCH__)
  return uniform ? a : b;
#else
  using Bits = decltype(bits_of(a));
  const Bits mask = Bits(0) - Bits(uniform);
  return from_bits((bits_of(a) & mask) | (bits_of(b) & ~mask));
#endif
}

SYNFIRE_MODEL_END

#if defined(__MINGW32__) && !defined(__FMA__)
#include "exact_fma.hpp"
#endif

#endif
