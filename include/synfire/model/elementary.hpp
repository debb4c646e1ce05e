// Elementary functions that give the same bits on every machine. They use only IEEE additions, multiplications, fused
// multiply-adds and integer operations, without branches.
//
// Largest errors in units in the last place, against long double; tests/model/elementary_test.cpp checks them.
//
// |                        | f32: every number, * samples | f64: 10⁸ samples, * 10⁶ |
// | ---------------------- | ---------------------------- | ----------------------- |
// | reciprocal             | 0.78                         | 0.51                    |
// | exponential            | 1.10                         | 1.01                    |
// | logarithm              | 0.89                         | 0.87                    |
// | logarithm_of_one_plus  | 1.6 *                        | 1.6 *                   |
// | sine_of_half_turn      | 2.3 *                        | 2.2 *                   |
#ifndef SYNFIRE_MODEL_ELEMENTARY_HPP
#define SYNFIRE_MODEL_ELEMENTARY_HPP

#include "platform.hpp"

SYNFIRE_MODEL_BEGIN

// 1/x, correctly rounded, for a normal x in [2⁻¹⁰⁰, 2¹⁰⁰]. The host divides, which IEEE rounds correctly. The GPU takes
// an estimate and one Newton step; tests/gpu compares the result with a division for every significand.
SYNFIRE_MODEL_FN float reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return fma(y, fma(-x, y, 1.0f), y);
#else
  return 1.0f / x;
#endif
}

// 1/x for a normal x in [2⁻⁵⁰⁰, 2⁵⁰⁰]. The initial estimate is within 5 %, two third-order steps bring it to 2e-12, and
// a Newton step below the rounding error of f64.
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
// 1 + r + r²·q(r), q fitted on Chebyshev nodes: relative error 1.1e-8. For −86 ≤ x ≤ 88; any other x gives an
// unspecified number.
SYNFIRE_MODEL_FN float exponential_inside(float x) {
  constexpr float round_magic = 12582912.0f;
  const float shifted = fma(x, 1.44269504088896340736f, round_magic);
  const float n = shifted - round_magic;
  float r = fma(n, -0.693147182464599609375f, x);
  r = fma(n, 1.904654299957767878541e-9f, r);
  float q = 0.0013933652080595493f;
  q = fma(q, r, 0.008363181725144386f);
  q = fma(q, r, 0.04166646674275398f);
  q = fma(q, r, 0.16666576266288757f);
  q = fma(q, r, 0.5f);
  const float e = fma(r * r, q, r) + 1.0f;
  return from_bits(bits_of(e) + (bits_of(shifted) << 23));
}

// As above in f64, for −700 ≤ x ≤ 709: Taylor polynomial of degree 13 on |r| ≤ ln 2 / 2, truncation 4e-18.
SYNFIRE_MODEL_FN double exponential_inside(double x) {
  constexpr double round_magic = 6755399441055744.0;
  const double shifted = fma(x, 1.44269504088896340736, round_magic);
  const double n = shifted - round_magic;
  double r = fma(n, -0.693147180559945286227, x);
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
  return from_bits(bits_of(e) + (bits_of(shifted) << 52));
}

// 2ˣ = 2ⁿ·2ᶠ with n = round(x), |f| ≤ ½ exactly. The polynomial is 1 + f·p(f), p fitted on Chebyshev nodes: relative
// error 9.2e-9. For |x| ≤ 124; any other x gives an unspecified number. Three operations fewer than
// exponential_inside().
SYNFIRE_MODEL_FN float power_of_two_inside(float x) {
  constexpr float round_magic = 12582912.0f;
  const float shifted = x + round_magic;
  const float f = x - (shifted - round_magic);
  float p = 0.00015453163359779865f;
  p = fma(p, f, 0.0013390863314270973f);
  p = fma(p, f, 0.009618083015084267f);
  p = fma(p, f, 0.055503569543361664f);
  p = fma(p, f, 0.24022650718688965f);
  p = fma(p, f, 0.6931471824645996f);
  return from_bits(bits_of(fma(p, f, 1.0f)) + (bits_of(shifted) << 23));
}

