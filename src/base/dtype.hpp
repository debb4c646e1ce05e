// Types of elements: a row for each, with its size, its names and the format of its numbers, lists of those that
// operations take, and the bits of a number in each. element_types.hpp has the C++ types.
#ifndef SYNFIRE_BASE_DTYPE_HPP
#define SYNFIRE_BASE_DTYPE_HPP

#include <synfire/synfire.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace synfire::core {

enum class ElementKind { number, integer, packed };

struct DtypeRow {
  int32_t dtype;
  const char* name;    // in texts
  const char* symbol;  // SYNFIRE_DTYPE_ and this
  uint64_t bytes;
  ElementKind kind;
  int significand = 0;  // of numbers: bits of the significand with the leading one, and of the exponent
  int exponent = 0;

  constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
  constexpr bool is_element() const { return true; }
  constexpr bool is_number() const { return kind == ElementKind::number; }
  constexpr bool has_f32_arithmetic() const { return is_number() && bytes <= 4; }
  constexpr bool is_arithmetic() const { return is_number() && bytes >= 4; }
  constexpr bool holds_spikes() const { return kind != ElementKind::integer || bytes == 1; }
};

// In the order of their values.
inline constexpr DtypeRow dtypes[] = {
    {SYNFIRE_DTYPE_F32, "f32", "F32", 4, ElementKind::number, 24, 8},
    {SYNFIRE_DTYPE_F64, "f64", "F64", 8, ElementKind::number, 53, 11},
    {SYNFIRE_DTYPE_BITS, "bits (32-bit words)", "BITS", 4, ElementKind::packed},
    {SYNFIRE_DTYPE_F16, "f16", "F16", 2, ElementKind::number, 11, 5},
    {SYNFIRE_DTYPE_BF16, "bf16", "BF16", 2, ElementKind::number, 8, 8},
    {SYNFIRE_DTYPE_U8, "u8", "U8", 1, ElementKind::integer},
    {SYNFIRE_DTYPE_TIME_BITS, "time-packed bits (32-bit words)", "TIME_BITS", 4, ElementKind::packed},
    {SYNFIRE_DTYPE_U32, "u32", "U32", 4, ElementKind::integer},
    {SYNFIRE_DTYPE_U64, "u64", "U64", 8, ElementKind::integer},
};

// The row of a type. Any other number, which error texts may name, has that of bits.
constexpr const DtypeRow& row_of_dtype(int32_t dtype) {
  return dtypes[dtype >= 0 && static_cast<std::size_t>(dtype) < std::size(dtypes) ? dtype : SYNFIRE_DTYPE_BITS];
}

constexpr uint64_t bytes_of_dtype(int32_t dtype) {
  return row_of_dtype(dtype).bytes;
}
constexpr const char* name_of_dtype(int32_t dtype) {
  return row_of_dtype(dtype).name;
}
constexpr bool is_number(int32_t dtype) {
  return row_of_dtype(dtype).is_number();
}
constexpr bool is_packed(int32_t dtype) {  // words of 32 spikes
  return row_of_dtype(dtype).kind == ElementKind::packed;
}
// The bits of the exponent of a type of numbers. All are set in numbers that are not finite, and only there.
constexpr uint64_t exponent_bits(int32_t dtype) {
  const DtypeRow& row = row_of_dtype(dtype);
  return ((uint64_t{1} << row.exponent) - 1) << (row.significand - 1);
}

// ---- lists of types, which grow with the table ----------------------------------------------------------------------

template <bool (DtypeRow::*is_taken)() const>
constexpr auto dtypes_where() {
  constexpr std::size_t count = [] {
    std::size_t n = 0;
    for (const DtypeRow& row : dtypes) n += (row.*is_taken)() ? 1 : 0;
    return n;
  }();
  std::array<int32_t, count> taken = {};
  std::size_t at = 0;
  for (const DtypeRow& row : dtypes)
    if ((row.*is_taken)()) taken[at++] = row.dtype;
  return taken;
}
inline constexpr auto all_dtypes = dtypes_where<&DtypeRow::is_element>();
inline constexpr auto number_dtypes = dtypes_where<&DtypeRow::is_number>();
inline constexpr auto f32_number_dtypes = dtypes_where<&DtypeRow::has_f32_arithmetic>();
inline constexpr auto arithmetic_dtypes = dtypes_where<&DtypeRow::is_arithmetic>();
inline constexpr auto spike_dtypes = dtypes_where<&DtypeRow::holds_spikes>();

template <std::size_t n>
constexpr std::array<int32_t, n + 1> and_dtype(const std::array<int32_t, n>& list, int32_t dtype) {
  std::array<int32_t, n + 1> longer = {};
  for (std::size_t i = 0; i < n; ++i) longer[i] = list[i];
  longer[n] = dtype;
  return longer;
}
inline constexpr std::array<int32_t, 1> f64_dtypes = {SYNFIRE_DTYPE_F64};
// The numbers beside a layer or a synapse of this arithmetic.
inline std::span<const int32_t> number_dtypes_beside(int32_t arithmetic) {
  if (arithmetic == SYNFIRE_DTYPE_F64) return f64_dtypes;
  return f32_number_dtypes;
}

bool is_among(std::span<const int32_t> list, int32_t dtype);
// "f32, f16 or bf16", for error texts.
std::string names_of_dtypes(std::span<const int32_t> list);
// "SYNFIRE_DTYPE_F32 (0), _F64 (1) and _F16 (3)", for error texts about any other number.
std::string constants_of_dtypes(std::span<const int32_t> list);

// Throws INVALID_ARGUMENT with this rule unless desc.dtype is one of these.
void check_dtype(const char* rule, int32_t dtype, std::span<const int32_t> allowed);

// ---- numbers --------------------------------------------------------------------------------------------------------

// The bits of an element with this value, rounded to nearest, ties to even. Words and bytes hold integers.
uint64_t element_bits(int32_t dtype, double value);
// The value of an element with these bits.
double element_value(int32_t dtype, uint64_t bits);
// As element_bits(), but throws INVALID_ARGUMENT if the type cannot represent the value.
uint64_t fill_bits(int32_t dtype, double value);
// Throws INVALID_ARGUMENT unless the number is finite; `name` is the caller's name for it.
void check_scalar(double value, const char* name);
const char* name_of_memory(int32_t memory);

}  // namespace synfire::core

#endif
