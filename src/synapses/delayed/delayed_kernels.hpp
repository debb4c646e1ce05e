// The kernels of synapses with delays, as the host code sees them: a thread for each element of delayed_elements.hpp.
// R is float or double.
#ifndef SYNFIRE_SYNAPSES_DELAYED_DELAYED_KERNELS_HPP
#define SYNFIRE_SYNAPSES_DELAYED_DELAYED_KERNELS_HPP

#include "delayed_elements.hpp"

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

struct DelayedInputsLaunch {
  operations::DelayedInputsArrays arrays;
};
const void* delayed_inputs_kernel();

struct DelayedHistoryLaunch {
  operations::DelayedHistoryArrays arrays;
};
const void* delayed_history_kernel();

template <class R>
struct DelayedOutputsLaunch {
  operations::DelayedOutputsArrays<R> arrays;
};
template <class R>
const void* delayed_outputs_kernel();

template <class R>
struct PrepareDelayedLaunch {
  operations::PrepareDelayedArrays<R> arrays;
};
template <class R>
const void* prepare_delayed_kernel();

template <class R>
struct DelayedGradientLaunch {
  operations::DelayedGradientArrays<R> arrays;
};
template <class R>
const void* delayed_gradient_kernel();

template <class R>
struct DelayedInputGradientLaunch {
  operations::DelayedInputGradientArrays<R> arrays;
};
template <class R>
const void* delayed_input_gradient_kernel();

}  // namespace synfire::cuda

#endif
