// Converts the views of a sum over steps to the arguments of kernels; the same on both backends.
#ifndef SYNFIRE_OPERATIONS_SUM_STEPS_SUM_STEPS_ARRAYS_OF_HPP
#define SYNFIRE_OPERATIONS_SUM_STEPS_SUM_STEPS_ARRAYS_OF_HPP

#include "sum_steps.hpp"
#include "sum_steps_columns.hpp"

namespace synfire::operations {

inline SumStepsArrays arrays_of(const SumSteps& op) {
  return {op.source.shape[0], op.source.row(), op.source.pitch, op.source.data, op.destination.data, op.add};
}

}  // namespace synfire::operations

#endif
