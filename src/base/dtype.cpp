#include "dtype.hpp"

#include "error.hpp"

#include <synfire/synfire.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace synfire::core {

uint64_t bytes_of_dtype(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
    case SYNFIRE_DTYPE_U64:
      return 8;
    case SYNFIRE_DTYPE_F16:
    case SYNFIRE_DTYPE_BF16:
      return 2;
    case SYNFIRE_DTYPE_U8:
      return 1;
    default:
      return 4;
  }
}

const char* name_of_dtype(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F32:
      return "f32";
    case SYNFIRE_DTYPE_F64:
      return "f64";
    case SYNFIRE_DTYPE_F16:
      return "f16";
    case SYNFIRE_DTYPE_BF16:
      return "bf16";
    case SYNFIRE_DTYPE_U8:
      return "u8";
    case SYNFIRE_DTYPE_TIME_BITS:
      return "time-packed bits (32-bit words)";
    case SYNFIRE_DTYPE_U32:
      return "u32";
    case SYNFIRE_DTYPE_U64:
      return "u64";
    default:
      return "bits (32-bit words)";
  }
}

bool is_packed(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_BITS || dtype == SYNFIRE_DTYPE_TIME_BITS;
}

const char* name_of_memory(int32_t memory) {
  switch (memory) {
    case SYNFIRE_MEMORY_DEVICE:
      return "device";
    case SYNFIRE_MEMORY_PINNED:
      return "pinned";
    case SYNFIRE_MEMORY_TRANSIENT:
      return "transient";
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

uint64_t f16_bits(double value) {
  const uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7FFF;
  const double magnitude = std::fabs(rounded_to(value, 11, -14));
  if (magnitude >= 65536) return sign | 0x7C00;
  if (magnitude < 0x1p-14) return sign | static_cast<uint64_t>(magnitude * 0x1p24);
  const int exponent = std::ilogb(magnitude);
  const auto significand = static_cast<uint64_t>(std::ldexp(magnitude, 10 - exponent));  // with the leading one
  return sign | ((static_cast<uint64_t>(exponent + 14) << 10) + significand);
}

uint64_t bf16_bits(double value) {
  if (std::isnan(value)) return 0x7FFF;
  return std::bit_cast<uint32_t>(static_cast<float>(rounded_to(value, 8, -126))) >> 16;
}

}  // namespace

uint64_t element_bits(int32_t dtype, double value) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
      return std::bit_cast<uint64_t>(value);
    case SYNFIRE_DTYPE_F32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case SYNFIRE_DTYPE_F16:
      return f16_bits(value);
    case SYNFIRE_DTYPE_BF16:
      return bf16_bits(value);
    default:
      return static_cast<uint64_t>(value);
  }
}

uint64_t fill_bits(int32_t dtype, double value) {
  if (is_packed(dtype) && !(value >= 0 && value < 4294967296.0 && value == std::floor(value)))
    fail_argument("SYN-BUFFER-FILL", "value is %g; a buffer of bits takes an integer in [0, 2^32) for each word",
                  value);
  const int width = dtype == SYNFIRE_DTYPE_U8    ? 8
                    : dtype == SYNFIRE_DTYPE_U32 ? 32
                    : dtype == SYNFIRE_DTYPE_U64 ? 64
                                                 : 0;
  if (width > 0 && !(value >= 0 && value < std::ldexp(1.0, width) && value == std::floor(value)))
    fail_argument("SYN-BUFFER-FILL", "value is %g; a buffer of %s takes an integer in [0, 2^%d)", value,
                  name_of_dtype(dtype), width);
  return element_bits(dtype, value);
}

void check_scalar(double value, const char* name) {
  if (!std::isfinite(value)) fail_argument("SYN-SCALAR-RANGE", "%s is %g; it must be finite", name, value);
}

}  // namespace synfire::core