// The range of exponential_inside().
template <class R>
inline constexpr R smallest_exponent = R(sizeof(R) == 4 ? -86.0 : -700.0);
template <class R>
inline constexpr R largest_exponent = R(sizeof(R) == 4 ? 88.0 : 709.0);

SYNFIRE_MODEL_FN double infinity() {
#if defined(__CUDACC_RTC__)
  return __longlong_as_double(0x7FF0000000000000ll);  // run-time compilers do not know the other
#else
  return __builtin_huge_val();
#endif
}

// eˣ: 0 below smallest_exponent, infinity above largest_exponent, NaN for NaN.
template <class R>
SYNFIRE_MODEL_FN R exponential(R x) {
  const R inside = exponential_inside(x);
  const R beyond = x + R(infinity());  // a NaN stays one
  const R bounded = x <= largest_exponent<R> ? inside : beyond;
  return x < smallest_exponent<R> ? R(0) : bounded;
}

// A positive normal number as m·2ᵏ with √½ ≤ m < √2, so that its logarithm is k·ln 2 + log(m) without loss.
template <class R>
struct Exponent {
  R m;
  R k;
  R scale;  // 2⁻ᵏ, for k < 127 (f32), k < 1023 (f64)
};

// An offset is added to the bits so that the exponent field changes at √½ instead of 1. Writing k into the last bits of
// 2²³ converts it to a number (not every instruction set converts 64-bit integers).
SYNFIRE_MODEL_FN Exponent<float> take_apart(float x) {
  const u32 shifted = bits_of(x) + (0x3F800000u - 0x3F3504F3u);
  const u32 exponent = shifted >> 23;
  return {from_bits((shifted & 0x007FFFFFu) + 0x3F3504F3u), from_bits(0x4B000000u | exponent) - 8388735.0f,
          from_bits((254u - exponent) << 23)};
}

SYNFIRE_MODEL_FN Exponent<double> take_apart(double x) {
  const u64 shifted = bits_of(x) + (0x3FF0000000000000ull - 0x3FE6A09E667F3BCDull);
  const u64 exponent = shifted >> 52;
  return {from_bits((shifted & 0x000FFFFFFFFFFFFFull) + 0x3FE6A09E667F3BCDull),
          from_bits(0x4330000000000000ull | exponent) - 4503599627371519.0, from_bits((2046ull - exponent) << 52)};
}

// k·ln 2 + log(1 + f) for √½ ≤ 1 + f < √2: f − f²/2 + f³·q(f), q fitted on Chebyshev nodes: relative error 3.5e-9.
SYNFIRE_MODEL_FN float logarithm_near_one(float f, float k) {
  float q = 0.06971611827611923f;
  q = fma(q, f, -0.11479733884334564f);
  q = fma(q, f, 0.11685419827699661f);
  q = fma(q, f, -0.12425687164068222f);
  q = fma(q, f, 0.14249058067798615f);
  q = fma(q, f, -0.1666780263185501f);
  q = fma(q, f, 0.20000715553760529f);
  q = fma(q, f, -0.2499999701976776f);
  q = fma(q, f, 0.3333333134651184f);
  q = fma(q, f, -0.5f);
  const float low = fma(k, -1.904654299957767878541e-9f, (f * f) * q);
  return fma(k, 0.693147182464599609375f, f + low);
}

// As above in f64, by log(1 + f) = 2·artanh(s), s = f/(2 + f): with h = f²/2 it is f − (h − s·(h + s²·q(s²))), where
// the rounding error of s enters small terms only. q fitted on Chebyshev nodes: relative error 5e-18.
SYNFIRE_MODEL_FN double logarithm_near_one(double f, double k) {
  const double s = f * reciprocal(2.0 + f);
  const double z = s * s;
  double q = 0.14616449685043406;
  q = fma(q, z, 0.15331721600556042);
  q = fma(q, z, 0.18182889125261723);
  q = fma(q, z, 0.2222221113479508);
  q = fma(q, z, 0.28571428625975487);
  q = fma(q, z, 0.39999999999899505);
  q = fma(q, z, 0.666666666666667);
  const double h = (0.5 * f) * f;
  const double low = fma(k, 2.319046813846299558418e-17, fma(s, fma(z, q, h), -h));
  return fma(k, 0.693147180559945286227, f + low);
}

