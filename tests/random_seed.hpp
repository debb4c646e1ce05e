// The seeds from which networks draw, as docs/pages/networks.md states them: written out here for tests, apart from the
// library's own.
#ifndef SYNFIRE_TESTS_RANDOM_SEED_HPP
#define SYNFIRE_TESTS_RANDOM_SEED_HPP

#include <cstdint>
#include <string>

namespace synfire_test {

inline uint64_t random_seed(uint64_t seed, const std::string& name, const std::string& purpose) {
  const auto mix = [](uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9;
    x ^= x >> 27;
    x *= 0x94D049BB133111EB;
    return x ^ (x >> 31);
  };
  uint64_t h = mix(seed);
  for (const char byte : name + '\0' + purpose) h = mix(h ^ static_cast<unsigned char>(byte));
  return h >> 11;
}

// The seed of a stage in one of its graphs.
inline uint64_t stage_seed(uint64_t network, const std::string& stage, const std::string& purpose, bool training) {
  const uint64_t own = random_seed(network, stage, purpose);
  return training ? own : random_seed(own, stage, "evaluation");
}

}  // namespace synfire_test

#endif
