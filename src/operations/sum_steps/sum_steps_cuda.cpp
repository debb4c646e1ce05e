#include "sum_steps_arrays_of.hpp"
#include "sum_steps_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const SumSteps&, const GpuShape&) {
  return {};
}

void enqueue(const SumSteps& op, Launcher& launcher) {
  const SumStepsArrays arrays = arrays_of(op);
  launcher.launch(op.source.dtype == SYNFIRE_DTYPE_F64 ? sum_steps_kernel<double>() : sum_steps_kernel<float>(),
                  launcher.over_elements(arrays.n_columns), SumStepsLaunch{arrays});
}

}  // namespace synfire::operations
