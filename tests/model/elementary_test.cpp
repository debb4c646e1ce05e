// How exact the elementary functions of model/ are, against long double. The bounds are the measured largest errors,
// rounded up: a change that makes one worse fails.
#include <synfire/model/elementary.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace {

using namespace synfire::model;

// Error in units in the last place of the exact result.
template <class R>
double ulps(R got, long double exact) {
  const R rounded = static_cast<R>(exact);
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<R>::digits);
  return static_cast<double>(std::fabs((static_cast<long double>(got) - exact) / ulp));
}

template <class R>
double worst_exponential(double low, double high) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(low, high);
  double worst = 0;
  for (int i = 0; i < 1000000; ++i) {
    const R x = static_cast<R>(uniform(random));
    worst = std::max(worst, ulps(exponential(x), std::exp(static_cast<long double>(x))));
  }
  return worst;
}

template <class R>
double worst_reciprocal(int largest_exponent) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> mantissa(1, 2);
  double worst = 0;
  for (int i = 0; i < 1000000; ++i) {
    const R x = static_cast<R>(std::ldexp(mantissa(random), i % (2 * largest_exponent) - largest_exponent));
    worst = std::max(worst, ulps(reciprocal(x), 1.0L / static_cast<long double>(x)));
  }
  return worst;
}

TEST(Exponential, IsExactToWithinTwoUlp) {
  EXPECT_LE(worst_exponential<float>(-86, 88), 1.3);
  EXPECT_LE(worst_exponential<double>(-700, 709), 1.3);
}

TEST(Exponential, AtItsEnds) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(-0.0f), 1.0f);
  EXPECT_EQ(exponential(-inf), 0.0f);
  EXPECT_EQ(exponential(inf), inf);
  EXPECT_EQ(exponential(-1000.0f), 0.0f);
  EXPECT_EQ(exponential(1000.0f), inf);
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(exponential(0.0), 1.0);
  EXPECT_EQ(exponential(-std::numeric_limits<double>::infinity()), 0.0);
  EXPECT_EQ(exponential(std::numeric_limits<double>::infinity()), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Reciprocal, IsExactToWithinAnUlpAndAHalf) {
  EXPECT_LE(worst_reciprocal<float>(100), 1.5);
  EXPECT_LE(worst_reciprocal<double>(500), 1.5);
}

TEST(Reciprocal, OfPowersOfTwoIsExact) {
  for (int e = -60; e <= 60; ++e) {
    EXPECT_EQ(reciprocal(std::ldexp(1.0f, e)), std::ldexp(1.0f, -e));
    EXPECT_EQ(reciprocal(std::ldexp(1.0, e)), std::ldexp(1.0, -e));
  }
}

TEST(Choose, PicksBitForBit) {
  const float a = std::numeric_limits<float>::quiet_NaN(), b = -0.0f;
  EXPECT_EQ(bits_of(choose(true, a, b)), bits_of(a));
  EXPECT_EQ(bits_of(choose(false, a, b)), bits_of(b));
}

}  // namespace
