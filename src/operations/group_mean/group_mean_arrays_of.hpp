// Converts the views of means over groups to the arguments of kernels; the same on both backends.
#ifndef SYNFIRE_OPERATIONS_GROUP_MEAN_GROUP_MEAN_ARRAYS_OF_HPP
#define SYNFIRE_OPERATIONS_GROUP_MEAN_GROUP_MEAN_ARRAYS_OF_HPP

#include "group_mean.hpp"
#include "group_mean_arrays.hpp"

namespace synfire::operations {

inline GroupMeanArrays arrays_of(const GroupMean& op) {
  return {op.destination.shape[0], op.destination.row(), op.size,         op.source.data,       op.destination.data,
          op.source.pitch,         op.destination.pitch, op.source.dtype, op.destination.dtype, false};
}
inline GroupMeanArrays arrays_of(const GroupMeanBackward& op) {
  return {op.grad_destination.shape[0],
          op.grad_destination.row(),
          op.size,
          op.grad_destination.data,
          op.grad_source.data,
          op.grad_destination.pitch,
          op.grad_source.pitch,
          op.grad_destination.dtype,
          op.grad_source.dtype,
          op.add};
}

}  // namespace synfire::operations

#endif
