// How the neurons of a pass are shared among threads, and the blocks and shared memory of its launch. Planning needs no
// device, nor do its tests.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_PLAN_HPP
#define SYNFIRE_NEURONS_PASSES_CUDA_PLAN_HPP

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

}  // namespace synfire::cuda

#endif
