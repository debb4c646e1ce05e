// The kernel of copies of the last steps, as the host code sees it.
#ifndef SYNFIRE_OPERATIONS_LAST_STEPS_LAST_STEPS_KERNELS_HPP
#define SYNFIRE_OPERATIONS_LAST_STEPS_LAST_STEPS_KERNELS_HPP

#include "last_steps_words.hpp"

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

struct LastStepsLaunch {
  operations::LastStepsArrays arrays;
};

// A thread for each word.
const void* last_steps_kernel();

}  // namespace synfire::cuda

#endif
