// Convolutions of counts, and the gradients of their weights: counts are bytes, which tensor cores multiply as they
// are.
#include "conv2d_elements.hpp"
#include "conv2d_kernels.hpp"

#include <operations/spikes/bits_of_row.hpp>
#include <synapses/dense/fragments.hpp>
#include <synapses/dense/results.cuh>
#include <synapses/dense/tensor.cuh>

namespace synfire::cuda {
namespace {

using operations::left_at;
using operations::left_bytes;
using operations::right_fragment;

// ---- patches --------------------------------------------------------------------------------------------------------

// A place of the output, whose image may not count.
struct CountPlace {
  const uint8_t* image = nullptr;  // null: zeros
  int32_t oy = 0, ox = 0;

  CountPlace() = default;
  __device__ __forceinline__ CountPlace(const Conv2dCountPatchLaunch& launch, int64_t active, int64_t m) {
    if (m >= launch.rows.count() * launch.shape.places()) return;
    const RowIndex place = row_index(m, launch.shape.places()), of_batch = row_index(place.t, launch.rows.batch);
    if (of_batch.b >= active) return;
    image = launch.counts.row(of_batch);
    const RowIndex at = row_index(place.b, launch.shape.x.n_outputs);
    oy = static_cast<int32_t>(at.t);
    ox = static_cast<int32_t>(at.b);
  }
  // The counts of the input place that a tap meets; null: none.
  __device__ __forceinline__ const uint8_t* of_tap(const Conv2dShape& shape, int32_t ky, int32_t kx) const {
    if (!image) return nullptr;
    const int64_t from = shape.input_place(oy, ox, ky, kx);
    return from < 0 ? nullptr : image + from * shape.channels;
  }
};

__device__ __forceinline__ uint32_t count_at(const uint8_t* counts, int32_t channel, int32_t bound) {
  return counts ? static_cast<uint32_t>(operations::bounded(counts[channel], bound)) : 0u;
}

// Left operands of sums over terms: a lane has every fourth term of a word, for two places.
__global__ void __launch_bounds__(patch_threads)
    conv2d_count_patches(const __grid_constant__ Conv2dCountPatchLaunch launch) {
  wait_for_previous();
  const Conv2dShape& shape = launch.shape;
  const int lane = static_cast<int>(threadIdx.x % 32), r = lane / 4, c = lane % 4;
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * patch_threads + threadIdx.x) / 32,
                n_warps = static_cast<int64_t>(gridDim.x) * (patch_threads / 32);
  const int64_t active = launch.rows.active(), n_groups = (launch.rows.count() * shape.places() + 15) / 16,
                n_chunks = (launch.n_words + launch.together - 1) / launch.together;
  const auto channels = static_cast<int32_t>(shape.channels);
  const int32_t n_taps = shape.n_taps();
  for (int64_t i = warp; i < n_chunks * n_groups; i += n_warps) {
    const RowIndex at = row_index(i, n_groups);
    const int64_t group = at.b;
    const CountPlace places[2] = {{launch, active, group * 16 + r}, {launch, active, group * 16 + 8 + r}};
    const auto first_word = static_cast<int32_t>(at.t) * launch.together;
    const auto last_word = static_cast<int32_t>(
        first_word + launch.together < launch.n_words ? first_word + launch.together : launch.n_words);
    int32_t tap = 0, channel = 0;
    const uint8_t* counts[2] = {};
    const auto find = [&](int32_t term) {
      tap = term / channels;
      channel = term - tap * channels;
#pragma unroll
      for (int half = 0; half < 2; ++half)
        counts[half] = tap < n_taps ? places[half].of_tap(shape, tap / shape.x.kernel, tap % shape.x.kernel) : nullptr;
    };
    find(first_word * 32 + c);
    for (int32_t word = first_word; word < last_word; ++word) {
      uint32_t registers[4] = {};
#pragma unroll
      for (int k = 0; k < 8; ++k) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
          registers[2 * (k % 2) + half] |= count_at(counts[half], channel, launch.bound) << (8 * (k / 2));
        channel += 4;
        if (channel >= channels) find(word * 32 + c + 4 * (k + 1));
      }
      reinterpret_cast<uint4*>(launch.patches)[(word * launch.row_groups + group) * 32 + lane] =
          make_uint4(registers[0], registers[1], registers[2], registers[3]);
    }
  }
}

