// Which instance of the kernels computes a pass: the storage of its sequences and the outputs or inputs that it has,
// and the address of the kernel.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_PASS_INSTANCES_HPP
#define SYNFIRE_NEURONS_PASSES_CUDA_PASS_INSTANCES_HPP

#include "built.hpp"
#include "plan.hpp"

namespace synfire::cuda {

// The instances of the layer's model. A forward does not depend on the surrogate.
Instances instances_for(const core::LayerSpec& spec, const operations::Forward& op);
Instances instances_for(const core::LayerSpec& spec, const operations::Backward& op);

ForwardInstance instance_of(const core::LayerSpec& spec, const operations::Forward& op);
BackwardInstance instance_of(const core::LayerSpec& spec, const operations::Backward& op);

// The kernel of a planned pass. A loaded model or surrogate brings its own; otherwise throws UNSUPPORTED if the build
// left out the kernels of this layer's dtype or model.
const void* kernel_for(const operations::Forward& op, const Plan& plan, const BuiltKernels& built = built_kernels);
const void* kernel_for(const operations::Backward& op, const Plan& plan, const BuiltKernels& built = built_kernels);

}  // namespace synfire::cuda

#endif
