#include "running_reduce_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

template <class E>
__global__ void __launch_bounds__(threads_per_block)
    running_reduce(const __grid_constant__ RunningReduceLaunch launch) {
  wait_for_previous();
  for (int64_t column = first_element(); column < launch.arrays.n_columns(); column += stride())
    operations::continue_column<E>(launch.arrays, column);
}

}  // namespace

template <class E>
const void* running_reduce_kernel() {
  return address(running_reduce<E>);
}
template const void* running_reduce_kernel<operations::PackedBits>();
template const void* running_reduce_kernel<float>();
template const void* running_reduce_kernel<double>();

}  // namespace synfire::cuda
