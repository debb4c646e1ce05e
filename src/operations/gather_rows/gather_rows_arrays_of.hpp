// Converts the views of a gather to the arguments of kernels; the same on both backends.
#ifndef SYNFIRE_OPERATIONS_GATHER_ROWS_GATHER_ROWS_ARRAYS_OF_HPP
#define SYNFIRE_OPERATIONS_GATHER_ROWS_GATHER_ROWS_ARRAYS_OF_HPP

#include "gather_rows.hpp"
#include "gather_rows_arrays.hpp"

#include <base/dtype.hpp>

namespace synfire::operations {

inline GatherArrays arrays_of(const GatherRows& op) {
  const auto element = static_cast<int64_t>(core::bytes_of_dtype(op.source.dtype));
  return {static_cast<const char*>(op.source.data),
          static_cast<char*>(op.destination.data),
          static_cast<const uint32_t*>(op.indices.data),
          static_cast<const uint32_t*>(op.n_active.data),
          static_cast<const uint32_t*>(op.lengths.data),
          op.source.shape[0],
          op.source.shape[1],
          op.destination.shape[1],
          op.source.shape[2] * element,
          op.source.pitch * element,
          op.destination.pitch * element,
          op.source.dtype == SYNFIRE_DTYPE_TIME_BITS ? 32 : 1};
}

}  // namespace synfire::operations

#endif
