#include "file_dtype.hpp"

#include <cstring>

namespace synfire::files {
namespace {

struct Row {
  Dtype dtype;
  const char* name;
  uint64_t bytes;
};
constexpr Row rows[] = {
    {Dtype::boolean, "BOOL", 1}, {Dtype::u8, "U8", 1},   {Dtype::i8, "I8", 1},     {Dtype::u16, "U16", 2},
    {Dtype::i16, "I16", 2},      {Dtype::f16, "F16", 2}, {Dtype::bf16, "BF16", 2}, {Dtype::u32, "U32", 4},
    {Dtype::i32, "I32", 4},      {Dtype::f32, "F32", 4}, {Dtype::u64, "U64", 8},   {Dtype::i64, "I64", 8},
    {Dtype::f64, "F64", 8},
};

// `infinity` has the bits of the positive one; everything above it, but for the sign, is NaN.
template <class Bits>
void canonicalize(std::span<std::byte> elements, Bits infinity, Bits quiet_nan) noexcept {
  const Bits magnitude = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
  for (size_t i = 0; i + sizeof(Bits) <= elements.size(); i += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, &elements[i], sizeof bits);
    if (static_cast<Bits>(bits & magnitude) > infinity) std::memcpy(&elements[i], &quiet_nan, sizeof quiet_nan);
  }
}

}  // namespace

const char* name_of(Dtype dtype) noexcept {
  for (const Row& row : rows)
    if (row.dtype == dtype) return row.name;
  return "unknown";
}

Dtype dtype_named(std::string_view name) noexcept {
  for (const Row& row : rows)
    if (name == row.name) return row.dtype;
  return Dtype::unknown;
}

uint64_t bytes_of(Dtype dtype) noexcept {
  for (const Row& row : rows)
    if (row.dtype == dtype) return row.bytes;
  return 0;
}

void canonicalize_nans(Dtype dtype, std::span<std::byte> elements) noexcept {
  if (dtype == Dtype::f16) canonicalize<uint16_t>(elements, 0x7C00, 0x7E00);
  if (dtype == Dtype::bf16) canonicalize<uint16_t>(elements, 0x7F80, 0x7FC0);
  if (dtype == Dtype::f32) canonicalize<uint32_t>(elements, 0x7F800000, 0x7FC00000);
  if (dtype == Dtype::f64) canonicalize<uint64_t>(elements, 0x7FF0000000000000, 0x7FF8000000000000);
}

}  // namespace synfire::files
