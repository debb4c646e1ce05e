// Gradients of weights and inputs over few rows, in one launch each, because small networks wait for their launches.
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
using operations::spread;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

constexpr int n_warps = planes_threads / 32;

// ---- gradients of weights -------------------------------------------------------------------------------------------

// Loops are hardly unrolled: a block runs this once, and fetching long code takes longer than executing it.

// The places of rows, without a division if all count and have no gaps.
struct RowsOf {
  const SequenceRows& rows;
  int count, active;
  bool simple;

  __device__ __forceinline__ explicit RowsOf(const FewRowsLaunch& launch)
      : rows(launch.rows),
        count(static_cast<int>(launch.rows.count())),
        active(static_cast<int>(launch.rows.active())),
        simple(active == launch.rows.batch && !launch.kept.mask &&
               launch.gradients.pitch == launch.rows.batch * launch.gradients.length &&
               launch.bits.pitch == launch.rows.batch * launch.bits.length) {}
  __device__ __forceinline__ RowIndex at(int m) const {
    if (simple) return {0, m};
    const auto batch = static_cast<uint32_t>(rows.batch), t = static_cast<uint32_t>(m) / batch;
    return {t, static_cast<uint32_t>(m) - t * batch};
  }
  __device__ __forceinline__ bool counts(int m, RowIndex at) const { return m < count && (simple || at.b < active); }
};

constexpr int n_held_warps = held_rows_threads / 32, held_results = held_rows_outputs * held_rows_inputs;
static_assert(held_rows_threads == held_results);

struct HeldRowsMemory {
  int32_t sums[4][held_results];  // of each byte of the gradients, as the tensor cores have them
  u32 largest[held_rows_outputs];
  unsigned long long bias[held_rows_outputs];
};

// Loads the gradients of rows first + c + 4 * i, i < 8, of outputs r and r + 8; 0 if there are none.
__device__ __forceinline__ void load_gradients(const FewRowsLaunch& launch, const RowsOf& rows, int first, int output,
                                               float (&gradients)[2][8]) {
  const int c = static_cast<int>(threadIdx.x % 4), n_outputs = static_cast<int>(launch.gradients.length);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int m = first + c + 4 * i;
    const RowIndex at = rows.at(m);
    const bool counts = rows.counts(m, at);
    const float* const row = launch.gradients.row(at) + output;
    gradients[0][i] = counts && output < n_outputs ? row[0] : 0.0f;
    gradients[1][i] = counts && output + 8 < n_outputs ? row[8] : 0.0f;
  }
}

__device__ __forceinline__ u32 transposed(u32 word) {
  const u32 lane = threadIdx.x % 32;
  u32 mask = 0x0000FFFFu;
#pragma unroll
  for (u32 distance = 16; distance > 0; distance /= 2) {
    const u32 other = __shfl_xor_sync(0xFFFFFFFFu, word, distance);
    word = (lane & distance) != 0 ? (word & ~mask) | (other >> distance & mask)
                                  : (word & mask) | (other & mask) << distance;
    mask ^= mask << (distance / 2);
  }
  return word;
}

// The rows of a block are the length of its product; a warp has 32 of them at a time. The gradients are the left
// operand, the spikes the right one, of which the warp transposes 32 x 32 bits.
template <int n_planes>
__device__ __forceinline__ void held_tile(const FewRowsLaunch& launch, int tile, HeldRowsMemory& shared) {
  constexpr int n_columns = held_rows_inputs / 8;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32, r = lane / 4, c = lane % 4;
  const int across = static_cast<int>(launch.bits.length), word = tile % across,
            first_output = tile / across * held_rows_outputs, n_outputs = static_cast<int>(launch.gradients.length);
  const RowsOf rows(launch);
  const int n_groups = (rows.count + 31) / 32;
  float gradients[2][8];
  u32 largest[2] = {};
#pragma unroll 1
  for (int group = warp; group < n_groups; group += n_held_warps) {
    load_gradients(launch, rows, group * 32, first_output + r, gradients);
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < 8; ++i) largest[half] = max(largest[half], bits_of(gradients[half][i]) & 0x7FFFFFFFu);
  }
