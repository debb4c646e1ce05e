// Rows of packed spikes in a file.
#ifndef SYNFIRE_NETWORK_STAGES_PACKED_ROWS_HPP
#define SYNFIRE_NETWORK_STAGES_PACKED_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace synfire::network {

struct PackedRows {
  int64_t n_rows, n_neurons;

  int64_t n_words() const noexcept { return (n_neurons + 31) / 32; }  // of a row
  // Throws INVALID_ARGUMENT if a row has a spike beyond its neurons.
  void check(std::span<const std::byte> words, const std::string& name) const;
};

}  // namespace synfire::network

#endif
