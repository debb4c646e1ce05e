// Exact gradients of weights of values: products of inputs on 24 bits and gradients on 32 (or 24), whose sums take two
// parts of 64 bits.
#include "dense_kernels.hpp"
#include "fragments.hpp"
#include "results.cuh"
#include "tensor.cuh"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// ---- products -------------------------------------------------------------------------------------------------------

// A tile of inputs and outputs, and some words of 32 rows.
struct ValuePiece {
  int64_t first_input, first_output, first_word, end;

  __device__ __forceinline__ static int64_t across(const ValueProductLaunch& launch) {
    return (launch.n_inputs + value_tile - 1) / value_tile;
  }
  __device__ __forceinline__ static int64_t count(const ValueProductLaunch& launch, int tile_outputs) {
    return across(launch) * ((launch.n_outputs + tile_outputs - 1) / tile_outputs) *
           ((launch.n_words + launch.words_per_piece - 1) / launch.words_per_piece);
  }
  __device__ __forceinline__ ValuePiece(const ValueProductLaunch& launch, int64_t index, int tile_outputs) {
    const int64_t tiles = across(launch) * ((launch.n_outputs + tile_outputs - 1) / tile_outputs), tile = index % tiles;
    first_input = tile % across(launch) * value_tile;
    first_output = tile / across(launch) * tile_outputs;
    first_word = index / tiles * launch.words_per_piece;
    const int64_t left = launch.n_words - first_word;
    end = first_word + (left < launch.words_per_piece ? left : launch.words_per_piece);
  }
};

__device__ __forceinline__ void add_parts(const ValueProductLaunch& launch, int64_t n, int64_t k, s64 high, s64 low) {
  if (n >= launch.n_outputs || k >= launch.n_inputs) return;
  if (high != 0) add_to(launch.high + n * launch.pitch + k, high);
  if (low != 0) add_to(launch.low + n * launch.pitch + k, low);
}