#pragma unroll
  for (int plane = 0; plane < n_planes; ++plane) shared.sums[plane][thread] = 0;
  if (thread < held_rows_outputs) {
    shared.largest[thread] = 0;
    shared.bias[thread] = 0;
  }
  __syncthreads();
  if (warp < n_groups) {
    atomicMax(&shared.largest[r], largest[0]);
    atomicMax(&shared.largest[r + 8], largest[1]);
  }
  __syncthreads();
  const auto grid_of_output = [&](int output) {
    const u32 found = shared.largest[output];
    return found < 0x7F800000u ? grid_of(from_bits(found), n_planes == 4 ? largest_on_grid_32 : largest_on_grid_24) : 0;
  };
  if (warp < n_groups) {
    const bool finite[2] = {shared.largest[r] < 0x7F800000u, shared.largest[r + 8] < 0x7F800000u};
    const GridScale scales[2] = {GridScale(grid_of_output(r)), GridScale(grid_of_output(r + 8))};
    int32_t sums[n_planes][n_columns][4] = {};
    s64 bias[2] = {};
#pragma unroll 1
    for (int group = warp; group < n_groups; group += n_held_warps) {
      const int own = group * 32 + lane;
      const RowIndex at = rows.at(own);
      u32 spikes = 0;
      if (rows.counts(own, at)) {
        spikes = launch.bits.row(at)[word];
        if (launch.kept.mask) spikes &= launch.kept.row(at.b)[word];
      }
      if (n_groups > n_held_warps) load_gradients(launch, rows, group * 32, first_output + r, gradients);
      int32_t values[2][8];
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          values[half][i] = finite[half] ? scales[half](gradients[half][i]) : 0;
          bias[half] += values[half][i];
        }
      const u32 column = transposed(spikes);  // bit j: the spike of this lane's input in row j
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
#pragma unroll
    for (int plane = 0; plane < n_planes; ++plane)
#pragma unroll
      for (int j = 0; j < n_columns; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) atomicAdd(&shared.sums[plane][(j * 4 + q) * 32 + lane], sums[plane][j][q]);
    if (launch.bias_gradient && word == 0) {
      atomicAdd(&shared.bias[r], static_cast<unsigned long long>(bias[0]));
      atomicAdd(&shared.bias[r + 8], static_cast<unsigned long long>(bias[1]));
    }
  }
  __syncthreads();

  const auto gradient_of = [&](int output, s64 sum, double factor) {
    return shared.largest[output] < 0x7F800000u ? from_wide_grid(sum, grid_of_output(output), factor)
                                                : from_bits(0x7FC00000u);
  };
  const int output = thread / held_rows_inputs, input = thread % held_rows_inputs, n = first_output + output,
            k = word * 32 + input, n_inputs = static_cast<int>(launch.n_inputs);
  if (n < n_outputs && k < n_inputs) {
    const int at = (input / 8 * 4 + output / 8 * 2 + input % 2) * 32 + output % 8 * 4 + input % 8 / 2;
    s64 sum = 0;
#pragma unroll
    for (int plane = 0; plane < n_planes; ++plane)
      sum += static_cast<s64>(shared.sums[plane][at]) * (s64{1} << (8 * plane));
    const bool connected = !launch.mask || (launch.mask[static_cast<int64_t>(n) * across + word] >> input & 1u) != 0;
    const double factor = launch.kept.mask ? static_cast<double>(*launch.kept.scale) : 1.0;
    const float result = connected ? gradient_of(output, sum, factor) : 0.0f;
    float& to = launch.weight_gradient[n * launch.n_inputs + k];
    to = launch.add ? to + result : result;
  }
  if (launch.bias_gradient && word == 0 && thread < held_rows_outputs && first_output + thread < n_outputs) {
    const float result = gradient_of(thread, static_cast<s64>(shared.bias[thread]), 1.0);
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
      held_tile<4>(gradient, static_cast<int>(tile - launch.first_tiles[index]), shared);
    else
      held_tile<3>(gradient, static_cast<int>(tile - launch.first_tiles[index]), shared);
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
      if (i * 64 >= n_outputs) break;
      load_grids(launch.grid, i * 64 + of_row, n_outputs, grids[i]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const u32 gradient = bits_of(part.at[i][j]) & 0x7FFFFFFFu;
        largest_gradient = gradient > largest_gradient ? gradient : largest_gradient;
        const u64 magnitude = magnitude_of_product(gradient, grids[i][j]);
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
