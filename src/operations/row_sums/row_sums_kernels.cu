#include "row_sums_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::RowSums;

constexpr int n_warps = row_sum_threads / 32;

// A block's piece of the work.
struct Piece {
  int which;  // of the sums
  int64_t tile, slot;

  __device__ __forceinline__ Piece(int64_t index, int64_t n_tiles, int64_t n_slots) : which(0), tile(0), slot(0) {
    for (const int64_t of_sum = n_tiles * n_slots; index >= of_sum; index -= of_sum) ++which;
    if (n_slots == 1) {
      tile = index;
      return;
    }
    const auto small = static_cast<uint32_t>(index), slots = static_cast<uint32_t>(n_slots);  // at most 64
    tile = small / slots;
    slot = small % slots;
  }
};

// The elements of a thread: a column of the period, and every so manieth row of it.
template <class E>
struct RowShare {
  const E* contributions;
  int64_t column, entry, first, step, end;
  bool exists;
  int n_entries;  // of the tile

  __device__ __forceinline__ RowShare(const RowSums& sums, const Piece& piece, int64_t period, int64_t n_slots)
      : contributions(static_cast<const E*>(sums.contributions)), end(sums.n_elements()) {
    const int64_t all = sums.shape.n_entries;
    column = piece.tile * 32 + threadIdx.x % 32;
    exists = column < period;
    entry = all < 32 ? static_cast<uint32_t>(column) % static_cast<uint32_t>(all) : column;
    first = (piece.slot * n_warps + threadIdx.x / 32) * period + column;
    step = n_slots * n_warps * period;
    const int64_t left = all - piece.tile * 32;
    n_entries = static_cast<int>(left < 32 ? left : 32);
  }
  template <class F>
  __device__ __forceinline__ void for_each(F f) const {
    if (!exists) return;
#pragma unroll 8
    for (int64_t i = first; i < end; i += step) f(static_cast<float>(contributions[i]));
  }
};

// Joins what the threads found for their columns; returned in all threads of the entry.
template <class V, class Join>
__device__ __forceinline__ V join_columns(V value, int64_t n_entries, Join join) {
  __shared__ V found[n_warps][32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  __syncthreads();  // wait until the previous ones have been read
  found[threadIdx.x / 32][lane] = value;
  __syncthreads();
  V joined = V(0);
#pragma unroll
  for (int warp = 0; warp < n_warps; ++warp) joined = join(joined, found[warp][lane]);
  if (n_entries >= 32) return joined;
  // The columns of an entry are n_entries apart: a lane joins twice as many of them in each step.
  const int n = static_cast<int>(n_entries);
  for (int apart = n; apart < 32; apart *= 2) {
    const V further = __shfl_down_sync(0xFFFFFFFFu, joined, static_cast<unsigned>(apart));
    if (lane + apart < 32) joined = join(joined, further);
  }
  return __shfl_sync(0xFFFFFFFFu, joined, lane % n);
}
struct Largest {
  __device__ __forceinline__ uint32_t operator()(uint32_t a, uint32_t b) const { return a > b ? a : b; }
};
struct Sum {
  __device__ __forceinline__ int64_t operator()(int64_t a, int64_t b) const { return a + b; }
};

template <class E>
__device__ __forceinline__ uint32_t largest_of(const RowShare<E>& share, int64_t n_entries) {
  uint32_t most = 0;
  share.for_each([&](float x) {
    const uint32_t magnitude = magnitude_bits(x);
    most = magnitude > most ? magnitude : most;
  });
  return join_columns(most, n_entries, Largest());
}
template <class E>
__device__ __forceinline__ int64_t sum_of(const RowShare<E>& share, uint32_t largest, int64_t n_entries) {
  const s32 grid = grid_of_sum(largest, largest_on_grid_32);
  int64_t total = 0;
  share.for_each([&](float x) { total += on_grid(x, grid); });
  return join_columns(total, n_entries, Sum());
}

__device__ __forceinline__ void write_sum(const RowSums& sums, int64_t entry, int64_t total, uint32_t largest) {
  const double sum = from_sum(total, largest);
  float& to = sums.output[entry];
  to = !sums.add          ? static_cast<float>(sum)
       : sums.adds_in_f64 ? static_cast<float>(static_cast<double>(to) + sum)
                          : to + static_cast<float>(sum);
}

template <class E>
__global__ void __launch_bounds__(row_sum_threads) row_maxima(const __grid_constant__ RowSumLaunch launch) {
  wait_for_previous();
  const int64_t n_entries = launch.sums[0].shape.n_entries, n_slots = launch.n_slots;
  for (int64_t index = blockIdx.x; index < launch.n_sums * launch.n_tiles * n_slots; index += gridDim.x) {
    const Piece piece(index, launch.n_tiles, n_slots);
    const int64_t tile = piece.tile, slot = piece.slot;
    const RowSums& sums = launch.sums[piece.which];
    const RowShare<E> share(sums, piece, launch.period, n_slots);
    const uint32_t largest = largest_of(share, n_entries);
    if (static_cast<int>(threadIdx.x) < share.n_entries) sums.largest[slot * n_entries + share.entry] = largest;
    if (launch.finishes && slot == 0 && threadIdx.x == 0) sums.n_arrived[tile] = 0;
  }
}

// The largest of an entry over all slots, in all threads that have it.
__device__ __forceinline__ uint32_t largest_of_slots(const RowSums& sums, int64_t n_slots, bool exists, int64_t entry) {
  const int64_t n_entries = sums.shape.n_entries;
  uint32_t most = 0;
  if (exists)
    for (int64_t slot = threadIdx.x / 32; slot < n_slots; slot += n_warps) {
      const uint32_t found = sums.largest[slot * n_entries + entry];
      most = found > most ? found : most;
    }
  return join_columns(most, n_entries, Largest());
}

template <class E>
__global__ void __launch_bounds__(row_sum_threads) row_sums(const __grid_constant__ RowSumLaunch launch) {
  wait_for_previous();
  __shared__ bool is_last;
  const int64_t n_entries = launch.sums[0].shape.n_entries, n_slots = launch.n_slots;
  for (int64_t index = blockIdx.x; index < launch.n_sums * launch.n_tiles * n_slots; index += gridDim.x) {
    const Piece piece(index, launch.n_tiles, n_slots);
    const int64_t tile = piece.tile, slot = piece.slot;
    const RowSums& sums = launch.sums[piece.which];
    const RowShare<E> share(sums, piece, launch.period, n_slots);
    const bool writes = static_cast<int>(threadIdx.x) < share.n_entries;
    const uint32_t largest = largest_of_slots(sums, n_slots, share.exists, share.entry);
    const int64_t total = sum_of(share, largest, n_entries);
    if (writes) sums.totals[slot * n_entries + share.entry] = total;
    if (!launch.finishes) continue;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      is_last = atomicAdd(sums.n_arrived + tile, 1u) == static_cast<uint32_t>(n_slots) - 1;
      __threadfence();
    }
    __syncthreads();
    if (is_last && writes) {
      int64_t all = 0;
#pragma unroll 8
      for (int64_t i = 0; i < n_slots; ++i)
        all += __ldcg(reinterpret_cast<const long long*>(sums.totals + i * n_entries + share.entry));
      write_sum(sums, share.entry, all, largest);
    }
  }
}

