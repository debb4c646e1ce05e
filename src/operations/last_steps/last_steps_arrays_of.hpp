// Converts the views of the last steps to the arguments of kernels; the same on both backends.
#ifndef SYNFIRE_OPERATIONS_LAST_STEPS_LAST_STEPS_ARRAYS_OF_HPP
#define SYNFIRE_OPERATIONS_LAST_STEPS_LAST_STEPS_ARRAYS_OF_HPP

#include "last_steps.hpp"
#include "last_steps_words.hpp"

#include <base/dtype.hpp>

namespace synfire::operations {

inline LastStepsArrays arrays_of(const LastSteps& op) {
  const View& to = op.destination;
  const auto element_words = static_cast<int64_t>(core::bytes_of_dtype(to.dtype) / sizeof(uint32_t));
  LastStepsArrays arrays = {.n_steps = to.shape[0],
                            .step_words = to.row() * element_words,
                            .row_words = to.shape[2] * element_words,
                            .from_pitch = op.source.pitch * element_words,
                            .to_pitch = to.pitch * element_words,
                            .first_row = op.first_row,
                            .n_rows = op.n_rows,
                            .n_neurons = op.n_neurons,
                            .from = nullptr,
                            .to = static_cast<uint32_t*>(to.data),
                            .layer_active = static_cast<const int64_t*>(op.layer_active.data),
                            .mask = static_cast<const uint8_t*>(op.mask.data)};
  if (op.source.data)
    arrays.from =
        static_cast<const uint32_t*>(op.source.data) + (op.source.shape[0] - arrays.n_steps) * arrays.from_pitch;
  return arrays;
}

}  // namespace synfire::operations

#endif
