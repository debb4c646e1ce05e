// The launches of upsampling and borders on a GPU.
#include "resize.hpp"
#include "resize_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

const void* kernel_of_copies(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_BITS:
      return resize_words_kernel();
    case SYNFIRE_DTYPE_U8:
      return resize_kernel<uint8_t>();
    case SYNFIRE_DTYPE_F64:
      return resize_kernel<double>();
    default:
      return resize_kernel<float>();
  }
}

void launch_resize(Launcher& launcher, const void* kernel, const ResizeLaunch& launch) {
  launcher.launch(kernel, launcher.over_elements(launch.n_steps * launch.batch * launch.destination.length), launch);
}

}  // namespace

Hints hints(const Resize&, const GpuShape&) {
  return {};
}
Hints hints(const ResizeBackward&, const GpuShape&) {
  return {};
}

void enqueue(const Resize& op, Launcher& launcher) {
  launch_resize(launcher, kernel_of_copies(op.source.dtype),
                {op.shape, op.extents.n_steps, op.extents.batch, images_of(op.source, op.shape.n_inputs()),
                 images_of(op.destination, op.shape.n_outputs()), false});
}

void enqueue(const ResizeBackward& op, Launcher& launcher) {
  const void* const kernel =
      op.grad_source.dtype == SYNFIRE_DTYPE_F64 ? resize_backward_kernel<double>() : resize_backward_kernel<float>();
  launch_resize(launcher, kernel,
                {op.shape, op.extents.n_steps, op.extents.batch, images_of(op.grad_destination, op.shape.n_outputs()),
                 images_of(op.grad_source, op.shape.n_inputs()), op.accumulate});
}

}  // namespace synfire::operations