template <class E>
__global__ void __launch_bounds__(row_sum_threads) row_whole(const __grid_constant__ RowSumLaunch launch) {
  wait_for_previous();
  const int64_t n_entries = launch.sums[0].shape.n_entries;
  for (int64_t index = blockIdx.x; index < launch.n_sums * launch.n_tiles; index += gridDim.x) {
    const Piece piece(index, launch.n_tiles, 1);
    const RowSums& sums = launch.sums[piece.which];
    const RowShare<E> share(sums, piece, launch.period, 1);
    const uint32_t largest = largest_of(share, n_entries);
    const int64_t total = sum_of(share, largest, n_entries);
    if (static_cast<int>(threadIdx.x) < share.n_entries) write_sum(sums, share.entry, total, largest);
  }
}

__global__ void __launch_bounds__(threads_per_block) row_finish(const __grid_constant__ RowSumLaunch launch) {
  wait_for_previous();
  const int64_t n_entries = launch.sums[0].shape.n_entries, n_slots = launch.n_slots;
  for (int64_t i = first_element(); i < launch.n_sums * n_entries; i += stride()) {
    const RowSums& sums = launch.sums[i / n_entries];
    const int64_t entry = i % n_entries;
    uint32_t largest = 0;
    int64_t total = 0;
    for (int64_t slot = 0; slot < n_slots; ++slot) {
      const uint32_t found = sums.largest[slot * n_entries + entry];
      largest = found > largest ? found : largest;
      total += sums.totals[slot * n_entries + entry];
    }
    write_sum(sums, entry, total, largest);
  }
}

}  // namespace

const void* row_maxima_kernel(bool wide) {
  return wide ? address(row_maxima<double>) : address(row_maxima<float>);
}
const void* row_sums_kernel(bool wide) {
  return wide ? address(row_sums<double>) : address(row_sums<float>);
}
const void* row_whole_kernel(bool wide) {
  return wide ? address(row_whole<double>) : address(row_whole<float>);
}
const void* row_finish_kernel() {
  return address(row_finish);
}

}  // namespace synfire::cuda
