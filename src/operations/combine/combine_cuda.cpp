#include "combine_arrays_of.hpp"
#include "combine_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const Combine&, const GpuShape&) {
  return {};
}
Hints hints(const CombineBackward&, const GpuShape&) {
  return {};
}

void enqueue(const Combine& op, Launcher& launcher) {
  const CombineArrays arrays = arrays_of(op);
  const void* kernel = nullptr;
  int64_t unit = 1, n_rows = arrays.extents.n_steps * arrays.extents.batch;
  switch (arrays.dtype) {
    case SYNFIRE_DTYPE_U8:
      kernel = combine_bytes_kernel();
      unit = combine_bytes_unit;
      break;
    case SYNFIRE_DTYPE_BITS:
      kernel = combine_bits_kernel();
      unit = combine_bits_unit;
      break;
    case SYNFIRE_DTYPE_TIME_BITS:
      kernel = combine_time_bits_kernel();
      n_rows = (arrays.extents.n_steps + 31) / 32 * arrays.extents.batch;
      break;
    default:
      kernel = combine_numbers_kernel(arrays.dtype);
      unit = combine_numbers_unit;
  }
  const int64_t per_row = (arrays.extents.n_neurons + unit - 1) / unit;
  launcher.launch(kernel, launcher.over_elements(per_row * n_rows), CombineLaunch{arrays, per_row, per_row * n_rows});
}

void enqueue(const CombineBackward& op, Launcher& launcher) {
  const CombineGradientArrays arrays = arrays_of(op);
  const int64_t per_row = (arrays.extents.n_neurons + combine_numbers_unit - 1) / combine_numbers_unit;
  const int64_t n_units = per_row * arrays.extents.n_steps * arrays.extents.batch;
  launcher.launch(combine_gradient_kernel(arrays.to_dtype), launcher.over_elements(n_units),
                  CombineGradientLaunch{arrays, per_row, n_units});
}

}  // namespace synfire::operations
