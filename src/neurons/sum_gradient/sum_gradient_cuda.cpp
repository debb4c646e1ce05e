#include "sum_gradient.hpp"
#include "sum_gradient_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <synfire/model/reduction.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::cuda;

namespace {

template <class R>
void enqueue_sum(const SumGradient& op, Launcher& launcher) {
  const auto* const in = static_cast<const double*>(op.input.data);
  const ReduceLaunch<R> arguments = {in, static_cast<R*>(op.output.data), op.batch, op.count, op.active, op.add};
  if (op.sum == SumKind::batch)
    launcher.launch(reduce_batch_kernel<R>(), launcher.over_elements(op.count), arguments);
  else
    launcher.launch(reduce_total_kernel<R>(), {1}, arguments);
}

}  // namespace

Hints hints(const SumGradient&, const GpuShape&) {
  return {};
}

void enqueue(const SumGradient& op, Launcher& launcher) {
  if (op.sum == SumKind::chunks) {
    const int64_t n_chunks = (op.count + model::reduction_chunk - 1) / model::reduction_chunk;
    launcher.launch(reduce_chunks_kernel(), {static_cast<uint32_t>(std::clamp<int64_t>(n_chunks, 1, 65535))},
                    ReduceLaunch<double>{static_cast<const double*>(op.input.data),
                                         static_cast<double*>(op.output.data), 1, op.count, op.active, false});
  } else if (op.dtype == SYNFIRE_DTYPE_F64) {
    enqueue_sum<double>(op, launcher);
  } else {
    enqueue_sum<float>(op, launcher);
  }
}

}  // namespace synfire::operations
