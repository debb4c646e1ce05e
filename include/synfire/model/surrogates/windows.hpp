// Surrogates with a window around the threshold: piecewise_quadratic (a triangle), rect, piecewise_leaky_relu. Even in
// x.
#ifndef SYNFIRE_MODEL_SURROGATES_WINDOWS_HPP
#define SYNFIRE_MODEL_SURROGATES_WINDOWS_HPP

#include "tails.hpp"

SYNFIRE_MODEL_BEGIN

// g'(x) = max(0, alpha − alpha²·|x|) (Esser et al. 2016; Bellec et al. 2018): alpha at 0, 0 from |x| = 1/alpha on,
// corners at both; 0 at ±∞. The primitive is 0, ½ + alpha·x − ½·alpha²·x·|x|, 1, with breaks at ±1/alpha.
struct PiecewiseQuadratic {
  static constexpr const char* name = "piecewise_quadratic";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 1;
  static constexpr bool rational = true;
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 1.0, 0.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) { constants[0] = values[0]; }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R alpha = constants[0];
    const R height = fma(-alpha, absolute(x), R(1));
    return alpha * (height > R(0) ? height : R(0));
  }
};

// g'(x) = alpha for |x| < 1/(2·alpha), else 0: 0 at both edges and at ±∞. The primitive is alpha·x + ½ within [0, 1].
struct Rect {
  static constexpr const char* name = "rect";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;  // alpha, 1/(2·alpha)
  static constexpr bool rational = true;
  static constexpr ParameterSpec parameters[n_parameters] = {{"alpha", 1.0, 0.0, largest_parameter, true}};

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = 0.5 / values[0];
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    return constants[0] * (absolute(x) < constants[1] ? R(1) : R(0));
  }
};

// g'(x) = 1/(2·w) for |x| < w, else c: c at both edges and at ±∞. The primitive is c·x + c·w for x < −w, x/(2·w) + ½
// inside, c·x − c·w + 1 for x > w.
struct PiecewiseLeakyRelu {
  static constexpr const char* name = "piecewise_leaky_relu";
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 3;  // w, c, 1/(2·w)
  static constexpr bool rational = true;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"w", 1.0, smallest_divisor, largest_parameter, false},
      {"c", 0.01, -largest_parameter, largest_parameter, false},
  };

  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = values[1];
    constants[2] = 0.5 / values[0];
  }

  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    const R inside = absolute(x) < constants[0] ? R(1) : R(0);
    const R outside = absolute(x) >= constants[0] ? R(1) : R(0);  // both 0 for a NaN
    return fma(constants[2], inside, constants[1] * outside);
  }
};

SYNFIRE_MODEL_END

#endif