// Eight warps have 16 inputs x 32 outputs each. Planes of 32 rows at a time pass through shared memory, two ahead.
template <int n_planes>
__global__ void __launch_bounds__(value_product_threads)
    value_product(const __grid_constant__ ValueProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int n_stages = 3, column_parts = 4, n_weights = n_planes + 2;
  constexpr int row_groups = value_tile / 16, column_groups = value_tile / 8;
  struct Stage {
    uint4 left[3][row_groups][32];
    uint2 right[n_planes][column_groups][32];
  };
  __shared__ Stage stages[n_stages];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4, warp_row = warp / 2, warp_column = warp % 2;
  const int64_t n_pieces = ValuePiece::count(launch, value_tile);
  for (int64_t index = blockIdx.x; index < n_pieces; index += gridDim.x) {
    const ValuePiece piece(launch, index, value_tile);
    const int64_t n_steps = piece.end - piece.first_word;
    const auto load = [&](int64_t step) {
      if (step < n_steps) {
        Stage& to = stages[step % n_stages];
        const int64_t word = piece.first_word + step;
        constexpr int of_left = row_groups * 32, of_right = column_groups * 16;  // pieces of 16 bytes of a plane
        for (int i = static_cast<int>(threadIdx.x); i < 3 * of_left; i += value_product_threads)
          copy16(&to.left[0][0][0] + i,
                 launch.inputs +
                     ((word * 3 + i / of_left) * launch.row_groups + piece.first_input / 16) * operations::left_bytes +
                     i % of_left * 16);
        for (int i = static_cast<int>(threadIdx.x); i < n_planes * of_right; i += value_product_threads)
          copy16(reinterpret_cast<uint4*>(&to.right[0][0][0]) + i,
                 launch.gradients +
                     operations::right_fragment(word, piece.first_output / 8, 0, n_planes, launch.n_words) + i * 16);
      }
      commit_copies();
    };
    // Sums of the products with the weights 2^0, 2^8 .. 2^40.
    int32_t sums[n_weights][column_parts][4] = {};
    __syncthreads();  // wait until the previous piece's planes have been read
#pragma unroll
    for (int step = 0; step < n_stages - 1; ++step) load(step);
    for (int64_t step = 0; step < n_steps; ++step) {
      wait_copies<n_stages - 2>();
      __syncthreads();
      load(step + n_stages - 1);
      const Stage& now = stages[step % n_stages];
#pragma unroll
      for (int p = 0; p < 3; ++p) {
        const uint4 loaded = now.left[p][warp_row][lane];
        const uint32_t left[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
        for (int q = 0; q < n_planes; ++q)
#pragma unroll
          for (int j = 0; j < column_parts; ++j) {
            const uint2 right = right_part(now.right[q][warp_column * column_parts + j]);
            if (p == 2 && q == n_planes - 1)
              multiply<true, true>(sums[p + q][j], left, right);
            else if (p == 2)
              multiply<true, false>(sums[p + q][j], left, right);
            else if (q == n_planes - 1)
              multiply<false, true>(sums[p + q][j], left, right);
            else
              multiply<false, false>(sums[p + q][j], left, right);
          }
      }
    }
#pragma unroll
    for (int j = 0; j < column_parts; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        s64 low = 0, high = 0;
#pragma unroll
        for (int w = 2; w >= 0; --w) low = low * 256 + sums[w][j][q];
#pragma unroll
        for (int w = n_weights - 1; w >= 3; --w) high = high * 256 + sums[w][j][q];
        low += (high & 0xFF) << 24;  // high is in units of 2^24
        add_parts(launch, piece.first_output + (warp_column * column_parts + j) * 8 + 2 * c + q % 2,
                  piece.first_input + warp_row * 16 + q / 2 * 8 + r, (high >> 8) + high_part(low), low_part(low));
      }
  }
#endif
}

// A warp has 8 inputs, a lane an output. 64 bits hold the sums of 512 rows.
template <int n_planes>
__global__ void __launch_bounds__(value_product_threads)
    value_integers(const __grid_constant__ ValueProductLaunch launch) {
  wait_for_previous();
  constexpr int n_warps = value_product_threads / 32, inputs = value_tile / n_warps, words_of_sums = 16;
  __shared__ int32_t gradients[32][select_tile_outputs], values[32][value_tile];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int64_t n_pieces = ValuePiece::count(launch, select_tile_outputs);
  for (int64_t index = blockIdx.x; index < n_pieces; index += gridDim.x) {
    const ValuePiece piece(launch, index, select_tile_outputs);
    s64 sums[inputs] = {}, high[inputs] = {}, low[inputs] = {};
    for (int64_t word = piece.first_word; word < piece.end; ++word) {
      __syncthreads();  // wait until the previous values have been read
      for (int i = warp; i < 32; i += n_warps) {
        gradients[i][lane] = operations::right_value(launch.gradients, word * 32 + i, piece.first_output + lane,
                                                     n_planes, launch.n_words);
        for (int part = 0; part < value_tile; part += 32)
          values[i][part + lane] = operations::left_value(launch.inputs, word * 32 + i, piece.first_input + part + lane,
                                                          3, launch.row_groups);
      }
      __syncthreads();
      for (int m = 0; m < 32; ++m) {
        const s64 gradient = gradients[m][lane];
#pragma unroll
        for (int i = 0; i < inputs; ++i) sums[i] += gradient * values[m][warp * inputs + i];
      }
      if ((word - piece.first_word) % words_of_sums != words_of_sums - 1 && word + 1 < piece.end) continue;
#pragma unroll
      for (int i = 0; i < inputs; ++i) {
        high[i] += high_part(sums[i]);
        low[i] += low_part(sums[i]);
        sums[i] = 0;
      }
    }
#pragma unroll
    for (int i = 0; i < inputs; ++i)
      add_parts(launch, piece.first_output + lane, piece.first_input + warp * inputs + i, high[i], low[i]);
  }
}

// ---- results --------------------------------------------------------------------------------------------------------

__device__ __forceinline__ bool is_connected(const uint32_t* mask, int64_t n, int64_t k, int64_t n_inputs) {
  return !mask || (mask[n * ((n_inputs + 31) / 32) + k / 32] >> (k % 32) & 1u) != 0;
}
__device__ __forceinline__ void write(float& to, float gradient, bool add) {
  to = add ? to + gradient : gradient;
}
__device__ __forceinline__ float not_a_number() {
  return from_bits(0x7FC00000u);
}

__global__ void __launch_bounds__(finish_threads) finish_values(const __grid_constant__ FinishValuesLaunch launch) {
  wait_for_previous();
  const FinishWeightsLaunch& of = launch.of;
  const int64_t across = (of.n_inputs + finish_threads - 1) / finish_threads, n_pieces = across * of.n_outputs;
  const double factor = of.scale ? static_cast<double>(*of.scale) : 1.0;
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const int64_t n = piece / across, k = piece % across * finish_threads + threadIdx.x;
    const uint32_t largest = of.largest[n];
    const s32 grid = grid_of_sum(largest, of.wide ? largest_on_grid_32 : largest_on_grid_24);
    if (k < of.n_inputs) {
      const uint32_t input = launch.largest_inputs[k];
      const bool finite = is_finite_magnitude(largest) && is_finite_magnitude(input);
      const int64_t at = n * of.pitch + k;
      const float gradient =
          !is_connected(of.mask, n, k, of.n_inputs) ? 0.0f
          : finite ? from_parts(of.total[at], launch.low[at], grid + grid_of_sum(input, largest_on_grid_24), factor)
                   : not_a_number();
      write(of.weight_gradient[n * of.n_inputs + k], gradient, of.add);
    }
    if (k == 0 && of.bias_gradient)
      write(of.bias_gradient[n], is_finite_magnitude(largest) ? from_wide_grid(of.bias_total[n], grid) : not_a_number(),
            of.add);
  }
}

