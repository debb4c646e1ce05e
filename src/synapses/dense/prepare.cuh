// The weights of a synapse on their grid, in the orders of its products, for the kernels of synapses and optimisers.
#ifndef SYNFIRE_SYNAPSES_DENSE_PREPARE_CUH
#define SYNFIRE_SYNAPSES_DENSE_PREPARE_CUH

#include "dense_kernels.hpp"
#include "fragments.hpp"
#include "planes.cuh"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// ---- rows -----------------------------------------------------------------------------------------------------------

__device__ __forceinline__ bool is_connected(const uint32_t* mask, int64_t k) {
  return !mask || (mask[k / 32] >> (k % 32) & 1u) != 0;
}

// The largest of all threads' values, in all threads. Magnitudes are compared as bits.
__device__ __forceinline__ uint32_t block_max(uint32_t value) {
  __shared__ uint32_t found[prepare_threads / 32];
  for (int half = 16; half > 0; half /= 2) {
    const uint32_t other = __shfl_xor_sync(0xFFFFFFFF, value, half);
    value = other > value ? other : value;
  }
  __syncthreads();  // wait until the previous values have been read
  if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = value;
  __syncthreads();
  for (int i = 0; i < prepare_threads / 32; ++i) value = found[i] > value ? found[i] : value;
  return value;
}

// ---- table ----------------------------------------------------------------------------------------------------------

template <TableKind kind>
struct TableTypes {
  using Element = int32_t;
};
template <>
struct TableTypes<TableKind::f32> {
  using Element = float;
};
template <>
struct TableTypes<TableKind::rounded> {
  using Element = float;
};
template <>
struct TableTypes<TableKind::f64> {
  using Element = double;
};

template <TableKind kind>
__device__ __forceinline__ void prepare_tile(const PrepareTableLaunch& launch, int64_t index) {
  using Element = typename TableTypes<kind>::Element;
  __shared__ Element tile[32][33];
  constexpr int step = prepare_threads / 32;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int64_t across = (launch.n_inputs + 31) / 32;
  const int64_t first_k = index % across * 32, first_n = index / across * 32;
  __syncthreads();  // wait until the previous tile has been read
  for (int i = warp; i < 32; i += step) {
    const int64_t n = first_n + i, k = first_k + lane;
    if (n >= launch.n_outputs || k >= launch.n_inputs) continue;
    const int64_t from = n * launch.rows_pitch + k;
    if constexpr (kind == TableKind::rounded)
      tile[i][lane] = from_integer(static_cast<const int32_t*>(launch.rows)[from], launch.grid[n]);
    else
      tile[i][lane] = static_cast<const Element*>(launch.rows)[from];
  }
  __syncthreads();
  for (int i = warp; i < 32; i += step) {
    const int64_t k = first_k + i, n = first_n + lane;
    if (n < launch.n_outputs && k < launch.n_inputs)
      static_cast<Element*>(launch.table)[k * launch.table_pitch + n] = tile[lane][i];
  }
}

// ---- byte planes ----------------------------------------------------------------------------------------------------

// Writes 8 bytes of each plane: those of the unit's column and of 8 of its 32 terms.
template <class Weight>
__device__ __forceinline__ void write_planes(uint8_t* planes, int64_t unit, int64_t words, int64_t groups,
                                             Weight weight) {
  const int lane = static_cast<int>(unit % 32), c = lane % 4;
  const int64_t group = unit / 32 % groups, word = unit / 32 / groups, column = group * 8 + lane / 4;
  int32_t low[4], high[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    low[j] = weight(word * 32 + c + 8 * j, column);
    high[j] = weight(word * 32 + c + 4 + 8 * j, column);
  }
  uint32_t low_bytes[3], high_bytes[3];
  bytes_of_planes(low, low_bytes);
  bytes_of_planes(high, high_bytes);
#pragma unroll
  for (int plane = 0; plane < 3; ++plane) {
    auto* const to = reinterpret_cast<uint32_t*>(planes + operations::right_fragment(word, group, plane, 3, words));
    to[lane] = low_bytes[plane];
    to[32 + lane] = high_bytes[plane];
  }
}

__device__ __forceinline__ void prepare_unit(const PreparePlanesLaunch& launch, int64_t unit) {
  const auto weight = [&](int64_t n, int64_t k) {
    return n < launch.n_outputs && k < launch.n_inputs ? launch.rows[n * launch.rows_pitch + k] : 0;
  };
  const int64_t of_table = launch.table_planes ? launch.table_words * launch.table_groups * 32 : 0;
  if (unit < of_table)
    write_planes(launch.table_planes, unit, launch.table_words, launch.table_groups,
                 [&](int64_t k, int64_t n) { return weight(n, k); });
  else
    write_planes(launch.rows_planes, unit - of_table, launch.rows_words, launch.rows_groups, [&](int64_t l, int64_t c) {
      if (launch.n_taps == 1) return weight(l, c);
      const int64_t tap = l / launch.n_outputs, inputs = launch.n_inputs / launch.n_taps;
      return tap < launch.n_taps && c < inputs ? weight(l % launch.n_outputs, tap * inputs + c) : 0;
    });
}

}  // namespace
}  // namespace synfire::cuda

#endif
