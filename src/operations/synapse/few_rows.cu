// Gradients of weights and inputs over few rows, in one launch each: small networks wait for their launches.
#include "fragments.hpp"
#include "input_planes.cuh"
#include "kernels.hpp"
#include "planes.cuh"
#include "results.cuh"
#include "tensor.cuh"

#include <cuda/storage.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::spread;

constexpr int n_warps = 8;
static_assert(held_rows_threads == 32 * n_warps);

// ---- gradients of weights -------------------------------------------------------------------------------------------

// Where rows are, without a division where all of them count and have no gaps.
struct RowsOf {
  const SequenceRows& rows;
  int64_t count, active;
  bool simple;

  __device__ __forceinline__ explicit RowsOf(const FewRowsLaunch& launch)
      : rows(launch.rows),
        count(launch.rows.count()),
        active(launch.rows.active()),
        simple(active == launch.rows.batch && !launch.kept.mask &&
               launch.gradients.pitch == launch.rows.batch * launch.gradients.length &&
               launch.bits.pitch == launch.rows.batch * launch.bits.length) {}
  __device__ __forceinline__ RowIndex at(int64_t m) const { return simple ? RowIndex{0, m} : row_index(m, rows.batch); }
  __device__ __forceinline__ bool counts(int64_t m, RowIndex at) const {
    return m < count && (simple || at.b < active);
  }
};

struct HeldRowsMemory {
  s64 found[n_warps][16][32];
  u32 largest[held_rows_outputs];
  unsigned long long bias[held_rows_outputs];
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

// The rows of a block are the length of its product; a warp has 32 of every 256. Its left operand are the gradients,
// and the right one the spikes, of which the warp transposes 32 x 32 bits.
template <int n_planes>
__device__ __forceinline__ void held_tile(const FewRowsLaunch& launch, int64_t tile, HeldRowsMemory& shared) {
  constexpr int n_groups = most_held_rows / 32 / n_warps, n_columns = held_rows_inputs / 8;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4, thread = static_cast<int>(threadIdx.x);
  const int64_t across = launch.bits.length, word = tile % across, first_output = tile / across * held_rows_outputs;
  const int64_t n_outputs = launch.gradients.length;
  const RowsOf rows(launch);

  // Rows 32 * group + c + 4 * i of outputs r and r + 8, and the words of rows 32 * group + lane.
  float gradients[n_groups][2][8];
  u32 spikes[n_groups];
#pragma unroll
  for (int g = 0; g < n_groups; ++g) {
    const int64_t first = (warp + n_warps * g) * 32;
    spikes[g] = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) gradients[g][0][i] = gradients[g][1][i] = 0;
    if (first >= rows.count) continue;
    const RowIndex own = rows.at(first + lane);
    if (rows.counts(first + lane, own)) {
      spikes[g] = launch.bits.row(own)[word];
      if (launch.kept.mask) spikes[g] &= launch.kept.row(own.b)[word];
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int64_t m = first + c + 4 * i;
      const RowIndex at = rows.at(m);
      if (!rows.counts(m, at)) continue;
      const float* const row = launch.gradients.row(at) + first_output + r;
      if (first_output + r < n_outputs) gradients[g][0][i] = row[0];
      if (first_output + r + 8 < n_outputs) gradients[g][1][i] = row[8];
    }
  }
  if (thread < held_rows_outputs) {
    shared.largest[thread] = 0;
    shared.bias[thread] = 0;
  }
  u32 largest[2] = {};
#pragma unroll
  for (int g = 0; g < n_groups; ++g)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const u32 magnitude = bits_of(gradients[g][half][i]) & 0x7FFFFFFFu;
        largest[half] = magnitude > largest[half] ? magnitude : largest[half];
      }
  __syncthreads();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    for (int distance = 1; distance < 4; distance *= 2) {
      const u32 other = __shfl_xor_sync(0xFFFFFFFFu, largest[half], distance);
      largest[half] = other > largest[half] ? other : largest[half];
    }
    if (c == 0 && largest[half] != 0) atomicMax(&shared.largest[r + 8 * half], largest[half]);
  }
  __syncthreads();
  const float most_on_grid = n_planes == 4 ? largest_on_grid_32 : largest_on_grid_24;
  const auto grid_of_output = [&](int output) {
    const u32 found = shared.largest[output];
    return found < 0x7F800000u ? grid_of(from_bits(found), most_on_grid) : 0;
  };
  const bool finite[2] = {shared.largest[r] < 0x7F800000u, shared.largest[r + 8] < 0x7F800000u};
  const GridScale scales[2] = {GridScale(grid_of_output(r)), GridScale(grid_of_output(r + 8))};

  int32_t sums[n_planes][n_columns][4] = {};
  s64 bias[2] = {};
