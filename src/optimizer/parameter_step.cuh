// The kernel that takes an optimiser's step for one parameter of a layer.
#ifndef SYNFIRE_OPTIMIZER_PARAMETER_STEP_CUH
#define SYNFIRE_OPTIMIZER_PARAMETER_STEP_CUH

#include "parameter_step.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    parameter_step(const __grid_constant__ ParameterStepLaunch<R> launch) {
  wait_for_previous();
  const auto& a = launch.arguments;
  if (a.state->takes_step == 0 || a.factors->frozen != 0) return;
  core::ParameterMaster& master = *a.update.target.master;
  const int64_t count = a.update.block->per_neuron ? a.update.target.n_neurons : 1;
  for (int64_t i = first_element(); i < count; i += stride()) step_parameter_of(a, i);
  if (master.rows[a.update.parameter]) return;
  // The last block to arrive stores the new value and its moments, because nobody reads the old ones any more.
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicInc(&master.arrived, gridDim.x - 1) != gridDim.x - 1) return;
  master.shared[a.update.parameter] = shared_parameter_step(a);
}

}  // namespace
}  // namespace synfire::cuda

#endif