// Left operands of sums over places: a lane has every fourth place of a word, for two of 16 terms.
__global__ void __launch_bounds__(patch_threads)
    conv2d_packed_count_patches(const __grid_constant__ Conv2dCountPatchLaunch launch) {
  wait_for_previous();
  const Conv2dShape& shape = launch.shape;
  const int lane = static_cast<int>(threadIdx.x % 32), r = lane / 4, c = lane % 4;
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * patch_threads + threadIdx.x) / 32,
                n_warps = static_cast<int64_t>(gridDim.x) * (patch_threads / 32);
  const int64_t active = launch.rows.active(), n_chunks = (launch.row_groups + launch.together - 1) / launch.together;
  const auto channels = static_cast<int32_t>(shape.channels);
  const auto n_terms = static_cast<int32_t>(shape.n_terms());
  for (int64_t i = warp; i < launch.n_words * n_chunks; i += n_warps) {
    const RowIndex at = row_index(i, n_chunks);
    CountPlace places[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) places[k] = CountPlace(launch, active, at.t * 32 + c + 4 * k);
    const auto first_group = static_cast<int32_t>(at.b) * launch.together;
    const auto last_group = static_cast<int32_t>(
        first_group + launch.together < launch.row_groups ? first_group + launch.together : launch.row_groups);
    for (int32_t group = first_group; group < last_group; ++group) {
      uint32_t registers[4] = {};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int32_t term = group * 16 + r + 8 * half;
        if (term >= n_terms) continue;
        const int32_t tap = term / channels, channel = term - tap * channels, ky = tap / shape.x.kernel,
                      kx = tap % shape.x.kernel;
#pragma unroll
        for (int k = 0; k < 8; ++k)
          registers[2 * (k % 2) + half] |= count_at(places[k].of_tap(shape, ky, kx), channel, launch.bound)
                                           << (8 * (k / 2));
      }
      reinterpret_cast<uint4*>(launch.patches)[(at.t * launch.row_groups + group) * 32 + lane] =
          make_uint4(registers[0], registers[1], registers[2], registers[3]);
    }
  }
}

// ---- products -------------------------------------------------------------------------------------------------------

__device__ __forceinline__ float result_of_counts(const CountProductLaunch& launch, s64 sum, int64_t n) {
  return from_grid(sum + launch.bias[n], power_of_two(launch.grid[n]));
}

