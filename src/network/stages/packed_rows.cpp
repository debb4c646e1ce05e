#include "packed_rows.hpp"

#include <base/error.hpp>
#include <files/layout.hpp>

#include <cstring>

namespace synfire::network {

namespace {

// Words of a file in memory may have any address.
uint32_t word_at(const std::byte* words, int64_t i) {
  uint32_t word;
  std::memcpy(&word, words + static_cast<size_t>(i) * sizeof word, sizeof word);
  return word;
}

}  // namespace

void PackedRows::check(std::span<const std::byte> words, const std::string& name) const {
  if (n_neurons % 32 == 0) return;
  for (int64_t row = 0; row < n_rows; ++row)
    if (word_at(words.data(), row * n_words() + n_words() - 1) >> n_neurons % 32 != 0)
      core::fail_argument("SYN-NETWORK-NUMBER", "row %lld of tensor %s has a spike beyond its %lld neurons",
                          static_cast<long long>(row), files::shown(name).c_str(), static_cast<long long>(n_neurons));
}

}  // namespace synfire::network
