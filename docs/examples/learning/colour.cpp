// colour.cpp - see colour.hpp.
//
// SPDX-License-Identifier: MIT
#include "colour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace learning {

void write_colour(std::FILE* out, double at) {
  static constexpr std::array<std::array<double, 3>, 5> anchors = {
      {{91, 33, 182}, {29, 98, 214}, {9, 134, 126}, {196, 118, 4}, {205, 40, 40}}};
  const std::size_t from = std::min<std::size_t>(3, static_cast<std::size_t>(4 * at));
  const double share = 4 * at - static_cast<double>(from);
  std::fputc('#', out);
  for (std::size_t i = 0; i < 3; ++i)
    std::fprintf(out, "%02lx",
                 std::lround(anchors.at(from).at(i) + share * (anchors.at(from + 1).at(i) - anchors.at(from).at(i))));
}

}  // namespace learning
