#include "delayed_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

__global__ void __launch_bounds__(threads_per_block) delay_inputs(const __grid_constant__ DelayedInputsLaunch launch) {
  wait_for_previous();
  const int64_t count = launch.arrays.count();
  for (int64_t i = first_element(); i < count; i += stride()) operations::delay_word(launch.arrays, i);
}

__global__ void __launch_bounds__(threads_per_block)
    keep_delayed_history(const __grid_constant__ DelayedHistoryLaunch launch) {
  wait_for_previous();
  const int64_t count = launch.arrays.count();
  for (int64_t i = first_element(); i < count; i += stride()) operations::keep_history_word(launch.arrays, i);
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    delay_outputs(const __grid_constant__ DelayedOutputsLaunch<R> launch) {
  wait_for_previous();
  const int64_t count = launch.arrays.count();
  for (int64_t i = first_element(); i < count; i += stride()) operations::delay_output(launch.arrays, i);
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    prepare_delays(const __grid_constant__ PrepareDelayedLaunch<R> launch) {
  wait_for_previous();
  const int64_t count = launch.arrays.connections.count();
  for (int64_t i = first_element(); i < count; i += stride()) operations::prepare_delayed(launch.arrays, i);
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    find_delayed_gradients(const __grid_constant__ DelayedGradientLaunch<R> launch) {
  wait_for_previous();
  const int64_t count = launch.arrays.connections.count();
  for (int64_t i = first_element(); i < count; i += stride()) operations::find_delayed_gradient(launch.arrays, i);
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    fold_delayed_gradients(const __grid_constant__ DelayedInputGradientLaunch<R> launch) {
  wait_for_previous();
  const int64_t count = launch.arrays.count();
  for (int64_t i = first_element(); i < count; i += stride()) operations::fold_delayed_gradient(launch.arrays, i);
}

}  // namespace

const void* delayed_inputs_kernel() {
  return address(delay_inputs);
}
const void* delayed_history_kernel() {
  return address(keep_delayed_history);
}
template <class R>
const void* delayed_outputs_kernel() {
  return address(delay_outputs<R>);
}
template const void* delayed_outputs_kernel<float>();
template const void* delayed_outputs_kernel<double>();
template <class R>
const void* prepare_delayed_kernel() {
  return address(prepare_delays<R>);
}
template const void* prepare_delayed_kernel<float>();
template const void* prepare_delayed_kernel<double>();
template <class R>
const void* delayed_gradient_kernel() {
  return address(find_delayed_gradients<R>);
}
template const void* delayed_gradient_kernel<float>();
template const void* delayed_gradient_kernel<double>();
template <class R>
const void* delayed_input_gradient_kernel() {
  return address(fold_delayed_gradients<R>);
}
template const void* delayed_input_gradient_kernel<float>();
template const void* delayed_input_gradient_kernel<double>();

}  // namespace synfire::cuda
