#include "sum_gradient.hpp"

#include <synfire/model/lane_sum.hpp>

#include <algorithm>

namespace synfire::operations {
namespace {

void store(const SumGradient& op, int64_t n, double sum) {
  double& out = static_cast<double*>(op.output.data)[n];
  out = op.add ? out + sum : sum;
}

}  // namespace

void run(const SumGradient& op, host::Launcher& launcher) {
  const auto* const in = static_cast<const double*>(op.input.data);
  const int64_t most = op.batch * op.count, active = op.active ? std::min(*op.active, most) : most;
  switch (op.sum) {
    case SumKind::rows:
      return run_row_sums(row_sums_of(op), op.entry, false, launcher);
    case SumKind::batch:
      for (int64_t n = 0; n < op.count; ++n) {
        double sum = 0;
        for (int64_t b = 0; b < active / op.count; ++b) sum += in[b * op.count + n];
        store(op, n, sum);
      }
      return;
    case SumKind::chunks:
      for (int64_t first = 0, chunk = 0; first < op.count; first += model::reduction_chunk, ++chunk)
        static_cast<double*>(op.output.data)[chunk] =
            model::lane_sum(in + first, std::clamp<int64_t>(active - first, 0, model::reduction_chunk));
      return;
    case SumKind::total:
      store(op, 0, model::lane_sum(in, op.count));
      return;
  }
}

}  // namespace synfire::operations
