// Spikes of a row of words, and counts of a row of bytes, for host code and kernels.
#ifndef SYNFIRE_OPERATIONS_SPIKES_BITS_OF_ROW_HPP
#define SYNFIRE_OPERATIONS_SPIKES_BITS_OF_ROW_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {

// Bits `first` to first + count - 1 of a row of words, 1 to 32 of them.
SYNFIRE_MODEL_FN uint32_t bits_at(const uint32_t* words, int64_t first, int count) {
  const int64_t word = first / 32;
  const int shift = static_cast<int>(first % 32);
  uint32_t found = words[word] >> shift;
  if (shift + count > 32) found |= words[word + 1] << (32 - shift);
  return count == 32 ? found : found & ((uint32_t{1} << count) - 1);
}
// The number of the lowest bit that is set; there is one.
SYNFIRE_MODEL_FN int lowest_bit(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(bits)) - 1;
#else
  return __builtin_ctz(bits);
#endif
}
// Counts above the bound count as the bound.
SYNFIRE_MODEL_FN int32_t bounded(uint8_t count, int32_t bound) {
  return count < bound ? count : bound;
}

}  // namespace synfire::operations

#endif
