// The kernels of sums of squares, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_SQUARE_SUM_SQUARE_SUM_KERNELS_HPP
#define SYNFIRE_OPERATIONS_SQUARE_SUM_SQUARE_SUM_KERNELS_HPP

#include "square_sum_arrays.hpp"

#include <backends/cuda/device_types.hpp>

namespace synfire::cuda {

struct SquareSumLaunch {
  operations::SquareSumArrays arrays;
};

// A block of reduction_lanes threads for each chunk; for a single chunk, also the sums. E is float or double.
template <class E>
const void* square_sum_kernel();
// One block: the sums, of those of the chunks.
const void* square_total_kernel();

}  // namespace synfire::cuda

#endif
