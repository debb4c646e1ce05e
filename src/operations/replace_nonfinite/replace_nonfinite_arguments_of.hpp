// Converts the views of the operation to the arguments of kernels; the same on both backends.
#ifndef SYNFIRE_OPERATIONS_REPLACE_NONFINITE_REPLACE_NONFINITE_ARGUMENTS_OF_HPP
#define SYNFIRE_OPERATIONS_REPLACE_NONFINITE_REPLACE_NONFINITE_ARGUMENTS_OF_HPP

#include "replace_nonfinite.hpp"
#include "replace_nonfinite_arguments.hpp"

#include <base/dtype.hpp>

namespace synfire::operations {

inline ReplaceNonfiniteArguments arguments_of(const ReplaceNonfinite& op) {
  const int64_t row = op.source.row(), n_steps = op.source.shape[0];
  return {op.source.data,
          op.destination.data,
          static_cast<uint64_t*>(op.count.data),
          core::exponent_bits(op.source.dtype),
          row,
          n_steps * row,
          n_steps > 1 ? op.source.pitch : row,
          n_steps > 1 ? op.destination.pitch : row};
}

}  // namespace synfire::operations

#endif
