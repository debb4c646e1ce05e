// Surrogate derivatives against the closed forms and primitives of surrogate_reference.hpp, and at critical points.
#include "../sample.hpp"
#include "surrogate_reference.hpp"

#include <synfire/model/models.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace synfire::model;
using reference::Parameters;
using reference::Real;

template <class Surrogate, class R>
R derivative(const Parameters& parameters, R x) {
  double derived[max_constants];
  Surrogate::derive(parameters.data(), derived);
  R constants[max_constants];
  for (int k = 0; k < Surrogate::n_constants; ++k) constants[k] = static_cast<R>(derived[k]);
  return Surrogate::derivative(constants, x);
}

std::string text(const Parameters& parameters) {
  std::string all;
  for (const double p : parameters) (all += ' ') += std::to_string(p);
  return all;
}

// Every surrogate of the list is tested: one without a reference does not compile.
template <class>
struct TypesOf;
template <class... Entries>
struct TypesOf<List<Entries...>> {
  using type = testing::Types<typename Entries::type...>;
};

template <class Surrogate>
struct SurrogateTest : testing::Test {};

struct Names {
  template <class Surrogate>
  static std::string GetName(int) {
    return Surrogate::name;
  }
};

TYPED_TEST_SUITE(SurrogateTest, TypesOf<Surrogates>::type, Names);

// Random x: near the threshold, on the scale of the parameters, far out, and of every magnitude.
std::vector<double> random_points(double scale) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> points;
  for (int i = 0; i < 2000; ++i) {
    if (!synfire_test::sampled(static_cast<std::uint64_t>(i))) continue;
    points.push_back(8 * uniform(random));
    points.push_back(4 * scale * uniform(random));
    points.push_back(1e4 * uniform(random));
    const double magnitude = std::pow(10.0, 6 * uniform(random));
    points.push_back(std::copysign(magnitude, uniform(random)));
  }
  return points;
}

bool near(const std::vector<Real>& kinks, Real x, Real distance) {
  for (const Real kink : kinks)
    if (std::fabs(x - kink) <= distance) return true;
  return false;
}

// ---- values ---------------------------------------------------------------------------------------------------------

template <class Surrogate, class R>
double largest_error() {
  using Reference = reference::Of<Surrogate>;
  double worst = 0;
  for (const Parameters& p : Reference::sets()) {
    const Real peak = Reference::peak(p);
    for (const double point : random_points(static_cast<double>(Reference::width(p)))) {
      const R x = static_cast<R>(point);
      if (near(Reference::kinks(p), x, 1e-6L * std::fabs(static_cast<Real>(x)))) continue;
      const Real error = std::fabs(derivative<Surrogate>(p, x) - Reference::derivative(p, x)) / peak;
      EXPECT_FALSE(std::isnan(error)) << "parameters" << text(p) << " x " << x;
      worst = std::max(worst, static_cast<double>(error));
    }
  }
  return worst;
}

// Relative to the largest |g'|. Measured over more points, in f32: 2.4e-7 (squarewave_fourier_series with n = 50),
// 2.0e-7 (sigmoid), at most 1.9e-7 for the others; in f64: 4.2e-16 and 3.6e-16.
TYPED_TEST(SurrogateTest, MatchesItsClosedForm) {
  EXPECT_LE((largest_error<TypeParam, float>()), 2.5e-7);
  EXPECT_LE((largest_error<TypeParam, double>()), 5e-16);
}

// For surrogates that have a primitive. The differences themselves are exact to 1e-8 of the largest |g'|.
TYPED_TEST(SurrogateTest, IsTheDerivativeOfItsPrimitive) {
  using Reference = reference::Of<TypeParam>;
  if constexpr (Reference::has_primitive) {
    for (const Parameters& p : Reference::sets()) {
      const Real peak = Reference::peak(p), step = 1e-4L * Reference::width(p);
      for (const double point : random_points(static_cast<double>(Reference::width(p)))) {
        if (std::fabs(point) > 100 || near(Reference::kinks(p), point, 2 * step)) continue;
        const Real x = point;
        const Real difference = (Reference::primitive(p, x + step) - Reference::primitive(p, x - step)) / (2 * step);
        EXPECT_NEAR(derivative<TypeParam>(p, point), static_cast<double>(difference), 1e-7 * static_cast<double>(peak))
            << "parameters" << text(p) << " x " << point;
      }
    }
  }
}

