// Surrogate derivatives g'(x), x = H − v_threshold: what backward uses in place of the derivative of the spike's step.
// Defined for every x: 0 at ±∞, and 0 for a NaN. Parameters are run-time values.
#ifndef SYNFIRE_MODEL_SURROGATES_HPP
#define SYNFIRE_MODEL_SURROGATES_HPP

#include "elementary.hpp"
#include "layout.hpp"

SYNFIRE_MODEL_BEGIN

// g'(x) = alpha·σ(alpha·x)·(1 − σ(alpha·x)) = alpha·e/(1 + e)², e = exp(−|alpha·x|), which cannot overflow.
struct Sigmoid {
  static constexpr const char* name = "sigmoid";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 1;
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 4.0, 0.0, unbounded, true}};

  static void derive(const double* values, double* constants) { constants[0] = values[0]; }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R alpha = constants[0];
    const R decayed = exponential(-absolute(alpha * x));
    const R e = decayed == decayed ? decayed : R(0);
    const R r = reciprocal(R(1) + e);
    return (alpha * e) * (r * r);
  }
};

// g'(x) = alpha/(2·(1 + (π·alpha·x/2)²)) (Fang et al. 2021). The square is cut off where the result leaves the normal
// numbers, so that ±∞ gives 0 and the reciprocal stays inside its range.
struct Atan {
  static constexpr const char* name = "atan";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;  // π·alpha/2, alpha/2
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 2.0, 0.0, unbounded, true}};

  static void derive(const double* values, double* constants) {
    constants[0] = 1.57079632679489661923 * values[0];
    constants[1] = 0.5 * values[0];
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R z = constants[0] * x;
    const R d = fma(z, z, R(1));
    const R bounded = d < R(1e30) ? d : R(1e30);  // a NaN is cut off too
    const R kept = d < R(1e30) ? R(1) : R(0);  // a finite number is multiplied: no blending of infinities
    return (constants[1] * kept) * reciprocal(bounded);
  }
};

SYNFIRE_MODEL_END

#endif
