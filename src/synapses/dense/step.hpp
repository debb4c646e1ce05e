// An optimiser's step on the weights and biases of dense synapses on a GPU, in two launches for all of them (step.cu).
#ifndef SYNFIRE_SYNAPSES_DENSE_STEP_HPP
#define SYNFIRE_SYNAPSES_DENSE_STEP_HPP

#include "dense.hpp"
#include "step_kernels.hpp"

#include <operations/optimizer/fused_steps.hpp>

namespace synfire::operations {

std::unique_ptr<FusedSteps> make_dense_steps();

}  // namespace synfire::operations

#endif
