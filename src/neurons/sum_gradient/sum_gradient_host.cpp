#include <synfire/model/lane_sum.hpp>
#include "sum_gradient.hpp"

#include <algorithm>

namespace synfire::operations {
namespace {

template <class R>
void sum(const SumGradient& op) {
  const auto* const in = static_cast<const double*>(op.input.data);
  const auto store = [](const SumGradient& to, int64_t n, double sum) {
    R& out = static_cast<R*>(to.output.data)[n];
    out = static_cast<R>(to.add ? static_cast<double>(out) + sum : sum);
  };
  const int64_t active = op.active ? *op.active : op.batch * op.count;
  switch (op.sum) {
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

}  // namespace

void run(const SumGradient& op, host::Launcher&) {
  if (op.dtype == SYNFIRE_DTYPE_F64)
    sum<double>(op);
  else
    sum<float>(op);
}

}  // namespace synfire::operations
