// Products and sums in the fixed order (model/grid.hpp): chains, blocks, and the sum of the blocks.
#include "dense_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <synapses/passes/input_numbers.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// ---- inputs as numbers ----------------------------------------------------------------------------------------------

template <class R>
__global__ void __launch_bounds__(threads_per_block) to_numbers(const __grid_constant__ ToNumbersLaunch launch) {
  wait_for_previous();
  const core::Extents& e = launch.input.extents;
  for (int64_t i = first_element(); i < e.n_steps * e.row(); i += stride()) {
    const RowIndex at = row_index(i, e.n_neurons);  // of [T * B, K]
    const RowIndex row = row_index(at.t, e.batch);
    const bool counts = !launch.kept || (launch.kept[row.b * e.words_per_row() + at.b / 32] >> (at.b % 32) & 1u) != 0;
    static_cast<R*>(launch.numbers)[i] = counts ? number<R>(launch.input, row, at.b) : R(0);
  }
}

// ---- products -------------------------------------------------------------------------------------------------------

// Active rows, one after the other: t * active + b. A sequence without gaps needs no division if all rows count.
template <class R>
class ActiveRows {
 public:
  __device__ __forceinline__ ActiveRows(const SequenceRows& rows, const RowArray<const R>& array)
      : array_(array),
        active_(rows.active()),
        whole_(active_ == rows.batch && array.pitch == rows.batch * array.length) {}
  __device__ __forceinline__ const R* operator()(int64_t l) const {
    return whole_ ? array_.data + l * array_.length : array_.row(row_index(l, active_));
  }

 private:
  const RowArray<const R>& array_;
  const int64_t active_;
  const bool whole_;
};

// n neighbours in shared memory, loaded in pieces of up to 16 bytes.
template <class R, int n>
__device__ __forceinline__ void load_shared(R* to, const R* from) {
  constexpr int bytes = n * static_cast<int>(sizeof(R)) < 16 ? n * static_cast<int>(sizeof(R)) : 16;
  constexpr int at_once = bytes / static_cast<int>(sizeof(R));
  struct alignas(bytes) Piece {
    R values[at_once];
  };
#pragma unroll
  for (int i = 0; i < n; i += at_once) {
    const Piece piece = *reinterpret_cast<const Piece*>(from + i);
#pragma unroll
    for (int j = 0; j < at_once; ++j) to[i + j] = piece.values[j];
  }
}

// The position in a tile of a thread's i-th of n: groups of up to four, 16 groups side by side.
template <int n>
__device__ __forceinline__ int position(int thread, int i) {
  constexpr int group = n < 4 ? n : 4;
  return i / group * 16 * group + thread * group + i % group;
}

// Applies the factor of dropout and the bias to a sum.
template <class R>
__device__ __forceinline__ double finished(const ChainLaunch<R>& launch, double sum, int64_t column) {
  if (!launch.scale) return launch.bias ? sum + static_cast<double>(launch.bias[column]) : sum;
  const auto scale = static_cast<double>(*launch.scale);
  return launch.bias ? model::fma(sum, scale, static_cast<double>(launch.bias[column])) : sum * scale;
}

