// The bits of finite numbers, for host code, kernel and twin: arithmetic could trap on a NaN.
#ifndef SYNFIRE_OPERATIONS_REPLACE_NONFINITE_FINITE_HPP
#define SYNFIRE_OPERATIONS_REPLACE_NONFINITE_FINITE_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// Word is the unsigned integer of the element's size.
template <class Word>
SYNFIRE_MODEL_FN bool is_finite(Word bits, Word exponent) {
  return (bits & exponent) != exponent;
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif
