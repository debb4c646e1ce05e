#include "last_steps_arrays_of.hpp"
#include "last_steps_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const LastSteps&, const GpuShape&) {
  return {};
}

void enqueue(const LastSteps& op, Launcher& launcher) {
  const LastStepsArrays arrays = arrays_of(op);
  launcher.launch(last_steps_kernel(), launcher.over_elements(arrays.n_words()), LastStepsLaunch{arrays});
}

}  // namespace synfire::operations
