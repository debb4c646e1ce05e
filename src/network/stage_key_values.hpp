// The words (key_values.hpp) of a stage in the file of a network, and how stages differ.
#ifndef SYNFIRE_NETWORK_STAGE_KEY_VALUES_HPP
#define SYNFIRE_NETWORK_STAGE_KEY_VALUES_HPP

#include "key_values.hpp"
#include "stage.hpp"

#include <string>
#include <string_view>
#include <type_traits>

namespace synfire::network {

// The words of a kind's settings, by their place among those of every stage.
struct StageKeyValues {
  KeyValueWriter before_seed, after_seed, after_values;
  std::vector<double> values;  // to be written in place of the stage's
};

// "choice", the constant that chooses a kind. Format 1 has it for every kind but neurons.
inline void write_choice(StageKeyValues& words, int32_t choice) {
  words.before_seed.add_whole("choice", static_cast<uint64_t>(choice));
}
inline int32_t take_choice(KeyValueReader& words) {
  return static_cast<int32_t>(words.take_whole("choice", INT32_MAX));
}

// All throw INVALID_ARGUMENT (SYN-NETWORK-OTHER) if the network and the file differ.
[[noreturn]] void fail_other(const Stage& stage, std::string_view what, const std::string& here,
                             const std::string& there);
void compare_number(const Stage& stage, std::string_view what, double here, double there);
template <class Number>
void compare_whole(const Stage& stage, std::string_view what, Number here, Number there) {
  static_assert(std::is_integral_v<Number>);
  if (here != there) fail_other(stage, what, std::to_string(here), std::to_string(there));
}

}  // namespace synfire::network

#endif
