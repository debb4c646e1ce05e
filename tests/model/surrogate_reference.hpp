// Independent surrogates, as plain textbook formulas in long double: derivative, primitive, points where pieces meet,
// and the values at infinity. Written from the formulas alone; only the names of the structs come from model/.
#ifndef SYNFIRE_TESTS_MODEL_SURROGATE_REFERENCE_HPP
#define SYNFIRE_TESTS_MODEL_SURROGATE_REFERENCE_HPP

#include <synfire/model/surrogates.hpp>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace reference {

using Real = long double;
using Parameters = std::vector<double>;  // in the order of the surrogate's parameters[]

inline constexpr Real pi = std::numbers::pi_v<Real>;

inline Real logistic(Real z) {
  return 1 / (1 + std::exp(-z));
}

inline Real logistic_slope(Real z) {
  const Real e = std::exp(-std::fabs(z));
  return e / ((1 + e) * (1 + e));
}

// The common parts of most surrogates; a specialisation has the rest:
//   sets()          values of the parameters to test, the defaults first
//   derivative()    g'(x) for finite x
//   primitive()     g(x)
//   kinks()         where g' is not smooth
//   peak()          largest |g'|
//   width()         the distance over which g' changes
struct Common {
  static constexpr bool has_primitive = true;
  static constexpr bool even = true;
  static std::vector<Parameters> sets() { return {}; }
  static std::vector<Real> kinks(const Parameters&) { return {0}; }
  static Real width(const Parameters&) { return 1; }
  static Real at_minus_infinity(const Parameters&) { return 0; }
  static Real at_infinity(const Parameters&) { return 0; }
};

struct OneAlpha : Common {
  static std::vector<Parameters> with_default(double alpha) {
    return {{alpha}, {0.1}, {0.5}, {1}, {2}, {3}, {4}, {25}};
  }
  static Real width(const Parameters& p) { return 1.0L / p[0]; }
};

template <class Surrogate>
struct Of;

template <>
struct Of<synfire::model::Sigmoid> : OneAlpha {
  static std::vector<Parameters> sets() { return with_default(4); }
  static std::vector<Real> kinks(const Parameters&) { return {}; }
  static Real peak(const Parameters& p) { return p[0] / 4.0L; }
  static Real derivative(const Parameters& p, Real x) { return p[0] * logistic_slope(p[0] * x); }
  static Real primitive(const Parameters& p, Real x) { return logistic(p[0] * x); }
};

template <>
struct Of<synfire::model::Atan> : OneAlpha {
  static std::vector<Parameters> sets() { return with_default(2); }
  static std::vector<Real> kinks(const Parameters&) { return {}; }
  static Real peak(const Parameters& p) { return p[0] / 2.0L; }
  static Real derivative(const Parameters& p, Real x) {
    const Real z = pi * p[0] * x / 2;
    return p[0] / (2 * (1 + z * z));
  }
  static Real primitive(const Parameters& p, Real x) { return 0.5L + std::atan(pi * p[0] * x / 2) / pi; }
};

template <>
struct Of<synfire::model::PiecewiseQuadratic> : OneAlpha {
  static std::vector<Parameters> sets() { return with_default(1); }
  static std::vector<Real> kinks(const Parameters& p) { return {0, 1.0L / p[0], -1.0L / p[0]}; }
  static Real peak(const Parameters& p) { return p[0]; }
  static Real derivative(const Parameters& p, Real x) {
    const Real a = p[0];
    return std::fmax(0.0L, a - a * a * std::fabs(x));
  }
  static Real primitive(const Parameters& p, Real x) {
    const Real a = p[0];
    if (x < -1 / a) return 0;
    if (x > 1 / a) return 1;
    return 0.5L + a * x - a * a * x * std::fabs(x) / 2;
  }
};

template <>
struct Of<synfire::model::PiecewiseExp> : OneAlpha {
  static std::vector<Parameters> sets() { return with_default(1); }
  static Real peak(const Parameters& p) { return p[0] / 2.0L; }
  static Real derivative(const Parameters& p, Real x) { return p[0] / 2.0L * std::exp(-p[0] * std::fabs(x)); }
  static Real primitive(const Parameters& p, Real x) {
    return x < 0 ? std::exp(p[0] * x) / 2 : 1 - std::exp(-p[0] * x) / 2;
  }
};

template <>
struct Of<synfire::model::SoftSign> : OneAlpha {
  static std::vector<Parameters> sets() { return with_default(2); }
  static Real peak(const Parameters& p) { return p[0] / 2.0L; }
  static Real derivative(const Parameters& p, Real x) {
    const Real d = 1 + p[0] * std::fabs(x);
    return p[0] / (2 * d * d);
  }
  static Real primitive(const Parameters& p, Real x) { return (1 + p[0] * x / (1 + p[0] * std::fabs(x))) / 2; }
};

