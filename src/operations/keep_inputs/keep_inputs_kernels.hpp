// The kernels of kept inputs, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_KEEP_INPUTS_KEEP_INPUTS_KERNELS_HPP
#define SYNFIRE_OPERATIONS_KEEP_INPUTS_KEEP_INPUTS_KERNELS_HPP

#include "keep_inputs_elements.hpp"

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

struct KeepInputsLaunch {
  operations::KeepInputsArrays arrays;
};

// A thread for each word.
const void* keep_words_kernel();
// A thread for each element, of 1, 2, 4 or 8 bytes.
const void* keep_elements_kernel(uint64_t element_bytes);

}  // namespace synfire::cuda

#endif
