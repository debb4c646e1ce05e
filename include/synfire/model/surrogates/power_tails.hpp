// Surrogates that decay like a power of |x|: atan, soft_sign, super_spike, q_pseudo_spike, nonzero_sign_log_abs,
// fake_numerical_gradient. Even in x, largest at 0, 0 at ±∞.
#ifndef SYNFIRE_MODEL_SURROGATES_POWER_TAILS_HPP
#define SYNFIRE_MODEL_SURROGATES_POWER_TAILS_HPP

#include "tails.hpp"

SYNFIRE_MODEL_BEGIN

// g'(x) = alpha/(2·(1 + (π·alpha·x/2)²)) (Fang et al. 2021). alpha/2 at 0. The primitive is ½ + arctan(π·alpha·x/2)/π.
struct Atan {
  static constexpr const char* name = "atan";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;  // π·alpha/2, alpha/2
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 2.0, 0.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = 1.57079632679489661923 * values[0];
    constants[1] = 0.5 * values[0];
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R z = constants[0] * x;
    return constants[1] * reciprocal_or_zero(fma(z, z, R(1)));
  }
};

// g'(x) = alpha/(2·(1 + alpha·|x|)²). alpha/2 at 0, a corner. The primitive is ½·(1 + alpha·x/(1 + alpha·|x|)).
struct SoftSign {
  static constexpr const char* name = "soft_sign";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 1;
  static constexpr bool rational = true;
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 2.0, 0.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) { constants[0] = values[0]; }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R alpha = constants[0];
    const R z = absolute(alpha * x);
    return (R(0.5) * alpha) * reciprocal_or_zero(fma(z, z + R(2), R(1)));
  }
};

// g'(x) = alpha/(1 + |x|)² (after Zenke & Ganguli 2018). alpha at 0, a corner; alpha changes the height, not the width.
struct SuperSpike {
  static constexpr const char* name = "super_spike";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 1;
  static constexpr bool rational = true;
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 1.0, 0.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) { constants[0] = values[0]; }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R z = absolute(x);
    return constants[0] * reciprocal_or_zero(fma(z, z + R(2), R(1)));
  }
};

// g'(x) = (1 + 2·|x|/(alpha − 1))^(−alpha), alpha > 1 (Herranz-Celotti & Rouat 2022). 1 at 0, a corner; the larger
// alpha, the thinner the tail, towards exp(−2·|x|). The primitive is ½·(1 − 2x/(alpha − 1))^(1 − alpha) for x < 0, else
// 1 − ½·(1 + 2x/(alpha − 1))^(1 − alpha).
struct QPseudoSpike {
  static constexpr const char* name = "q_pseudo_spike";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;  // alpha, 2/(alpha − 1)
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 2.0, 1.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = 2.0 / (values[0] - 1.0);
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R growth = constants[1];
    const R distance = absolute(x);
    const bool inside = growth * distance < R(1e30);  // outside, the power is below 10⁻³⁰; false for a NaN
    const R bounded = inside ? distance : R(0);
    const R kept = inside ? R(1) : R(0);
    return kept * decay(constants[0] * logarithm_of_one_plus(growth, bounded));
  }
};

// g'(x) = 1/(1/alpha + |x|) = alpha/(1 + alpha·|x|). alpha at 0, a corner. The primitive is log(1 + alpha·x) for x ≥ 0,
// else −log(1 − alpha·x).
struct NonzeroSignLogAbs {
  static constexpr const char* name = "nonzero_sign_log_abs";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 1;
  static constexpr bool rational = true;
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 1.0, 0.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) { constants[0] = values[0]; }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R alpha = constants[0];
    return alpha * reciprocal_or_zero(fma(alpha, absolute(x), R(1)));
  }
};

// g'(x) = min(1/|x|, alpha): the step's difference quotient from 0 to x, capped. alpha for |x| ≤ 1/alpha, ±0 included.
struct FakeNumericalGradient {
  static constexpr const char* name = "fake_numerical_gradient";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 1;
  static constexpr bool rational = true;
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 0.3, 0.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) { constants[0] = values[0]; }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R alpha = constants[0];
    const R distance = absolute(x);
    const R quotient = reciprocal_or_zero(distance < R(1e-30) ? R(1e-30) : distance);
    return quotient < alpha ? quotient : alpha;
  }
};

SYNFIRE_MODEL_END

#endif
