#include "sum_steps_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

template <class R>
__global__ void __launch_bounds__(threads_per_block) sum_steps(const __grid_constant__ SumStepsLaunch launch) {
  wait_for_previous();
  for (int64_t column = first_element(); column < launch.arrays.n_columns; column += stride())
    operations::sum_column<R>(launch.arrays, column);
}

}  // namespace

template <class R>
const void* sum_steps_kernel() {
  return address(sum_steps<R>);
}
template const void* sum_steps_kernel<float>();
template const void* sum_steps_kernel<double>();

}  // namespace synfire::cuda