// log(x) for a normal x > 0, with errors up to 0.9 ulp in f32 and f64. Any other x gives an unspecified number.
template <class R>
SYNFIRE_MODEL_FN R logarithm(R x) {
  const Exponent<R> a = take_apart(x);
  return logarithm_near_one(a.m - R(1), a.k);
}

// log(1 + a·b) for 0 ≤ a·b < 2¹²⁶, accurate even where 1 + a·b rounds most of a·b away. Errors up to 1.6 ulp in f32 and
// f64.
template <class R>
SYNFIRE_MODEL_FN R logarithm_of_one_plus(R a, R b) {
  const R sum = fma(a, b, R(1));
  const R lost = fma(a, b, R(1) - sum);
  const Exponent<R> e = take_apart(sum);
  return logarithm_near_one(fma(lost, e.scale, e.m - R(1)), e.k);
}

// sin(π·w) for |w| ≤ ½: π·w + w³·q(w²), q fitted on Chebyshev nodes: relative error 1.5e-8. Errors up to 2.3 ulp.
SYNFIRE_MODEL_FN float sine_of_half_turn(float w) {
  const float v = w * w;
  float q = -0.007084488868713379f;
  q = fma(q, v, 0.08208371698856354f);
  q = fma(q, v, -0.5992590188980103f);
  q = fma(q, v, 2.550163984298706f);
  q = fma(q, v, -5.167712688446045f);
  q = fma(q, v, -8.742277657347586e-8f);  // π minus the f32 nearest to it
  return fma(w, 3.1415927410125732f, w * q);
}

// As above in f64, relative error 2.7e-17. Errors up to 2.2 ulp.
SYNFIRE_MODEL_FN double sine_of_half_turn(double w) {
  const double v = w * w;
  double q = 7.725743030789876e-07;
  q = fma(q, v, -2.1906201655131958e-05);
  q = fma(q, v, 0.00046630087411496363);
  q = fma(q, v, -0.007370430719634586);
  q = fma(q, v, 0.08214588659675232);
  q = fma(q, v, -0.599264529320343);
  q = fma(q, v, 2.55016403987734);
  q = fma(q, v, -5.16771278004997);
  q = fma(q, v, 1.2246467991473532e-16);
  return fma(w, 3.141592653589793, w * q);
}

// The largest |x| for round_to_whole(): 2²² (f32), 2⁵¹ (f64).
template <class R>
inline constexpr R largest_rounded = R(sizeof(R) == 4 ? 4194304.0 : 2251799813685248.0);

// The integer nearest to x (to the even one at a tie), |x| ≤ largest_rounded.
template <class R>
struct Whole {
  R value;
  R sign;  // −1 when it is odd, else 1
};

SYNFIRE_MODEL_FN Whole<float> round_to_whole(float x) {
  const float shifted = x + 12582912.0f;
  return {shifted - 12582912.0f, from_bits(0x3F800000u | (bits_of(shifted) << 31))};
}

SYNFIRE_MODEL_FN Whole<double> round_to_whole(double x) {
  const double shifted = x + 6755399441055744.0;
  return {shifted - 6755399441055744.0, from_bits(0x3FF0000000000000ull | (bits_of(shifted) << 63))};
}

// sin(π·a·b) for |a·b| ≤ largest_rounded/4: the nearest integer is subtracted from the product before it is
// rounded. Absolute error up to 1.6e-7 in f32, 2.7e-16 in f64.
template <class R>
SYNFIRE_MODEL_FN R sine_of_half_turns(R a, R b) {
  const Whole<R> n = round_to_whole(a * b);
  return n.sign * sine_of_half_turn(fma(a, b, -n.value));
}

SYNFIRE_MODEL_END

#endif
