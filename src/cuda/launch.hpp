// From an operation to a launch on a stream: kernels of passes as they are planned (plan.hpp), and those between them.
#ifndef SYNFIRE_CUDA_LAUNCH_HPP
#define SYNFIRE_CUDA_LAUNCH_HPP

#include "api.hpp"
#include "plan.hpp"

namespace synfire::cuda {

// How an operation is enqueued: for real; for real, where its kernels may be launched before the kernel that precedes
// them in the stream has ended, for which they wait themselves; or with empty extents, which loads every kernel and
// touches no data.
enum class Enqueue { run, run_programmatic, warm_up };

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
// Whether a launch may say how much shared memory a multiprocessor has (Plan::shared_percent).
bool takes_shared_percent(int driver_version);
// What stands for a kernel node that shall do nothing.
cudaKernelNodeParams idle_node();

}  // namespace synfire::cuda

#endif
