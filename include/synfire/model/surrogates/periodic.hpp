// squarewave_fourier_series: the derivative of the Fourier series of a square wave, truncated after n − 1 terms.
#ifndef SYNFIRE_MODEL_SURROGATES_PERIODIC_HPP
#define SYNFIRE_MODEL_SURROGATES_PERIODIC_HPP

#include "tails.hpp"

SYNFIRE_MODEL_BEGIN

// g'(x) = (4/T_period)·Σ cos((2i − 1)·θ), i = 1 … n − 1, θ = 2π·x/T_period
//       = (4/T_period)·sin(2(n − 1)·θ)/(2·sin θ), whose cost does not depend on n.
// 4(n − 1)/T_period at 0, and negative in places. n is rounded to the nearest integer; with n = 1 the series is
// empty. 0 at ±∞, and where |x| exceeds 2²¹ (f32) or 2⁵⁰ (f64) periods, where neighbouring numbers are at least an
// eighth of a period apart. The primitive is ½ + (2/π)·Σ sin((2i − 1)·θ)/(2i − 1).
struct SquarewaveFourierSeries {
  static constexpr const char* name = "squarewave_fourier_series";
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 3;  // 2/T_period in two parts, 2·(n − 1)
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"n", 2.0, 1.0, 1e6, false},
      {"T_period", 8.0, smallest_divisor, largest_parameter, false},
  };

  // The first part has the 24 bits of an f32, so that the two parts hold 2/T_period with twice the precision of R, for
  // any R.
  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    const double terms = static_cast<double>(static_cast<s64>(values[0] + 0.5)) - 1.0;
    constants[0] = static_cast<double>(static_cast<float>(2.0 / values[1]));
    constants[1] = fma(-constants[0], values[1], 2.0) / values[1];
    constants[2] = 2.0 * terms;
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R frequency = constants[0] + constants[1];
    const R rest = (constants[0] - frequency) + constants[1];
    const R half_turns = x * frequency;
    const bool inside = absolute(half_turns) < largest_rounded<R>;  // false for a NaN
    const R bounded = inside ? x : R(0);
    const R kept = inside ? R(1) : R(0);

    // θ = π·(n + h). Half a turn flips the sign of every cosine. The quotient is even in h, and at 2⁻⁸⁰ it has its
    // value at 0.
    const Whole<R> n = round_to_whole(bounded * frequency);
    const R h = absolute(fma(bounded, rest, fma(bounded, frequency, -n.value)));
    const R off_zero = h > R(8.2718061255302767e-25) ? h : R(8.2718061255302767e-25);
    const R above = sine_of_half_turns(constants[2], off_zero);
    const R below = sine_of_half_turns(R(1), off_zero);
    const R inverse = reciprocal(below);
    const R guess = above * inverse;
    const R quotient = fma(fma(-below, guess, above), inverse, guess);
    return (kept * frequency) * (n.sign * quotient);
  }
};

SYNFIRE_MODEL_END

#endif
