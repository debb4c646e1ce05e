// The element types of safetensors: names, sizes, and the one NaN that Synfire writes.
#ifndef SYNFIRE_FILES_FILE_DTYPE_HPP
#define SYNFIRE_FILES_FILE_DTYPE_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace synfire::files {

enum class Dtype : int32_t { unknown, boolean, u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64 };

const char* name_of(Dtype dtype) noexcept;  // "F32"
Dtype dtype_named(std::string_view name) noexcept;
// Bytes of one element; 0 for Dtype::unknown.
uint64_t bytes_of(Dtype dtype) noexcept;

// The number at an address with any alignment, of type F16, BF16, F32 or F64.
bool is_number(Dtype dtype) noexcept;
double number_at(Dtype dtype, const std::byte* at) noexcept;

// Replaces every NaN by the positive quiet one without payload: the bits of a computed NaN depend on the machine.
void canonicalize_nans(Dtype dtype, std::span<std::byte> elements) noexcept;

}  // namespace synfire::files

#endif
