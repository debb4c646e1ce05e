#include "twin.hpp"

#include <operations/keep_inputs/keep_inputs_kernels.hpp>

namespace synfire::cuda {

namespace {

template <class E>
const void* keep_elements() {
  return twin<KeepInputsLaunch>({sizeof(E)}, [](const KeepInputsLaunch& launch) {
    for (int64_t i = 0; i < operations::n_elements(launch.arrays); ++i) operations::keep_element<E>(launch.arrays, i);
  });
}

}  // namespace

const void* keep_words_kernel() {
  return twin<KeepInputsLaunch>({0}, [](const KeepInputsLaunch& launch) {
    for (int64_t i = 0; i < operations::n_words(launch.arrays); ++i) operations::keep_word(launch.arrays, i);
  });
}

const void* keep_elements_kernel(uint64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return keep_elements<uint8_t>();
    case 2:
      return keep_elements<uint16_t>();
    case 4:
      return keep_elements<uint32_t>();
    default:
      return keep_elements<uint64_t>();
  }
}

}  // namespace synfire::cuda
