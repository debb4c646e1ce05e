#include "last_steps_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

__global__ void __launch_bounds__(threads_per_block) last_steps(const __grid_constant__ LastStepsLaunch launch) {
  wait_for_previous();
  const int64_t first = launch.arrays.first_word(), end = launch.arrays.end_word(), n_words = launch.arrays.n_words();
  for (int64_t word = first_element(); word < n_words; word += stride())
    operations::keep_word(launch.arrays, first, end, word);
}

}  // namespace

const void* last_steps_kernel() {
  return address(last_steps);
}

}  // namespace synfire::cuda