// 16 x 16 threads have row_parts x column_parts results each. While a tile of 16 terms is added, the next is read.
template <class R, bool over_rows, int row_parts, int column_parts>
__global__ void __launch_bounds__(chain_threads) chain(const __grid_constant__ ChainLaunch<R> launch) {
  wait_for_previous();
  constexpr int depth = 16, tile_rows = 16 * row_parts, tile_columns = 16 * column_parts;
  __shared__ __align__(16) R left[2][depth][tile_rows + 4], right[2][depth][tile_columns];
  __shared__ const R* starts[tile_rows];
  const int thread = static_cast<int>(threadIdx.x), x = thread % 16, y = thread / 16;
  const ActiveRows<R> left_rows(launch.rows, launch.left), right_rows(launch.rows, launch.right);
  const int64_t active = launch.rows.active(), length = over_rows ? launch.rows.n_steps * active : launch.left.length;
  const int64_t n_rows = over_rows ? launch.left.length : launch.rows.count();
  const int64_t across = (launch.n_columns + tile_columns - 1) / tile_columns,
                n_tiles = (n_rows + tile_rows - 1) / tile_rows * across;
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t first_row = tile / across * tile_rows, first_column = tile % across * tile_columns;
    __syncthreads();  // wait until the previous tile has been added
    if constexpr (!over_rows) {
      for (int i = thread; i < tile_rows; i += chain_threads) {
        const RowIndex at = row_index(first_row + i, launch.rows.batch);
        starts[i] = first_row + i < n_rows && at.b < active ? launch.left.row(at) : nullptr;
      }
      __syncthreads();
    }
    R next_left[row_parts], next_right[column_parts];
    const auto fetch = [&](int64_t first) {
#pragma unroll
      for (int i = 0; i < row_parts; ++i) {
        const int at = thread + chain_threads * i;
        if constexpr (over_rows) {
          const int64_t l = first + at / tile_rows, row = first_row + at % tile_rows;
          next_left[i] = l < length && row < n_rows ? left_rows(l)[row] : R(0);
        } else {
          const int64_t l = first + at % depth;
          const R* const start = starts[at / depth];
          next_left[i] = start && l < length ? start[l] : R(0);
        }
      }
#pragma unroll
      for (int i = 0; i < column_parts; ++i) {
        const int at = thread + chain_threads * i;
        const int64_t l = first + at / tile_columns, column = first_column + at % tile_columns;
        const bool exists = l < length && column < launch.n_columns;
        if constexpr (over_rows)
          next_right[i] = exists ? right_rows(l)[column] : R(0);
        else
          next_right[i] = exists ? launch.right.data[l * launch.right.pitch + column] : R(0);
      }
    };
    const auto put = [&](int stage) {
#pragma unroll
      for (int i = 0; i < row_parts; ++i) {
        const int at = thread + chain_threads * i;
        if constexpr (over_rows)
          left[stage][at / tile_rows][at % tile_rows] = next_left[i];
        else
          left[stage][at % depth][at / depth] = next_left[i];
      }
#pragma unroll
      for (int i = 0; i < column_parts; ++i) {
        const int at = thread + chain_threads * i;
        right[stage][at / tile_columns][at % tile_columns] = next_right[i];
      }
    };
    R chains[row_parts][column_parts] = {}, blocks[row_parts][column_parts] = {};
    double totals[row_parts][column_parts] = {};
    if (length > 0) {
      fetch(0);
      put(0);
    }
    __syncthreads();
    for (int64_t first = 0; first < length; first += depth) {
      const int stage = static_cast<int>(first / depth % 2);
      const int64_t next = first + depth;
      if (next < length) fetch(next);
#pragma unroll 8
      for (int l = 0; l < depth; ++l) {
        R a[row_parts], b[column_parts];
        constexpr int row_group = row_parts < 4 ? row_parts : 4, column_group = column_parts < 4 ? column_parts : 4;
#pragma unroll
        for (int i = 0; i < row_parts; i += row_group)
          load_shared<R, row_group>(a + i, &left[stage][l][position<row_parts>(y, i)]);
#pragma unroll
        for (int j = 0; j < column_parts; j += column_group)
          load_shared<R, column_group>(b + j, &right[stage][l][position<column_parts>(x, j)]);
#pragma unroll
        for (int i = 0; i < row_parts; ++i)
#pragma unroll
          for (int j = 0; j < column_parts; ++j) chains[i][j] = model::fma(a[i], b[j], chains[i][j]);
      }
      if (next % chain_length == 0 || next >= length) {
        const bool ends_block = next % block_length == 0 || next >= length;
#pragma unroll
        for (int i = 0; i < row_parts; ++i)
#pragma unroll
          for (int j = 0; j < column_parts; ++j) {
            blocks[i][j] += chains[i][j];
            chains[i][j] = 0;
            if (ends_block) {
              totals[i][j] += static_cast<double>(blocks[i][j]);
              blocks[i][j] = 0;
            }
          }
      }
      if (next < length) put(1 - stage);
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < row_parts; ++i) {
      const int64_t row = first_row + position<row_parts>(y, i);
      if (row >= n_rows) continue;
      bool counts = true;
      R* results = launch.result + row * launch.n_columns;
      const uint32_t* const mask =
          over_rows && launch.mask ? launch.mask + row * ((launch.n_columns + 31) / 32) : nullptr;
      const uint32_t* kept = nullptr;
      if constexpr (!over_rows) {
        const RowIndex at = row_index(row, launch.rows.batch);
        counts = at.b < active;
        results = launch.result + at.t * launch.result_pitch + at.b * launch.n_columns;
        if (!counts && launch.add) continue;
        if (launch.kept.mask) kept = launch.kept.row(at.b);
      }
#pragma unroll
      for (int j = 0; j < column_parts; ++j) {
        const int64_t column = first_column + position<column_parts>(x, j);
        if (column >= launch.n_columns) continue;
        const bool connected = !mask || (mask[column / 32] >> (column % 32) & 1u) != 0;
        const bool is_kept = !kept || (kept[column / 32] >> (column % 32) & 1u) != 0;
        const double total = finished(launch, totals[i][j], column);
        const R result = counts && connected && is_kept ? static_cast<R>(total) : R(0);
        results[column] = launch.add ? results[column] + result : result;
      }
    }
  }
}

