// The kernels of means over groups, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_GROUP_MEAN_GROUP_MEAN_KERNELS_HPP
#define SYNFIRE_OPERATIONS_GROUP_MEAN_GROUP_MEAN_KERNELS_HPP

#include "group_mean_arrays.hpp"

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

struct GroupMeanLaunch {
  operations::GroupMeanArrays arrays;
};

// A thread for each group.
const void* group_mean_kernel(int32_t dtype);
// A thread for each element of the gradient.
const void* group_mean_gradient_kernel(int32_t dtype);

}  // namespace synfire::cuda

#endif
