// The seeds from which a network draws random numbers: the seed, a name and a purpose are mixed to 53 bits, as many as
// a double holds exactly. docs/pages/networks.md documents the function; changing it changes everybody's networks.
#ifndef SYNFIRE_NETWORK_RANDOM_SEED_HPP
#define SYNFIRE_NETWORK_RANDOM_SEED_HPP

#include <cstdint>
#include <string_view>

namespace synfire::network {

namespace purpose {
inline constexpr std::string_view order = "order";            // of the training rows; the network's own, without a name
inline constexpr std::string_view weights = "weights";        // a synapse's weights and biases at the beginning
inline constexpr std::string_view dropout = "dropout";        // masks in training
inline constexpr std::string_view rates = "rates";            // spikes of rates in training
inline constexpr std::string_view evaluation = "evaluation";  // what a stage draws in evaluation and inference
}  // namespace purpose

// The mixing function of SplitMix64, a bijection: G. L. Steele Jr., D. Lea and C. H. Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014, with D. Stafford's constants.
constexpr uint64_t split_mix(uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

// Each byte of the name, of a 0 and of the purpose is mixed in turn. For one name and purpose this is a bijection of
// the seed, of which the highest 53 bits are returned.
constexpr uint64_t random_seed(uint64_t seed, std::string_view name, std::string_view purpose) noexcept {
  uint64_t state = split_mix(seed);
  for (const char c : name) state = split_mix(state ^ static_cast<unsigned char>(c));
  state = split_mix(state);
  for (const char c : purpose) state = split_mix(state ^ static_cast<unsigned char>(c));
  return state >> 11;
}

}  // namespace synfire::network

#endif
