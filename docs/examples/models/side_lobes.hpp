// The multi-Gaussian surrogate, as a program would add it if the library did not have it: a Gaussian minus two wide
// ones at its sides, so that a potential far from the threshold is pushed back to it (Yin, Corradi and Bohté 2021,
// "Accurate and efficient time-domain classification with adaptive spiking recurrent neural networks"):
//
//     g'(x) = (1 + h)·N(x; 0, sigma²) − h·N(x; sigma, (s·sigma)²) − h·N(x; −sigma, (s·sigma)²)
//
// N(x; m, q) is the normal density with mean m and variance q, sigma the width in units of the potential, h and s the
// height and the relative width of the side lobes. g' is even, largest at 0, negative further out, and 0 at ±∞ and for
// NaN. The primitive is the same sum of normal distribution functions.
#ifndef SIDE_LOBES_HPP
#define SIDE_LOBES_HPP

#include <synfire/model/surrogates/tails.hpp>

SYNFIRE_MODEL_BEGIN

// [side_lobes]
struct SideLobes {
  static constexpr const char* name = "side_lobes";
  static constexpr int n_parameters = 3;
  static constexpr int n_constants = 4;  // 1/(√2·sigma), (1 + h)/(√(2π)·sigma), h/(√(2π)·s·sigma), 1/s
  // Bounds that keep every constant, and with it every value, within the range of f32.
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"sigma", 0.5, 1e-6, 1e6, false},
      {"h", 0.15, 0.0, 1e6, false},
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
// [side_lobes]

SYNFIRE_MODEL_END

#endif