// ---- sums of columns ------------------------------------------------------------------------------------------------

// A warp has a chain of each of its block's 32 columns; the first warp adds those of a block of the order.
__global__ void __launch_bounds__(column_sum_threads) column_sum(const __grid_constant__ ColumnSumLaunch launch) {
  wait_for_previous();
  constexpr int n_chains = block_length / chain_length;
  static_assert(n_chains * 32 == column_sum_threads);
  __shared__ double chains[n_chains][32];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const ActiveRows<double> rows(launch.rows, launch.values);
  const int64_t length = launch.rows.n_steps * launch.rows.active(), n_columns = launch.values.length;
  for (int64_t first_column = static_cast<int64_t>(blockIdx.x) * 32; first_column < n_columns;
       first_column += static_cast<int64_t>(gridDim.x) * 32) {
    const int64_t column = first_column + lane;
    double total = 0;
    for (int64_t first = 0; first < length; first += block_length) {
      const int64_t begin = first + warp * chain_length;
      const int64_t end = begin + chain_length < length ? begin + chain_length : length;
      double sum = 0;
      if (column < n_columns) {
#pragma unroll 8
        for (int64_t l = begin; l < end; ++l) sum += rows(l)[column];
      }
      chains[warp][lane] = sum;
      __syncthreads();
      if (warp == 0) {
        double block = 0;
        for (int i = 0; i < n_chains; ++i) block += chains[i][lane];
        total += block;
      }
      __syncthreads();
    }
    if (warp != 0 || column >= n_columns) continue;
    launch.result[column] = launch.add ? launch.result[column] + total : total;
  }
}

template <class R, bool over_rows>
const void* chain_of(bool large) {
  if (!large) return address(chain<R, over_rows, 2, 2>);
  return address(chain<R, over_rows, large_chain_rows<R> / 16, large_chain_columns / 16>);
}

}  // namespace

template <class R>
const void* to_numbers_kernel() {
  return address(to_numbers<R>);
}
template const void* to_numbers_kernel<float>();
template const void* to_numbers_kernel<double>();

template <class R>
const void* chain_kernel(bool over_rows, bool large) {
  if constexpr (is_double<R>)
    if (over_rows) return chain_of<R, true>(large);
  return over_rows ? nullptr : chain_of<R, false>(large);
}
template const void* chain_kernel<float>(bool, bool);
template const void* chain_kernel<double>(bool, bool);

const void* column_sum_kernel() {
  return address(column_sum);
}

}  // namespace synfire::cuda
