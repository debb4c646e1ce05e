// Rows of spikes in a file, packed, and in memory, packed or as numbers.
#ifndef SYNFIRE_NETWORK_STAGES_PACKED_ROWS_HPP
#define SYNFIRE_NETWORK_STAGES_PACKED_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace synfire::network {

struct PackedRows {
  int64_t n_rows, n_neurons;
  int32_t dtype;  // in memory: packed bits, f32 or f64

  int64_t n_words() const noexcept { return (n_neurons + 31) / 32; }  // of a row
  // Throws INVALID_ARGUMENT if a row has a spike beyond its neurons.
  void check(std::span<const std::byte> words, const std::string& name) const;
  void pack(std::span<const std::byte> stored, std::byte* words) const;
  void unpack(const std::byte* words, std::span<std::byte> stored) const;
};

}  // namespace synfire::network

#endif
