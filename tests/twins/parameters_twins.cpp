#include "twin.hpp"

#include <neurons/parameters/derive.hpp>
#include <neurons/parameters/parameters_kernels.hpp>

#include <atomic>

namespace synfire::cuda {

template <class R>
const void* set_parameters_kernel() {
  return twin<SetParametersLaunch<R>>({}, [](const SetParametersLaunch<R>& launch) {
    const auto& a = launch.arguments;
    for (int64_t i = 0; i < launch.count; ++i) operations::set_parameters_of(a, i);
    if (a.read_number) std::atomic_ref(*a.read_number).store(a.number, std::memory_order_release);
  });
}

template <class R>
const void* update_parameter_kernel() {
  return twin<UpdateParameterLaunch<R>>({}, [](const UpdateParameterLaunch<R>& launch) {
    const auto& a = launch.arguments;
    core::ParameterMaster& master = *a.target.master;
    double next = 0;
    for (int64_t i = 0; i < (a.block->per_neuron ? a.target.n_neurons : 1); ++i)
      next = operations::update_parameter_of(a, i);
    if (!master.rows[a.parameter]) master.shared[a.parameter] = next;
  });
}

template const void* set_parameters_kernel<float>();
template const void* set_parameters_kernel<double>();
template const void* update_parameter_kernel<float>();
template const void* update_parameter_kernel<double>();

}  // namespace synfire::cuda
