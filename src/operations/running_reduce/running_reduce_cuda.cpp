#include "running_reduce_arrays_of.hpp"
#include "running_reduce_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const RunningReduce&, const GpuShape&) {
  return {};
}

void enqueue(const RunningReduce& op, Launcher& launcher) {
  const RunningReduceArrays arrays = arrays_of(op);
  const void* const kernel = op.source.dtype == SYNFIRE_DTYPE_BITS  ? running_reduce_kernel<PackedBits>()
                             : op.source.dtype == SYNFIRE_DTYPE_F64 ? running_reduce_kernel<double>()
                                                                    : running_reduce_kernel<float>();
  launcher.launch(kernel, launcher.over_elements(arrays.n_columns()), RunningReduceLaunch{arrays});
}

}  // namespace synfire::operations
