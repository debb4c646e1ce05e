// Surrogates that decay exponentially or faster: sigmoid, piecewise_exp, erf. Even in x, largest at 0, 0 at ±∞.
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

SYNFIRE_MODEL_END

#endif
