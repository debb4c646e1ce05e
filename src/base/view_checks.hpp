// What every operation asks of the buffers it is given: a kind of memory that can be computed on, the right shape, and
// room for its rows at the buffer's pitch. What does not live here: which types an operation takes, and outputs that
// meet other operands (operands.hpp).
#ifndef SYNFIRE_BASE_VIEW_CHECKS_HPP
#define SYNFIRE_BASE_VIEW_CHECKS_HPP

#include "buffer.hpp"

#include <initializer_list>
#include <string>

namespace synfire::core {

// Refuses memory that the device cannot compute on.
void check_memory(const Buffer& buffer, const char* name, bool host_device);

// Refuses a buffer whose shape is known and another one; `shape` is said of what is needed.
void check_shape(const Buffer& buffer, const char* name, std::span<const int64_t> lengths, const std::string& shape);

// The part of a buffer that an array of these lengths takes, the steps first, at the buffer's pitch; `shape` is said
// when it does not fit. What has no steps has a first length of 1.
View stepped(const Buffer& buffer, const char* name, std::initializer_list<int64_t> lengths, const std::string& shape,
             bool host_device);

// "bits [2, 3, 4 words]".
std::string words_text(const char* kind, int64_t steps, int64_t batch, int64_t words);

}  // namespace synfire::core

#endif
