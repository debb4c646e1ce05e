#include "state_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

template <class R>
__global__ void __launch_bounds__(threads_per_block) reset_rows(const __grid_constant__ ResetRowsLaunch<R> launch) {
  wait_for_previous();
  const int64_t n = launch.n_neurons, count = launch.n_rows * n;
  for (int64_t i = first_element(); i < count; i += stride()) {
    if (launch.mask && launch.mask[i / n] == 0) continue;
    const auto& p = *launch.parameters;
    const R v_reset = p.per_neuron ? p.per_neuron[constant_v_reset * n + i % n] : p.shared[constant_v_reset];
    launch.v[i] = launch.soft_reset ? R(0) : v_reset;
    for (R* const w : launch.w)
      if (w) w[i] = R(0);
  }
}

__global__ void __launch_bounds__(threads_per_block) guarded_copy(const __grid_constant__ GuardedCopyLaunch launch) {
  wait_for_previous();
  __shared__ bool matches;
  if (threadIdx.x == 0) {
    bool same = true;
    for (int i = 0; i < launch.n_expected; ++i) same &= launch.guard[i] == launch.expected[i];
    matches = same;
  }
  __syncthreads();
  if (!matches) return;
  for (int64_t i = first_element(); i < launch.count; i += stride()) copy_word(launch, i);
}

}  // namespace

template <class R>
const void* reset_rows_kernel() {
  return address(reset_rows<R>);
}
const void* guarded_copy_kernel() {
  return address(guarded_copy);
}
template const void* reset_rows_kernel<float>();
template const void* reset_rows_kernel<double>();

}  // namespace synfire::cuda
