// Converts the views of a sum of squares to the arguments of kernels; the same on both backends.
#ifndef SYNFIRE_OPERATIONS_SQUARE_SUM_SQUARE_SUM_ARRAYS_OF_HPP
#define SYNFIRE_OPERATIONS_SQUARE_SUM_SQUARE_SUM_ARRAYS_OF_HPP

#include "square_sum.hpp"
#include "square_sum_arrays.hpp"

#include <base/dtype.hpp>

namespace synfire::operations {

inline SquareSumArrays arrays_of(const SquareSum& op) {
  return {static_cast<int64_t>(op.source.bytes / core::bytes_of_dtype(op.source.dtype)), op.source.data,
          static_cast<double*>(op.partials.data), static_cast<double*>(op.sums.data), op.accumulate};
}

}  // namespace synfire::operations

#endif
