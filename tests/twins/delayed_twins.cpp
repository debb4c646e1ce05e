#include "twin.hpp"

#include <synapses/delayed/delayed_kernels.hpp>

namespace synfire::cuda {

const void* delayed_inputs_kernel() {
  return twin<DelayedInputsLaunch>({}, [](const DelayedInputsLaunch& launch) {
    for (int64_t i = 0; i < launch.arrays.count(); ++i) operations::delay_word(launch.arrays, i);
  });
}

const void* delayed_history_kernel() {
  return twin<DelayedHistoryLaunch>({}, [](const DelayedHistoryLaunch& launch) {
    for (int64_t i = 0; i < launch.arrays.count(); ++i) operations::keep_history_word(launch.arrays, i);
  });
}

template <class R>
const void* delayed_outputs_kernel() {
  return twin<DelayedOutputsLaunch<R>>({}, [](const DelayedOutputsLaunch<R>& launch) {
    for (int64_t i = 0; i < launch.arrays.count(); ++i) operations::delay_output(launch.arrays, i);
  });
}
template const void* delayed_outputs_kernel<float>();
template const void* delayed_outputs_kernel<double>();

template <class R>
const void* prepare_delayed_kernel() {
  return twin<PrepareDelayedLaunch<R>>({}, [](const PrepareDelayedLaunch<R>& launch) {
    for (int64_t i = 0; i < launch.arrays.connections.count(); ++i) operations::prepare_delayed(launch.arrays, i);
  });
}
template const void* prepare_delayed_kernel<float>();
template const void* prepare_delayed_kernel<double>();

template <class R>
const void* delayed_gradient_kernel() {
  return twin<DelayedGradientLaunch<R>>({}, [](const DelayedGradientLaunch<R>& launch) {
    for (int64_t i = 0; i < launch.arrays.connections.count(); ++i) operations::find_delayed_gradient(launch.arrays, i);
  });
}
template const void* delayed_gradient_kernel<float>();
template const void* delayed_gradient_kernel<double>();

template <class R>
const void* delayed_input_gradient_kernel() {
  return twin<DelayedInputGradientLaunch<R>>({}, [](const DelayedInputGradientLaunch<R>& launch) {
    for (int64_t i = 0; i < launch.arrays.count(); ++i) operations::fold_delayed_gradient(launch.arrays, i);
  });
}
template const void* delayed_input_gradient_kernel<float>();
template const void* delayed_input_gradient_kernel<double>();

}  // namespace synfire::cuda
