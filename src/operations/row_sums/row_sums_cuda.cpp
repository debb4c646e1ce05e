#include "row_sums.hpp"
#include "row_sums_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::cuda;

namespace {

// Up to this many rows of a period, one launch takes less time than two.
constexpr int64_t most_rows_at_once = 256;

}  // namespace

void enqueue_row_sums(std::span<const RowSums> sums, SumEntry entry, Launcher& launcher) {
  const RowSumShape& shape = sums.front().shape;
  const bool wide = sums.front().wide;
  const auto n_sums = static_cast<int64_t>(sums.size());
  RowSumLaunch launch = {};
  std::copy(sums.begin(), sums.end(), launch.sums);
  launch.period = shape.period();
  launch.n_tiles = shape.n_tiles();
  launch.n_slots = shape.n_slots();
  const int64_t n_rows = (shape.n_rows * shape.row_length + launch.period - 1) / launch.period;
  launch.n_sums = static_cast<int32_t>(n_sums);
  launch.finishes = entry == SumEntry::all;
  if (entry == SumEntry::all && n_rows <= most_rows_at_once)
    return launcher.launch(row_whole_kernel(wide), launcher.over_pieces(n_sums * launch.n_tiles, row_sum_threads),
                           launch);
  const Grid grid = launcher.over_pieces(n_sums * launch.n_tiles * launch.n_slots, row_sum_threads);
  if (does(entry, SumEntry::maxima)) launcher.launch(row_maxima_kernel(wide), grid, launch);
  if (does(entry, SumEntry::sums)) launcher.launch(row_sums_kernel(wide), grid, launch);
  if (entry == SumEntry::finish)
    launcher.launch(row_finish_kernel(), launcher.over_elements(n_sums * shape.n_entries), launch);
}

}  // namespace synfire::operations
