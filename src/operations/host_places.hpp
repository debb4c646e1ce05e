// Scratch memory of an operation on the host: a place for each range of work that may run at once
// (backends/host/places.hpp).
#ifndef SYNFIRE_OPERATIONS_HOST_PLACES_HPP
#define SYNFIRE_OPERATIONS_HOST_PLACES_HPP

#include <base/device.hpp>
#include <base/view.hpp>

#include <algorithm>

namespace synfire::operations {

// Keeps cache lines from being shared by two places.
inline uint64_t place_stride(uint64_t bytes) {
  constexpr uint64_t alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
}

// For at most `count` ranges, which run at the same time only if they are `shared`. Empty on a GPU.
inline core::View places_for(const core::Device& device, int64_t count, bool shared, uint64_t bytes_of_place) {
  core::View view;
  view.dtype = SYNFIRE_DTYPE_U8;
  if (!device.is_host()) return view;
  const int64_t n_places = shared ? std::clamp<int64_t>(count, 1, device.most_at_once()) : 1;
  view.bytes = static_cast<uint64_t>(n_places) * place_stride(bytes_of_place);
  return view;
}

template <class T>
T* place_of(const core::View& places, int64_t place, uint64_t bytes) {
  return reinterpret_cast<T*>(static_cast<char*>(places.data) + static_cast<uint64_t>(place) * place_stride(bytes));
}

}  // namespace synfire::operations

#endif