template <>
struct Of<synfire::model::SuperSpike> : OneAlpha {
  static constexpr bool has_primitive = false;
  static std::vector<Parameters> sets() { return with_default(1); }
  static Real peak(const Parameters& p) { return p[0]; }
  static Real derivative(const Parameters& p, Real x) { return p[0] / ((1 + std::fabs(x)) * (1 + std::fabs(x))); }
};

template <>
struct Of<synfire::model::Erf> : OneAlpha {
  static std::vector<Parameters> sets() { return with_default(2); }
  static std::vector<Real> kinks(const Parameters&) { return {}; }
  static Real peak(const Parameters& p) { return p[0] / std::sqrt(pi); }
  static Real derivative(const Parameters& p, Real x) {
    const Real z = p[0] * x;
    return p[0] / std::sqrt(pi) * std::exp(-z * z);
  }
  static Real primitive(const Parameters& p, Real x) { return std::erfc(-p[0] * x) / 2; }
};

template <>
struct Of<synfire::model::PiecewiseLeakyRelu> : Common {
  static std::vector<Parameters> sets() { return {{1, 0.01}, {0.5, 0}, {0.25, 0.1}, {2, -0.5}, {0.3, 0.01}, {7, 3}}; }
  static std::vector<Real> kinks(const Parameters& p) { return {p[0], -p[0]}; }
  static Real peak(const Parameters& p) { return std::fmax(0.5L / p[0], std::fabs(static_cast<Real>(p[1]))); }
  static Real at_minus_infinity(const Parameters& p) { return p[1]; }
  static Real at_infinity(const Parameters& p) { return p[1]; }
  static Real derivative(const Parameters& p, Real x) { return std::fabs(x) < p[0] ? 0.5L / p[0] : Real(p[1]); }
  static Real primitive(const Parameters& p, Real x) {
    const Real w = p[0], c = p[1];
    if (x < -w) return c * x + c * w;
    if (x > w) return c * x - c * w + 1;
    return x / (2 * w) + 0.5L;
  }
};

template <>
struct Of<synfire::model::S2nn> : Common {
  static constexpr bool even = false;
  static std::vector<Parameters> sets() { return {{4, 1}, {1, 1}, {0.1, 3}, {25, 0.5}, {3, 10}}; }
  static Real peak(const Parameters& p) { return std::fmax(p[0] / 4.0L, Real(p[1])); }
  static Real width(const Parameters& p) { return std::fmin(1.0L, 1.0L / p[0]); }
  static Real derivative(const Parameters& p, Real x) {
    return x < 0 ? p[0] * logistic_slope(p[0] * x) : p[1] / (x + 1);
  }
  static Real primitive(const Parameters& p, Real x) {
    return x < 0 ? logistic(p[0] * x) : p[1] * std::log(x + 1) + 0.5L;
  }
};

template <>
struct Of<synfire::model::QPseudoSpike> : Common {
  static std::vector<Parameters> sets() { return {{2}, {1.0001}, {1.1}, {1.5}, {3}, {25}, {1000}, {1e12}}; }
  static Real peak(const Parameters&) { return 1; }
  static Real width(const Parameters& p) { return std::fmin(1.0L, p[0] - 1.0L); }
  static Real derivative(const Parameters& p, Real x) {
    const Real a = p[0];
    return std::exp(-a * std::log1p(2 * std::fabs(x) / (a - 1)));
  }
  static Real primitive(const Parameters& p, Real x) {
    const Real a = p[0];
    const Real tail = std::exp((1 - a) * std::log1p(2 * std::fabs(x) / (a - 1))) / 2;
    return x < 0 ? tail : 1 - tail;
  }
};

template <>
struct Of<synfire::model::LeakyKRelu> : Common {
  static constexpr bool even = false;
  static std::vector<Parameters> sets() { return {{0, 1}, {0.1, 0.5}, {-0.25, 3}, {0.01, -1}}; }
  static Real peak(const Parameters& p) { return std::fmax(std::fabs(Real(p[0])), std::fabs(Real(p[1]))); }
  static Real at_minus_infinity(const Parameters& p) { return p[0]; }
  static Real at_infinity(const Parameters& p) { return p[1]; }
  static Real derivative(const Parameters& p, Real x) { return x >= 0 ? p[1] : p[0]; }
  static Real primitive(const Parameters& p, Real x) { return derivative(p, x) * x; }
};

template <>
struct Of<synfire::model::FakeNumericalGradient> : OneAlpha {
  static constexpr bool has_primitive = false;
  static std::vector<Parameters> sets() { return with_default(0.3); }
  static std::vector<Real> kinks(const Parameters& p) { return {1.0L / p[0], -1.0L / p[0]}; }
  static Real peak(const Parameters& p) { return p[0]; }
  static Real derivative(const Parameters& p, Real x) {
    return x == 0 ? Real(p[0]) : std::fmin(1 / std::fabs(x), Real(p[0]));
  }
};