// Four warps have 32 x 32 results each. The operands of 32 terms at a time pass through shared memory, three ahead.
template <int zero_planes>
__global__ void __launch_bounds__(count_threads, 3) count_product(const __grid_constant__ CountProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int n_stages = 4, row_parts = 2, column_parts = 4;
  constexpr int row_groups = count_tile / 16, column_groups = count_tile / 8;
  struct Stage {
    uint4 left[row_groups][32];
    uint2 right[3][column_groups][32];
  };
  __shared__ Stage stages[n_stages];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4, warp_row = warp / 2, warp_column = warp % 2;
  const int64_t active = launch.rows.active(), n_rows = launch.rows.count(), n_steps = launch.n_words;
  const int64_t across = (launch.n_outputs + count_tile - 1) / count_tile,
                n_tiles = (n_rows + count_tile - 1) / count_tile * across;
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t first_row = tile / across * count_tile, first_output = tile % across * count_tile;
    const auto load = [&](int64_t step) {
      if (step < n_steps) {
        Stage& to = stages[step % n_stages];
        constexpr int of_left = row_groups * 32, of_right = 3 * column_groups * 16;  // pieces of 16 bytes
        for (int i = static_cast<int>(threadIdx.x); i < of_left; i += count_threads)
          copy16(&to.left[0][0] + i, launch.left + (step * launch.row_groups + first_row / 16) * left_bytes + i * 16);
        for (int i = static_cast<int>(threadIdx.x); i < of_right; i += count_threads)
          copy16(reinterpret_cast<uint4*>(&to.right[0][0][0]) + i,
                 launch.planes + right_fragment(step, first_output / 8, 0, 3, launch.plane_words) + i * 16);
      }
      commit_copies();
    };
    int32_t sums[3][row_parts][column_parts][4] = {};
    __syncthreads();  // wait until the previous tile's operands have been read
#pragma unroll
    for (int step = 0; step < n_stages - 1; ++step) load(step);
    for (int64_t step = 0; step < n_steps; ++step) {
      wait_copies<n_stages - 2>();
      __syncthreads();
      load(step + n_stages - 1);
      const Stage& now = stages[step % n_stages];
      uint32_t left[row_parts][4];
#pragma unroll
      for (int i = 0; i < row_parts; ++i) {
        const uint4 loaded = now.left[warp_row * row_parts + i][lane];
        left[i][0] = loaded.x;
        left[i][1] = loaded.y;
        left[i][2] = loaded.z;
        left[i][3] = loaded.w;
      }
#pragma unroll
      for (int plane = zero_planes; plane < 3; ++plane)
#pragma unroll
        for (int j = 0; j < column_parts; ++j) {
          const uint2 right = right_part(now.right[plane][warp_column * column_parts + j]);
#pragma unroll
          for (int i = 0; i < row_parts; ++i)
            if (plane == 2)
              multiply<false, true>(sums[plane][i][j], left[i], right);
            else
              multiply<false, false>(sums[plane][i][j], left[i], right);
        }
    }
    const bool pairs = (launch.output.pitch | launch.output.length) % 2 == 0 &&
                       reinterpret_cast<uintptr_t>(launch.output.data) % sizeof(float2) == 0;
#pragma unroll
    for (int i = 0; i < row_parts; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int64_t m = first_row + (warp_row * row_parts + i) * 16 + half * 8 + r;
        if (m >= n_rows) continue;
        const RowIndex at = row_index(m, launch.rows.batch);
        float* const output = launch.output.row(at);
#pragma unroll
        for (int j = 0; j < column_parts; ++j) {
          const int64_t n = first_output + (warp_column * column_parts + j) * 8 + 2 * c;
          float found[2] = {};
#pragma unroll
          for (int q = 0; q < 2; ++q) {
            const int32_t of_planes[3] = {sums[0][i][j][2 * half + q], sums[1][i][j][2 * half + q],
                                          sums[2][i][j][2 * half + q]};
            if (at.b < active && n + q < launch.n_outputs)
              found[q] = result_of_counts(launch, sum_of_planes(of_planes), n + q);
          }
          if (pairs && n < launch.n_outputs) {
            *reinterpret_cast<float2*>(output + n) = make_float2(found[0], found[1]);
          } else {
            if (n < launch.n_outputs) output[n] = found[0];
            if (n + 1 < launch.n_outputs) output[n + 1] = found[1];
          }
        }
      }
  }
#endif
}

// For few results: a block has 16 x 16, whose warps share the terms, read the operands directly, and add up in shared
// memory.
__global__ void __launch_bounds__(small_count_threads)
    small_count_product(const __grid_constant__ CountProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int n_warps = small_count_threads / 32, n_parts = small_count_tile / 8;
  static_assert(small_count_threads == small_count_tile * small_count_tile);
  __shared__ int32_t found[n_warps][3][n_parts * 4][32];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4;
  const int64_t active = launch.rows.active(), n_rows = launch.rows.count();
  const int64_t across = (launch.n_outputs + small_count_tile - 1) / small_count_tile,
                n_pieces = (n_rows + small_count_tile - 1) / small_count_tile * across;
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const int64_t first_row = piece / across * small_count_tile, first_output = piece % across * small_count_tile;
    const uint8_t* const columns = launch.planes + right_fragment(0, first_output / 8, 0, 3, launch.plane_words);
    const uint8_t* const rows = launch.left + first_row / 16 * left_bytes + lane * 16;
    int32_t sums[3][n_parts][4] = {};
    for (int64_t word = warp; word < launch.n_words; word += n_warps) {
      const uint4 loaded = *reinterpret_cast<const uint4*>(rows + word * launch.row_groups * left_bytes);
      const uint32_t left[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
      uint2 right[3][n_parts];
#pragma unroll
      for (int plane = 0; plane < 3; ++plane)
#pragma unroll
        for (int j = 0; j < n_parts; ++j)
          right[plane][j] = right_part(columns + ((word * 3 + plane) * 8 + j) * operations::right_bytes);
#pragma unroll
      for (int j = 0; j < n_parts; ++j) {
        multiply<false, false>(sums[0][j], left, right[0][j]);
        multiply<false, false>(sums[1][j], left, right[1][j]);
        multiply<false, true>(sums[2][j], left, right[2][j]);
      }
    }
    __syncthreads();  // wait until the previous sums have been read
#pragma unroll
    for (int plane = 0; plane < 3; ++plane)
#pragma unroll
      for (int j = 0; j < n_parts; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) found[warp][plane][j * 4 + i][lane] = sums[plane][j][i];
    __syncthreads();
    const int part = warp / 4, i = warp % 4;
    const int64_t m = first_row + r + 8 * (i / 2), n = first_output + part * 8 + 2 * c + i % 2;
    if (m >= n_rows || n >= launch.n_outputs) continue;
    int32_t planes[3] = {};
#pragma unroll
    for (int w = 0; w < n_warps; ++w)
#pragma unroll
      for (int plane = 0; plane < 3; ++plane) planes[plane] += found[w][plane][warp][lane];
    const RowIndex at = row_index(m, launch.rows.batch);
    launch.output.row(at)[n] = at.b < active ? result_of_counts(launch, sum_of_planes(planes), n) : 0.0f;
  }
#endif
}

