// Choices of stages of maps that are given for both axes, or for one.
#ifndef SYNFIRE_NETWORK_STAGES_MAP_CHOICES_HPP
#define SYNFIRE_NETWORK_STAGES_MAP_CHOICES_HPP

#include <network/stage_kind.hpp>

#include <limits>

namespace synfire::network {

// No number that a program can give.
inline constexpr int64_t not_given = std::numeric_limits<int64_t>::min();

// The number for both axes, or for one.
constexpr ChoiceSpec of_axis(const char* name) {
  return {.name = name, .is_needed = false, .absent = not_given};
}

struct AxisNumbers {
  int64_t y, x;
};
// Three choices, from `first` on: that for both axes, and those for one, which count before it.
inline AxisNumbers axis_numbers(Choices choices, size_t first, int64_t otherwise) {
  const int64_t both = choices[first] == not_given ? otherwise : choices[first];
  const auto one = [&](size_t i) { return choices[i] == not_given ? both : choices[i]; };
  return {one(first + 1), one(first + 2)};
}

// "3" of a square, else "3x5".
inline std::string text_of_axes(int64_t y, int64_t x) {
  return y == x ? std::to_string(y) : std::to_string(y) + "x" + std::to_string(x);
}

}  // namespace synfire::network

#endif
