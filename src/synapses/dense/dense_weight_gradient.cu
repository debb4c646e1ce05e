// Exact gradients of weights and biases.
#include "dense_kernels.hpp"
#include "fragments.hpp"
#include "planes.cuh"
#include "results.cuh"
#include "tensor.cuh"

#include <backends/cuda/cuda_storage.cuh>
#include <operations/spikes/blocks.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::spread;

// The first element of a row, or null if it does not count. A sequence without gaps needs no division if all rows do.
class Rows {
 public:
  __device__ __forceinline__ Rows(const SequenceRows& rows, const RowArray<const float>& array)
      : rows_(rows),
        array_(array),
        count_(rows.count()),
        active_(rows.active()),
        whole_(active_ == rows.batch && array.pitch == rows.batch * array.length) {}
  __device__ __forceinline__ const float* operator()(int64_t m) const {
    if (m >= count_) return nullptr;
    if (whole_) return array_.data + m * array_.length;
    const RowIndex at = row_index(m, rows_.batch);
    return at.b < active_ ? array_.row(at) : nullptr;
  }
  // `width` elements from n on of every `step`th row in [first, end); else 0. All loads at once, after all branches.
  template <int count, int width>
  __device__ __forceinline__ void load(int64_t first, int step, int64_t end, int64_t n,
                                       float (&elements)[count][width]) const {
    const float* from[count];
    if (whole_ && first + (count - 1) * step < (end < count_ ? end : count_)) {
      from[0] = array_.data + first * array_.length + n;
      const int64_t apart = step * array_.length;
#pragma unroll
      for (int i = 1; i < count; ++i) from[i] = from[i - 1] + apart;
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const float* const row = first + i * step < end ? (*this)(first + i * step) : nullptr;
        from[i] = row ? row + n : nullptr;
      }
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if constexpr (width == 4) {
        const float4 four = from[i] ? *reinterpret_cast<const float4*>(from[i]) : make_float4(0, 0, 0, 0);
        elements[i][0] = four.x;
        elements[i][1] = four.y;
        elements[i][2] = four.z;
        elements[i][3] = four.w;
      } else {
        elements[i][0] = from[i] ? *from[i] : 0.0f;
      }
    }
  }

 private:
  const SequenceRows& rows_;
  const RowArray<const float>& array_;
  const int64_t count_, active_;
  const bool whole_;
};

// ---- largest magnitudes ---------------------------------------------------------------------------------------------

template <int width>
__device__ __forceinline__ void find_largest_of_piece(const LargestLaunch& launch, int64_t piece) {
  constexpr int n_warps = largest_threads / 32, at_once = width == 4 ? 4 : 8;
  __shared__ uint32_t found[n_warps][32 * width];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const Rows rows(launch.rows, launch.gradients);
  const int64_t n_rows = launch.rows.count(), n_outputs = launch.gradients.length;
  const int64_t across = (n_outputs + 32 * width - 1) / (32 * width);
  const int64_t n = (piece % across * 32 + lane) * width, first = piece / across * launch.rows_per_piece;
  const int64_t end = first + launch.rows_per_piece < n_rows ? first + launch.rows_per_piece : n_rows;
  uint32_t largest[width] = {};
  if (n < n_outputs) {
    for (int64_t m = first + warp; m < end; m += at_once * n_warps) {
      float gradients[at_once][width];
      rows.load(m, n_warps, end, n, gradients);
#pragma unroll
      for (int i = 0; i < at_once; ++i)
#pragma unroll
        for (int j = 0; j < width; ++j) {
          const uint32_t magnitude = bits_of(gradients[i][j]) & 0x7FFFFFFFu;
          largest[j] = magnitude > largest[j] ? magnitude : largest[j];
        }
    }
  }
  __syncthreads();  // wait until the previous ones have been read
#pragma unroll
  for (int j = 0; j < width; ++j) found[warp][lane * width + j] = largest[j];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < 32 * width; i += largest_threads) {
    uint32_t most = 0;
    for (int w = 0; w < n_warps; ++w) most = found[w][i] > most ? found[w][i] : most;
    if (most != 0) atomicMax(launch.largest + piece % across * 32 * width + i, most);
  }
}

