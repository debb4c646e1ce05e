#include "machine_kernels.hpp"

#include "cuda_storage.cuh"

namespace synfire::cuda {
namespace {

__global__ void __launch_bounds__(threads_per_block) write_small(const __grid_constant__ WriteSmallLaunch launch) {
  wait_for_previous();
  for (int i = static_cast<int>(threadIdx.x); i < launch.bytes; i += threads_per_block)
    launch.destination[i] = launch.source[i];
}

// Replaces a disabled operation's kernel, so that its neighbours keep their order.
__global__ void idle() {
  wait_for_previous();
}

__global__ void signal(const __grid_constant__ SignalLaunch launch) {
  wait_for_previous();
  const uint64_t count = *launch.count + 1;
  *launch.count = count;
  // Makes the results of earlier kernels in mapped host memory visible before the count.
  __threadfence_system();
  *static_cast<volatile uint64_t*>(launch.published) = count;
}

}  // namespace

const void* write_small_kernel() {
  return address(write_small);
}
const void* signal_kernel() {
  return address(signal);
}
const void* idle_kernel() {
  return address(idle);
}

}  // namespace synfire::cuda
