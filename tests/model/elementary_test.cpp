// The accuracy of the elementary functions of model/, compared with long double. The bounds are the largest measured
// errors, rounded up, so a change that increases one fails.
#include "../sample.hpp"

#include <synfire/model/elementary.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace {

using namespace synfire::model;

// The error in units in the last place of the exact result.
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
    if (!synfire_test::sampled(static_cast<std::uint64_t>(i))) continue;
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
    if (!synfire_test::sampled(static_cast<std::uint64_t>(i))) continue;
    const R x = static_cast<R>(std::ldexp(mantissa(random), i % (2 * largest_exponent) - largest_exponent));
    worst = std::max(worst, ulps(reciprocal(x), 1.0L / static_cast<long double>(x)));
  }
  return worst;
}

TEST(Exponential, IsExactToWithinTwoUlp) {
  EXPECT_LE(worst_exponential<float>(-86, 88), 1.10);
  EXPECT_LE(worst_exponential<float>(-1, 1), 1.10);
  EXPECT_LE(worst_exponential<double>(-700, 709), 1.01);
  EXPECT_LE(worst_exponential<double>(-1, 1), 1.01);
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

TEST(Reciprocal, IsExactToWithinAnUlp) {
  EXPECT_LE(worst_reciprocal<float>(100), 0.78);
  EXPECT_LE(worst_reciprocal<double>(500), 0.51);
  // Every mantissa of f32; another exponent scales estimate and steps without changing them.
  double worst = 0;
  for (u32 bits = bits_of(1.0f); bits < bits_of(2.0f); ++bits) {
    if (!synfire_test::sampled(bits)) continue;
    const float x = from_bits(bits);
    worst = std::max(worst, std::fabs(static_cast<double>(reciprocal(x)) - 1 / static_cast<double>(x)) * 0x1p24);
  }
  EXPECT_LE(worst, 0.78);  // 1/x is below 1, where an ulp is 2⁻²⁴
}

TEST(Reciprocal, OfPowersOfTwoIsExact) {
  for (int e = -60; e <= 60; ++e) {
    EXPECT_EQ(reciprocal(std::ldexp(1.0f, e)), std::ldexp(1.0f, -e));
    EXPECT_EQ(reciprocal(std::ldexp(1.0, e)), std::ldexp(1.0, -e));
  }
}

// Random numbers of every exponent, and as many close to 1, where a logarithm loses most accuracy.
template <class R>
double worst_logarithm(int smallest_exponent, int largest_exponent) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> mantissa(1, 2), near_one(-0.4, 0.6);
  double worst = 0;
  for (int i = 0; i < 500000; ++i) {
    if (!synfire_test::sampled(static_cast<std::uint64_t>(i))) continue;
    const int exponent = smallest_exponent + i % (largest_exponent - smallest_exponent);
    const R wide = static_cast<R>(std::ldexp(mantissa(random), exponent));
    const R close = static_cast<R>(1 + near_one(random) * std::ldexp(1.0, -(i % std::numeric_limits<R>::digits)));
    for (const R x : {wide, close})
      if (x != R(1)) worst = std::max(worst, ulps(logarithm(x), std::log(static_cast<long double>(x))));
  }
  return worst;
}

template <class R>
double worst_logarithm_of_one_plus() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> mantissa(1, 2);
  double worst = 0;
  for (int i = 0; i < 1000000; ++i) {
    if (!synfire_test::sampled(static_cast<std::uint64_t>(i))) continue;
    const R a = static_cast<R>(std::ldexp(mantissa(random), i % 97 - 60));
    const R b = static_cast<R>(std::ldexp(mantissa(random), i % 89 - 60));
    const long double product = static_cast<long double>(a) * static_cast<long double>(b);
    worst = std::max(worst, ulps(logarithm_of_one_plus(a, b), std::log1p(product)));
  }
  return worst;
}

TEST(Logarithm, IsExactToWithinAnUlp) {
  EXPECT_LE(worst_logarithm<float>(-126, 128), 0.89);
  EXPECT_LE(worst_logarithm<double>(-1022, 1024), 0.87);
}

TEST(Logarithm, OfOneIsZero) {
  EXPECT_EQ(bits_of(logarithm(1.0f)), 0u);
  EXPECT_EQ(bits_of(logarithm(1.0)), 0u);
}

