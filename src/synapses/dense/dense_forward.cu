// Exact sums of the weights of inputs that spike.
#include "dense_kernels.hpp"
#include "fragments.hpp"
#include "results.cuh"
#include "tensor.cuh"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::spread;

// ---- gathering ------------------------------------------------------------------------------------------------------

// A thread has one output of one row; all of a block read the same words.
template <bool kept>
__global__ void __launch_bounds__(gather_threads) gather(const __grid_constant__ SpikeProductLaunch launch) {
  wait_for_previous();
  const int64_t active = launch.rows.active();
  const int64_t across = (launch.n_outputs + gather_threads - 1) / gather_threads,
                n_pieces = launch.rows.count() * across;
  const int64_t n_words = launch.bits.length, table_row = launch.table_pitch;
  const uint32_t last = 0xFFFFFFFFu >> (n_words * 32 - launch.n_inputs);
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const RowIndex at = row_index(piece / across, launch.rows.batch);
    const int64_t n = piece % across * gather_threads + threadIdx.x;
    if (n >= launch.n_outputs) continue;
    float* const output = launch.output.row(at) + n;
    if (at.b >= active) {
      *output = 0;
      continue;
    }
    const uint32_t* const words = launch.bits.row(at);
    const uint32_t* const mask = kept ? launch.kept.row(at.b) : nullptr;
    s64 sum = 0;
    for (int64_t i = 0; i < n_words; ++i) {
      uint32_t word = i + 1 == n_words ? words[i] & last : words[i];
      if constexpr (kept) word &= mask[i];
      const int32_t* const rows = launch.table + i * 32 * table_row + n;
      int32_t part = 0;  // of at most 32 numbers of 24 bits
      for (; word != 0; word &= word - 1) part += rows[(__ffs(static_cast<int>(word)) - 1) * table_row];
      sum += part;
    }
    *output = result<kept>(launch, sum, n);
  }
}

// ---- few rows or outputs --------------------------------------------------------------------------------------------

