#include "dtype.hpp"

#include "error.hpp"

#include <synfire/synfire.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace synfire::core {

static_assert([] {
  for (int32_t i = 0; i < static_cast<int32_t>(std::size(dtypes)); ++i)
    if (dtypes[i].dtype != i) return false;
  return true;
}());

bool is_among(std::span<const int32_t> list, int32_t dtype) {
  return std::ranges::find(list, dtype) != list.end();
}

namespace {

// Joins the texts of a list: "a, b or c".
template <class Text>
std::string joined(std::span<const int32_t> list, const char* last, Text text_of) {
  std::string text;
  for (const int32_t& each : list) {
    if (&each != list.data()) text.append(&each == &list.back() ? last : ", ");
    text.append(text_of(each));
  }
  return text;
}

}  // namespace

std::string names_of_dtypes(std::span<const int32_t> list) {
  return joined(list, " or ", name_of_dtype);
}

std::string constants_of_dtypes(std::span<const int32_t> list) {
  return joined(list, " and ", [&](int32_t dtype) {
    return std::string(dtype == list.front() ? "SYNFIRE_DTYPE_" : "_")
        .append(row_of_dtype(dtype).symbol)
        .append(" (" + std::to_string(dtype) + ")");
  });
}

void check_dtype(const char* rule, int32_t dtype, std::span<const int32_t> allowed) {
  if (!is_among(allowed, dtype))
    fail_argument(rule, "desc.dtype is %d; allowed are %s", dtype, constants_of_dtypes(allowed).c_str());
}

const char* name_of_memory(int32_t memory) {
  switch (memory) {
    case SYNFIRE_MEMORY_DEVICE:
      return "device";
    case SYNFIRE_MEMORY_PINNED:
      return "pinned";
    default:
      return "host";
  }
}

namespace {

// The nearest number with `precision` significant bits and a spacing of at least 2^(minimum_exponent + 1 − precision).
double rounded_to(double value, int precision, int minimum_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), minimum_exponent) - (precision - 1);
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

// The bits of a number in a format of fewer than 32 bits.
uint64_t narrow_bits(const DtypeRow& row, double value) {
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (8 * row.bytes - 1) : 0;
  if (std::isnan(value)) return (uint64_t{1} << (8 * row.bytes - 1)) - 1;
  const int fraction = row.significand - 1, least = 1 - row.bias();
  const double magnitude = std::fabs(rounded_to(value, row.significand, least));
  if (magnitude >= std::ldexp(1.0, row.bias() + 1)) return sign | exponent_bits(row.dtype);
  if (magnitude < std::ldexp(1.0, least)) return sign | static_cast<uint64_t>(std::ldexp(magnitude, fraction - least));
  const int exponent = std::ilogb(magnitude);
  const auto significand = static_cast<uint64_t>(std::ldexp(magnitude, fraction - exponent));  // with the leading one
  return sign | ((static_cast<uint64_t>(exponent - least) << fraction) + significand);
}

double narrow_value(const DtypeRow& row, uint64_t bits) {
  const int fraction_bits = row.significand - 1, least = 1 - row.bias();
  const uint64_t leading = uint64_t{1} << fraction_bits, fraction = bits & (leading - 1);
  const uint64_t exponent = (bits & exponent_bits(row.dtype)) >> fraction_bits;
  const bool is_finite = exponent != exponent_bits(row.dtype) >> fraction_bits;
  const double magnitude = !is_finite      ? (fraction != 0 ? std::nan("") : HUGE_VAL)
                           : exponent == 0 ? std::ldexp(static_cast<double>(fraction), least - fraction_bits)
                                           : std::ldexp(static_cast<double>(fraction | leading),
                                                        static_cast<int>(exponent) - row.bias() - fraction_bits);
  return (bits >> (8 * row.bytes - 1) & 1) != 0 ? -magnitude : magnitude;
}

}  // namespace

uint64_t element_bits(int32_t dtype, double value) {
  const DtypeRow& row = row_of_dtype(dtype);
  if (!row.is_number()) return static_cast<uint64_t>(value);
  return row.bytes == 8   ? std::bit_cast<uint64_t>(value)
         : row.bytes == 4 ? std::bit_cast<uint32_t>(static_cast<float>(value))
                          : narrow_bits(row, value);
}

double element_value(int32_t dtype, uint64_t bits) {
  const DtypeRow& row = row_of_dtype(dtype);
  if (!row.is_number()) return static_cast<double>(bits);
  return row.bytes == 8   ? std::bit_cast<double>(bits)
         : row.bytes == 4 ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                          : narrow_value(row, bits);
}

uint64_t fill_bits(int32_t dtype, double value) {
  if (is_packed(dtype) && !(value >= 0 && value < 4294967296.0 && value == std::floor(value)))
    fail_argument("SYN-BUFFER-FILL", "value is %g; a buffer of bits takes an integer in [0, 2^32) for each word",
                  value);
  const DtypeRow& row = row_of_dtype(dtype);
  const int width = row.kind == ElementKind::integer ? static_cast<int>(8 * row.bytes) : 0;
  if (width > 0 && !(value >= 0 && value < std::ldexp(1.0, width) && value == std::floor(value)))
    fail_argument("SYN-BUFFER-FILL", "value is %g; a buffer of %s takes an integer in [0, 2^%d)", value,
                  name_of_dtype(dtype), width);
  return element_bits(dtype, value);
}

void check_scalar(double value, const char* name) {
  if (!std::isfinite(value)) fail_argument("SYN-SCALAR-RANGE", "%s is %g; it must be finite", name, value);
}

}  // namespace synfire::core