TYPED_TEST(SurrogateTest, TheDefaultsAreTheFirstSet) {
  const Parameters defaults = reference::Of<TypeParam>::sets().front();
  ASSERT_EQ(defaults.size(), static_cast<size_t>(TypeParam::n_parameters));
  for (int k = 0; k < TypeParam::n_parameters; ++k)
    EXPECT_EQ(TypeParam::parameters[k].default_value, defaults[static_cast<size_t>(k)]);
}

// ---- Defined everywhere ---------------------------------------------------------------------------------------------

template <class Surrogate, class R>
void expect_critical_points() {
  using Reference = reference::Of<Surrogate>;
  constexpr R inf = std::numeric_limits<R>::infinity();
  for (const Parameters& p : Reference::sets()) {
    SCOPED_TRACE("parameters" + text(p));
    const Real peak = Reference::peak(p);
    std::vector<R> points = {R(0), R(1), R(0.25), R(0.5), R(0.75), R(2), R(8), R(1e-40), R(1e-30), R(1e-10), R(1e5)};
    for (const double parameter : p)
      if (parameter != 0) points.insert(points.end(), {static_cast<R>(1 / parameter), static_cast<R>(parameter)});
    for (const R x : points)
      for (const R signed_x : {x, -x}) {
        // If R does not represent 1/alpha or w exactly, these points lie on one side or the other of a jump: see
        // Edges.
        if (near(Reference::kinks(p), signed_x, Real(1e-6) * std::fabs(Real(signed_x))) && signed_x != R(0) &&
            Real(static_cast<float>(p[0])) != Real(p[0]))
          continue;
        const Real error = derivative<Surrogate>(p, signed_x) - Reference::derivative(p, signed_x);
        EXPECT_LE(std::fabs(error), peak * (std::is_same_v<R, float> ? 2.5e-7L : 5e-16L)) << "x " << signed_x;
      }
    EXPECT_EQ(derivative<Surrogate>(p, R(-0.0)), derivative<Surrogate>(p, R(0)));
    EXPECT_EQ(derivative<Surrogate>(p, -inf), static_cast<R>(Reference::at_minus_infinity(p)));
    EXPECT_EQ(derivative<Surrogate>(p, inf), static_cast<R>(Reference::at_infinity(p)));
    EXPECT_EQ(derivative<Surrogate>(p, std::numeric_limits<R>::quiet_NaN()), R(0));
    EXPECT_EQ(derivative<Surrogate>(p, -std::numeric_limits<R>::quiet_NaN()), R(0));
    for (const double magnitude : {1e-45, 1e5, 1e10, 1e15, 1e20, 1e25, 1e29, 1e30, 1e31, 3e38}) {
      const R up = derivative<Surrogate>(p, static_cast<R>(magnitude));
      const R down = derivative<Surrogate>(p, static_cast<R>(-magnitude));
      EXPECT_TRUE(std::fabs(up) <= peak * 1.000001L && std::fabs(down) <= peak * 1.000001L) << magnitude;
      if (Reference::even) {
        EXPECT_EQ(up, down) << magnitude;
      }
    }
  }
}

TYPED_TEST(SurrogateTest, IsRightAtCriticalPointsAndDefinedEverywhere) {
  expect_critical_points<TypeParam, float>();
  expect_critical_points<TypeParam, double>();
}

// With every parameter at either end of its range, or as close as an open end allows, g' stays finite.
template <class Surrogate, class R>
void expect_finite_at_the_ends_of_the_ranges() {
  constexpr R inf = std::numeric_limits<R>::infinity();
  constexpr int n = Surrogate::n_parameters;
  for (int corner = 0; corner < (1 << n); ++corner) {
    Parameters p;
    for (int k = 0; k < n; ++k) {
      const ParameterSpec& spec = Surrogate::parameters[k];
      const double lowest = spec.open_range ? std::nextafter(spec.minimum, unbounded) : spec.minimum;
      p.push_back(corner >> k & 1 ? spec.maximum : lowest);
    }
    for (const double x : {0.0, 1e-45, 1e-30, 1e-15, 1e-6, 0.25, 1.0, 1e6, 1e15, 1e30, 3e38})
      for (const double signed_x : {x, -x})
        EXPECT_TRUE(std::isfinite(derivative<Surrogate>(p, static_cast<R>(signed_x)))) << text(p) << " x " << signed_x;
    EXPECT_TRUE(std::isfinite(derivative<Surrogate>(p, inf)) && std::isfinite(derivative<Surrogate>(p, -inf)));
    EXPECT_EQ(derivative<Surrogate>(p, std::numeric_limits<R>::quiet_NaN()), R(0));
  }
}

