// Surrogates with a different formula on each side of the threshold: s2nn, log_tailed_relu, leaky_k_relu.
#ifndef SYNFIRE_MODEL_SURROGATES_ONE_SIDED_HPP
#define SYNFIRE_MODEL_SURROGATES_ONE_SIDED_HPP

#include "exponential_tails.hpp"
#include "tails.hpp"

SYNFIRE_MODEL_BEGIN

// g'(x) = alpha·σ(alpha·x)·(1 − σ(alpha·x)) for x < 0, beta/(x + 1) for x ≥ 0 (Suetake et al. 2022). beta at ±0, but
// alpha/4 just below; 0 at ±∞. The primitive is σ(alpha·x) for x < 0, else beta·log(x + 1) + ½.
struct S2nn {
  static constexpr const char* name = "s2nn";
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = Sigmoid::n_constants + 1;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"alpha", 4.0, 0.0, largest_parameter, true},
      {"beta", 1.0, 0.0, largest_parameter, true},
  };

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    Sigmoid::derive(values, constants);
    constants[Sigmoid::n_constants] = values[1];
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R left = Sigmoid::derivative(constants, x);  // 0 for a NaN
    const R above = x > R(0) ? x : R(0);
    const R right = constants[Sigmoid::n_constants] * reciprocal_or_zero(above + R(1));
    return x >= R(0) ? right : left;
  }
};

// g'(x) = alpha for x ≤ 0, 1 for 0 < x ≤ 1, 1/x for x > 1 (Cai et al. 2017). It jumps at ±0, where it is alpha, and has
// a corner at 1; alpha at −∞, 0 at ∞. The primitive is alpha·x, x, log(x) + 1.
struct LogTailedRelu {
  static constexpr const char* name = "log_tailed_relu";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 1;
  static constexpr bool rational = true;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"alpha", 0.0, -largest_parameter, largest_parameter, false}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) { constants[0] = values[0]; }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R alpha = constants[0];
    const R right = reciprocal_or_zero(x <= R(1) ? R(1) : x);  // exactly 1 up to 1; 0 for a NaN
    return x <= R(0) ? alpha : right;
  }
};

// g'(x) = k for x ≥ 0, leak for x < 0. It jumps at ±0, where it is k; leak at −∞, k at ∞. The primitive is g'(x)·x.
struct LeakyKRelu {
  static constexpr const char* name = "leaky_k_relu";
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 2;
  static constexpr bool rational = true;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"leak", 0.0, -largest_parameter, largest_parameter, false},
      {"k", 1.0, -largest_parameter, largest_parameter, false},
  };

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = values[1];
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R left = x < R(0) ? R(1) : R(0);
    const R right = x >= R(0) ? R(1) : R(0);  // both 0 for a NaN
    return fma(constants[1], right, constants[0] * left);
  }
};

SYNFIRE_MODEL_END

#endif
