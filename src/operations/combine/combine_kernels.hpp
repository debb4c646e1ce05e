// The kernels of combinations and of their gradients, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_COMBINE_COMBINE_KERNELS_HPP
#define SYNFIRE_OPERATIONS_COMBINE_COMBINE_KERNELS_HPP

#include "combine_arrays.hpp"

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

// The neighbouring elements that a thread combines, which are its unit: 16 bytes of f32 and of u8, a packed word.
inline constexpr int combine_numbers_unit = 4, combine_bytes_unit = 16, combine_bits_unit = 32;

// Units of all rows; of a time-packed destination, the words of all groups of 32 steps.
struct CombineLaunch {
  operations::CombineArrays arrays;
  int64_t per_row, n_units;
};
struct CombineGradientLaunch {
  operations::CombineGradientArrays arrays;
  int64_t per_row, n_units;  // of combine_numbers_unit elements of the gradient
};

const void* combine_numbers_kernel(int32_t dtype);
const void* combine_bytes_kernel();
const void* combine_bits_kernel();
const void* combine_time_bits_kernel();
const void* combine_gradient_kernel(int32_t dtype);

}  // namespace synfire::cuda

#endif