// Without tensor cores: a thread has a result.
__global__ void __launch_bounds__(count_threads) count_sums(const __grid_constant__ CountProductLaunch launch) {
  wait_for_previous();
  const int64_t active = launch.rows.active(), count = launch.rows.count() * launch.n_outputs;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * count_threads + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * count_threads) {
    const RowIndex row = row_index(i, launch.n_outputs), at = row_index(row.t, launch.rows.batch);
    s64 sum = 0;
    for (int64_t k = 0; k < launch.n_inputs; ++k)
      sum += static_cast<s64>(launch.left[left_at(k, row.t, 0, 1, launch.row_groups)]) *
             operations::right_value(launch.planes, k, row.b, 3, launch.plane_words);
    launch.output.row(at)[row.b] = at.b < active ? result_of_counts(launch, sum, row.b) : 0.0f;
  }
}

// ---- gradients of weights -------------------------------------------------------------------------------------------

// Eight warps have 32 terms x 32 outputs each. Shared memory holds operands of 32 places at a time, two ahead.
template <int n_planes>
__global__ void __launch_bounds__(weight_product_threads, 1)
    count_weights(const __grid_constant__ WeightProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int n_stages = 3, row_parts = 2, column_parts = 4;
  constexpr int row_groups = weight_tile_inputs / 16, column_groups = weight_tile_outputs / 8;
  struct Stage {
    uint4 left[row_groups][32];
    uint2 right[n_planes][column_groups][32];
  };
  __shared__ Stage stages[n_stages];
  const auto* const patches = reinterpret_cast<const uint8_t*>(launch.packed);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4, warp_row = warp / 2, warp_column = warp % 2;
  const int64_t n_pieces = pieces_of(launch, weight_tile_inputs);
  for (int64_t index = blockIdx.x; index < n_pieces; index += gridDim.x) {
    const WeightPiece piece(launch, index, weight_tile_inputs);
    const int64_t n_steps = piece.n_words;
    const auto load = [&](int64_t step) {
      if (step < n_steps) {
        Stage& to = stages[step % n_stages];
        const int64_t word = piece.first_word + step;
        constexpr int of_left = row_groups * 32, of_right = n_planes * column_groups * 16;  // pieces of 16 bytes
        for (int i = static_cast<int>(threadIdx.x); i < of_left; i += weight_product_threads)
          copy16(&to.left[0][0] + i,
                 patches + (word * (launch.pitch / 16) + piece.first_input / 16) * left_bytes + i * 16);
        for (int i = static_cast<int>(threadIdx.x); i < of_right; i += weight_product_threads)
          copy16(reinterpret_cast<uint4*>(&to.right[0][0][0]) + i,
                 launch.planes + right_fragment(word, piece.first_output / 8, 0, n_planes, launch.n_words) + i * 16);
      }
      commit_copies();
    };
    int32_t sums[n_planes][row_parts][column_parts][4] = {};
    __syncthreads();  // wait until the previous piece's operands have been read
#pragma unroll
    for (int step = 0; step < n_stages - 1; ++step) load(step);
    for (int64_t step = 0; step < n_steps; ++step) {
      wait_copies<n_stages - 2>();
      __syncthreads();
      load(step + n_stages - 1);
      const Stage& now = stages[step % n_stages];
      uint32_t left[row_parts][4];
#pragma unroll
      for (int i = 0; i < row_parts; ++i) {
        const uint4 loaded = now.left[warp_row * row_parts + i][lane];
        left[i][0] = loaded.x;
        left[i][1] = loaded.y;
        left[i][2] = loaded.z;
        left[i][3] = loaded.w;
      }
#pragma unroll
      for (int plane = 0; plane < n_planes; ++plane)
#pragma unroll
        for (int j = 0; j < column_parts; ++j) {
          const uint2 right = right_part(now.right[plane][warp_column * column_parts + j]);
#pragma unroll
          for (int i = 0; i < row_parts; ++i)
            if (plane + 1 < n_planes)
              multiply<false, false>(sums[plane][i][j], left[i], right);
            else
              multiply<false, true>(sums[plane][i][j], left[i], right);
        }
    }
#pragma unroll
    for (int i = 0; i < row_parts; ++i)
#pragma unroll
      for (int j = 0; j < column_parts; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          s64 sum = 0;
#pragma unroll
          for (int plane = 0; plane < n_planes; ++plane)
            sum += static_cast<s64>(sums[plane][i][j][q]) * (s64{1} << (8 * plane));
          piece.add(launch, (warp_row * row_parts + i) * 16 + q / 2 * 8 + r,
                    (warp_column * column_parts + j) * 8 + 2 * c + q % 2, sum);
        }
  }
#endif
}

