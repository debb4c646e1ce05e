// The arrays as host code, kernel and twin read them.
#ifndef SYNFIRE_OPERATIONS_REPLACE_NONFINITE_REPLACE_NONFINITE_ARGUMENTS_HPP
#define SYNFIRE_OPERATIONS_REPLACE_NONFINITE_REPLACE_NONFINITE_ARGUMENTS_HPP

#include "finite.hpp"

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// Lengths and pitches are in elements.
struct ReplaceNonfiniteArguments {
  const void* source;
  void* destination;
  uint64_t* count;
  uint64_t exponent;  // exponent_bits()
  int64_t row;        // of one step
  int64_t n_elements;
  int64_t source_pitch, destination_pitch;
};

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif
