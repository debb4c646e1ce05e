// Converts the views of kept inputs to the arguments of kernels; the same on both backends.
#ifndef SYNFIRE_OPERATIONS_KEEP_INPUTS_KEEP_INPUTS_ARRAYS_OF_HPP
#define SYNFIRE_OPERATIONS_KEEP_INPUTS_KEEP_INPUTS_ARRAYS_OF_HPP

#include "keep_inputs.hpp"
#include "keep_inputs_elements.hpp"

#include <base/dtype.hpp>

namespace synfire::operations {

inline bool are_words(const KeepInputs& op) {
  return op.kept.dtype == SYNFIRE_DTYPE_BITS;
}
// Spikes that are stored otherwise are converted, to the place where they are then masked.
inline bool is_converted(const KeepInputs& op) {
  return are_words(op) && op.input && op.input.dtype != SYNFIRE_DTYPE_BITS;
}
inline KeepInputsArrays arrays_of(const KeepInputs& op) {
  const View& from = is_converted(op) ? op.kept : op.input;
  return {op.extents, op.n_channels, static_cast<const uint32_t*>(op.mask.data), from.data, from.pitch, op.kept.data};
}

}  // namespace synfire::operations

#endif
