// The operation, and its work on processors.
#include "square_sum_arrays_of.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/rate_loss/rates.hpp>

#include <string>
#include <utility>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many numbers the calling thread works alone.
constexpr int64_t square_sum_parallel_threshold = 1 << 17;

template <class E>
void sum_squares(const SquareSumArrays& arrays, bool share, const host::Launcher& launcher) {
  const auto* const from = static_cast<const E*>(arrays.source);
  launcher.for_each_range(arrays.n_chunks(), share, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      LaneSquares squares;
      for (int64_t i = chunk * model::reduction_chunk; i < arrays.end_of(chunk); ++i)
        squares.add(i, static_cast<double>(from[i]));
      arrays.partials[chunk] = squares.sum();
    }
  });
}

}  // namespace

OperationList square_sum(const View& source, Buffer& sums, bool accumulate) {
  SquareSum op = {accumulate, source, array_view(sums, "the sums of a norm", {1, 2}), {}};
  op.partials.dtype = SYNFIRE_DTYPE_F64;
  op.partials.bytes = static_cast<uint64_t>(arrays_of(op).n_chunks()) * sizeof(double);
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationLabel label(const SquareSum& op) {
  std::string shape = "[";
  shape += std::to_string(arrays_of(op).count);
  shape += ']';
  return {nullptr, std::move(shape)};
}

bool wants_threads(const SquareSum& op) {
  return arrays_of(op).count >= square_sum_parallel_threshold;
}

void run(const SquareSum& op, host::Launcher& launcher) {
  const SquareSumArrays arrays = arrays_of(op);
  if (op.source.dtype == SYNFIRE_DTYPE_F64)
    sum_squares<double>(arrays, wants_threads(op), launcher);
  else
    sum_squares<float>(arrays, wants_threads(op), launcher);
  arrays.finish(arrays.n_chunks() == 1 ? arrays.partials[0] : model::lane_sum(arrays.partials, arrays.n_chunks()));
}

}  // namespace synfire::operations
