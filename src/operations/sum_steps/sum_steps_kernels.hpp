// The kernel of sums over steps, as the host code sees it.
#ifndef SYNFIRE_OPERATIONS_SUM_STEPS_SUM_STEPS_KERNELS_HPP
#define SYNFIRE_OPERATIONS_SUM_STEPS_SUM_STEPS_KERNELS_HPP

#include "sum_steps_columns.hpp"

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

struct SumStepsLaunch {
  operations::SumStepsArrays arrays;
};

// A thread for each sum. R is float or double.
template <class R>
const void* sum_steps_kernel();

}  // namespace synfire::cuda

#endif
