// Integers of 128 bits, for the sums of a channel: one source for all compilers.
#ifndef SYNFIRE_OPERATIONS_NORMALIZE_WIDE_INTEGER_HPP
#define SYNFIRE_OPERATIONS_NORMALIZE_WIDE_INTEGER_HPP

#include <synfire/model/grid.hpp>

namespace synfire::operations {

using model::s32;
using model::s64;
using model::u32;
using model::u64;

// high * 2^64 + low, in two's complement. Results are those of integers as long as these fit.
struct WideInteger {
  u64 high = 0, low = 0;

  SYNFIRE_MODEL_FN bool is_negative() const { return high >> 63 != 0; }
  SYNFIRE_MODEL_FN WideInteger negated() const { return {~high + (low == 0 ? 1u : 0u), ~low + 1u}; }
};

SYNFIRE_MODEL_FN WideInteger operator-(const WideInteger& a, const WideInteger& b) {
  return {a.high - b.high - (a.low < b.low ? 1u : 0u), a.low - b.low};
}

// A sum of numbers v that are added apart, as floor(v / 2^32) and v mod 2^32.
SYNFIRE_MODEL_FN WideInteger wide_of_parts(s64 high, u64 low) {
  const u64 shifted = static_cast<u64>(high) << 32, sum = shifted + low;
  return {static_cast<u64>(high >> 32) + (sum < low ? 1u : 0u), sum};
}

SYNFIRE_MODEL_FN WideInteger product_of(u64 a, u64 b) {
  const u64 mask = 0xFFFFFFFFull, a0 = a & mask, a1 = a >> 32, b0 = b & mask, b1 = b >> 32;
  const u64 first = a0 * b0, second = a1 * b0 + (first >> 32), third = a0 * b1 + (second & mask);
  return {a1 * b1 + (second >> 32) + (third >> 32), third << 32 | (first & mask)};
}
SYNFIRE_MODEL_FN u64 magnitude_of_integer(s64 x) {
  return x < 0 ? ~static_cast<u64>(x) + 1u : static_cast<u64>(x);
}
SYNFIRE_MODEL_FN WideInteger product_of(s64 a, s64 b) {
  const WideInteger product = product_of(magnitude_of_integer(a), magnitude_of_integer(b));
  return (a < 0) != (b < 0) ? product.negated() : product;
}
SYNFIRE_MODEL_FN WideInteger product_of(const WideInteger& a, u32 b) {
  const WideInteger low = product_of(a.low, u64{b});
  return {a.high * b + low.high, low.low};
}

// Rounded to nearest, ties to even.
SYNFIRE_MODEL_FN double double_of(const WideInteger& x) {
  const WideInteger magnitude = x.is_negative() ? x.negated() : x;
  double result;
  if (magnitude.high == 0) {
    result = static_cast<double>(magnitude.low);
  } else {
    // The 64 highest bits, of which the last says whether any bit below is set: it is beyond those that f64 keeps.
    const s32 up = model::leading_zeros(magnitude.high);
    const u64 kept = up == 0 ? magnitude.high : magnitude.high << up | magnitude.low >> (64 - up);
    const u64 rest = magnitude.low << up;
    result = static_cast<double>(kept | (rest != 0 ? 1u : 0u)) * model::wide_power_of_two(64 - up);
  }
  return x.is_negative() ? -result : result;
}

}  // namespace synfire::operations

#endif
