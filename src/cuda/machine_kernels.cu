#include "machine_kernels.hpp"

#include "storage.cuh"

namespace synfire::cuda {
namespace {

__global__ void __launch_bounds__(threads_per_block) write_small(const __grid_constant__ WriteSmallLaunch launch) {
  wait_for_previous();
  for (int i = static_cast<int>(threadIdx.x); i < launch.bytes; i += threads_per_block)
    launch.destination[i] = launch.source[i];
}

// What a disabled operation runs instead of its kernel: the order of what is around it stays.
__global__ void idle() {
  wait_for_previous();
}

__global__ void signal(const __grid_constant__ SignalLaunch launch) {
  wait_for_previous();
  const uint64_t count = *launch.count + 1;
  *launch.count = count;
  // Results that kernels before this one wrote to mapped host memory are visible before the count is.
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
