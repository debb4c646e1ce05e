// The arrays as host code, kernel and twin read them.
#ifndef SYNFIRE_OPERATIONS_CHECK_ELEMENTS_CHECK_ELEMENTS_ARGUMENTS_HPP
#define SYNFIRE_OPERATIONS_CHECK_ELEMENTS_CHECK_ELEMENTS_ARGUMENTS_HPP

#include "allowed.hpp"

namespace synfire::operations {

// The result if every element is allowed.
inline constexpr uint64_t nothing_refused = ~uint64_t{0};

struct CheckElementsArguments {
  AllowedElements allowed;
  const void* elements;     // rows without gaps, aligned to their size
  const uint32_t* lengths;  // of each row, in steps; null: all steps count
  int64_t n_elements;
  int64_t per_row, width;  // elements of a row, and of a step
  int32_t element_bytes;   // 1, 2, 4 or 8
};

inline namespace SYNFIRE_MODEL_LEVEL {

// True if the step of this element is within the length of its row.
SYNFIRE_MODEL_FN bool is_within_length(const CheckElementsArguments& a, int64_t element) {
  if (!a.lengths) return true;
  const int64_t row = element / a.per_row;
  return (element - row * a.per_row) / a.width < static_cast<int64_t>(a.lengths[row]);
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif
