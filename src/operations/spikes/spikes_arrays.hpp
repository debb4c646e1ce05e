// Spikes [T, B, N] in any format, as kernels and host code take them. Dense elements are read as unsigned integers, so
// that the floating-point environment does not affect what is zero.
#ifndef SYNFIRE_OPERATIONS_SPIKES_SPIKES_ARRAYS_HPP
#define SYNFIRE_OPERATIONS_SPIKES_SPIKES_ARRAYS_HPP

#include <cstdint>

namespace synfire::operations {

// The first four are named by the bytes of an element.
enum class SpikeStorage : int32_t { bytes1, bytes2, bytes4, bytes8, bits, time_bits };
inline constexpr int n_spike_storages = 6;

struct SpikeArray {
  void* data;
  int64_t pitch;       // elements (words) from one step (from 32 steps) to the next
  uint64_t magnitude;  // dense: an element is a spike if any of these bits is set; all bits but the sign
  uint64_t one;        // dense: the bits of a written spike
};

}  // namespace synfire::operations

#endif
