// Checks that every operation makes of its lengths and buffers: addressable lengths, memory that the device can compute
// on, the right type and shape, and room for the rows at the buffer's pitch. operands.hpp checks overlap.
#ifndef SYNFIRE_BASE_VIEW_CHECKS_HPP
#define SYNFIRE_BASE_VIEW_CHECKS_HPP

#include "buffer.hpp"
#include "extents.hpp"

#include <initializer_list>
#include <span>
#include <string>

namespace synfire::core {

// Refuses a length "desc.NAME" below 1, under `rule`. Where 0 means 1, it is allowed.
enum class Zero { refused, means_one };
void check_length(const char* rule, const char* name, int64_t value, Zero zero = Zero::refused);

// True if an array of these lengths, each at least 1, has less than 2^62 bytes in every type, also with its steps or
// elements rounded up to whole words.
bool is_addressable(std::initializer_list<int64_t> lengths);

// Refuses pageable memory that a GPU would compute on.
void check_memory(const Buffer& buffer, const char* name);

// Refuses a buffer whose elements are of none of these types: "desc.rates holds u8; it must hold f32".
void check_type(const Buffer& buffer, const char* name, std::span<const int32_t> allowed);
inline void check_type(const Buffer& buffer, const char* name, int32_t allowed) {
  check_type(buffer, name, {&allowed, 1});
}

// Refuses a buffer whose known shape differs from these lengths; `shape` is the needed one, for the error text.
void check_shape(const Buffer& buffer, const char* name, std::span<const int64_t> lengths, const std::string& shape);

// Memory that a view may be of: what the context's device computes on, or also pageable memory, which is copied first.
enum class Memory { of_device, any };

// The part of a buffer that an array of these lengths takes at the buffer's pitch. The first length is the number of
// steps, or 1. `shape` is for the error text.
View stepped(const Buffer& buffer, const char* name, std::initializer_list<int64_t> lengths, const std::string& shape,
             Memory memory = Memory::of_device);

// stepped() for an array that is described by its type and lengths: "f32 [2, 3, 4]", "bits [2, 3, 1] words".
View array_view(const Buffer& buffer, const char* name, std::initializer_list<int64_t> lengths,
                Memory memory = Memory::of_device);

// Packed spikes of this shape: "bits [2, 3, 4 words]", "time-packed bits [1 words, 3, 100]".
std::string packed_text(int32_t dtype, const Extents& extents);

}  // namespace synfire::core

#endif
