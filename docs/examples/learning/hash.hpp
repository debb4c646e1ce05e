// hash.hpp - FNV-1a with 64 bits: which data, which weights.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace learning {

class Hash {
 public:
  void add(unsigned char byte) { value_ = (value_ ^ byte) * 1099511628211U; }

  /// The lowest byte first.
  void add_word(std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) add(static_cast<unsigned char>(word >> shift));
  }

  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037U;
};

}  // namespace learning
