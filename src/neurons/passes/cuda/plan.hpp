// How a pass is computed: a kernel's instance, threads and shared memory. Planning needs no device, nor do its tests.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_PLAN_HPP
#define SYNFIRE_NEURONS_PASSES_CUDA_PLAN_HPP

#include "built.hpp"
#include "passes_kernels.hpp"

#include <backends/cuda/hints.hpp>
#include <neurons/passes/passes_arguments_of.hpp>

namespace synfire::cuda {

struct Plan {
  Ownership ownership;
  Tiles tiles;
  uint32_t n_blocks;
  uint32_t n_threads;  // of one block
  uint32_t shared_bytes;
  int shared_percent = 0;  // of a multiprocessor's largest shared memory; 0: the driver chooses
};

// Throws UNSUPPORTED if the layer needs more blocks than a grid can have.
Plan plan_of(const operations::Forward& op, const GpuShape& gpu);
Plan plan_of(const operations::Backward& op, const GpuShape& gpu);

// The kernel of a planned pass. A loaded model or surrogate brings its own; otherwise throws UNSUPPORTED if the build
// left out the kernels of this layer's dtype or model.
const void* kernel_for(const operations::Forward& op, const Plan& plan, const BuiltKernels& built = built_kernels);
const void* kernel_for(const operations::Backward& op, const Plan& plan, const BuiltKernels& built = built_kernels);

}  // namespace synfire::cuda

#endif
