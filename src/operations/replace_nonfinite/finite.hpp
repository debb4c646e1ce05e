// The bits of finite numbers, for host code, kernel and twin: arithmetic could trap on a NaN.
#ifndef SYNFIRE_OPERATIONS_REPLACE_NONFINITE_FINITE_HPP
#define SYNFIRE_OPERATIONS_REPLACE_NONFINITE_FINITE_HPP

#include <synfire/synfire.h>
#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// The bits of the exponent of a type of numbers. All are set in numbers that are not finite, and only there.
SYNFIRE_MODEL_FN uint64_t exponent_bits(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
      return 0x7FF0000000000000;
    case SYNFIRE_DTYPE_F16:
      return 0x7C00;
    case SYNFIRE_DTYPE_BF16:
      return 0x7F80;
    default:
      return 0x7F800000;
  }
}

// Word is the unsigned integer of the element's size.
template <class Word>
SYNFIRE_MODEL_FN bool is_finite(Word bits, Word exponent) {
  return (bits & exponent) != exponent;
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif
