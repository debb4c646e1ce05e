// From an operation to a launch: which instance, how many threads, how much shared memory. Planning touches no device,
// so it can be tested with any extents on a machine without one.
#ifndef SYNFIRE_CUDA_LAUNCH_HPP
#define SYNFIRE_CUDA_LAUNCH_HPP

#include "api.hpp"
#include "kernels.hpp"

#include <core/layer.hpp>
#include <core/operation.hpp>

#include <vector>

namespace synfire::cuda {

// The part of a GPU that launch planning looks at.
struct GpuShape {
  int n_multiprocessors;
};

struct Plan {
  int width;  // elements per thread
  Lanes lanes;
  uint32_t n_blocks;
  uint32_t n_threads;  // of one block
  uint32_t shared_bytes;
};

// Throws UNSUPPORTED when the layer needs more blocks than a grid can have.
Plan plan_forward(const core::LayerSpec& spec, const core::ForwardOperation& op, const GpuShape& gpu);
Plan plan_backward(const core::LayerSpec& spec, const core::BackwardOperation& op, const GpuShape& gpu);

// How an operation is enqueued: for real; for real, where its kernels may be launched before the kernel that precedes
// them in the stream has ended, for which they wait themselves; or with empty extents, which loads every kernel and
// touches no data.
enum class Enqueue { run, run_programmatic, warm_up };

// Whether an operation whose kernel is launched programmatically gains from coming onto the GPU while the blocks of the
// one in front of it leave. Only passes let it come. A backward does: 76 us against 78 for a forward and a backward of
// 262,144 neurons over 64 steps. A forward does where it is more threads than the GPU holds (275.4 against 277 us with
// 2,097,152 neurons, T = 32); a smaller one is then spread unevenly over the multiprocessors (one behind the other 21.5
// us against 19.6 with 262,144 neurons, T = 64; H200, docs/performance.md, "Small graphs").
bool begins_early(const core::Operation& operation, const core::Operation& previous, const GpuShape& gpu);

// Puts one operation on a stream. All addresses must be accessible to the GPU. `next_begins_early`: what begins_early()
// says of the operation that comes next.
void enqueue(const core::Operation& operation, const GpuShape& gpu, Enqueue how, cudaStream_t stream,
             bool next_begins_early = false);
// How many nodes of a graph that gives.
int nodes_of(const core::Operation& operation);
// Rewrites up to small_bytes of device memory with a kernel that carries the bytes in its arguments.
void enqueue_write_small(void* destination, const void* source, uint64_t bytes, cudaStream_t stream);
void enqueue_signal(uint64_t* count, uint64_t* published, Enqueue how, cudaStream_t stream);
// Whether this build's kernels, as this device runs them, wait for the kernel before them by themselves.
bool kernels_wait(int compute_major, int driver_version);
// What stands for a kernel node that shall do nothing.
cudaKernelNodeParams idle_node();

// Every kernel that enqueue() would launch for an operation, to have it loaded before a capture.
const void* kernel_of(const core::Operation& operation, const GpuShape& gpu);

}  // namespace synfire::cuda

#endif