TEST(LogarithmOfOnePlus, IsExactToWithinTwoUlp) {
  EXPECT_LE(worst_logarithm_of_one_plus<float>(), 1.6);
  EXPECT_LE(worst_logarithm_of_one_plus<double>(), 1.6);
  EXPECT_EQ(logarithm_of_one_plus(3.0f, 0.0f), 0.0f);
  EXPECT_EQ(logarithm_of_one_plus(1e-30f, 1e-5f), 1e-30f * 1e-5f);
  EXPECT_NEAR(logarithm_of_one_plus(1e30f, 1.0f), std::log(1e30), 1e-5);
}

constexpr long double pi = 3.14159265358979323846264338327950288L;

template <class R>
double worst_sine_of_half_turn() {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  double worst = 0;
  for (int i = 0; i < 1000000; ++i) {
    if (!synfire_test::sampled(static_cast<std::uint64_t>(i))) continue;
    const R w = static_cast<R>(std::ldexp(uniform(random), i % 2 ? 0 : -(i % 100)));
    worst = std::max(worst, ulps(sine_of_half_turn(w), std::sin(pi * static_cast<long double>(w))));
  }
  return worst;
}

// The largest absolute error. The first factor has 11 bits, so that long double represents the product exactly.
template <class R>
double worst_sine_of_half_turns(int largest_exponent) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  double worst = 0;
  for (int i = 0; i < 1000000; ++i) {
    if (!synfire_test::sampled(static_cast<std::uint64_t>(i))) continue;
    const R a = static_cast<R>(std::ldexp(1 + i % 2048, i % (largest_exponent - 11)));
    const R b = static_cast<R>(uniform(random));
    const long double half_turns = std::remainder(static_cast<long double>(a) * static_cast<long double>(b), 2.0L);
    const long double error = static_cast<long double>(sine_of_half_turns(a, b)) - std::sin(pi * half_turns);
    worst = std::max(worst, static_cast<double>(std::fabs(error)));
  }
  return worst;
}

TEST(SineOfHalfTurns, IsExactToWithinThreeUlp) {
  EXPECT_LE(worst_sine_of_half_turn<float>(), 2.3);
  EXPECT_LE(worst_sine_of_half_turn<double>(), 2.2);
  EXPECT_LE(worst_sine_of_half_turns<float>(20), 2e-7);
  EXPECT_LE(worst_sine_of_half_turns<double>(49), 4e-16);
}

TEST(SineOfHalfTurns, AtWholeAndHalfNumbers) {
  for (int i = -9; i <= 9; ++i) {
    EXPECT_EQ(sine_of_half_turns(1.0f, static_cast<float>(i)), 0.0f);
    EXPECT_EQ(sine_of_half_turns(0.5, 2.0 * i), 0.0);
    EXPECT_EQ(sine_of_half_turns(0.5f, static_cast<float>(2 * i + 1)), i % 2 == 0 ? 1.0f : -1.0f);
    EXPECT_EQ(sine_of_half_turns(0.5, 2.0 * i + 1.0), i % 2 == 0 ? 1.0 : -1.0);
  }
}

TEST(RoundToWhole, GoesToTheEvenOneAtATie) {
  for (const auto& [x, value, sign] :
       {std::array{0.5, 0.0, 1.0}, {1.5, 2.0, 1.0}, {-1.4, -1.0, -1.0}, {2.5, 2.0, 1.0}}) {
    EXPECT_EQ(round_to_whole(x).value, value);
    EXPECT_EQ(round_to_whole(x).sign, sign);
    EXPECT_EQ(round_to_whole(static_cast<float>(x)).value, static_cast<float>(value));
    EXPECT_EQ(round_to_whole(static_cast<float>(x)).sign, static_cast<float>(sign));
  }
  EXPECT_EQ(round_to_whole(4194303.0f).sign, -1.0f);
  EXPECT_EQ(round_to_whole(-2251799813685247.0).sign, -1.0);
}

TEST(Choose, PicksBitForBit) {
  const float a = std::numeric_limits<float>::quiet_NaN(), b = -0.0f;
  EXPECT_EQ(bits_of(choose(true, a, b)), bits_of(a));
  EXPECT_EQ(bits_of(choose(false, a, b)), bits_of(b));
}

}  // namespace