template <int width>
__global__ void __launch_bounds__(largest_threads) find_largest(const __grid_constant__ LargestLaunch launch) {
  wait_for_previous();
  for (int64_t piece = blockIdx.x; piece < launch.n_pieces; piece += gridDim.x)
    find_largest_of_piece<width>(launch, piece);
}

__global__ void __launch_bounds__(largest_threads)
    find_largest_of_values(const __grid_constant__ LargestOfValuesLaunch launch) {
  wait_for_previous();
  const int64_t n_first = launch.arrays[0].n_pieces;
  for (int64_t i = blockIdx.x; i < n_first + launch.arrays[1].n_pieces; i += gridDim.x) {
    const int which = i < n_first ? 0 : 1;
    const int64_t piece = which == 0 ? i : i - n_first;
    if (launch.widths[which] == 4)
      find_largest_of_piece<4>(launch.arrays[which], piece);
    else
      find_largest_of_piece<1>(launch.arrays[which], piece);
  }
}

// ---- byte planes ----------------------------------------------------------------------------------------------------

struct PlanesTile {
  static constexpr int at_once = planes_threads / planes_outputs;  // rows
  int32_t tile[32][planes_outputs + 8];                            // the padding keeps reads in different banks
  s64 sums[at_once][planes_outputs];
};

// A piece of the right operand, or of the left one. In both, each lane has 4 bytes of columns r and r + 8 of every 16.
template <int n_planes, bool is_left>
__device__ __forceinline__ void write_planes(const GradientPlanesLaunch& launch, int64_t piece, PlanesTile& shared) {
  constexpr int at_once = PlanesTile::at_once;
  auto& tile = shared.tile;
  auto& sums = shared.sums;
  const int column = static_cast<int>(threadIdx.x) % planes_outputs,
            part = static_cast<int>(threadIdx.x) / planes_outputs;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const Rows rows(launch.rows, launch.gradients);
  const int64_t n_outputs = launch.gradients.length, across = (n_outputs + planes_outputs - 1) / planes_outputs;
  const int64_t word = piece / across, first = piece % across * planes_outputs, n = first + column;
  const uint32_t largest = n < n_outputs ? launch.largest[n] : 0;
  const bool counts = n < n_outputs && largest < 0x7F800000u;
  const GridScale on_grid(counts ? grid_of(from_bits(largest), n_planes == 4 ? largest_on_grid_32 : largest_on_grid_24)
                                 : 0);
  __syncthreads();  // wait until the previous tile has been read
  s64 sum = 0;
  float gradients[32 / at_once][1] = {};
  if (counts) rows.load(word * 32 + part, at_once, word * 32 + 32, n, gradients);
#pragma unroll
  for (int i = 0; i < 32 / at_once; ++i) {
    const int32_t value = on_grid(gradients[i][0]);  // of 0 where nothing counts
    tile[part + i * at_once][column] = value;
    sum += value;
  }
  sums[part][column] = sum;
  __syncthreads();
  if (launch.bias_total && part == 0 && counts) {
    for (int i = 1; i < at_once; ++i) sum += sums[i][column];
    if (sum != 0) add_to(launch.bias_total + n, sum);
  }
  static_assert(planes_threads / 32 == 2 * planes_outputs / 16);
  const int r = lane / 4, c = lane % 4, group = warp % 4, h = warp / 4;
  uint32_t bytes[2][n_planes];
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    int32_t values[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) values[j] = tile[c + 4 * h + 8 * j][group * 16 + r + 8 * e];
    bytes_of_planes(values, bytes[e]);
  }
  if constexpr (is_left) {
    const int64_t row_groups = launch.column_groups / 2;
#pragma unroll
    for (int plane = 0; plane < n_planes; ++plane)
      *reinterpret_cast<uint2*>(launch.planes +
                                ((word * n_planes + plane) * row_groups + first / 16 + group) * operations::left_bytes +
                                lane * 16 + h * 8) = make_uint2(bytes[0][plane], bytes[1][plane]);
  } else {
#pragma unroll
    for (int plane = 0; plane < n_planes; ++plane)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        reinterpret_cast<uint32_t*>(launch.planes +
                                    operations::right_fragment(word, first / 8 + group * 2 + e, plane, n_planes,
                                                               launch.n_words))[h * 32 + lane] = bytes[e][plane];
  }
}

