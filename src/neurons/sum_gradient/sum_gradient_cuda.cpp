#include "sum_gradient.hpp"
#include "sum_gradient_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <synfire/model/reduction.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::cuda;

Hints hints(const SumGradient&, const GpuShape&) {
  return {};
}

void enqueue(const SumGradient& op, Launcher& launcher) {
  if (op.sum == SumKind::rows) {
    const RowSums sums = row_sums_of(op);
    return enqueue_row_sums({&sums, 1}, op.entry, launcher);
  }
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
