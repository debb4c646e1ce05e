// A number for the contents of arrays and texts, by which ranks find that they have different ones. Each step is a
// bijection of the state, so contents of one length that differ in one place never have the same number.
#ifndef SYNFIRE_NETWORK_CONTENTS_HASH_HPP
#define SYNFIRE_NETWORK_CONTENTS_HASH_HPP

#include "random_seed.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace synfire::network {

class ContentsHash {
 public:
  ContentsHash& add(uint64_t number) noexcept {
    state_ = split_mix(state_ ^ number);
    return *this;
  }
  ContentsHash& add(std::span<const std::byte> bytes) noexcept {
    add(bytes.size());
    while (!bytes.empty()) {
      uint64_t word = 0;
      const size_t n = bytes.size() < sizeof word ? bytes.size() : sizeof word;
      std::memcpy(&word, bytes.data(), n);
      add(word);
      bytes = bytes.subspan(n);
    }
    return *this;
  }
  ContentsHash& add(std::string_view text) noexcept { return add(std::as_bytes(std::span(text))); }
  uint64_t value() const noexcept { return state_; }

 private:
  uint64_t state_ = 0;
};

}  // namespace synfire::network

#endif
