// The operation, and its work on processors.
#include "running_reduce_arrays_of.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/dtype.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/spikes/spike_views.hpp>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many elements the calling thread works alone.
constexpr int64_t running_reduce_parallel_threshold = 1 << 17;

constexpr int32_t readout_dtypes[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64};

template <class E>
void continue_columns(const RunningReduceArrays& arrays, bool share, host::Launcher& launcher) {
  launcher.for_each_range(arrays.n_columns(), share, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; ++column) continue_column<E>(arrays, column);
  });
}

}  // namespace

OperationList running_reduce(const RunningReduceRequest& request) {
  const Extents& e = request.extents;
  check_type(*request.source, "the readout's source", readout_dtypes);
  const RunningReduce op = {request.reduction,
                            e,
                            spike_view(*request.source, "the readout's source", e),
                            array_view(*request.totals, "the readout's totals", {1, e.batch, e.n_neurons}),
                            array_view(*request.n_steps, "the readout's steps", {1, e.batch, e.n_neurons}),
                            array_view(*request.destination, "the readout's result", {1, e.batch, e.n_neurons})};
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationLabel label(const RunningReduce& op) {
  const char* const what = op.reduction == Reduction::sum    ? "sum over the steps of "
                           : op.reduction == Reduction::mean ? "mean over the steps of "
                                                             : "maximum over the steps of ";
  return {nullptr, what + shape_text(op.extents)};
}

bool wants_threads(const RunningReduce& op) {
  return op.extents.n_steps * op.extents.row() >= running_reduce_parallel_threshold;
}

void run(const RunningReduce& op, host::Launcher& launcher) {
  const RunningReduceArrays arrays = arrays_of(op);
  const bool share = wants_threads(op);
  if (op.source.dtype == SYNFIRE_DTYPE_BITS) return continue_columns<PackedBits>(arrays, share, launcher);
  if (op.source.dtype == SYNFIRE_DTYPE_F64) return continue_columns<double>(arrays, share, launcher);
  continue_columns<float>(arrays, share, launcher);
}

}  // namespace synfire::operations
