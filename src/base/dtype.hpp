// Types of elements: their sizes, their names, and the bits of a number in each.
#ifndef SYNFIRE_BASE_DTYPE_HPP
#define SYNFIRE_BASE_DTYPE_HPP

#include <cstdint>

namespace synfire::core {

uint64_t bytes_of_dtype(int32_t dtype);
const char* name_of_dtype(int32_t dtype);
bool is_packed(int32_t dtype);  // words of 32 spikes
// The bits of an element with this value, rounded to nearest, ties to even. Words and bytes hold integers.
uint64_t element_bits(int32_t dtype, double value);
// As element_bits(), but throws INVALID_ARGUMENT if the type cannot represent the value.
uint64_t fill_bits(int32_t dtype, double value);
// Throws INVALID_ARGUMENT unless the number is finite; `name` is the caller's name for it.
void check_scalar(double value, const char* name);
const char* name_of_memory(int32_t memory);

}  // namespace synfire::core

#endif
