// A few neighbouring threads, at most a warp, copy a part of a piece.
#include "gather_rows_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

using operations::GatherArrays;

struct Task {
  const char* from;  // null: zero
  char* to;
  uint32_t mask;       // of each word
  int64_t first_unit;  // of this thread
};

__device__ __forceinline__ Task task_of(const GatherRowsLaunch& launch, int64_t task, int lane) {
  const GatherArrays& arrays = launch.arrays;
  const int64_t piece = task / launch.n_parts, part = task - piece * launch.n_parts;
  const int64_t shorter = launch.along_rows ? arrays.n_steps : arrays.batch;
  const int64_t outer = piece / shorter, inner = piece - outer * shorter;
  const int64_t step = launch.along_rows ? inner : outer, row = launch.along_rows ? outer : inner;
  return {arrays.from(step, row), arrays.to(step, row), arrays.mask(step, row),
          part * launch.lanes * gather_accesses + lane};
}

__device__ __forceinline__ uint32_t masked(uint32_t word, uint32_t mask) {
  return word & mask;
}
__device__ __forceinline__ uint4 masked(const uint4& words, uint32_t mask) {
  return {words.x & mask, words.y & mask, words.z & mask, words.w & mask};
}

template <class Unit>
__device__ __forceinline__ void copy_units(const GatherRowsLaunch& launch, const Task& task) {
  Unit units[gather_accesses];
#pragma unroll
  for (int k = 0; k < gather_accesses; ++k) {
    const int64_t i = task.first_unit + k * launch.lanes;
    units[k] = Unit{};
    if (task.from && i < launch.n_units) units[k] = __ldcs(reinterpret_cast<const Unit*>(task.from) + i);
  }
#pragma unroll
  for (int k = 0; k < gather_accesses; ++k) {
    const int64_t i = task.first_unit + k * launch.lanes;
    if (i < launch.n_units) reinterpret_cast<Unit*>(task.to)[i] = masked(units[k], task.mask);
  }
}

// Four bytes from any address in a piece, by the aligned words around them if the piece contains these.
__device__ __forceinline__ uint32_t word_at(const char* at, const char* begin, const char* end) {
  const auto shift = static_cast<unsigned>(reinterpret_cast<uintptr_t>(at) & 3);
  const char* const low = at - shift;
  if (shift == 0) return *reinterpret_cast<const uint32_t*>(low);
  if (low >= begin && low + 8 <= end) {
    const auto* const words = reinterpret_cast<const uint32_t*>(low);
    return __funnelshift_r(words[0], words[1], 8 * shift);
  }
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word |= static_cast<uint32_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  return word;
}

__device__ __forceinline__ void copy_bytes(const GatherRowsLaunch& launch, const Task& task) {
  const int64_t piece = launch.arrays.piece;
  // The position of the destination's first word in the piece, which may begin later.
  const int64_t first = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(task.to) & 3);
  uint32_t words[gather_accesses];
#pragma unroll
  for (int k = 0; k < gather_accesses; ++k) {
    const int64_t at = first + 4 * (task.first_unit + k * launch.lanes);
    words[k] = 0;
    if (task.from && at >= 0 && at + 4 <= piece) words[k] = word_at(task.from + at, task.from, task.from + piece);
  }
#pragma unroll
  for (int k = 0; k < gather_accesses; ++k) {
    const int64_t at = first + 4 * (task.first_unit + k * launch.lanes);
    if (at >= 0 && at + 4 <= piece) {
      *reinterpret_cast<uint32_t*>(task.to + at) = words[k];
    } else {
      for (int64_t i = at; i < at + 4; ++i)
        if (i >= 0 && i < piece) task.to[i] = task.from ? task.from[i] : 0;
    }
  }
}

struct Bytes {};

template <class Unit>
__global__ void __launch_bounds__(gather_rows_threads) gather_rows(const __grid_constant__ GatherRowsLaunch launch) {
  wait_for_previous();
  const int lane = static_cast<int>(threadIdx.x) & (launch.lanes - 1);
  const int64_t per_block = gather_rows_threads / launch.lanes;
  int64_t index = blockIdx.x * per_block + static_cast<int>(threadIdx.x) / launch.lanes;
  for (; index < launch.n_tasks; index += gridDim.x * per_block) {
    const Task task = task_of(launch, index, lane);
    if constexpr (is_same<Unit, Bytes>)
      copy_bytes(launch, task);
    else
      copy_units<Unit>(launch, task);
  }
}

}  // namespace

const void* gather_rows_kernel(int unit_bytes) {
  switch (unit_bytes) {
    case 16:
      return address(gather_rows<uint4>);
    case 4:
      return address(gather_rows<uint32_t>);
    default:
      return address(gather_rows<Bytes>);
  }
}

}  // namespace synfire::cuda
