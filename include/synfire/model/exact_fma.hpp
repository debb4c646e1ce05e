// Fused multiply-add without the processor's instruction, for platforms whose C library rounds twice: that of mingw-w64
// computes fma() in 80 bits. Slow, and needed only for processors without FMA on Windows.
#ifndef SYNFIRE_MODEL_EXACT_FMA_HPP
#define SYNFIRE_MODEL_EXACT_FMA_HPP

#include "platform.hpp"

SYNFIRE_MODEL_BEGIN

// The product is exact in f64. The sum is rounded to odd, which keeps what the second rounding needs: 53 bits are more than
// twice 24 (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded sums").
inline float exact_fma(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b), other = c;
  const double sum = product + other;
  const double from_other = sum - product;
  const double error = (product - (sum - from_other)) + (other - from_other);
  u64 bits = bits_of(sum);
  if (error != 0 && error == error && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? u64(1) : ~u64(0);
  return static_cast<float>(from_bits(bits));
}

namespace exact_fma_parts {

__extension__ typedef unsigned __int128 Wide;

constexpr int top = 125;  // of the highest set bit, below a carry and a sign

// value = ±mantissa · 2^exponent, with the highest set bit of the mantissa at `top`.
struct Number {
  Wide mantissa;
  int exponent;
  bool negative;
};

inline int highest_bit(Wide x) {
  const u64 high = static_cast<u64>(x >> 64);
  return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(static_cast<u64>(x));
}

inline Number normalised(Wide mantissa, int exponent, bool negative) {
  const int shift = top - highest_bit(mantissa);
  return {mantissa << shift, exponent - shift, negative};
}

// A finite x other than 0 is mantissa · 2^exponent.
inline void split(double x, u64& mantissa, int& exponent) {
  const u64 bits = bits_of(x);
  const int biased = static_cast<int>(bits >> 52 & 0x7FF);
  mantissa = (bits & ((u64(1) << 52) - 1)) | (biased ? u64(1) << 52 : 0);
  exponent = (biased ? biased : 1) - 1075;
}

// x · 2^-shift; the lowest bit says whether a set bit was lost.
inline Wide shifted(Wide x, int shift) {
  if (shift > 127) return x != 0;
  const Wide kept = x >> shift;
  return kept | Wide((kept << shift) != x);
}

inline bool is_finite(double x) {
  return (bits_of(x) >> 52 & 0x7FF) != 0x7FF;
}

}  // namespace exact_fma_parts

// The sum of the exact product and c as one integer of up to 127 bits: what falls off below it is only known to be there or
// not, and lies at least 70 bits below the last one that is kept.
inline double exact_fma(double a, double b, double c) {
  using namespace exact_fma_parts;
  if (!is_finite(a) || !is_finite(b) || a == 0 || b == 0) return a * b + c;
  if (!is_finite(c)) return c + c;  // the product alone might overflow
  if (c == 0) return a * b;
  u64 ma, mb, mc;
  int ea, eb, ec;
  split(a, ma, ea);
  split(b, mb, eb);
  split(c, mc, ec);
  Number large = normalised(Wide(ma) * mb, ea + eb, (a < 0) != (b < 0)), small = normalised(mc, ec, c < 0);
  if (large.exponent < small.exponent) {
    const Number swapped = large;
    large = small;
    small = swapped;
  }
  const Wide moved = shifted(small.mantissa, large.exponent - small.exponent);
  bool negative = large.negative;
  Wide sum;
  if (large.negative == small.negative) {
    sum = large.mantissa + moved;
  } else if (large.mantissa >= moved) {
    sum = large.mantissa - moved;
  } else {
    sum = moved - large.mantissa;
    negative = !negative;
  }
  if (sum == 0) return 0;

  // Rounds to 53 bits, or to the multiples of 2^-1074 where the result is subnormal.
  const int highest = large.exponent + highest_bit(sum);
  int cut = highest_bit(sum) - 52;
  int biased = highest + 1023;
  if (biased < 1) {
    cut += 1 - biased;
    biased = 1;
  }
  u64 kept;
  if (cut > 127) {
    kept = 0;
  } else if (cut > 0) {
    kept = static_cast<u64>(sum >> cut);
    const Wide rest = sum & ((Wide(1) << cut) - 1), half = Wide(1) << (cut - 1);
    if (rest > half || (rest == half && (kept & 1))) ++kept;
  } else {
    kept = static_cast<u64>(sum << -cut);
  }
  // The mantissa's leading 1 adds to the exponent, and so does a carry. A subnormal number has no leading 1.
  const u64 infinity = u64(0x7FF) << 52;
  u64 bits = biased > 0x7FE ? infinity : (u64(biased - 1) << 52) + kept;
  if (bits > infinity) bits = infinity;
  return from_bits(bits | u64(negative) << 63);
}

SYNFIRE_MODEL_END

#endif
