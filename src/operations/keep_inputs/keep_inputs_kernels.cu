#include "keep_inputs_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

__global__ void __launch_bounds__(threads_per_block) keep_words(const __grid_constant__ KeepInputsLaunch launch) {
  wait_for_previous();
  const int64_t count = operations::n_words(launch.arrays);
  for (int64_t i = first_element(); i < count; i += stride()) operations::keep_word(launch.arrays, i);
}

template <class E>
__global__ void __launch_bounds__(threads_per_block) keep_elements(const __grid_constant__ KeepInputsLaunch launch) {
  wait_for_previous();
  const int64_t count = operations::n_elements(launch.arrays);
  for (int64_t i = first_element(); i < count; i += stride()) operations::keep_element<E>(launch.arrays, i);
}

}  // namespace

const void* keep_words_kernel() {
  return address(keep_words);
}
const void* keep_elements_kernel(uint64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return address(keep_elements<uint8_t>);
    case 2:
      return address(keep_elements<uint16_t>);
    case 4:
      return address(keep_elements<uint32_t>);
    default:
      return address(keep_elements<uint64_t>);
  }
}

}  // namespace synfire::cuda
