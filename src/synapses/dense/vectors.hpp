// Vectors of the file's instruction level, for loops whose sums must stay in registers. Included by host kernels only.
#ifndef SYNFIRE_SYNAPSES_DENSE_VECTORS_HPP
#define SYNFIRE_SYNAPSES_DENSE_VECTORS_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64, n_registers = 32;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32, n_registers = 16;
#else
inline constexpr int vector_bytes = 16, n_registers = 16;
#endif

// 32-bit integers; the compilers' own vectors, of any alignment.
typedef int32_t Ints  // NOLINT(modernize-use-using): these attributes belong to a typedef
    __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
inline constexpr int ints = vector_bytes / 4;

SYNFIRE_MODEL_FN Ints load_ints(const int32_t* from) {
  return *reinterpret_cast<const Ints*>(from);
}
SYNFIRE_MODEL_FN void store_ints(int32_t* to, Ints values) {
  *reinterpret_cast<Ints*>(to) = values;
}

// Numbers, with a fused multiply-add.
template <class R>
struct Numbers;

#if defined(__AVX512F__)
// (g++ 12 warns of an uninitialised value inside some unmasked intrinsics.)
template <>
struct Numbers<float> {
  static constexpr int count = 16;
  __m512 value;
  static SYNFIRE_MODEL_FN Numbers zero() { return {_mm512_setzero_ps()}; }
  static SYNFIRE_MODEL_FN Numbers load(const float* from) { return {_mm512_loadu_ps(from)}; }
  static SYNFIRE_MODEL_FN Numbers all(float x) { return {_mm512_set1_ps(x)}; }
  SYNFIRE_MODEL_FN void store(float* to) const { _mm512_storeu_ps(to, value); }
  SYNFIRE_MODEL_FN Numbers plus(Numbers other) const { return {_mm512_add_ps(value, other.value)}; }
  SYNFIRE_MODEL_FN Numbers plus_product(Numbers a, Numbers b) const {
    return {_mm512_fmadd_ps(a.value, b.value, value)};
  }
};
template <>
struct Numbers<double> {
  static constexpr int count = 8;
  __m512d value;
  static SYNFIRE_MODEL_FN Numbers zero() { return {_mm512_setzero_pd()}; }
  static SYNFIRE_MODEL_FN Numbers load(const double* from) { return {_mm512_loadu_pd(from)}; }
  static SYNFIRE_MODEL_FN Numbers of_ints(const int32_t* from) {
    return {_mm512_maskz_cvtepi32_pd(0xFF, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
  }
  static SYNFIRE_MODEL_FN Numbers all(double x) { return {_mm512_set1_pd(x)}; }
  SYNFIRE_MODEL_FN void store(double* to) const { _mm512_storeu_pd(to, value); }
  SYNFIRE_MODEL_FN Numbers plus(Numbers other) const { return {_mm512_add_pd(value, other.value)}; }
  SYNFIRE_MODEL_FN Numbers plus_product(Numbers a, Numbers b) const {
    return {_mm512_fmadd_pd(a.value, b.value, value)};
  }
};
#elif defined(__AVX2__)
template <>
struct Numbers<float> {
  static constexpr int count = 8;
  __m256 value;
  static SYNFIRE_MODEL_FN Numbers zero() { return {_mm256_setzero_ps()}; }
  static SYNFIRE_MODEL_FN Numbers load(const float* from) { return {_mm256_loadu_ps(from)}; }
  static SYNFIRE_MODEL_FN Numbers all(float x) { return {_mm256_set1_ps(x)}; }
  SYNFIRE_MODEL_FN void store(float* to) const { _mm256_storeu_ps(to, value); }
  SYNFIRE_MODEL_FN Numbers plus(Numbers other) const { return {_mm256_add_ps(value, other.value)}; }
  SYNFIRE_MODEL_FN Numbers plus_product(Numbers a, Numbers b) const {
    return {_mm256_fmadd_ps(a.value, b.value, value)};
  }
};
template <>
struct Numbers<double> {
  static constexpr int count = 4;
  __m256d value;
  static SYNFIRE_MODEL_FN Numbers zero() { return {_mm256_setzero_pd()}; }
  static SYNFIRE_MODEL_FN Numbers load(const double* from) { return {_mm256_loadu_pd(from)}; }
  static SYNFIRE_MODEL_FN Numbers of_ints(const int32_t* from) {
    return {_mm256_cvtepi32_pd(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
  }
  static SYNFIRE_MODEL_FN Numbers all(double x) { return {_mm256_set1_pd(x)}; }
  SYNFIRE_MODEL_FN void store(double* to) const { _mm256_storeu_pd(to, value); }
  SYNFIRE_MODEL_FN Numbers plus(Numbers other) const { return {_mm256_add_pd(value, other.value)}; }
  SYNFIRE_MODEL_FN Numbers plus_product(Numbers a, Numbers b) const {
    return {_mm256_fmadd_pd(a.value, b.value, value)};
  }
};
#elif defined(__aarch64__)
template <>
struct Numbers<float> {
  static constexpr int count = 4;
  float32x4_t value;
  static SYNFIRE_MODEL_FN Numbers zero() { return {vdupq_n_f32(0)}; }
  static SYNFIRE_MODEL_FN Numbers load(const float* from) { return {vld1q_f32(from)}; }
  static SYNFIRE_MODEL_FN Numbers all(float x) { return {vdupq_n_f32(x)}; }
  SYNFIRE_MODEL_FN void store(float* to) const { vst1q_f32(to, value); }
  SYNFIRE_MODEL_FN Numbers plus(Numbers other) const { return {vaddq_f32(value, other.value)}; }
  SYNFIRE_MODEL_FN Numbers plus_product(Numbers a, Numbers b) const { return {vfmaq_f32(value, a.value, b.value)}; }
};
template <>
struct Numbers<double> {
  static constexpr int count = 2;
  float64x2_t value;
  static SYNFIRE_MODEL_FN Numbers zero() { return {vdupq_n_f64(0)}; }
  static SYNFIRE_MODEL_FN Numbers load(const double* from) { return {vld1q_f64(from)}; }
  static SYNFIRE_MODEL_FN Numbers of_ints(const int32_t* from) { return {vcvtq_f64_s64(vmovl_s32(vld1_s32(from)))}; }
  static SYNFIRE_MODEL_FN Numbers all(double x) { return {vdupq_n_f64(x)}; }
  SYNFIRE_MODEL_FN void store(double* to) const { vst1q_f64(to, value); }
  SYNFIRE_MODEL_FN Numbers plus(Numbers other) const { return {vaddq_f64(value, other.value)}; }
  SYNFIRE_MODEL_FN Numbers plus_product(Numbers a, Numbers b) const { return {vfmaq_f64(value, a.value, b.value)}; }
};
#else
// The baseline of x86-64 has no fused multiply-add: one number at a time, by the C library.
template <class R>
struct Numbers {
  static constexpr int count = 1;
  R value;
  static SYNFIRE_MODEL_FN Numbers zero() { return {R(0)}; }
  static SYNFIRE_MODEL_FN Numbers load(const R* from) { return {*from}; }
  static SYNFIRE_MODEL_FN Numbers of_ints(const int32_t* from) { return {static_cast<R>(*from)}; }
  static SYNFIRE_MODEL_FN Numbers all(R x) { return {x}; }
  SYNFIRE_MODEL_FN void store(R* to) const { *to = value; }
  SYNFIRE_MODEL_FN Numbers plus(Numbers other) const { return {value + other.value}; }
  SYNFIRE_MODEL_FN Numbers plus_product(Numbers a, Numbers b) const { return {model::fma(a.value, b.value, value)}; }
};
#endif

// value + a * b with exact product and sum: no fused multiply-add is needed.
SYNFIRE_MODEL_FN Numbers<double> plus_exact_product(Numbers<double> value, Numbers<double> a, Numbers<double> b) {
#if defined(__AVX2__) || defined(__aarch64__)
  return value.plus_product(a, b);
#else
  return {value.value + a.value * b.value};
#endif
}

}  // namespace
}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL

#endif
