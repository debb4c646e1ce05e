// The operation, and its work on processors.
#include "sum_steps_arrays_of.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many elements the calling thread works alone.
constexpr int64_t sum_steps_parallel_threshold = 1 << 17;

template <class R>
void sum_columns(const SumStepsArrays& arrays, bool share, host::Launcher& launcher) {
  launcher.for_each_range(arrays.n_columns, share, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; ++column) sum_column<R>(arrays, column);
  });
}

}  // namespace

OperationList sum_steps(int64_t n_steps, int64_t batch, int64_t n_neurons, const Buffer& source,
                        const Buffer& destination, bool add) {
  const SumSteps op = {add, array_view(source, "the gradients of all steps", {n_steps, batch, n_neurons}),
                       array_view(destination, "the gradient of a step", {1, batch, n_neurons})};
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationLabel label(const SumSteps& op) {
  char text[96];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld]", static_cast<long long>(op.source.shape[0]),
                static_cast<long long>(op.source.shape[1]), static_cast<long long>(op.source.shape[2]));
  return {nullptr, text};
}

bool wants_threads(const SumSteps& op) {
  return op.source.shape[0] * op.source.row() >= sum_steps_parallel_threshold;
}

void run(const SumSteps& op, host::Launcher& launcher) {
  const SumStepsArrays arrays = arrays_of(op);
  if (op.source.dtype == SYNFIRE_DTYPE_F64) return sum_columns<double>(arrays, wants_threads(op), launcher);
  sum_columns<float>(arrays, wants_threads(op), launcher);
}

}  // namespace synfire::operations
