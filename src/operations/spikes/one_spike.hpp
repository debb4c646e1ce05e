// Spikes of any format, one at a time, on processors.
#ifndef SYNFIRE_OPERATIONS_SPIKES_ONE_SPIKE_HPP
#define SYNFIRE_OPERATIONS_SPIKES_ONE_SPIKE_HPP

#include "spikes_arrays.hpp"

#include <base/extents.hpp>

#include <cstring>

namespace synfire::cuda {

struct OneSpike {
  operations::SpikeArray array;
  operations::SpikeStorage storage;
  core::Extents extents;

  int64_t dense(int64_t t, int64_t b, int64_t n) const { return t * array.pitch + b * extents.n_neurons + n; }
  uint32_t* word(int64_t t, int64_t b, int64_t n) const {
    auto* const words = static_cast<uint32_t*>(array.data);
    if (storage == operations::SpikeStorage::bits)
      return words + t * array.pitch + b * extents.words_per_row() + n / 32;
    return words + t / 32 * array.pitch + b * extents.n_neurons + n;
  }
  int bit(int64_t t, int64_t n) const {
    return static_cast<int>((storage == operations::SpikeStorage::bits ? n : t) % 32);
  }
  size_t bytes() const { return size_t{1} << static_cast<int>(storage); }

  bool get(int64_t t, int64_t b, int64_t n) const {
    if (storage >= operations::SpikeStorage::bits) return (*word(t, b, n) >> bit(t, n) & 1) != 0;
    uint64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(array.data) + static_cast<uint64_t>(dense(t, b, n)) * bytes(),
                bytes());
    return (value & array.magnitude) != 0;
  }
  void set(int64_t t, int64_t b, int64_t n, bool spike) const {
    if (storage >= operations::SpikeStorage::bits) {
      uint32_t& w = *word(t, b, n);
      if (bit(t, n) == 0) w = 0;  // neurons and steps are visited in order, so the first bit clears its word
      w |= static_cast<uint32_t>(spike) << bit(t, n);
      return;
    }
    const uint64_t value = spike ? array.one : 0;
    std::memcpy(static_cast<char*>(array.data) + static_cast<uint64_t>(dense(t, b, n)) * bytes(), &value, bytes());
  }
};

template <class Body>
void for_each_spike(const core::Extents& e, Body body) {
  for (int64_t t = 0; t < e.n_steps; ++t)
    for (int64_t b = 0; b < e.batch; ++b)
      for (int64_t n = 0; n < e.n_neurons; ++n) body(t, b, n);
}

}  // namespace synfire::cuda

#endif
