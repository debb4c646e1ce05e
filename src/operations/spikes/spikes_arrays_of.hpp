// Converts a view of spikes to the arguments of kernels; the same on both backends.
#ifndef SYNFIRE_OPERATIONS_SPIKES_SPIKES_ARRAYS_OF_HPP
#define SYNFIRE_OPERATIONS_SPIKES_SPIKES_ARRAYS_OF_HPP

#include "spikes_arrays.hpp"

#include <base/dtype.hpp>
#include <base/view.hpp>

namespace synfire::operations {

using core::View;

inline SpikeStorage storage_of(int32_t dtype) {
  if (dtype == SYNFIRE_DTYPE_BITS) return SpikeStorage::bits;
  if (dtype == SYNFIRE_DTYPE_TIME_BITS) return SpikeStorage::time_bits;
  switch (core::bytes_of_dtype(dtype)) {
    case 1:
      return SpikeStorage::bytes1;
    case 2:
      return SpikeStorage::bytes2;
    case 4:
      return SpikeStorage::bytes4;
    default:
      return SpikeStorage::bytes8;
  }
}

inline SpikeArray spikes_of(const View& view) {
  // u8 is the one dense type without a sign.
  const uint64_t magnitude =
      view.dtype == SYNFIRE_DTYPE_U8 ? 0xFF : ~uint64_t{0} >> (65 - 8 * core::bytes_of_dtype(view.dtype));
  return {view.data, view.pitch, magnitude, core::is_packed(view.dtype) ? 0 : core::element_bits(view.dtype, 1)};
}

}  // namespace synfire::operations

#endif