#pragma unroll
  for (int g = 0; g < n_groups; ++g) {
    if ((warp + n_warps * g) * 32 >= rows.count) continue;
    int32_t values[2][8];
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        values[half][i] = finite[half] ? scales[half](gradients[g][half][i]) : 0;
        bias[half] += values[half][i];
      }
    // Bit j of `column` is the spike of this lane's input in row j.
    u32 column = 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const u32 of_input = __ballot_sync(0xFFFFFFFFu, (spikes[g] >> i & 1u) != 0);
      if (lane == i) column = of_input;
    }
    u32 left[n_planes][4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const int half = q % 2, h = q / 2;
      const int32_t four[4] = {values[half][h], values[half][h + 2], values[half][h + 4], values[half][h + 6]};
      u32 bytes[n_planes];
      bytes_of_planes(four, bytes);
#pragma unroll
      for (int plane = 0; plane < n_planes; ++plane) left[plane][q] = bytes[plane];
    }
#pragma unroll
    for (int j = 0; j < n_columns; ++j) {
      const u32 of_input = __shfl_sync(0xFFFFFFFFu, column, 8 * j + r);
      const uint2 right = make_uint2(spread(of_input, c, 0), spread(of_input, c, 1));
#pragma unroll
      for (int plane = 0; plane < n_planes; ++plane)
        if (plane + 1 < n_planes)
          multiply<false, false>(sums[plane][j], left[plane], right);
        else
          multiply<true, false>(sums[plane][j], left[plane], right);
    }
  }
  if (warp * 32 < rows.count) {
#pragma unroll
    for (int j = 0; j < n_columns; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        s64 sum = 0;
#pragma unroll
        for (int plane = 0; plane < n_planes; ++plane)
          sum += static_cast<s64>(sums[plane][j][q]) * (s64{1} << (8 * plane));
        shared.found[warp][j * 4 + q][lane] = sum;
      }
    if (launch.bias_gradient && word == 0) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        for (int distance = 1; distance < 4; distance *= 2)
          bias[half] += __shfl_xor_sync(0xFFFFFFFFu, bias[half], distance);
        if (c == 0) atomicAdd(&shared.bias[r + 8 * half], static_cast<unsigned long long>(bias[half]));
      }
    }
  }
  __syncthreads();

  const auto gradient_of = [&](int output, s64 sum, bool kept) {
    if (shared.largest[output] >= 0x7F800000u) return from_bits(0x7FC00000u);
    const s32 grid = grid_of_output(output);
    return kept ? from_wide_grid(sum, grid, static_cast<double>(*launch.kept.scale)) : from_wide_grid(sum, grid);
  };
  const int64_t mask_words = (launch.n_inputs + 31) / 32;
  const int n_parts = rows.count < n_warps * 32 ? static_cast<int>((rows.count + 31) / 32) : n_warps;
#pragma unroll
  for (int i = thread; i < held_rows_outputs * held_rows_inputs; i += held_rows_threads) {
    const int output = i / held_rows_inputs, input = i % held_rows_inputs;
    const int64_t n = first_output + output, k = word * 32 + input;
    if (n >= n_outputs || k >= launch.n_inputs) continue;
    const int slot = input / 8 * 4 + output / 8 * 2 + input % 2, from = output % 8 * 4 + input % 8 / 2;
    s64 sum = 0;
    for (int w = 0; w < n_parts; ++w) sum += shared.found[w][slot][from];
    const bool connected = !launch.mask || (launch.mask[n * mask_words + k / 32] >> (k % 32) & 1u) != 0;
    const float result = connected ? gradient_of(output, sum, launch.kept.mask != nullptr) : 0.0f;
    float& to = launch.weight_gradient[n * launch.n_inputs + k];
    to = launch.add ? to + result : result;
  }
  if (launch.bias_gradient && word == 0 && thread < held_rows_outputs && first_output + thread < n_outputs) {
    const float result = gradient_of(thread, static_cast<s64>(shared.bias[thread]), false);
    float& to = launch.bias_gradient[first_output + thread];
    to = launch.add ? to + result : result;
  }
}

#endif

__global__ void __launch_bounds__(held_rows_threads) held_rows(const __grid_constant__ HeldRowsLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  __shared__ HeldRowsMemory shared;
  for (int64_t tile = blockIdx.x; tile < launch.first_tiles[launch.n_gradients]; tile += gridDim.x) {
    int32_t index = 0;
    while (tile >= launch.first_tiles[index + 1]) ++index;
    const FewRowsLaunch& gradient = launch.gradients[index];
    if (tile != blockIdx.x) __syncthreads();  // wait until the sums of the last one have been read
    if (gradient.wide)
      held_tile<4>(gradient, tile - launch.first_tiles[index], shared);
    else
      held_tile<3>(gradient, tile - launch.first_tiles[index], shared);
  }
#endif
}

// ---- gradients of inputs --------------------------------------------------------------------------------------------

