#include "packed_rows.hpp"

#include <base/error.hpp>
#include <files/layout.hpp>

#include <synfire/synfire.h>

#include <cstring>

namespace synfire::network {

namespace {

// Words of a file in memory may have any address.
uint32_t word_at(const std::byte* words, int64_t i) {
  uint32_t word;
  std::memcpy(&word, words + static_cast<size_t>(i) * sizeof word, sizeof word);
  return word;
}

template <class Number>
void pack_numbers(const PackedRows& rows, const std::byte* from, std::byte* words) {
  for (int64_t row = 0; row < rows.n_rows; ++row)
    for (int64_t w = 0; w < rows.n_words(); ++w) {
      uint32_t word = 0;
      for (int64_t n = 32 * w; n < 32 * w + 32 && n < rows.n_neurons; ++n) {
        Number number;
        std::memcpy(&number, from + static_cast<size_t>(row * rows.n_neurons + n) * sizeof number, sizeof number);
        if (number != 0) word |= uint32_t{1} << n % 32;
      }
      std::memcpy(words + static_cast<size_t>(row * rows.n_words() + w) * sizeof word, &word, sizeof word);
    }
}

template <class Number>
void unpack_numbers(const PackedRows& rows, const std::byte* words, std::byte* to) {
  for (int64_t row = 0; row < rows.n_rows; ++row)
    for (int64_t n = 0; n < rows.n_neurons; ++n) {
      const auto number = static_cast<Number>(word_at(words, row * rows.n_words() + n / 32) >> n % 32 & 1);
      std::memcpy(to + static_cast<size_t>(row * rows.n_neurons + n) * sizeof number, &number, sizeof number);
    }
}

}  // namespace

void PackedRows::check(std::span<const std::byte> words, const std::string& name) const {
  if (n_neurons % 32 == 0) return;
  for (int64_t row = 0; row < n_rows; ++row)
    if (word_at(words.data(), row * n_words() + n_words() - 1) >> n_neurons % 32 != 0)
      core::fail_argument("SYN-NETWORK-NUMBER", "row %lld of tensor %s has a spike beyond its %lld neurons",
                          static_cast<long long>(row), files::shown(name).c_str(), static_cast<long long>(n_neurons));
}

void PackedRows::pack(std::span<const std::byte> stored, std::byte* words) const {
  if (dtype == SYNFIRE_DTYPE_F64) return pack_numbers<double>(*this, stored.data(), words);
  if (dtype == SYNFIRE_DTYPE_F32) return pack_numbers<float>(*this, stored.data(), words);
  std::memcpy(words, stored.data(), stored.size());
}

void PackedRows::unpack(const std::byte* words, std::span<std::byte> stored) const {
  if (dtype == SYNFIRE_DTYPE_F64) return unpack_numbers<double>(*this, words, stored.data());
  if (dtype == SYNFIRE_DTYPE_F32) return unpack_numbers<float>(*this, words, stored.data());
  std::memcpy(stored.data(), words, stored.size());
}

}  // namespace synfire::network
