// Choices of a plan that are faster on GPUs on which they were measured, and that change no result: constants by
// compute capability, and what follows from them.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_MEASURED_POLICY_HPP
#define SYNFIRE_NEURONS_PASSES_CUDA_MEASURED_POLICY_HPP

#include "plan.hpp"

namespace synfire::cuda {

// True if a row has enough elements for this many neurons in each thread.
bool worth_widening(int64_t row, int width, const GpuShape& gpu);

// Limits the blocks that a multiprocessor has at once, where a planned backward gains from it.
void limit_residency(Plan& plan, const core::LayerSpec& spec, const core::Extents& extents, BackwardInputs inputs,
                     const GpuShape& gpu);

}  // namespace synfire::cuda

#endif