// All threads put the rows on their grids, 16 threads a row; then a warp has 8 of the inputs.
__global__ void __launch_bounds__(planes_threads) held_input(const __grid_constant__ HeldInputLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int words_ahead = 4, n_weights = 5;
  static_assert(planes_threads == 32 * n_warps && most_held_outputs == planes_width);
  __shared__ __align__(16) int32_t tile[16][planes_width + 4];
  __shared__ s32 grids_of_rows[16];
  const InputProductLaunch& product = launch.product;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4, in_tile = static_cast<int>(threadIdx.x / 16),
            of_row = static_cast<int>(threadIdx.x % 16) * 4;
  const int64_t n_rows = product.rows.count(), n_outputs = product.n_outputs, n_words = product.n_words;
  const int64_t across = (product.n_inputs + input_tile - 1) / input_tile, n_tiles = (n_rows + 15) / 16 * across;
  for (int64_t piece = blockIdx.x; piece < n_tiles; piece += gridDim.x) {
    const int64_t first_row = piece / across * 16, first_input = piece % across * input_tile + warp * 8;
    const bool has_inputs = first_input < product.n_inputs;
    uint2 right[words_ahead][3];
    const auto fetch = [&](int64_t first) {
#pragma unroll
      for (int w = 0; w < words_ahead; ++w)
#pragma unroll
        for (int plane = 0; plane < 3; ++plane)
          if (has_inputs && first + w < n_words)
            right[w][plane] =
                right_part(product.right + operations::right_fragment(first + w, first_input / 8, plane, 3, n_words));
    };
    fetch(0);
    const int64_t active = product.rows.active(), m = first_row + in_tile;
    const RowIndex at = row_index(m, product.rows.batch);
    const bool counts = m < n_rows && at.b < active;
    RowPart part;
    part.load(counts ? launch.gradients.row(at) : nullptr, 0, n_outputs);
    s32 grids[planes_at_once][4];
    u64 largest = 0;
    u32 largest_gradient = 0;
#pragma unroll
    for (int i = 0; i < planes_at_once; ++i) {
      load_grids(launch.grid, i * 64 + of_row, n_outputs, grids[i]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const u32 gradient = bits_of(part.at[i][j]) & 0x7FFFFFFFu;
        largest_gradient = gradient > largest_gradient ? gradient : largest_gradient;
        const u64 magnitude = i * 64 < n_outputs ? magnitude_of_product(gradient, grids[i][j]) : 0;
        largest = magnitude > largest ? magnitude : largest;
      }
    }
    for (int half = 8; half > 0; half /= 2) {
      const u64 other = __shfl_xor_sync(0xFFFFFFFF, largest, half);
      largest = other > largest ? other : largest;
      const u32 gradient = __shfl_xor_sync(0xFFFFFFFF, largest_gradient, half);
      largest_gradient = gradient > largest_gradient ? gradient : largest_gradient;
    }
    const s32 grid = counts && largest_gradient < 0x7F800000u ? grid_of_product(largest) : not_finite;
    __syncthreads();  // wait until the previous values have been read
    if (of_row == 0) grids_of_rows[in_tile] = grid;
#pragma unroll
    for (int i = 0; i < planes_at_once; ++i) {
      if (i * 64 >= n_outputs) break;
      int4 values = make_int4(0, 0, 0, 0);
      if (grid != not_finite) {
        values.x = GridScale(grid - grids[i][0])(part.at[i][0]);
        values.y = GridScale(grid - grids[i][1])(part.at[i][1]);
        values.z = GridScale(grid - grids[i][2])(part.at[i][2]);
        values.w = GridScale(grid - grids[i][3])(part.at[i][3]);
      }
      *reinterpret_cast<int4*>(&tile[in_tile][i * 64 + of_row]) = values;
    }
    __syncthreads();
    if (!has_inputs) continue;
    int32_t sums[n_weights][4] = {};
    for (int64_t first = 0; first < n_words; first += words_ahead) {
#pragma unroll
      for (int w = 0; w < words_ahead; ++w) {
        if (first + w >= n_words) break;
        u32 left[3][4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          int32_t values[4];
#pragma unroll
          for (int j = 0; j < 4; ++j) values[j] = tile[r + 8 * (q % 2)][(first + w) * 32 + c + 4 * (q / 2) + 8 * j];
          u32 bytes[3];
          bytes_of_planes(values, bytes);
#pragma unroll
          for (int plane = 0; plane < 3; ++plane) left[plane][q] = bytes[plane];
        }
#pragma unroll
        for (int p = 0; p < 3; ++p)
#pragma unroll
          for (int q = 0; q < 3; ++q) {
            if (p == 2 && q == 2)
              multiply<true, true>(sums[p + q], left[p], right[w][q]);
            else if (p == 2)
              multiply<true, false>(sums[p + q], left[p], right[w][q]);
            else if (q == 2)
              multiply<false, true>(sums[p + q], left[p], right[w][q]);
            else
              multiply<false, false>(sums[p + q], left[p], right[w][q]);
          }
      }
      fetch(first + words_ahead);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first_row + half * 8 + r;
      if (row >= n_rows) continue;
      const ResultRow result(product, row, grids_of_rows[half * 8 + r]);
      s64 pair[2] = {};
#pragma unroll
      for (int q = 0; q < 2; ++q)
#pragma unroll
        for (int w = n_weights - 1; w >= 0; --w) pair[q] = pair[q] * 256 + sums[w][2 * half + q];
      result.write_pair(first_input + 2 * c, pair);
    }
  }
#endif
}

}  // namespace

const void* held_rows_kernel() {
  return address(held_rows);
}
const void* held_input_kernel() {
  return address(held_input);
}

}  // namespace synfire::cuda
