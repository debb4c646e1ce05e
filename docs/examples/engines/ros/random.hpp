// random.hpp - numbers that look drawn and are the same everywhere.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace robot {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// From 0 to less than n.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(number(0, static_cast<double>(n))); }

  /// From `least` to less than `most`.
  double number(double least, double most) {
    return least + (most - least) * (static_cast<double>(engine_() >> 11) / 9007199254740992.0);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace robot
