// random.hpp - numbers that look drawn and are the same everywhere: Knuth's 64-bit linear congruential generator
// (MMIX).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace learning {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// From 0 to less than n.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((step() >> 32) * n >> 32); }

  /// From 0 to less than 1, in steps of 2^-24.
  float number() { return static_cast<float>(step() >> 40) / 16777216.0F; }

 private:
  std::uint64_t step() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_;
  }

  std::uint64_t state_;
};

}  // namespace learning