// ---- few rows -------------------------------------------------------------------------------------------------------

// A warp has 4 inputs, a lane an output.
__global__ void __launch_bounds__(few_rows_threads) few_values(const __grid_constant__ FewValuesLaunch launch) {
  wait_for_previous();
  constexpr int n_warps = few_rows_threads / 32, inputs = few_values_inputs / n_warps;
  __shared__ uint32_t found[2][n_warps][32];
  __shared__ int32_t gradients[32][few_rows_outputs], values[32][few_values_inputs];
  __shared__ s32 input_grids[few_values_inputs];
  __shared__ float results[few_values_inputs][few_rows_outputs + 1];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int64_t n_rows = launch.rows.count(), active = launch.rows.active(), n_outputs = launch.gradients.length,
                n_inputs = launch.inputs.length;
  const int64_t across = (n_inputs + few_values_inputs - 1) / few_values_inputs,
                n_tiles = across * ((n_outputs + few_rows_outputs - 1) / few_rows_outputs);
  const double factor = launch.scale ? static_cast<double>(*launch.scale) : 1.0;
  // Element `column` of an active row, or 0.
  const auto element = [&](const RowArray<const float>& array, int64_t m, int64_t column) {
    const RowIndex at = row_index(m, launch.rows.batch);
    return m < n_rows && at.b < active && column < array.length ? array.row(at)[column] : 0.0f;
  };
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t first_input = tile % across * few_values_inputs, first_output = tile / across * few_rows_outputs;
    const int64_t n = first_output + lane, column = first_input + lane;
    uint32_t of_output = 0, of_input = 0;
    for (int64_t m = warp; m < n_rows; m += n_warps) {
      const uint32_t gradient = magnitude_bits(element(launch.gradients, m, n)),
                     input = magnitude_bits(element(launch.inputs, m, column));
      of_output = gradient > of_output ? gradient : of_output;
      of_input = input > of_input ? input : of_input;
    }
    __syncthreads();  // wait until the previous tile has been written
    found[0][warp][lane] = of_output;
    found[1][warp][lane] = of_input;
    __syncthreads();
    for (int i = 0; i < n_warps; ++i) {
      of_output = found[0][i][lane] > of_output ? found[0][i][lane] : of_output;
      of_input = found[1][i][lane] > of_input ? found[1][i][lane] : of_input;
    }
    const bool finite = is_finite_magnitude(of_output);
    const s32 grid = grid_of_sum(of_output, launch.wide ? largest_on_grid_32 : largest_on_grid_24),
              input_grid = grid_of_sum(of_input, largest_on_grid_24);
    if (warp == 0) input_grids[lane] = is_finite_magnitude(of_input) ? input_grid : grid_of_zeros;
    s64 sums[inputs] = {}, bias = 0;
    for (int64_t first = 0; first < n_rows; first += 32) {
      __syncthreads();
      for (int i = warp; i < 32; i += n_warps) {
        gradients[i][lane] = on_grid(element(launch.gradients, first + i, n), grid);
        values[i][lane] = on_grid(element(launch.inputs, first + i, column), input_grid);
      }
      __syncthreads();
      for (int m = 0; m < 32; ++m) {
        const s64 gradient = gradients[m][lane];
        bias += gradient;
#pragma unroll
        for (int i = 0; i < inputs; ++i) sums[i] += gradient * values[m][warp * inputs + i];
      }
    }
#pragma unroll
    for (int i = 0; i < inputs; ++i) {
      const s32 of_row = input_grids[warp * inputs + i];
      results[warp * inputs + i][lane] =
          finite && of_row != grid_of_zeros ? from_wide_grid(sums[i], grid + of_row, factor) : not_a_number();
    }
    if (launch.bias_gradient && first_input == 0 && warp == 0 && n < n_outputs)
      write(launch.bias_gradient[n], finite ? from_wide_grid(bias, grid) : not_a_number(), launch.add);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < few_values_inputs * few_rows_outputs; i += few_rows_threads) {
      const int of_tile = i % few_values_inputs, row = i / few_values_inputs;
      const int64_t k = first_input + of_tile, output = first_output + row;
      if (k >= n_inputs || output >= n_outputs) continue;
      write(launch.weight_gradient[output * n_inputs + k],
            is_connected(launch.mask, output, k, n_inputs) ? results[of_tile][row] : 0.0f, launch.add);
    }
  }
}

}  // namespace

const void* value_product_kernel(BytesProduct product, int n_planes) {
  if (product == BytesProduct::integers) return n_planes == 4 ? address(value_integers<4>) : address(value_integers<3>);
  return n_planes == 4 ? address(value_product<4>) : address(value_product<3>);
}
const void* finish_values_kernel() {
  return address(finish_values);
}
const void* few_values_kernel() {
  return address(few_values);
}

}  // namespace synfire::cuda
