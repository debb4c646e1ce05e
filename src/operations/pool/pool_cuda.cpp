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

bool is_aligned(const Images& images) {
  return (images.pitch | images.length) % pool_width == 0 &&
         reinterpret_cast<uintptr_t>(images.data) % (sizeof(float) * pool_width) == 0;
}
bool are_side_by_side(const PoolShape& shape) {
  const auto beside = [](const WindowAxis& axis) { return axis.stride == axis.kernel && axis.padding == 0; };
  return beside(shape.y) && beside(shape.x);
}
bool takes_four(const PoolBackwardLaunch<float>& launch) {
  if (launch.shape.channels % pool_width != 0 || !is_aligned(launch.grad_destination) ||
      !is_aligned(launch.grad_source))
    return false;
  if (launch.result != PoolResult::max) return true;
  if (launch.from == PoolElements::bits) return launch.shape.channels % 32 == 0;
  return launch.from == PoolElements::f32 && are_side_by_side(launch.shape) && is_aligned(launch.source);
}
bool takes_four(const PoolBackwardLaunch<double>&) {
  return false;
}

template <class R>
void spread(const PoolBackward& op, Launcher& launcher) {
  const int64_t n = op.shape.n_inputs(), count = op.extents.n_steps * op.extents.batch * n;
  const PoolBackwardLaunch<R> launch = {op.shape,
                                        static_cast<PoolResult>(op.kind),
                                        op.extents.n_steps,
                                        op.extents.batch,
                                        elements_of(op.source.dtype),
                                        op.bound,
                                        images_of(op.source, n),
                                        images_of(op.grad_destination, op.shape.n_outputs()),
                                        images_of(op.grad_source, n),
                                        op.accumulate};
  const bool side_by_side = are_side_by_side(op.shape);
  if (takes_four(launch))
    launcher.launch(
        pool_backward_of_four_kernel(side_by_side),
        launcher.over_elements((side_by_side ? op.extents.n_steps * op.extents.batch * op.shape.n_outputs() : count) /
                               pool_width),
        launch);
  else
    launcher.launch(pool_backward_kernel<R>(), launcher.over_elements(count), launch);
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
