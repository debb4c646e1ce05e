// Surrogates that decay exponentially or faster: sigmoid, piecewise_exp, erf, multi_gaussian. Even in x, largest at 0, 0
// at ±∞.
#ifndef SYNFIRE_MODEL_SURROGATES_EXPONENTIAL_TAILS_HPP
#define SYNFIRE_MODEL_SURROGATES_EXPONENTIAL_TAILS_HPP

#include "tails.hpp"

SYNFIRE_MODEL_BEGIN

// g'(x) = alpha·σ(alpha·x)·(1 − σ(alpha·x)) = alpha·e/(1 + e)², e = exp(−|alpha·x|), which cannot overflow.
// alpha/4 at 0. The primitive is σ(alpha·x).
struct Sigmoid {
  static constexpr const char* name = "sigmoid";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;  // alpha, alpha/ln 2
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 4.0, 0.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = 1.44269504088896340736 * values[0];
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R e = decay_by_halves(absolute(constants[1] * x));
    return (constants[0] * e) * reciprocal(fma(e, e + R(2), R(1)));
  }
};

// g'(x) = (alpha/2)·exp(−alpha·|x|) (Shrestha & Orchard 2018). alpha/2 at 0, a corner.
// The primitive is ½·exp(alpha·x) for x < 0, else 1 − ½·exp(−alpha·x).
struct PiecewiseExp {
  static constexpr const char* name = "piecewise_exp";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 1;
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 1.0, 0.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) { constants[0] = values[0]; }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R alpha = constants[0];
    return (R(0.5) * alpha) * decay(absolute(alpha * x));
  }
};

// g'(x) = (alpha/√π)·exp(−alpha²·x²), a Gaussian. alpha/√π at 0. The primitive is ½·erfc(−alpha·x).
struct Erf {
  static constexpr const char* name = "erf";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;  // alpha, alpha/√π
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 2.0, 0.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = 0.564189583547756286948 * values[0];
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R z = constants[0] * x;
    return constants[1] * decay(z * z);
  }
};

// g'(x) = (1 + h)·N(x; 0, sigma) − h·N(x; sigma, s·sigma) − h·N(x; −sigma, s·sigma), N the normal density: a Gaussian
// minus two wide ones at its sides (Yin, Corradi & Bohté 2021). Negative further out; h and s are the height and the
// relative width of the side lobes. The primitive is the same sum of normal distribution functions.
struct MultiGaussian {
  static constexpr const char* name = "multi_gaussian";
  static constexpr int n_parameters = 3;
  static constexpr int n_constants = 4;  // 1/(√2·sigma), (1 + h)/(√(2π)·sigma), h/(√(2π)·s·sigma), 1/s
  // Bounds that keep every constant, and with it every value, within the range of f32. With a larger h the lobes could
  // cancel the Gaussian, and the rounding errors of both would be large beside what is left.
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"sigma", 0.5, 1e-6, 1e6, false},
      {"h", 0.15, 0.0, 1.0, false},
      {"s", 6.0, 1e-6, 1e6, false},
  };

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    const double sigma = values[0], h = values[1], s = values[2];
    constants[0] = 0.707106781186547524401 / sigma;
    constants[1] = 0.398942280401432677940 * (1.0 + h) / sigma;
    constants[2] = 0.398942280401432677940 * h / (s * sigma);
    constants[3] = 1.0 / s;
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R z = constants[0] * x, offset = R(0.707106781186547524401);  // sigma in units of z
    const R left = constants[3] * (z + offset), right = constants[3] * (z - offset);
    const R sides = decay(left * left) + decay(right * right);
    return fma(constants[1], decay(z * z), -(constants[2] * sides));
  }
};

SYNFIRE_MODEL_END

#endif
