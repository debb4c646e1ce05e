#include "file_dtype.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

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

template <class Bits>
Bits bits_at(const std::byte* at) noexcept {
  Bits bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

// F16 has 5 bits of exponent and 10 of fraction; below the smallest exponent, numbers are multiples of 2^-24.
double number_of_f16(uint16_t bits) noexcept {
  constexpr int infinite = 31;
  const int exponent = (bits >> 10) & infinite, fraction = bits & 0x3FF;
  double value = 0;
  if (exponent == infinite)
    value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = fraction * 0x1p-24;
  else
    value = std::ldexp(fraction + 0x400, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
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

bool is_number(Dtype dtype) noexcept {
  return dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f32 || dtype == Dtype::f64;
}

double number_at(Dtype dtype, const std::byte* at) noexcept {
  switch (dtype) {
    case Dtype::f16:
      return number_of_f16(bits_at<uint16_t>(at));
    case Dtype::bf16:
      return std::bit_cast<float>(static_cast<uint32_t>(bits_at<uint16_t>(at)) << 16);
    case Dtype::f32:
      return std::bit_cast<float>(bits_at<uint32_t>(at));
    default:
      return std::bit_cast<double>(bits_at<uint64_t>(at));
  }
}

void canonicalize_nans(Dtype dtype, std::span<std::byte> elements) noexcept {
  if (dtype == Dtype::f16) canonicalize<uint16_t>(elements, 0x7C00, 0x7E00);
  if (dtype == Dtype::bf16) canonicalize<uint16_t>(elements, 0x7F80, 0x7FC0);
  if (dtype == Dtype::f32) canonicalize<uint32_t>(elements, 0x7F800000, 0x7FC00000);
  if (dtype == Dtype::f64) canonicalize<uint64_t>(elements, 0x7FF0000000000000, 0x7FF8000000000000);
}

}  // namespace synfire::files