__device__ __forceinline__ int64_t planes_pieces(const GradientPlanesLaunch& launch) {
  return launch.n_words * ((launch.gradients.length + planes_outputs - 1) / planes_outputs);
}

template <int n_planes>
__global__ void __launch_bounds__(planes_threads) gradient_planes(const __grid_constant__ GradientPlanesLaunch launch) {
  wait_for_previous();
  __shared__ PlanesTile shared;
  for (int64_t piece = blockIdx.x; piece < planes_pieces(launch); piece += gridDim.x)
    write_planes<n_planes, false>(launch, piece, shared);
}

template <int n_planes>
__global__ void __launch_bounds__(planes_threads) value_planes(const __grid_constant__ ValuePlanesLaunch launch) {
  wait_for_previous();
  __shared__ PlanesTile shared;
  const int64_t of_gradients = planes_pieces(launch.gradients), n_pieces = of_gradients + planes_pieces(launch.inputs);
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x)
    if (piece < of_gradients)
      write_planes<n_planes, false>(launch.gradients, piece, shared);
    else
      write_planes<3, true>(launch.inputs, piece - of_gradients, shared);
}

// ---- spikes that dropout keeps --------------------------------------------------------------------------------------

__global__ void __launch_bounds__(pack_threads) pack_kept(const __grid_constant__ PackKeptLaunch launch) {
  wait_for_previous();
  constexpr int n_warps = pack_threads / 32;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int64_t across = (launch.bits.length + n_warps - 1) / n_warps, n_rows = launch.rows.count();
  for (int64_t piece = blockIdx.x; piece < launch.n_words * across; piece += gridDim.x) {
    const int64_t word = piece / across, column = piece % across * n_warps + warp, m = word * 32 + lane;
    if (column >= launch.bits.length) continue;  // all of the warp
    const RowIndex at = row_index(m, launch.rows.batch);
    const uint32_t found = m < n_rows ? launch.bits.row(at)[column] & launch.kept.row(at.b)[column] : 0;
    launch.packed[word * launch.pitch + column * 32 + lane] = transposed(found);
  }
}

// ---- products -------------------------------------------------------------------------------------------------------

