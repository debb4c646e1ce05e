// Exact gradients of inputs.
#include "dense_kernels.hpp"
#include "fragments.hpp"
#include "input_planes.cuh"
#include "planes.cuh"
#include "results.cuh"
#include "tensor.cuh"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// ---- byte planes ----------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(planes_threads) input_planes(const __grid_constant__ InputPlanesLaunch launch) {
  wait_for_previous();
  constexpr int n_warps = planes_threads / 32;
  static_assert(planes_threads == 16 * 16);
  __shared__ __align__(16) int32_t tile[16][planes_width + 4];  // the padding keeps the reads below in different banks
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32),
            in_tile = static_cast<int>(threadIdx.x / 16), of_row = static_cast<int>(threadIdx.x % 16) * 4;
  const int64_t active = launch.rows.active(), n_rows = launch.rows.count(), n_outputs = launch.gradients.length;
  const int64_t n_pieces = (n_rows + 15) / 16;
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const int64_t m = piece * 16 + in_tile;
    const RowIndex at = row_index(m, launch.rows.batch);
    const bool counts = m < n_rows && at.b < active;
    const float* row = counts ? launch.gradients.row(at) : nullptr;
    RowPart part;
    u64 largest = 0;
    u32 largest_gradient = 0;
    for (int64_t first = 0; first < n_outputs; first += planes_width) {
      part.load(row, first, n_outputs);
#pragma unroll
      for (int i = 0; i < planes_at_once; ++i) {
        if (first + i * 64 >= n_outputs) break;
        s32 grids[4];
        load_grids(launch.grid, first + i * 64 + of_row, n_outputs, grids);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const u32 gradient = bits_of(part.at[i][j]) & 0x7FFFFFFFu;
          largest_gradient = gradient > largest_gradient ? gradient : largest_gradient;
          const u64 product = magnitude_of_product(gradient, grids[j]);
          largest = product > largest ? product : largest;
        }
      }
    }
    for (int half = 8; half > 0; half /= 2) {
      const u64 other = __shfl_xor_sync(0xFFFFFFFF, largest, half);
      largest = other > largest ? other : largest;
      const u32 gradient = __shfl_xor_sync(0xFFFFFFFF, largest_gradient, half);
      largest_gradient = gradient > largest_gradient ? gradient : largest_gradient;
    }
    const s32 grid = counts && largest_gradient < 0x7F800000u ? grid_of_product(largest) : not_finite;
    if (counts && of_row == 0) launch.row_grid[m] = grid;
    if (grid == not_finite) row = nullptr;
    for (int64_t first = 0; first < n_outputs; first += planes_width) {
      if (n_outputs > planes_width || !row) part.load(row, first, n_outputs);
      __syncthreads();  // wait until the previous values have been read
#pragma unroll
      for (int i = 0; i < planes_at_once; ++i) {
        if (first + i * 64 >= n_outputs) break;
        s32 grids[4];
        load_grids(launch.grid, first + i * 64 + of_row, n_outputs, grids);
        int4 values;
        values.x = GridScale(grid - grids[0])(part.at[i][0]);
        values.y = GridScale(grid - grids[1])(part.at[i][1]);
        values.z = GridScale(grid - grids[2])(part.at[i][2]);
        values.w = GridScale(grid - grids[3])(part.at[i][3]);
        *reinterpret_cast<int4*>(&tile[in_tile][i * 64 + of_row]) = row ? values : make_int4(0, 0, 0, 0);
      }
      __syncthreads();
      const int r = lane / 4, c = lane % 4;
      for (int in_part = warp; in_part < planes_width / 32; in_part += n_warps) {
        const int64_t word = first / 32 + in_part;
        if (word >= launch.n_words) break;
        uint32_t bytes[3][4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          int32_t values[4];
#pragma unroll
          for (int j = 0; j < 4; ++j) values[j] = tile[r + 8 * (q % 2)][in_part * 32 + c + 4 * (q / 2) + 8 * j];
          uint32_t of_planes[3];
          bytes_of_planes(values, of_planes);
#pragma unroll
          for (int plane = 0; plane < 3; ++plane) bytes[plane][q] = of_planes[plane];
        }
#pragma unroll
        for (int plane = 0; plane < 3; ++plane)
          reinterpret_cast<uint4*>(launch.planes)[((word * 3 + plane) * launch.row_groups + piece) * 32 + lane] =
              make_uint4(bytes[plane][0], bytes[plane][1], bytes[plane][2], bytes[plane][3]);
      }
    }
  }
}

// ---- products -------------------------------------------------------------------------------------------------------

