// What every operation asks of the buffers it is given: a kind of memory that can be computed on, and room for its rows
// at the buffer's pitch. What does not live here: which types an operation takes, and outputs that meet other operands
// (operands.hpp).
#ifndef SYNFIRE_CORE_ARRAY_CHECKS_HPP
#define SYNFIRE_CORE_ARRAY_CHECKS_HPP

#include "buffer.hpp"

#include <string>

namespace synfire::core {

// Refuses memory that the device cannot compute on.
void check_memory(const Buffer& buffer, const char* name, bool host_device);

// The part of a buffer that `steps` rows of `row` elements take, at the buffer's pitch; `shape` is said when it does
// not fit.
Array stepped(const Buffer& buffer, const char* name, int64_t steps, int64_t row, const std::string& shape,
              bool host_device);

// "bits [2, 3, 4 words]".
std::string words_text(const char* kind, int64_t steps, int64_t batch, int64_t words);

}  // namespace synfire::core

#endif
