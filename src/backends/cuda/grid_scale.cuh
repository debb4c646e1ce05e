// Numbers on grids as integers.
#ifndef SYNFIRE_BACKENDS_CUDA_GRID_SCALE_CUH
#define SYNFIRE_BACKENDS_CUDA_GRID_SCALE_CUH

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::cuda {
namespace {

// Multiplies by 2^-grid in two steps, because an f32 has no more than 2^127.
class GridScale {
 public:
  GridScale() = default;
  __device__ __forceinline__ explicit GridScale(model::s32 grid)
      : first_(power(clamped(-grid))), second_(power(clamped(-grid - clamped(-grid)))) {}
  // model::on_grid(x, grid). The products are exact, unless they are so small that they round to 0 anyway.
  __device__ __forceinline__ int32_t operator()(float x) const { return __float2int_rn(x * first_ * second_); }

 private:
  static __device__ __forceinline__ model::s32 clamped(model::s32 exponent) {
    return exponent < -126 ? -126 : exponent > 127 ? 127 : exponent;
  }
  static __device__ __forceinline__ float power(model::s32 exponent) { return __int_as_float((exponent + 127) << 23); }

  float first_ = 0, second_ = 0;
};

}  // namespace
}  // namespace synfire::cuda

#endif
