// The kernels that change parameters during replays, as the host code sees them.
#ifndef SYNFIRE_NEURONS_PARAMETERS_PARAMETERS_KERNELS_HPP
#define SYNFIRE_NEURONS_PARAMETERS_PARAMETERS_KERNELS_HPP

#include "parameters_arguments.hpp"

namespace synfire::cuda {

template <class R>
struct SetParametersLaunch {
  operations::SetParametersArguments<R> arguments;
  int64_t count;  // neurons to process: 1 if nothing is per neuron
};

template <class R>
struct UpdateParameterLaunch {
  operations::UpdateParameterArguments<R> arguments;
};

template <class R>
const void* set_parameters_kernel();
template <class R>
const void* update_parameter_kernel();

}  // namespace synfire::cuda

#endif
