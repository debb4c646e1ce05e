// The dropped neurons, and the factor of the others; the same on every backend. The random numbers are those of an
// encoding (encode/philox.hpp): `offset` is the number of the step.
#ifndef SYNFIRE_OPERATIONS_DROPOUT_MASK_HPP
#define SYNFIRE_OPERATIONS_DROPOUT_MASK_HPP

#include <operations/encode/philox.hpp>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// A neuron is dropped if its word is below this. The probability is less than 1.
SYNFIRE_MODEL_FN uint32_t dropped_below(double probability) {
  return static_cast<uint32_t>(probability * 4294967296.0);
}
SYNFIRE_MODEL_FN double scale_of_kept(double probability) {
  return 1.0 / (1.0 - probability);
}

// The bits of neurons 4 * group to 4 * group + 3.
SYNFIRE_MODEL_FN uint32_t kept_of_group(Words4 drawn, uint32_t below) {
  uint32_t kept = 0;
  for (int k = 0; k < 4; ++k) kept |= static_cast<uint32_t>(drawn.word[k] >= below) << k;
  return kept;
}

// The bits of a word that stand for a neuron, in a row of n_neurons.
SYNFIRE_MODEL_FN uint32_t bits_in_use(int64_t word, int64_t n_neurons) {
  const int64_t left = n_neurons - 32 * word;
  return left >= 32 ? 0xFFFFFFFFu : 0xFFFFFFFFu >> (32 - left);
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif
