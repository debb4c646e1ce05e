// Numbers on grids as integers, and the bytes of those in planes, four at a time.
#ifndef SYNFIRE_SYNAPSES_DENSE_PLANES_CUH
#define SYNFIRE_SYNAPSES_DENSE_PLANES_CUH

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::cuda {
namespace {

// Multiplies by 2^-grid in two steps, because an f32 has no more than 2^127.
class GridScale {
 public:
  __device__ __forceinline__ explicit GridScale(model::s32 grid)
      : first_(power(clamped(-grid))), second_(power(clamped(-grid - clamped(-grid)))) {}
  // model::on_grid(x, grid). The products are exact, unless they are so small that they round to 0 anyway.
  __device__ __forceinline__ int32_t operator()(float x) const { return __float2int_rn(x * first_ * second_); }

 private:
  static __device__ __forceinline__ model::s32 clamped(model::s32 exponent) {
    return exponent < -126 ? -126 : exponent > 127 ? 127 : exponent;
  }
  static __device__ __forceinline__ float power(model::s32 exponent) { return __int_as_float((exponent + 127) << 23); }

  float first_, second_;
};

// Word `plane` has byte `plane` of each integer, the first lowest. Three planes, or four.
template <int n_planes>
__device__ __forceinline__ void bytes_of_planes(const int32_t (&values)[4], uint32_t (&planes)[n_planes]) {
  const auto a = static_cast<uint32_t>(values[0]), b = static_cast<uint32_t>(values[1]),
             c = static_cast<uint32_t>(values[2]), d = static_cast<uint32_t>(values[3]);
  const uint32_t low_ab = __byte_perm(a, b, 0x5140), low_cd = __byte_perm(c, d, 0x5140);
  planes[0] = __byte_perm(low_ab, low_cd, 0x5410);
  planes[1] = __byte_perm(low_ab, low_cd, 0x7632);
  const uint32_t high_ab = __byte_perm(a, b, 0x7362), high_cd = __byte_perm(c, d, 0x7362);
  planes[2] = __byte_perm(high_ab, high_cd, 0x5410);
  if constexpr (n_planes == 4) planes[3] = __byte_perm(high_ab, high_cd, 0x7632);
}

}  // namespace
}  // namespace synfire::cuda

#endif