// A block has 16 x 16 results. Its warps share the inputs, read the planes directly, and add up in shared memory.
template <bool kept>
__global__ void __launch_bounds__(small_threads) small_tiles(const __grid_constant__ SpikeProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int n_warps = small_threads / 32, n_parts = small_tile / 8;
  __shared__ int32_t found[n_warps][3][n_parts * 4][32];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4;
  const int64_t active = launch.rows.active(), n_rows = launch.rows.count();
  const int64_t across = (launch.n_outputs + small_tile - 1) / small_tile,
                n_pieces = (n_rows + small_tile - 1) / small_tile * across;
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const int64_t first_row = piece / across * small_tile, first_output = piece % across * small_tile;
    const uint8_t* const columns =
        launch.planes + operations::right_fragment(0, first_output / 8, 0, 3, launch.plane_words);
    __syncwarp();
    const uint32_t *words[2], *masks[2] = {};
    for (int half = 0; half < 2; ++half) {
      const int64_t m = first_row + r + 8 * half;
      const RowIndex at = row_index(m, launch.rows.batch);
      words[half] = m < n_rows && at.b < active ? launch.bits.row(at) : nullptr;
      if constexpr (kept) masks[half] = launch.kept.row(at.b);
    }
    int32_t sums[3][n_parts][4] = {};
    for (int64_t word = warp; word < launch.bits.length; word += n_warps) {
      uint2 weights[3][n_parts];
#pragma unroll
      for (int plane = 0; plane < 3; ++plane)
#pragma unroll
        for (int j = 0; j < n_parts; ++j)
          weights[plane][j] = right_part(columns + ((word * 3 + plane) * 8 + j) * operations::right_bytes);
      uint32_t low = words[0] ? words[0][word] : 0, high = words[1] ? words[1][word] : 0;
      if constexpr (kept) {
        low &= masks[0][word];
        high &= masks[1][word];
      }
      const uint32_t spikes[4] = {spread(low, c, 0), spread(high, c, 0), spread(low, c, 1), spread(high, c, 1)};
#pragma unroll
      for (int j = 0; j < n_parts; ++j) {
        multiply<false, false>(sums[0][j], spikes, weights[0][j]);
        multiply<false, false>(sums[1][j], spikes, weights[1][j]);
        multiply<false, true>(sums[2][j], spikes, weights[2][j]);
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
    static_assert(small_threads == small_tile * small_tile);
    const int part = warp / 4, i = warp % 4;
    const int64_t m = first_row + r + 8 * (i / 2), n = first_output + part * 8 + 2 * c + i % 2;
    if (m >= n_rows || n >= launch.n_outputs) continue;
    int32_t planes[3] = {};
#pragma unroll
    for (int w = 0; w < n_warps; ++w)
#pragma unroll
      for (int plane = 0; plane < 3; ++plane) planes[plane] += found[w][plane][warp][lane];
    const RowIndex at = row_index(m, launch.rows.batch);
    launch.output.row(at)[n] = at.b < active ? result<kept>(launch, sum_of_planes(planes), n) : 0.0f;
  }
#endif
}

// ---- tiles ----------------------------------------------------------------------------------------------------------

// Four warps have 32 x 16 results each. The planes of 64 inputs at a time pass through shared memory, three ahead;
// words of spikes are read one step ahead.
template <bool kept, int zero_planes>
__global__ void __launch_bounds__(tile_threads, 4) tiles(const __grid_constant__ SpikeProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int words = 2, n_stages = 3, row_parts = 2, column_parts = 2, groups = tile_columns / 8;
  __shared__ uint2 stages[n_stages][words * 3][groups][32];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4, warp_row = warp / 2, warp_column = warp % 2;
  const int64_t active = launch.rows.active(), n_rows = launch.rows.count();
  const int64_t across = (launch.n_outputs + tile_columns - 1) / tile_columns,
                n_tiles = (n_rows + tile_rows - 1) / tile_rows * across;
  const int64_t n_steps = (launch.bits.length + words - 1) / words;
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t first_row = tile / across * tile_rows + warp_row * 32, first_output = tile % across * tile_columns;
    const uint32_t *rows[row_parts][2], *masks[row_parts][2] = {};
#pragma unroll
    for (int i = 0; i < row_parts; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int64_t m = first_row + 16 * i + 8 * half + r;
        const RowIndex at = row_index(m, launch.rows.batch);
        rows[i][half] = m < n_rows && at.b < active ? launch.bits.row(at) : nullptr;
        if constexpr (kept) masks[i][half] = launch.kept.row(at.b);
      }
    const auto load = [&](int64_t step) {
      if (step < n_steps) {
        constexpr int row_pieces = groups * 16;  // of 16 bytes
        uint4* const to = reinterpret_cast<uint4*>(stages[step % n_stages]);
        for (int i = static_cast<int>(threadIdx.x); i < words * 3 * row_pieces; i += tile_threads)
          copy16(to + i,
                 launch.planes +
                     operations::right_fragment(step * words, first_output / 8, i / row_pieces, 3, launch.plane_words) +
                     i % row_pieces * 16);
      }
      commit_copies();
    };
    uint32_t next[row_parts][2][words];
    const auto fetch = [&](int64_t step) {
#pragma unroll
      for (int i = 0; i < row_parts; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int w = 0; w < words; ++w) {
            const int64_t word = step * words + w;
            const bool exists = rows[i][half] && word < launch.bits.length;
            next[i][half][w] = exists ? rows[i][half][word] : 0;
            if constexpr (kept) next[i][half][w] &= exists ? masks[i][half][word] : 0;
          }
    };
    int32_t sums[row_parts][column_parts][4][3] = {};
    __syncthreads();  // wait until the previous tile's planes have been read
#pragma unroll
    for (int step = 0; step < n_stages - 1; ++step) load(step);
    fetch(0);
    for (int64_t step = 0; step < n_steps; ++step) {
      wait_copies<n_stages - 2>();
      __syncthreads();
      load(step + n_stages - 1);
      uint32_t now[row_parts][2][words];
#pragma unroll
      for (int i = 0; i < row_parts; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int w = 0; w < words; ++w) now[i][half][w] = next[i][half][w];
      if (step + 1 < n_steps) fetch(step + 1);
      const auto& planes = stages[step % n_stages];
#pragma unroll
      for (int w = 0; w < words; ++w) {
        uint32_t spikes[row_parts][4];
#pragma unroll
        for (int i = 0; i < row_parts; ++i)
#pragma unroll
          for (int q = 0; q < 4; ++q) spikes[i][q] = spread(now[i][q % 2][w], c, q / 2);
#pragma unroll
        for (int plane = zero_planes; plane < 3; ++plane)
#pragma unroll
          for (int j = 0; j < column_parts; ++j) {
            const uint2 weights = right_part(planes[w * 3 + plane][warp_column * column_parts + j]);
#pragma unroll
            for (int i = 0; i < row_parts; ++i) {
              int32_t part[4];
#pragma unroll
              for (int q = 0; q < 4; ++q) part[q] = sums[i][j][q][plane];
              if (plane < 2)
                multiply<false, false>(part, spikes[i], weights);
              else
                multiply<false, true>(part, spikes[i], weights);
#pragma unroll
              for (int q = 0; q < 4; ++q) sums[i][j][q][plane] = part[q];
            }
          }
      }
    }
    const bool pairs = (launch.output.pitch | launch.output.length) % 2 == 0 &&
                       reinterpret_cast<uintptr_t>(launch.output.data) % sizeof(float2) == 0;
#pragma unroll
    for (int i = 0; i < row_parts; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int64_t m = first_row + 16 * i + 8 * half + r;
        if (m >= n_rows) continue;
        float* const output = launch.output.row(row_index(m, launch.rows.batch));
        const bool counts = rows[i][half] != nullptr;
#pragma unroll
        for (int j = 0; j < column_parts; ++j) {
          const int64_t n = first_output + (warp_column * column_parts + j) * 8 + 2 * c;
          float found[2];
#pragma unroll
          for (int q = 0; q < 2; ++q)  // the bias and the grid are padded as the table is
            found[q] = counts ? result<kept>(launch, sum_of_planes(sums[i][j][2 * half + q]), n + q) : 0.0f;
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

template <bool kept>
const void* tiles_kernel(int zero_planes) {
  return zero_planes == 0   ? address(tiles<kept, 0>)
         : zero_planes == 1 ? address(tiles<kept, 1>)
                            : address(tiles<kept, 2>);
}

}  // namespace

const void* spike_product_kernel(SpikeProduct product, bool kept, int zero_planes) {
  switch (product) {
    case SpikeProduct::gather:
      return kept ? address(gather<true>) : address(gather<false>);
    case SpikeProduct::small:
      return kept ? address(small_tiles<true>) : address(small_tiles<false>);
    case SpikeProduct::tiles:
      return kept ? tiles_kernel<true>(zero_planes) : tiles_kernel<false>(zero_planes);
    default:
      return spike_group_kernel(kept, zero_planes);
  }
}

}  // namespace synfire::cuda