template <>
struct Of<synfire::model::LogTailedRelu> : Common {
  static constexpr bool even = false;
  static std::vector<Parameters> sets() { return {{0}, {0.01}, {0.1}, {1}, {-0.5}, {3}}; }
  static std::vector<Real> kinks(const Parameters&) { return {0, 1}; }
  static Real peak(const Parameters& p) { return std::fmax(1.0L, std::fabs(Real(p[0]))); }
  static Real at_minus_infinity(const Parameters& p) { return p[0]; }
  static Real derivative(const Parameters& p, Real x) { return x <= 0 ? p[0] : (x <= 1 ? 1 : 1 / x); }
  static Real primitive(const Parameters& p, Real x) { return x <= 0 ? p[0] * x : (x <= 1 ? x : std::log(x) + 1); }
};

template <>
struct Of<synfire::model::NonzeroSignLogAbs> : OneAlpha {
  static std::vector<Parameters> sets() { return with_default(1); }
  static Real peak(const Parameters& p) { return p[0]; }
  static Real derivative(const Parameters& p, Real x) { return 1 / (1.0L / p[0] + std::fabs(x)); }
  static Real primitive(const Parameters& p, Real x) { return (x >= 0 ? 1 : -1) * std::log(1 + p[0] * std::fabs(x)); }
};

template <>
struct Of<synfire::model::SquarewaveFourierSeries> : Common {
  static std::vector<Parameters> sets() { return {{2, 8}, {1, 8}, {3, 8}, {2, 0.7}, {5, 2.5}, {50, 3}, {500, 8}}; }
  static std::vector<Real> kinks(const Parameters&) { return {}; }
  static Real peak(const Parameters& p) { return 4 * std::fmax(p[0] - 1.0L, 1.0L) / p[1]; }
  static Real width(const Parameters& p) { return p[1] / (2 * pi * p[0]); }
  // The angle (2i − 1)·ω·x modulo whole turns, which fmod computes exactly.
  static Real angle(const Parameters& p, int i, Real x) {
    return 2 * pi * std::fmod((2 * i - 1) * x, Real(p[1])) / p[1];
  }
  static Real derivative(const Parameters& p, Real x) {
    Real sum = 0;
    for (int i = 1; i < static_cast<int>(p[0]); ++i) sum += std::cos(angle(p, i, x));
    return 4 / Real(p[1]) * sum;
  }
  static Real primitive(const Parameters& p, Real x) {
    Real sum = 0;
    for (int i = 1; i < static_cast<int>(p[0]); ++i) sum += std::sin(angle(p, i, x)) / (2 * i - 1);
    return 0.5L + 2 / pi * sum;
  }
};

template <>
struct Of<synfire::model::Rect> : OneAlpha {
  static std::vector<Parameters> sets() { return with_default(1); }
  static std::vector<Real> kinks(const Parameters& p) { return {0.5L / p[0], -0.5L / p[0]}; }
  static Real peak(const Parameters& p) { return p[0]; }
  static Real derivative(const Parameters& p, Real x) { return std::fabs(x) < 0.5L / p[0] ? p[0] : 0; }
  static Real primitive(const Parameters& p, Real x) { return std::fmin(1.0L, std::fmax(0.0L, p[0] * x + 0.5L)); }
};

template <>
struct Of<synfire::model::MultiGaussian> : Common {
  static std::vector<Parameters> sets() { return {{0.5, 0.15, 6}, {1, 0.3, 3}, {0.2, 0, 2}, {2, 0.1, 1}}; }
  static std::vector<Real> kinks(const Parameters&) { return {}; }
  static Real peak(const Parameters& p) { return (1 + Real(p[1])) * normal(0, p[0]); }
  static Real width(const Parameters& p) { return p[0]; }
  static Real derivative(const Parameters& p, Real x) {
    const Real sigma = p[0], h = p[1], s = p[2];
    return (1 + h) * normal(x, sigma) - h * normal(x - sigma, s * sigma) - h * normal(x + sigma, s * sigma);
  }
  static Real primitive(const Parameters& p, Real x) {
    const Real sigma = p[0], h = p[1], s = p[2];
    return (1 + h) * below(x, sigma) - h * below(x - sigma, s * sigma) - h * below(x + sigma, s * sigma);
  }

 private:
  // The density of a normal distribution around 0, and its integral up to x.
  static Real normal(Real x, Real sigma) {
    return std::exp(-x * x / (2 * sigma * sigma)) / (std::sqrt(2 * pi) * sigma);
  }
  static Real below(Real x, Real sigma) { return std::erfc(-x / (std::sqrt(Real(2)) * sigma)) / 2; }
};

}  // namespace reference

#endif