// Eight warps have 32 inputs x 32 outputs each. Shared memory holds planes and spikes of 64 rows at a time, two ahead.
template <int n_planes>
__global__ void __launch_bounds__(weight_product_threads, 1)
    weight_product(const __grid_constant__ WeightProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int words = 2, n_stages = n_planes == 4 ? 2 : 3, row_parts = 2, column_parts = 4;
  constexpr int column_groups = weight_tile_outputs / 8;
  struct Stage {
    uint32_t planes[words][n_planes][column_groups][64];
    uint32_t spikes[words][weight_tile_inputs];
  };
  __shared__ __align__(16) Stage stages[n_stages];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4, warp_row = warp / 2, warp_column = warp % 2;
  const int64_t n_pieces = pieces_of(launch, weight_tile_inputs);
  for (int64_t index = blockIdx.x; index < n_pieces; index += gridDim.x) {
    const WeightPiece piece(launch, index, weight_tile_inputs);
    const int64_t n_steps = piece.n_words / words;
    const auto load = [&](int64_t step) {
      if (step < n_steps) {
        Stage& to = stages[step % n_stages];
        const int64_t word = piece.first_word + step * words;
        constexpr int of_plane = column_groups * 16, of_planes = words * n_planes * of_plane,
                      of_words = weight_tile_inputs / 4;
        for (int i = static_cast<int>(threadIdx.x); i < of_planes + words * of_words; i += weight_product_threads) {
          if (i < of_planes) {
            copy16(&to.planes[0][0][0][0] + i * 4,
                   launch.planes +
                       operations::right_fragment(word, piece.first_output / 8, 0, n_planes, launch.n_words) + i * 16);
          } else {
            const int w = (i - of_planes) / of_words, at = (i - of_planes) % of_words * 4;
            copy16(&to.spikes[w][at], launch.packed + (word + w) * launch.pitch + piece.first_input + at);
          }
        }
      }
      commit_copies();
    };
    int32_t sums[n_planes][row_parts][column_parts][4] = {};
    __syncthreads();  // wait until the previous piece's planes have been read
#pragma unroll
    for (int step = 0; step < n_stages - 1; ++step) load(step);
    for (int64_t step = 0; step < n_steps; ++step) {
      wait_copies<n_stages - 2>();
      __syncthreads();
      load(step + n_stages - 1);
      const Stage& now = stages[step % n_stages];
#pragma unroll
      for (int w = 0; w < words; ++w) {
        uint32_t spikes[row_parts][4];
#pragma unroll
        for (int i = 0; i < row_parts; ++i)
#pragma unroll
          for (int q = 0; q < 4; ++q)
            spikes[i][q] = spread(now.spikes[w][(warp_row * row_parts + i) * 16 + q % 2 * 8 + r], c, q / 2);
#pragma unroll
        for (int plane = 0; plane < n_planes; ++plane)
#pragma unroll
          for (int j = 0; j < column_parts; ++j) {
            const uint2 gradients = right_part(now.planes[w][plane][warp_column * column_parts + j]);
#pragma unroll
            for (int i = 0; i < row_parts; ++i)
              if (plane + 1 < n_planes)
                multiply<false, false>(sums[plane][i][j], spikes[i], gradients);
              else
                multiply<false, true>(sums[plane][i][j], spikes[i], gradients);
          }
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

// A warp has 8 inputs, a lane an output. Words of spikes are the same for a warp.
template <int n_planes>
__global__ void __launch_bounds__(weight_product_threads)
    weight_select(const __grid_constant__ WeightProductLaunch launch) {
  wait_for_previous();
  constexpr int inputs = select_tile_inputs / (weight_product_threads / 32);
  __shared__ int32_t values[32][select_tile_outputs];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int64_t across = (launch.n_inputs + select_tile_inputs - 1) / select_tile_inputs,
                tiles = across * ((launch.n_outputs + select_tile_outputs - 1) / select_tile_outputs);
  const int64_t n_pieces = tiles * ((launch.n_words + launch.words_per_piece - 1) / launch.words_per_piece);
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const int64_t tile = piece % tiles, first_word = piece / tiles * launch.words_per_piece;
    const int64_t first_input = tile % across * select_tile_inputs + warp * inputs,
                  first_output = tile / across * select_tile_outputs;
    const int64_t end =
        first_word + launch.words_per_piece < launch.n_words ? first_word + launch.words_per_piece : launch.n_words;
    s64 sums[inputs] = {};
    for (int64_t word = first_word; word < end; ++word) {
      __syncthreads();  // wait until the previous values have been read
      for (int i = warp; i < 32; i += weight_product_threads / 32)
        values[i][lane] =
            operations::right_value(launch.planes, word * 32 + i, first_output + lane, n_planes, launch.n_words);
      __syncthreads();
      uint32_t spikes[inputs];
#pragma unroll
      for (int i = 0; i < inputs; ++i) spikes[i] = launch.packed[word * launch.pitch + first_input + i];
      for (int m = 0; m < 32; ++m) {
        const int32_t value = values[m][lane];
#pragma unroll
        for (int i = 0; i < inputs; ++i) sums[i] += (spikes[i] >> m & 1u) != 0 ? value : 0;
      }
    }
    const int64_t n = first_output + lane;
#pragma unroll
    for (int i = 0; i < inputs; ++i)
      if (n < launch.n_outputs && first_input + i < launch.n_inputs && sums[i] != 0)
        add_to(launch.total + n * launch.pitch + first_input + i, sums[i]);
  }
}

// ---- results --------------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(finish_threads) finish_weights(const __grid_constant__ FinishWeightsLaunch launch) {
  wait_for_previous();
  const int64_t across = (launch.n_inputs + finish_threads - 1) / finish_threads, n_pieces = across * launch.n_outputs;
  const int64_t mask_words = (launch.n_inputs + 31) / 32;
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const int64_t n = piece / across, k = piece % across * finish_threads + threadIdx.x;
    const uint32_t largest = launch.largest[n];
    const bool finite = largest < 0x7F800000u;
    const s32 grid = finite ? grid_of(from_bits(largest), launch.wide ? largest_on_grid_32 : largest_on_grid_24) : 0;
    const auto write = [&](float& to, s64 total, const float* scale, double factor, bool connected) {
      const float gradient = !connected ? 0.0f
                             : !finite  ? from_bits(0x7FC00000u)
                                       : from_wide_grid(total, grid, scale ? static_cast<double>(*scale) : 1.0, factor);
      to = launch.add ? to + gradient : gradient;
    };
    if (k < launch.n_inputs)
      write(launch.weight_gradient[n * launch.n_inputs + k], launch.total[n * launch.pitch + k], launch.scale,
            launch.factor, !launch.mask || (launch.mask[n * mask_words + k / 32] >> (k % 32) & 1u) != 0);
    if (k == 0 && launch.bias_gradient) write(launch.bias_gradient[n], launch.bias_total[n], nullptr, 1.0, true);
  }
}

// ---- few rows -------------------------------------------------------------------------------------------------------

// A warp has 8 inputs, a lane an output.
__global__ void __launch_bounds__(few_rows_threads) few_rows(const __grid_constant__ FewRowsLaunch launch) {
  wait_for_previous();
  constexpr int n_warps = few_rows_threads / 32, inputs = few_rows_inputs / n_warps, words = few_rows_inputs / 32;
  __shared__ uint32_t found[n_warps][32], spikes[32][words];
  __shared__ int32_t values[32][few_rows_outputs];
  __shared__ float results[few_rows_inputs][few_rows_outputs + 1];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const Rows rows(launch.rows, launch.gradients);
  const int64_t n_rows = launch.rows.count(), active = launch.rows.active(), n_outputs = launch.gradients.length;
  const int64_t across = (launch.n_inputs + few_rows_inputs - 1) / few_rows_inputs,
                n_tiles = across * ((n_outputs + few_rows_outputs - 1) / few_rows_outputs);
  const int64_t mask_words = (launch.n_inputs + 31) / 32;
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t first_input = tile % across * few_rows_inputs, first_output = tile / across * few_rows_outputs;
    const int64_t n = first_output + lane;
    uint32_t largest = 0;
    for (int64_t m = warp; m < n_rows; m += n_warps) {
      const float* const row = rows(m);
      const uint32_t magnitude = row && n < n_outputs ? bits_of(row[n]) & 0x7FFFFFFFu : 0;
      largest = magnitude > largest ? magnitude : largest;
    }
    __syncthreads();  // wait until the previous tile has been written
    found[warp][lane] = largest;
    __syncthreads();
    for (int i = 0; i < n_warps; ++i) largest = found[i][lane] > largest ? found[i][lane] : largest;
    const bool finite = largest < 0x7F800000u;
    const s32 grid = finite ? grid_of(from_bits(largest), launch.wide ? largest_on_grid_32 : largest_on_grid_24) : 0;
    s64 sums[inputs] = {}, bias = 0;
    for (int64_t first = 0; first < n_rows; first += 32) {
      __syncthreads();
      for (int i = warp; i < 32; i += n_warps) {
        const float* const row = finite && n < n_outputs ? rows(first + i) : nullptr;
        values[i][lane] = row ? on_grid(row[n], grid) : 0;
      }
      if (threadIdx.x < 32 * words) {
        const int i = static_cast<int>(threadIdx.x) / words, w = static_cast<int>(threadIdx.x) % words;
        const int64_t m = first + i, word = first_input / 32 + w;
        const RowIndex at = row_index(m, launch.rows.batch);
        const bool counts = m < n_rows && at.b < active && word < launch.bits.length;
        const uint32_t found = counts ? launch.bits.row(at)[word] : 0;
        spikes[i][w] = counts && launch.kept.mask ? found & launch.kept.row(at.b)[word] : found;
      }
      __syncthreads();
      for (int i = 0; i < 32; ++i) {
        const int32_t value = values[i][lane];
        const uint32_t mine = spikes[i][warp * inputs / 32] >> (warp * inputs % 32);
        bias += value;
#pragma unroll
        for (int q = 0; q < inputs; ++q) sums[q] += (mine >> q & 1u) != 0 ? value : 0;
      }
    }
    const auto gradient = [&](s64 sum) { return finite ? from_wide_grid(sum, grid) : from_bits(0x7FC00000u); };
#pragma unroll
    for (int q = 0; q < inputs; ++q)
      results[warp * inputs + q][lane] = launch.kept.mask && finite
                                             ? from_wide_grid(sums[q], grid, static_cast<double>(*launch.kept.scale))
                                             : gradient(sums[q]);
    if (launch.bias_gradient && first_input == 0 && warp == 0 && n < n_outputs)
      launch.bias_gradient[n] = launch.add ? launch.bias_gradient[n] + gradient(bias) : gradient(bias);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < few_rows_inputs * few_rows_outputs; i += few_rows_threads) {
      const int column = i % few_rows_inputs, row = i / few_rows_inputs;
      const int64_t k = first_input + column, output = first_output + row;
      if (k >= launch.n_inputs || output >= n_outputs) continue;
      const bool connected = !launch.mask || (launch.mask[output * mask_words + k / 32] >> (k % 32) & 1u) != 0;
      const float result = connected ? results[column][row] : 0.0f;
      float& to = launch.weight_gradient[output * launch.n_inputs + k];
      to = launch.add ? to + result : result;
    }
  }
}

}  // namespace

const void* pack_kept_kernel() {
  return address(pack_kept);
}
const void* few_rows_kernel() {
  return address(few_rows);
}
const void* largest_kernel(int width) {
  return width == 4 ? address(find_largest<4>) : address(find_largest<1>);
}
const void* largest_of_values_kernel() {
  return address(find_largest_of_values);
}
const void* gradient_planes_kernel(int n_planes) {
  return n_planes == 4 ? address(gradient_planes<4>) : address(gradient_planes<3>);
}
const void* value_planes_kernel(int n_planes) {
  return n_planes == 4 ? address(value_planes<4>) : address(value_planes<3>);
}
const void* weight_product_kernel(BytesProduct product, int n_planes) {
  if (product == BytesProduct::groups) return weight_group_kernel(n_planes);
  if (product == BytesProduct::warps) return n_planes == 4 ? address(weight_product<4>) : address(weight_product<3>);
  return n_planes == 4 ? address(weight_select<4>) : address(weight_select<3>);
}
const void* finish_weights_kernel() {
  return address(finish_weights);
}

}  // namespace synfire::cuda