// Without tensor cores: a thread has a weight, and the places of a piece.
template <int n_planes>
__global__ void __launch_bounds__(weight_product_threads)
    count_weight_sums(const __grid_constant__ WeightProductLaunch launch) {
  wait_for_previous();
  const auto* const patches = reinterpret_cast<const uint8_t*>(launch.packed);
  const int64_t n_weights = launch.n_outputs * launch.n_inputs,
                n_pieces = (launch.n_words + launch.words_per_piece - 1) / launch.words_per_piece;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * weight_product_threads + threadIdx.x; i < n_weights * n_pieces;
       i += static_cast<int64_t>(gridDim.x) * weight_product_threads) {
    const RowIndex piece = row_index(i, n_weights), weight = row_index(piece.b, launch.n_inputs);
    const int64_t first = piece.t * launch.words_per_piece * 32,
                  end = first + launch.words_per_piece * 32 < launch.n_words * 32 ? first + launch.words_per_piece * 32
                                                                                  : launch.n_words * 32;
    s64 sum = 0;
    for (int64_t m = first; m < end; ++m)
      sum += static_cast<s64>(patches[left_at(m, weight.b, 0, 1, launch.pitch / 16)]) *
             operations::right_value(launch.planes, m, weight.t, n_planes, launch.n_words);
    if (sum != 0) add_to(launch.total + weight.t * launch.pitch + weight.b, sum);
  }
}

}  // namespace

const void* conv2d_count_patches_kernel() {
  return address(conv2d_count_patches);
}
const void* conv2d_packed_count_patches_kernel() {
  return address(conv2d_packed_count_patches);
}
const void* count_product_kernel(CountProduct product, int zero_planes) {
  if (product == CountProduct::sums) return address(count_sums);
  if (product == CountProduct::small) return address(small_count_product);
  return zero_planes == 0   ? address(count_product<0>)
         : zero_planes == 1 ? address(count_product<1>)
                            : address(count_product<2>);
}
const void* count_weights_kernel(bool tensor_cores, int n_planes) {
  if (!tensor_cores) return n_planes == 3 ? address(count_weight_sums<3>) : address(count_weight_sums<4>);
  return n_planes == 3 ? address(count_weights<3>) : address(count_weights<4>);
}

}  // namespace synfire::cuda
