// Elementary functions with the same bits on every machine: built from IEEE additions, multiplications, fused
// multiply-adds and integer operations only, without branches. Largest errors are measured by tests/model.
// What does not live here: anything a formula can write with + − × itself.
#ifndef SYNFIRE_MODEL_ELEMENTARY_HPP
#define SYNFIRE_MODEL_ELEMENTARY_HPP

#include "platform.hpp"

SYNFIRE_MODEL_BEGIN

// 1/x for a normal x in [2⁻¹⁰⁰, 2¹⁰⁰]. An integer subtraction on the exponent guesses to 5 % (Lomont-style magic
// constant); a third-order step leaves 1.3e-4, a Newton step 1.7e-8, below the rounding of f32.
SYNFIRE_MODEL_FN float reciprocal(float x) {
  float y = from_bits(0x7EF311C7u - bits_of(x));
  float e = fma(-x, y, 1.0f);
  y = fma(y, fma(e, e, e), y);
  e = fma(-x, y, 1.0f);
  return fma(y, e, y);
}

// 1/x for a normal x in [2⁻⁵⁰⁰, 2⁵⁰⁰]: guess 5 %, third order twice 2e-12, Newton below the rounding of f64.
SYNFIRE_MODEL_FN double reciprocal(double x) {
  double y = from_bits(0x7FDE6238502484BAull - bits_of(x));
  double e = fma(-x, y, 1.0);
  y = fma(y, fma(e, e, e), y);
  e = fma(-x, y, 1.0);
  y = fma(y, fma(e, e, e), y);
  e = fma(-x, y, 1.0);
  return fma(y, e, y);
}

// eˣ = 2ⁿ·eʳ with n = round(x/ln 2) (adding 1.5·2²³ rounds to nearest even) and |r| ≤ ln 2 / 2. The polynomial is
// 1 + r + r²·q(r), q fitted on Chebyshev nodes: relative error 1.1e-8. Results below 2⁻¹²⁵ are 0; above e⁸⁸ infinite.
SYNFIRE_MODEL_FN float exponential(float x) {
  constexpr float round_magic = 12582912.0f;
  const float inside = x < -86.0f ? -86.0f : (x > 88.0f ? 88.0f : x);
  const float shifted = fma(inside, 1.44269504088896340736f, round_magic);
  const float n = shifted - round_magic;
  float r = fma(n, -0.693147182464599609375f, inside);
  r = fma(n, 1.904654299957767878541e-9f, r);
  float q = 0.0013933652080595493f;
  q = fma(q, r, 0.008363181725144386f);
  q = fma(q, r, 0.04166646674275398f);
  q = fma(q, r, 0.16666576266288757f);
  q = fma(q, r, 0.5f);
  const float e = fma(r * r, q, r) + 1.0f;
  const float scaled = from_bits(bits_of(e) + (bits_of(shifted) << 23));
  const float bounded = x < -86.0f ? 0.0f : (x > 88.0f ? from_bits(0x7F800000u) : scaled);
  return x == x ? bounded : x;
}

// As above in f64: Taylor polynomial of degree 13 on |r| ≤ ln 2 / 2, truncation 4e-18. Below e⁻⁷⁰⁰ 0, above e⁷⁰⁹ infinite.
SYNFIRE_MODEL_FN double exponential(double x) {
  constexpr double round_magic = 6755399441055744.0;
  const double inside = x < -700.0 ? -700.0 : (x > 709.0 ? 709.0 : x);
  const double shifted = fma(inside, 1.44269504088896340736, round_magic);
  const double n = shifted - round_magic;
  double r = fma(n, -0.693147180559945286227, inside);
  r = fma(n, -2.319046813846299558418e-17, r);
  double q = 1.0 / 6227020800.0;
  q = fma(q, r, 1.0 / 479001600.0);
  q = fma(q, r, 1.0 / 39916800.0);
  q = fma(q, r, 1.0 / 3628800.0);
  q = fma(q, r, 1.0 / 362880.0);
  q = fma(q, r, 1.0 / 40320.0);
  q = fma(q, r, 1.0 / 5040.0);
  q = fma(q, r, 1.0 / 720.0);
  q = fma(q, r, 1.0 / 120.0);
  q = fma(q, r, 1.0 / 24.0);
  q = fma(q, r, 1.0 / 6.0);
  q = fma(q, r, 0.5);
  const double e = fma(r * r, q, r) + 1.0;
  const double scaled = from_bits(bits_of(e) + (bits_of(shifted) << 52));
  const double bounded = x < -700.0 ? 0.0 : (x > 709.0 ? from_bits(0x7FF0000000000000ull) : scaled);
  return x == x ? bounded : x;
}

SYNFIRE_MODEL_END

#endif
