#include "reduce.hpp"
#include "reduce_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <base/dtype.hpp>

#include <synfire/model/reduction.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

int64_t groups_of(Axis axis, const Extents& e) {
  return axis == Axis::steps ? e.batch : e.n_steps;
}
int64_t entries_of(Axis axis, const Extents& e) {
  return axis == Axis::steps ? e.n_steps : e.batch;
}
int64_t pieces(int64_t count, int64_t each) {
  return (count + each - 1) / each;
}

// Lacks the destination and partial results.
ReduceLaunch launch_of(Reduction reduction, Axis axis, const Extents& e, const View& source, const Counting& counting) {
  const int64_t n_columns = groups_of(axis, e) * e.n_neurons;
  return {e,
          counting,
          static_cast<int32_t>(reduction),
          axis == Axis::steps,
          false,
          !is_number(source.dtype),
          source.data,
          source.pitch,
          nullptr,
          0,
          nullptr,
          n_columns,
          pieces(n_columns, 32),
          1};
}

}  // namespace

Hints hints(const Reduce&, const GpuShape&) {
  return {};
}
Hints hints(const ReduceBackward&, const GpuShape&) {
  return {};
}

void enqueue(const Reduce& op, Launcher& launcher) {
  const Extents& e = op.extents;
  ReduceLaunch launch = launch_of(op.reduction, op.axis, e, op.source, counting_of(op.lengths, op.n_active));
  launch.wide = op.destination.dtype == SYNFIRE_DTYPE_F64;
  launch.destination = op.destination.data;
  launch.group_pitch = op.axis == Axis::steps ? e.n_neurons : op.destination.pitch;
  if (op.partials.bytes > 0) {
    launch.partials = static_cast<uint64_t*>(op.partials.data);
    launch.n_chunks = pieces(entries_of(op.axis, e), model::reduction_chunk);
  }
  const bool largest = op.reduction == Reduction::max || op.reduction == Reduction::last;
  launcher.launch(reduce_kernel(op.source.dtype, largest),
                  launcher.over_pieces(launch.n_tiles * launch.n_chunks, reduce_threads), launch);
  if (op.partials.bytes > 0)
    launcher.launch(partials_kernel(launch.whole, largest), launcher.over_pieces(launch.n_tiles, reduce_threads),
                    launch);
}

void enqueue(const ReduceBackward& op, Launcher& launcher) {
  const Extents& e = op.extents;
  const Counting counting = counting_of(op.lengths, op.n_active);
  auto* const winners = static_cast<int64_t*>(op.winners.data);
  const int64_t n_columns = groups_of(op.axis, e) * e.n_neurons, n_tiles = pieces(n_columns, 32);
  if (op.reduction == Reduction::max)
    launcher.launch(winners_kernel(op.source.dtype), launcher.over_pieces(n_tiles, reduce_threads),
                    WinnersLaunch{launch_of(op.reduction, op.axis, e, op.source, counting), winners});
  const int64_t n_entries = entries_of(op.axis, e);
  const SpreadLaunch launch = {e,
                               counting,
                               static_cast<int32_t>(op.reduction),
                               op.axis == Axis::steps,
                               op.accumulate,
                               op.grad_destination.data,
                               op.axis == Axis::steps ? e.n_neurons : op.grad_destination.pitch,
                               op.grad_source.data,
                               op.grad_source.pitch,
                               op.reduction == Reduction::max ? winners : nullptr,
                               n_columns,
                               n_tiles,
                               pieces(n_entries, spread_chunk),
                               n_entries <= spread_few};
  launcher.launch(spread_kernel(op.grad_source.dtype), launcher.over_pieces(launch.n_pieces(), reduce_threads), launch);
}

}  // namespace synfire::operations
