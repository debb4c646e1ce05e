// Exact sums. Numbers are rounded to a grid, the multiples of a power of two 2^g, and added as integers. A sum of
// integers has no order, so it gives the same bits however it is split.
#ifndef SYNFIRE_MODEL_GRID_HPP
#define SYNFIRE_MODEL_GRID_HPP

#include "platform.hpp"

SYNFIRE_MODEL_BEGIN

// The largest magnitude on a grid of 24 bits: three byte planes of it, of which the lower two are unsigned, never
// overflow. On a grid of 32 bits it is that of a signed integer.
inline constexpr u32 largest_on_grid_24 = 0x7F7F7Fu;
inline constexpr u32 largest_on_grid_32 = 0x7FFFFFFFu;
// No grid is finer: 2^-149 is the smallest positive f32.
inline constexpr s32 finest_grid = -149;
// On this grid every number is 0, also infinities and NaN.
inline constexpr s32 grid_of_zeros = 131;

// x / 2^grid, rounded to nearest, ties to even. |x| / 2^grid, 2^128 and more for a number that is not finite, must be
// below 2^31.
SYNFIRE_MODEL_FN s32 on_grid(float x, s32 grid) {
  const u32 bits = bits_of(x), stored = bits >> 23 & 0xFFu;
  const u32 mantissa = (bits & 0x7FFFFFu) | (stored == 0 ? 0u : 0x800000u);
  const s32 shift = (stored == 0 ? 1 : static_cast<s32>(stored)) - 150 - grid;  // x is mantissa * 2^(shift + grid)
  const u32 left = static_cast<u32>(shift > 0 ? shift > 23 ? 23 : shift : 0);
  const s32 down = shift < 0 ? -shift : 0;
  const u32 right = static_cast<u32>(down > 26 ? 26 : down);  // 26 takes every mantissa to 0
  const u32 half = right == 0 ? 0u : (1u << right) / 2u - 1u + (mantissa >> right & 1u);
  const s32 magnitude = static_cast<s32>(((mantissa << left) + half) >> right);
  return (bits >> 31) != 0 ? -magnitude : magnitude;
}

// The same without the lower ones of 24 bits, 0, 8 or 16 of them: a multiple of 2^dropped, whose lower byte planes are
// zero.
SYNFIRE_MODEL_FN s32 on_grid(float x, s32 grid, s32 dropped) {
  return on_grid(x, grid + dropped) * (1 << dropped);
}

// The finest grid on which the magnitude, which must be finite, is at most `largest`. Without the lower bits, that is 24
// bits without them.
SYNFIRE_MODEL_FN s32 grid_of(float magnitude, u32 largest, s32 dropped = 0) {
  const u32 stored = bits_of(magnitude) >> 23 & 0xFFu;
  const s32 below = largest <= largest_on_grid_24 ? 22 : 30;  // the highest bit that an integer has
  const s32 candidate = stored == 0 ? finest_grid : static_cast<s32>(stored) - 127 - below;
  const s32 grid = candidate < finest_grid ? finest_grid : candidate;
  return grid + (static_cast<u32>(on_grid(magnitude, grid, dropped)) > largest ? 1 : 0);
}

// The grid of a row of weights of 24 - dropped bits and its bias.
SYNFIRE_MODEL_FN s32 grid_of_row(float largest_weight, float bias, s32 dropped) {
  const s32 weights = grid_of(largest_weight, (largest_on_grid_24 >> dropped) << dropped, dropped),
            own = grid_of(absolute(bias), largest_on_grid_32);
  return weights > own ? weights : own;
}

// 2^grid, from finest_grid to 127.
SYNFIRE_MODEL_FN float power_of_two(s32 grid) {
  return from_bits(grid < -126 ? 1u << (grid - finest_grid) : static_cast<u32>(grid + 127) << 23);
}
// 2^grid from -1022 to 1023.
SYNFIRE_MODEL_FN double wide_power_of_two(s32 grid) {
  return from_bits(static_cast<u64>(grid + 1023) << 52);
}

// A sum on a grid with the scale 2^grid, as f32. One rounding: where the result is subnormal, the sum has fewer than 24
// bits. +0 for a sum of 0.
SYNFIRE_MODEL_FN float from_grid(s64 sum, float scale) {
  return static_cast<float>(sum) * scale;
}

// A weight on the grid as a number: exact, but 2^128 is infinite.
SYNFIRE_MODEL_FN float from_integer(s32 integer, s32 grid) {
  return static_cast<float>(integer) * power_of_two(grid);
}

// A sum of inputs that dropout kept, times its factor, and a bias that is not on the grid. +0 and the bias where the sum is
// 0, also if the factor is infinite.
SYNFIRE_MODEL_FN float from_grid_of_kept(float sum, float scale, float factor, float bias) {
  return fma(sum, sum == 0.0f ? 0.0f : scale * factor, bias);
}

// ---- products of two numbers on grids --------------------------------------------------------------------------------

// The magnitude of x * 2^grid, for a finite x, as an integer in the order of magnitudes. The value for 0 is below those
// of all products, the smallest of which is 2^-298, and its grid is one that wide_power_of_two() has: sums of zeros are
// +0.
SYNFIRE_MODEL_FN s64 magnitude_of(float x, s32 grid) {
  const bool subnormal = (bits_of(x) & 0x7F800000u) == 0;
  const u32 bits = bits_of(subnormal ? x * 16777216.0f : x) & 0x7FFFFFFFu;  // 2^24 normalises it
  if (bits == 0) return -1000ll * 0x1000000;
  const s32 exponent = static_cast<s32>(bits >> 23) - 127 - (subnormal ? 24 : 0) + grid;
  return static_cast<s64>(exponent) * 0x1000000 + static_cast<s64>((bits & 0x7FFFFFu) | 0x800000u);
}

