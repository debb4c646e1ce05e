// The launches of pools on a GPU.
#include "pool.hpp"
#include "pool_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

PoolElements elements_of(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_BITS:
      return PoolElements::bits;
    case SYNFIRE_DTYPE_U8:
      return PoolElements::counts;
    case SYNFIRE_DTYPE_F64:
      return PoolElements::f64;
    default:
      return PoolElements::f32;
  }
}

template <class R>
void spread(const PoolBackward& op, Launcher& launcher) {
  const int64_t n = op.shape.n_inputs();
  launcher.launch(pool_backward_kernel<R>(), launcher.over_elements(op.extents.n_steps * op.extents.batch * n),
                  PoolBackwardLaunch<R>{op.shape, static_cast<PoolResult>(op.kind), op.extents.n_steps,
                                        op.extents.batch, elements_of(op.source.dtype), op.bound,
                                        images_of(op.source, n), images_of(op.grad_destination, op.shape.n_outputs()),
                                        images_of(op.grad_source, n), op.accumulate});
}

}  // namespace

static_assert(static_cast<int32_t>(PoolKind::sum) == static_cast<int32_t>(PoolResult::sum) &&
              static_cast<int32_t>(PoolKind::mean) == static_cast<int32_t>(PoolResult::mean));

Hints hints(const Pool&, const GpuShape&) {
  return {};
}
Hints hints(const PoolBackward&, const GpuShape&) {
  return {};
}

void enqueue(const Pool& op, Launcher& launcher) {
  const PoolLaunch launch = {op.shape,
                             static_cast<PoolResult>(op.kind),
                             op.extents.n_steps,
                             op.extents.batch,
                             elements_of(op.source.dtype),
                             elements_of(op.destination.dtype),
                             op.bound,
                             images_of(op.source, op.shape.n_inputs()),
                             images_of(op.destination, op.shape.n_outputs())};
  launcher.launch(launch.to == PoolElements::bits ? pool_words_kernel() : pool_kernel(),
                  launcher.over_elements(launch.n_steps * launch.batch * launch.destination.length), launch);
}

void enqueue(const PoolBackward& op, Launcher& launcher) {
  if (op.grad_source.dtype == SYNFIRE_DTYPE_F64) return spread<double>(op, launcher);
  spread<float>(op, launcher);
}

}  // namespace synfire::operations
