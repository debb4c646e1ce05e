// The kernels that change parameters, with the arithmetic of derive.hpp and model/update.hpp.
#ifndef SYNFIRE_NEURONS_PARAMETERS_PARAMETERS_KERNELS_CUH
#define SYNFIRE_NEURONS_PARAMETERS_PARAMETERS_KERNELS_CUH

#include "parameters_kernels.hpp"

#include "derive.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    set_parameters(const __grid_constant__ SetParametersLaunch<R> launch) {
  wait_for_previous();
  const auto& a = launch.arguments;
  for (int64_t i = first_element(); i < launch.count; i += stride()) operations::set_parameters_of(a, i);
  if (!a.read_number) return;
  // The last block to arrive tells the host that its staged values have been read.
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  core::ParameterMaster& master = *a.target.master;
  if (atomicInc(&master.readers_done, gridDim.x - 1) != gridDim.x - 1) return;
  // The highest number is written last, even if two of these kernels run at once.
  auto* const highest = reinterpret_cast<unsigned long long*>(&master.read_number);
  unsigned long long number = a.number;
  for (unsigned long long before = atomicMax(highest, number);; before = atomicMax(highest, number)) {
    if (before > number) number = before;
    *static_cast<volatile uint64_t*>(a.read_number) = number;
    __threadfence_system();
    if (atomicMax(highest, number) == number) return;
  }
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    update_parameter(const __grid_constant__ UpdateParameterLaunch<R> launch) {
  wait_for_previous();
  const auto& a = launch.arguments;
  core::ParameterMaster& master = *a.target.master;
  const int64_t count = a.block->per_neuron ? a.target.n_neurons : 1;
  const bool shared = master.rows[a.parameter] == nullptr;
  double next = 0;
  for (int64_t i = first_element(); i < count; i += stride()) next = operations::update_parameter_of(a, i);
  if (!shared) return;
  // The last block to arrive stores the new value, because nobody reads the old one any more.
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicInc(&master.arrived, gridDim.x - 1) != gridDim.x - 1) return;
  master.shared[a.parameter] = first_element() < count ? next : operations::shared_value_of(a);
}

}  // namespace

}  // namespace synfire::cuda

#endif
