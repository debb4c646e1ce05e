#include "tally_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <operations/rate_loss/rate_loss_steps.cuh>

namespace synfire::cuda {
namespace {

__global__ void __launch_bounds__(model::reduction_lanes) tally(const __grid_constant__ TallyLaunch launch) {
  wait_for_previous();
  __shared__ model::u64 lanes[model::reduction_lanes];
  const model::u64 counted = counted_steps(launch.extents, launch.counting, lanes);
  if (threadIdx.x != 0) return;
  launch.totals[0] += counted;
  launch.totals[1] += 1;
}

}  // namespace

const void* tally_kernel() {
  return address(tally);
}

}  // namespace synfire::cuda
