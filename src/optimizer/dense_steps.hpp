// An optimiser's step on the weights and biases of dense synapses on a GPU, in two launches for all of them
// (dense_steps_kernels.cu).
#ifndef SYNFIRE_OPTIMIZER_DENSE_STEPS_HPP
#define SYNFIRE_OPTIMIZER_DENSE_STEPS_HPP

#include "dense_steps_kernels.hpp"
#include "fused_steps.hpp"

#include <synapses/dense/dense.hpp>

namespace synfire::operations {

std::unique_ptr<FusedSteps> make_dense_steps();

}  // namespace synfire::operations

#endif
