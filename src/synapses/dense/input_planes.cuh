// Rows of dL/dy on their grids, for the kernels of input gradients.
#ifndef SYNFIRE_SYNAPSES_DENSE_INPUT_PLANES_CUH
#define SYNFIRE_SYNAPSES_DENSE_INPUT_PLANES_CUH

#include "dense_kernels.hpp"
#include "planes.cuh"

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// The product of two f32 in f64, which holds it exactly: its magnitude as bits.
__device__ __forceinline__ u64 magnitude_of_product(u32 gradient, s32 grid) {
  return static_cast<u64>(__double_as_longlong(static_cast<double>(from_bits(gradient)) * wide_power_of_two(grid)));
}
__device__ __forceinline__ s32 grid_of_product(u64 magnitude) {
  if (magnitude == 0) return grid_of_magnitude(magnitude_of(0.0f, 0));
  const s32 exponent = static_cast<s32>(magnitude >> 52) - 1023;
  return grid_of_magnitude(
      magnitude_of(from_bits(0x3F800000u | (static_cast<u32>(magnitude >> 29) & 0x7FFFFFu)), exponent));
}

// 16 threads share a row: four of every 64 outputs each. Up to 512 outputs stay in registers until the grid is known.
inline constexpr int planes_at_once = 8, planes_width = planes_at_once * 64;

struct RowPart {
  float at[planes_at_once][4];

  // Outputs `first` to first + planes_width - 1 of a row, of which there are `count` in all; 0 after them. Null:
  // zeros.
  __device__ __forceinline__ void load(const float* row, int64_t first, int64_t count) {
    const int64_t begin = first + threadIdx.x % 16 * 4;
    const bool fours = reinterpret_cast<uintptr_t>(row) % 16 == 0 && count % 4 == 0;
#pragma unroll
    for (int i = 0; i < planes_at_once; ++i) {
      const int64_t n = begin + i * 64;
#pragma unroll
      for (int j = 0; j < 4; ++j) at[i][j] = 0;
      if (!row || n >= count) continue;
      if (fours) {
        const float4 four = *reinterpret_cast<const float4*>(row + n);
        at[i][0] = four.x;
        at[i][1] = four.y;
        at[i][2] = four.z;
        at[i][3] = four.w;
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (n + j < count) at[i][j] = row[n + j];
      }
    }
  }
};

__device__ __forceinline__ void load_grids(const int32_t* grid, int64_t n, int64_t count, s32 (&grids)[4]) {
  const int4 four = n < count ? *reinterpret_cast<const int4*>(grid + n) : make_int4(0, 0, 0, 0);
  grids[0] = four.x;
  grids[1] = four.y;
  grids[2] = four.z;
  grids[3] = four.w;
}

}  // namespace
}  // namespace synfire::cuda

#endif
