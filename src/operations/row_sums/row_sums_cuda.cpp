#include "row_sums.hpp"
#include "row_sums_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::cuda;

namespace {

// Up to this many rows of a period, one launch takes less time than two.
constexpr int64_t most_rows_at_once = 256;

}  // namespace

void enqueue_row_sums(const RowSums& sums, SumEntry entry, Launcher& launcher) {
  const RowSumShape& shape = sums.shape;
  const int64_t n_rows = (shape.n_rows * shape.row_length + shape.period() - 1) / shape.period();
  RowSumLaunch launch = {sums, entry == SumEntry::all};
  if (entry == SumEntry::all && n_rows <= most_rows_at_once)
    return launcher.launch(row_whole_kernel(sums.wide), launcher.over_pieces(shape.n_tiles(), row_sum_threads), launch);
  const Grid grid = launcher.over_pieces(shape.n_tiles() * shape.n_slots(), row_sum_threads);
  if (does(entry, SumEntry::maxima)) launcher.launch(row_maxima_kernel(sums.wide), grid, launch);
  if (does(entry, SumEntry::sums)) launcher.launch(row_sums_kernel(sums.wide), grid, launch);
  if (entry == SumEntry::finish) launcher.launch(row_finish_kernel(), launcher.over_elements(shape.n_entries), launch);
}

}  // namespace synfire::operations