// Four warps have 32 x 32 results each. Planes of 32 outputs at a time pass through shared memory, two ahead.
template <int zero_planes>
__global__ void __launch_bounds__(input_product_threads, 2)
    input_product(const __grid_constant__ InputProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int n_stages = 3, row_parts = 2, column_parts = 4, n_weights = 5;
  constexpr int row_groups = input_tile / 16, column_groups = input_tile / 8;
  struct Stage {
    uint4 left[3][row_groups][32];
    uint2 right[3][column_groups][32];
  };
  __shared__ Stage stages[n_stages];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4, warp_row = warp / 2, warp_column = warp % 2;
  const int64_t n_rows = launch.rows.count(), n_steps = launch.n_words;
  const int64_t across = (launch.n_inputs + input_tile - 1) / input_tile,
                n_tiles = (n_rows + input_tile - 1) / input_tile * across;
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t first_row = tile / across * input_tile, first_input = tile % across * input_tile;
    const auto load = [&](int64_t step) {
      if (step < n_steps) {
        Stage& to = stages[step % n_stages];
        constexpr int of_left = row_groups * 32, of_right = column_groups * 16;  // pieces of 16 bytes of a plane
        for (int i = static_cast<int>(threadIdx.x); i < 3 * of_left; i += input_product_threads)
          copy16(&to.left[0][0][0] + i,
                 launch.left +
                     ((step * 3 + i / of_left) * launch.row_groups + first_row / 16) * operations::left_bytes +
                     i % of_left * 16);
        for (int i = static_cast<int>(threadIdx.x); i < 3 * of_right; i += input_product_threads)
          copy16(reinterpret_cast<uint4*>(&to.right[0][0][0]) + i,
                 launch.right + operations::right_fragment(step, first_input / 8, 0, 3, n_steps) + i * 16);
      }
      commit_copies();
    };
    // Byte planes of the product, lowest first; plane i counts 2^(8 i).
    int32_t sums[n_weights][row_parts][column_parts][4] = {};
    __syncthreads();  // wait until the previous tile's planes have been read
#pragma unroll
    for (int step = 0; step < n_stages - 1; ++step) load(step);
    for (int64_t step = 0; step < n_steps; ++step) {
      wait_copies<n_stages - 2>();
      __syncthreads();
      load(step + n_stages - 1);
      const Stage& now = stages[step % n_stages];
#pragma unroll
      for (int i = 0; i < row_parts; ++i)
#pragma unroll
        for (int p = 0; p < 3; ++p) {
          const uint4 loaded = now.left[p][warp_row * row_parts + i][lane];
          const uint32_t left[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
          for (int q = zero_planes; q < 3; ++q)
#pragma unroll
            for (int j = 0; j < column_parts; ++j) {
              const uint2 right = right_part(now.right[q][warp_column * column_parts + j]);
              if (p == 2 && q == 2)
                multiply<true, true>(sums[p + q][i][j], left, right);
              else if (p == 2)
                multiply<true, false>(sums[p + q][i][j], left, right);
              else if (q == 2)
                multiply<false, true>(sums[p + q][i][j], left, right);
              else
                multiply<false, false>(sums[p + q][i][j], left, right);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < row_parts; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int64_t m = first_row + (warp_row * row_parts + i) * 16 + half * 8 + r;
        if (m >= n_rows) continue;
        const ResultRow row(launch, m);
#pragma unroll
        for (int j = 0; j < column_parts; ++j)
#pragma unroll
          for (int q = 0; q < 2; ++q) {
            s64 sum = 0;
#pragma unroll
            for (int w = n_weights - 1; w >= 0; --w) sum = sum * 256 + sums[w][i][j][2 * half + q];
            row.write(first_input + (warp_column * column_parts + j) * 8 + 2 * c + q, sum);
          }
      }
  }
#endif
}

// In 64-bit integers; a thread has 4 x 4 results.
__global__ void __launch_bounds__(wide_product_threads)
    wide_input_product(const __grid_constant__ InputProductLaunch launch) {
  wait_for_previous();
  constexpr int depth = 16, side = 16, parts = input_tile / side;
  __shared__ int32_t left[depth][input_tile], right[depth][input_tile];
  const int x = static_cast<int>(threadIdx.x) % side, y = static_cast<int>(threadIdx.x) / side;
  const int64_t n_rows = launch.rows.count(), across = (launch.n_inputs + input_tile - 1) / input_tile,
                n_tiles = (n_rows + input_tile - 1) / input_tile * across;
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t first_row = tile / across * input_tile, first_input = tile % across * input_tile;
    s64 sums[parts][parts] = {};
    for (int64_t n = 0; n < launch.n_words * 32; n += depth) {
      __syncthreads();  // wait until the previous values have been read
      for (int i = static_cast<int>(threadIdx.x); i < depth * input_tile; i += wide_product_threads) {
        const int l = i / input_tile, at = i % input_tile;
        left[l][at] = operations::left_value(launch.left, n + l, first_row + at, 3, launch.row_groups);
        right[l][at] = operations::right_value(launch.right, n + l, first_input + at, 3, launch.n_words);
      }
      __syncthreads();
      for (int l = 0; l < depth; ++l)
#pragma unroll
        for (int i = 0; i < parts; ++i)
#pragma unroll
          for (int j = 0; j < parts; ++j)
            sums[i][j] += static_cast<s64>(left[l][y + side * i]) * right[l][x + side * j];
    }
#pragma unroll
    for (int i = 0; i < parts; ++i) {
      const int64_t m = first_row + y + side * i;
      if (m >= n_rows) continue;
      const ResultRow row(launch, m);
#pragma unroll
      for (int j = 0; j < parts; ++j) row.write(first_input + x + side * j, sums[i][j]);
    }
  }
}

}  // namespace

const void* input_planes_kernel() {
  return address(input_planes);
}
const void* input_product_kernel(BytesProduct product, int zero_planes) {
  if (product == BytesProduct::groups || product == BytesProduct::streams)
    return input_group_kernel(product == BytesProduct::streams, zero_planes);
  if (product != BytesProduct::warps) return address(wide_input_product);
  return zero_planes == 0   ? address(input_product<0>)
         : zero_planes == 1 ? address(input_product<1>)
                            : address(input_product<2>);
}

}  // namespace synfire::cuda
