// The order in which other tools keep the elements of an array.
#ifndef SYNFIRE_NETWORK_ARRAY_LAYOUT_HPP
#define SYNFIRE_NETWORK_ARRAY_LAYOUT_HPP

#include <cstdint>
#include <vector>

namespace synfire::network {

// Element [i, j, ...] of the array, with these lengths, is element i * strides[0] + j * strides[1] + ... of theirs.
struct ArrayLayout {
  const char* word;
  std::vector<int64_t> shape;  // of theirs
  std::vector<int64_t> lengths, strides;
};

}  // namespace synfire::network

#endif
