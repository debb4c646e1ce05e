#include "group_mean_arrays_of.hpp"
#include "group_mean_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const GroupMean&, const GpuShape&) {
  return {};
}
Hints hints(const GroupMeanBackward&, const GpuShape&) {
  return {};
}

void enqueue(const GroupMean& op, Launcher& launcher) {
  const GroupMeanArrays arrays = arrays_of(op);
  launcher.launch(group_mean_kernel(arrays.to_dtype), launcher.over_elements(arrays.n_steps * arrays.n_groups),
                  GroupMeanLaunch{arrays});
}

void enqueue(const GroupMeanBackward& op, Launcher& launcher) {
  const GroupMeanArrays arrays = arrays_of(op);
  launcher.launch(group_mean_gradient_kernel(arrays.to_dtype),
                  launcher.over_elements(arrays.n_steps * arrays.n_elements()), GroupMeanLaunch{arrays});
}

}  // namespace synfire::operations
