// The kernel of reductions that continue, as the host code sees it.
#ifndef SYNFIRE_OPERATIONS_RUNNING_REDUCE_RUNNING_REDUCE_KERNELS_HPP
#define SYNFIRE_OPERATIONS_RUNNING_REDUCE_RUNNING_REDUCE_KERNELS_HPP

#include "running_reduce_columns.hpp"

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

struct RunningReduceLaunch {
  operations::RunningReduceArrays arrays;
};

// A thread for each result. E is operations::PackedBits, float or double.
template <class E>
const void* running_reduce_kernel();

}  // namespace synfire::cuda

#endif
