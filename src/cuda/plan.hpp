// How an operation is computed: which instance of a kernel, how many threads, how much shared memory. Planning touches
// no device, so it can be tested with any extents on a machine without one.
#ifndef SYNFIRE_CUDA_PLAN_HPP
#define SYNFIRE_CUDA_PLAN_HPP

#include "kernels.hpp"

#include <core/layer.hpp>
#include <core/operation.hpp>

namespace synfire::cuda {

// The part of a GPU that launch planning looks at.
struct GpuShape {
  int n_multiprocessors;
  int compute_major;
  bool takes_shared_percent;  // a launch may say so: Plan::shared_percent
};

struct Plan {
  int width;  // elements per thread
  Lanes lanes;
  uint32_t n_blocks;
  uint32_t n_threads;  // of one block
  uint32_t shared_bytes;
  int shared_percent = 0;  // of what a multiprocessor can have as shared memory; 0: as the driver chooses
};

// Throws UNSUPPORTED when the layer needs more blocks than a grid can have.
Plan plan_forward(const core::LayerSpec& spec, const core::ForwardOperation& op, const GpuShape& gpu);
Plan plan_backward(const core::LayerSpec& spec, const core::BackwardOperation& op, const GpuShape& gpu);

// Whether an operation whose kernel is launched programmatically gains from coming onto the GPU while the blocks of the
// one in front of it leave. Only passes let it come. A backward does: 76 us against 78 for a forward and a backward of
// 262,144 neurons over 64 steps. A forward does where it is more threads than the GPU holds (275.4 against 277 us with
// 2,097,152 neurons, T = 32); a smaller one is then spread unevenly over the multiprocessors (one behind the other 21.5
// us against 19.6 with 262,144 neurons, T = 64; H200, docs/performance.md, "Small graphs").
bool begins_early(const core::Operation& operation, const core::Operation& previous, const GpuShape& gpu);

// The instance that computes a pass as planned.
const void* kernel_for(const core::LayerSpec& spec, const core::ForwardOperation& op, const Plan& plan);
const void* kernel_for(const core::LayerSpec& spec, const core::BackwardOperation& op, const Plan& plan);
const void* kernel_for(const core::ConvertSpikesOperation& op);
const void* kernel_for(const core::CountSpikesOperation& op);
// Whether a copy is made by a kernel, and the bytes of one access of it: the most that both addresses and the size are
// multiples of.
bool copies_by_kernel(const core::CopyOperation& op);
int copy_unit(const core::CopyOperation& op);
// The kernel that is an operation's own, to have it loaded before a capture; null where all of its kind share one.
const void* kernel_of(const core::Operation& operation, const GpuShape& gpu);

}  // namespace synfire::cuda

#endif
