#include "gather_rows_arrays_of.hpp"
#include "gather_rows_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <algorithm>
#include <bit>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

// The largest unit of which all addresses and lengths are multiples.
int unit_of(const GatherArrays& arrays) {
  const uintptr_t all = reinterpret_cast<uintptr_t>(arrays.source) | reinterpret_cast<uintptr_t>(arrays.destination) |
                        static_cast<uintptr_t>(arrays.piece | arrays.source_pitch | arrays.destination_pitch);
  return all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 1;
}

// A piece of bytes may begin and end inside a word of the destination.
int64_t units_of(const GatherArrays& arrays, int unit) {
  return unit == 1 ? arrays.piece / 4 + (arrays.piece % 4 > 1 ? 2 : 1) : arrays.piece / unit;
}

}  // namespace

Hints hints(const GatherRows&, const GpuShape&) {
  return {};
}

void enqueue(const GatherRows& op, Launcher& launcher) {
  constexpr int64_t warp = 32;
  const GatherArrays arrays = arrays_of(op);
  const int unit = unit_of(arrays);
  const int64_t n_units = units_of(arrays, unit);
  const auto lanes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::min(n_units, warp))));
  const int64_t per_task = lanes * gather_accesses, n_parts = (n_units + per_task - 1) / per_task;
  const int64_t n_tasks = arrays.n_pieces() * n_parts, per_block = gather_rows_threads / lanes;
  const int64_t n_blocks = std::min<int64_t>((n_tasks + per_block - 1) / per_block, 0x7FFFFFFF);
  // Across the bus, contiguous reads matter most: those of one row.
  const bool along_rows = op.source.memory != SYNFIRE_MEMORY_DEVICE;
  launcher.launch(gather_rows_kernel(unit), {static_cast<uint32_t>(n_blocks), gather_rows_threads},
                  GatherRowsLaunch{arrays, along_rows, static_cast<int>(lanes), n_units, n_parts, n_tasks});
}

}  // namespace synfire::operations
