// The kernels of a step, as the host code sees them.
#ifndef SYNFIRE_OPTIMIZER_OPTIMIZER_KERNELS_HPP
#define SYNFIRE_OPTIMIZER_OPTIMIZER_KERNELS_HPP

#include "parameter_step.hpp"

namespace synfire::cuda {

// ---- the norm -------------------------------------------------------------------------------------------------------

// A warp for each chunk of gradients; the last block of the last launch begins the step. Gradients of parameters are
// arguments, because a graph may replace them; a launch has those from `first_parameter` on. With several batches for a
// step, launches with the same arguments first add the gradients to their means.
inline constexpr int norm_threads = 256;
inline constexpr int norm_parameters = 64;
struct NormLaunch {
  const operations::MemberGradient* members;
  int32_t n_members;
  int32_t first_parameter;
  const void* parameters[norm_parameters];
  int64_t n_chunks;
  double* sums;
  operations::OptimizerState* state;
  operations::OptimizerRates rates;
  operations::StepValues values;
  double largest_norm;
  bool begins_step;
};
const void* norm_kernel();
const void* accumulate_kernel();

// ---- arrays of synapses ---------------------------------------------------------------------------------------------

inline constexpr int step_threads = 256;
struct StepArraysLaunch {
  const operations::SteppedArray* arrays;
  int32_t n_arrays;
  int64_t n_pieces;
  const operations::OptimizerState* state;
  operations::OptimizerRates rates;
};
const void* step_arrays_kernel(operations::OptimizerRule rule);

// ---- parameters of layers -------------------------------------------------------------------------------------------

template <class R>
const void* parameter_step_kernel();

}  // namespace synfire::cuda

#endif
