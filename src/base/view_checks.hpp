// Checks that every operation makes of its buffers: a kind of memory that the device can compute on, the right shape,
// and room for the rows at the buffer's pitch. Checks of overlap are in operands.hpp.
#ifndef SYNFIRE_BASE_VIEW_CHECKS_HPP
#define SYNFIRE_BASE_VIEW_CHECKS_HPP

#include "buffer.hpp"
#include "extents.hpp"

#include <initializer_list>
#include <string>

namespace synfire::core {

// Refuses memory that the device cannot compute on.
void check_memory(const Buffer& buffer, const char* name, bool host_device);

// Refuses a buffer with a known shape that differs from these lengths; `shape` is the needed one, for the error text.
void check_shape(const Buffer& buffer, const char* name, std::span<const int64_t> lengths, const std::string& shape);

// The part of a buffer that an array of these lengths takes at the buffer's pitch. The first length is the number of
// steps, or 1 if there are none. `shape` is for the error text.
View stepped(const Buffer& buffer, const char* name, std::initializer_list<int64_t> lengths, const std::string& shape,
             bool host_device);

// Packed spikes of this shape: "bits [2, 3, 4 words]", "time-packed bits [1 words, 3, 100]".
std::string packed_text(int32_t dtype, const Extents& extents);

}  // namespace synfire::core

#endif