TYPED_TEST(SurrogateTest, IsFiniteAtTheEndsOfTheRanges) {
  expect_finite_at_the_ends_of_the_ranges<TypeParam, float>();
  expect_finite_at_the_ends_of_the_ranges<TypeParam, double>();
}

// ---- The side that an edge belongs to -------------------------------------------------------------------------------

template <class R>
struct EdgesTest : testing::Test {};
using FloatAndDouble = testing::Types<float, double>;
TYPED_TEST_SUITE(EdgesTest, FloatAndDouble);

TYPED_TEST(EdgesTest, OfWindowsLieOutside) {
  using R = TypeParam;
  for (const double w : {0.3, 0.5, 1.0, 7.7}) {
    const R edge = static_cast<R>(w), inside = std::nextafter(edge, R(0));
    for (const R sign : {R(1), R(-1)}) {
      EXPECT_EQ((derivative<PiecewiseLeakyRelu, R>({w, 0.125}, sign * edge)), R(0.125));
      EXPECT_EQ((derivative<PiecewiseLeakyRelu, R>({w, 0.125}, sign * inside)), static_cast<R>(0.5 / w));
    }
  }
  for (const double alpha : {0.3, 0.5, 1.0, 3.0}) {
    const R edge = static_cast<R>(0.5 / alpha), inside = std::nextafter(edge, R(0));
    for (const R sign : {R(1), R(-1)}) {
      EXPECT_EQ((derivative<Rect, R>({alpha}, sign * edge)), R(0));
      EXPECT_EQ((derivative<Rect, R>({alpha}, sign * inside)), static_cast<R>(alpha));
    }
  }
  EXPECT_EQ((derivative<PiecewiseQuadratic, R>({2}, R(0.5))), R(0));
  EXPECT_EQ((derivative<PiecewiseQuadratic, R>({2}, R(-0.5))), R(0));
  EXPECT_EQ((derivative<PiecewiseQuadratic, R>({2}, R(0.25))), R(1));
}

TYPED_TEST(EdgesTest, OfOneSidedSurrogates) {
  using R = TypeParam;
  constexpr R tiny = std::numeric_limits<R>::min();
  for (const R zero : {R(0), R(-0.0)}) {
    EXPECT_EQ((derivative<LeakyKRelu, R>({0.25, 3}, zero)), R(3));
    EXPECT_EQ((derivative<LogTailedRelu, R>({0.25}, zero)), R(0.25));
    EXPECT_EQ((derivative<S2nn, R>({4, 3}, zero)), R(3));
    EXPECT_EQ((derivative<FakeNumericalGradient, R>({0.25}, zero)), R(0.25));
  }
  EXPECT_EQ((derivative<LeakyKRelu, R>({0.25, 3}, -tiny)), R(0.25));
  EXPECT_EQ((derivative<LogTailedRelu, R>({0.25}, tiny)), R(1));
  EXPECT_EQ((derivative<LogTailedRelu, R>({0.25}, R(1))), R(1));
  EXPECT_EQ((derivative<LogTailedRelu, R>({0.25}, R(2))), R(0.5));
  EXPECT_EQ((derivative<S2nn, R>({4, 3}, -tiny)), R(1));
  EXPECT_NEAR((derivative<S2nn, R>({4, 1}, R(-1))), 0.0706508248531, 1e-8);  // a silent neuron's value for the defaults
  EXPECT_EQ((derivative<FakeNumericalGradient, R>({0.25}, R(4))), R(0.25));
  EXPECT_EQ((derivative<FakeNumericalGradient, R>({0.25}, R(-8))), R(0.125));
}

TYPED_TEST(EdgesTest, SquarewaveRoundsItsNumberOfTerms) {
  using R = TypeParam;
  EXPECT_EQ((derivative<SquarewaveFourierSeries, R>({2.4, 8}, R(0.7))),
            (derivative<SquarewaveFourierSeries, R>({2, 8}, R(0.7))));
  EXPECT_EQ((derivative<SquarewaveFourierSeries, R>({2.5, 8}, R(0.7))),
            (derivative<SquarewaveFourierSeries, R>({3, 8}, R(0.7))));
  EXPECT_EQ((derivative<SquarewaveFourierSeries, R>({3, 8}, R(0))), R(1));
  EXPECT_EQ((derivative<SquarewaveFourierSeries, R>({3, 8}, R(4))), R(-1));
  EXPECT_EQ((derivative<SquarewaveFourierSeries, R>({1, 8}, R(1))), R(0));
}

}  // namespace
