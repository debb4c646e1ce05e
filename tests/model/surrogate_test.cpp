// Surrogate derivatives against their closed forms in long double, and at every critical point.
#include <synfire/model/models.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace synfire::model;

template <class Surrogate, class R>
R derivative(double alpha, R x) {
  double derived[max_constants];
  Surrogate::derive(&alpha, derived);
  R constants[max_constants];
  for (int k = 0; k < Surrogate::n_constants; ++k) constants[k] = static_cast<R>(derived[k]);
  return Surrogate::derivative(constants, x);
}

long double sigmoid_exact(long double alpha, long double x) {
  const long double e = std::exp(-std::fabs(alpha * x));
  return alpha * e / ((1 + e) * (1 + e));
}

long double atan_exact(long double alpha, long double x) {
  const long double z = 1.57079632679489661923132169163975144L * alpha * x;
  return alpha / (2 * (1 + z * z));
}

template <class Surrogate, class R>
void expect_close(long double (*exact)(long double, long double), double bound) {
  for (const double alpha : {0.1, 1.0, 2.0, 4.0, 25.0})
    for (int i = -4000; i <= 4000; ++i) {
      const R x = static_cast<R>(i * 1e-3);
      const long double wanted = exact(alpha, x);
      EXPECT_NEAR(static_cast<double>(derivative<Surrogate>(alpha, x)), static_cast<double>(wanted), bound * alpha)
          << "alpha " << alpha << " x " << x;
    }
}

TEST(Surrogate, SigmoidMatchesItsClosedForm) {
  expect_close<Sigmoid, float>(sigmoid_exact, 2e-7);
  expect_close<Sigmoid, double>(sigmoid_exact, 4e-16);
}

TEST(Surrogate, AtanMatchesItsClosedForm) {
  expect_close<Atan, float>(atan_exact, 2e-7);
  expect_close<Atan, double>(atan_exact, 4e-16);
}

template <class Surrogate, class R>
void expect_defined(double alpha, R at_zero) {
  constexpr R inf = std::numeric_limits<R>::infinity();
  EXPECT_EQ(derivative<Surrogate>(alpha, R(0)), at_zero);
  EXPECT_EQ(derivative<Surrogate>(alpha, R(-0.0)), at_zero);
  EXPECT_EQ(derivative<Surrogate>(alpha, inf), R(0));
  EXPECT_EQ(derivative<Surrogate>(alpha, -inf), R(0));
  EXPECT_EQ(derivative<Surrogate>(alpha, std::numeric_limits<R>::quiet_NaN()), R(0));
  for (const double magnitude : {1e-30, 0.25, 1.0, 1 / alpha, 1e5, 1e10, 1e20, 1e30, 3e38}) {
    const R up = derivative<Surrogate>(alpha, static_cast<R>(magnitude));
    EXPECT_TRUE(std::isfinite(up) && up >= R(0)) << magnitude;
    EXPECT_EQ(derivative<Surrogate>(alpha, static_cast<R>(-magnitude)), up) << magnitude;
  }
}

TEST(Surrogate, DefinedEverywhere) {
  expect_defined<Sigmoid, float>(4.0, 1.0f);
  expect_defined<Sigmoid, double>(4.0, 1.0);
  expect_defined<Atan, float>(2.0, 1.0f);
  expect_defined<Atan, double>(2.0, 1.0);
}

}  // namespace
