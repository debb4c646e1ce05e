#include "kernels.hpp"
#include "sum_gradient.hpp"

#include <cuda/launcher.hpp>

#include <synfire/model/reduction.hpp>

#include <algorithm>

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

Hints hints(const SumGradient&, const GpuShape&) {
  return {};
}

void enqueue(const SumGradient& op, Launcher& launcher) {
  if (op.sum == SumKind::rows) return enqueue_row_sums(row_sums_of(op), op.entry, launcher);
  const ReduceLaunch launch = {static_cast<const double*>(op.input.data),
                               static_cast<double*>(op.output.data),
                               op.batch,
                               op.count,
                               op.active,
                               op.add};
  const int64_t n_chunks = (op.count + model::reduction_chunk - 1) / model::reduction_chunk;
  if (op.sum == SumKind::batch)
    launcher.launch(reduce_batch_kernel(), launcher.over_elements(op.count), launch);
  else if (op.sum == SumKind::chunks)
    launcher.launch(reduce_chunks_kernel(), {static_cast<uint32_t>(std::clamp<int64_t>(n_chunks, 1, 65535))}, launch);
  else
    launcher.launch(reduce_total_kernel(), {1}, launch);
}

}  // namespace synfire::operations