// The finest grid, without a limit, on which the largest of these magnitudes is at most largest_on_grid_24.
SYNFIRE_MODEL_FN s32 grid_of_magnitude(s64 magnitude) {
  const s32 exponent = static_cast<s32>(magnitude >> 24);
  const u32 mantissa = static_cast<u32>(magnitude & 0xFFFFFF);
  return exponent - 22 + ((mantissa + (mantissa >> 1 & 1u)) >> 1 > largest_on_grid_24 ? 1 : 0);
}

// The same for numbers of 16, 24 or 32 bits: the magnitude is at most 0x7F7F, 0x7F7F7F or 2^31 - 1.
SYNFIRE_MODEL_FN s32 grid_of_magnitude(s64 magnitude, s32 bits) {
  if (bits == 24) return grid_of_magnitude(magnitude);
  const s32 exponent = static_cast<s32>(magnitude >> 24);
  if (bits == 32) return exponent < -992 ? -1022 : exponent - 30;  // of 0, one that wide_power_of_two() has
  const u32 mantissa = static_cast<u32>(magnitude & 0xFFFFFF);
  const u32 rounded = (mantissa + 0xFFu + (mantissa >> 9 & 1u)) >> 9;
  return exponent - 14 + (rounded > 0x7F7Fu ? 1 : 0);
}

// An exact sum of products with the scale 2^grid.
SYNFIRE_MODEL_FN float from_wide_grid(s64 sum, s32 grid) {
  return static_cast<float>(static_cast<double>(sum) * wide_power_of_two(grid));
}
// The same, times a factor, and possibly a second one.
SYNFIRE_MODEL_FN float from_wide_grid(s64 sum, s32 grid, double factor, double second = 1) {
  return static_cast<float>(static_cast<double>(sum) * wide_power_of_two(grid) * factor * second);
}

// ---- sums over rows -------------------------------------------------------------------------------------------------

// Whatever is added over rows is a sum of integers on the grid of its largest magnitude, which is a maximum. A maximum is
// kept as the bits of an f32 without its sign, which have the order of magnitudes; those of infinities and NaN are above
// all others.
SYNFIRE_MODEL_FN u32 magnitude_bits(float x) {
  return bits_of(x) & 0x7FFFFFFFu;
}
SYNFIRE_MODEL_FN bool is_finite_magnitude(u32 bits) {
  return bits < 0x7F800000u;
}
// The grid of a sum, given the bits of the largest magnitude; `most` is one of largest_on_grid_*. If the largest is not
// finite, all terms are 0 on it.
SYNFIRE_MODEL_FN s32 grid_of_sum(u32 largest, u32 most) {
  return is_finite_magnitude(largest) ? grid_of(from_bits(largest), most) : grid_of_zeros;
}
// A sum of fewer than 2^32 terms on 32 bits, in f64; NaN if a term was not finite.
SYNFIRE_MODEL_FN double from_sum(s64 sum, u32 largest) {
  return is_finite_magnitude(largest)
             ? static_cast<double>(sum) * wide_power_of_two(grid_of_sum(largest, largest_on_grid_32))
             : from_bits(0x7FF8000000000000ull);
}

SYNFIRE_MODEL_FN s32 leading_zeros(u64 x) {
#if defined(__CUDA_ARCH__)
  return __clzll(static_cast<s64>(x));
#else
  return __builtin_clzll(x);
#endif
}

// Sums of products of numbers on 32 and on 24 bits pass 64 bits after 512 terms. Each sum of up to 512 terms is divided
// into floor(v / 2^32) and v mod 2^32, which are added apart: high * 2^32 + low. Neither overflows for fewer than 2^31
// terms.
SYNFIRE_MODEL_FN s64 high_part(s64 sum) {
  return sum >> 32;
}
SYNFIRE_MODEL_FN s64 low_part(s64 sum) {
  return sum & 0xFFFFFFFFll;
}
// The sum in f64, rounded once.
SYNFIRE_MODEL_FN double double_of_parts(s64 high, s64 low) {
  high += low >> 32;
  low &= 0xFFFFFFFFll;
  if (high >> 31 == high >> 63)
    return static_cast<double>(static_cast<s64>(static_cast<u64>(high) << 32 | static_cast<u64>(low)));
  const bool negative = high < 0;
  u64 h = static_cast<u64>(high), l = static_cast<u64>(low);
  if (negative) {
    h = ~h + (l == 0 ? 1u : 0u);
    l = l == 0 ? 0u : 0x100000000ull - l;
  }
  double magnitude;
  if (h >> 32 == 0) {
    magnitude = static_cast<double>(h << 32 | l);
  } else {
    const s32 up = leading_zeros(h);  // at most 31
    const u64 kept = h << up | l >> (32 - up), rest = l & (0xFFFFFFFFull >> up);
    magnitude = static_cast<double>(kept | (rest != 0 ? 1u : 0u)) * wide_power_of_two(32 - up);
  }
  return negative ? -magnitude : magnitude;
}
// A sum of products with the scale 2^grid, times a factor.
SYNFIRE_MODEL_FN float from_parts(s64 high, s64 low, s32 grid, double factor) {
  return static_cast<float>(double_of_parts(high, low) * wide_power_of_two(grid) * factor);
}

// ---- sums in a fixed order ------------------------------------------------------------------------------------------

// Products that cannot be exact are added in one order: chains of fused multiply-adds, each from +0; their sums within
// a block from +0; the sums of the blocks in f64 from +0.
inline constexpr int chain_length = 64;
inline constexpr int block_length = 1024;

SYNFIRE_MODEL_END

#endif
