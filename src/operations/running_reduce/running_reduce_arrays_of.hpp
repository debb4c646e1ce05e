// Converts the views of a reduction that continues to the arguments of kernels; the same on both backends.
#ifndef SYNFIRE_OPERATIONS_RUNNING_REDUCE_RUNNING_REDUCE_ARRAYS_OF_HPP
#define SYNFIRE_OPERATIONS_RUNNING_REDUCE_RUNNING_REDUCE_ARRAYS_OF_HPP

#include "running_reduce.hpp"
#include "running_reduce_columns.hpp"

namespace synfire::operations {

inline RunningReduceArrays arrays_of(const RunningReduce& op) {
  return {op.extents.n_steps,
          op.extents.batch,
          op.extents.n_neurons,
          op.source.pitch,
          op.reduction == Reduction::mean,
          op.reduction == Reduction::max,
          op.destination.dtype == SYNFIRE_DTYPE_F64,
          op.source.data,
          static_cast<double*>(op.totals.data),
          static_cast<uint64_t*>(op.n_steps.data),
          op.destination.data};
}

}  // namespace synfire::operations

#endif
