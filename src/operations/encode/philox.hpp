// Philox4x32-10, the counter-based generator of J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC '11: four words for each counter of 128 bits under a key of 64; and the word that
// decides whether a neuron spikes. The same on every backend.
#ifndef SYNFIRE_OPERATIONS_ENCODE_PHILOX_HPP
#define SYNFIRE_OPERATIONS_ENCODE_PHILOX_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

struct Words4 {
  uint32_t word[4];
};

SYNFIRE_MODEL_FN Words4 philox(Words4 counter, uint64_t seed) {
  constexpr uint64_t multiplier_0 = 0xD2511F53, multiplier_2 = 0xCD9E8D57;
  uint32_t key_0 = static_cast<uint32_t>(seed), key_1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = multiplier_0 * counter.word[0], b = multiplier_2 * counter.word[2];
    counter = {{static_cast<uint32_t>(b >> 32) ^ counter.word[1] ^ key_0, static_cast<uint32_t>(b),
                static_cast<uint32_t>(a >> 32) ^ counter.word[3] ^ key_1, static_cast<uint32_t>(a)}};
    key_0 += 0x9E3779B9;
    key_1 += 0xBB67AE85;
  }
  return counter;
}

// The words of neurons 4·group to 4·group + 3 of a batch row, in this step since the seed. They depend on nothing else.
SYNFIRE_MODEL_FN Words4 draw(uint64_t seed, uint64_t step, uint32_t row, uint32_t group) {
  return philox({{group, row, static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)}}, seed);
}

// A neuron spikes if its word is below its threshold, which gives the probability of its rate to 2^-32. Rates below 0
// and NaN count as 0, rates above 1 as 1.
struct Threshold {
  uint32_t below;
  bool always;
};
SYNFIRE_MODEL_FN Threshold threshold(float rate) {
  const bool always = rate >= 1.0f;
  const float inside = rate > 0.0f && !always ? rate : 0.0f;
  return {static_cast<uint32_t>(inside * 4294967296.0f), always};  // exact up to the 32nd bit
}
SYNFIRE_MODEL_FN bool spikes(uint32_t word, Threshold at) {
  return word < at.below || at.always;
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif
