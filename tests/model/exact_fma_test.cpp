// Fused multiply-add in software against the processor's or the C library's, which must round once: numbers of every
// size, cancellation, subnormal results, overflow, infinities and NaN.
#include <synfire/model/exact_fma.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace synfire::model;

template <class R>
struct Layout;
template <>
struct Layout<float> {
  using Bits = u32;
  static constexpr int mantissa = 23, exponents = 256;
};
template <>
struct Layout<double> {
  using Bits = u64;
  static constexpr int mantissa = 52, exponents = 2048;
};

template <class R>
class ExactFma : public testing::Test {
 public:
  using Bits = typename Layout<R>::Bits;

  static void expect_same(R a, R b, R c) {
    const R expected = std::fma(a, b, c), got = exact_fma(a, b, c);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(got)) << a << " * " << b << " + " << c;
    else
      EXPECT_EQ(bits_of(got), bits_of(expected)) << std::hexfloat << a << " * " << b << " + " << c;
  }

  // A number whose exponent is one of the `n` from `first` on, and of which a random number of low bits is 0.
  R draw(int first, int n) {
    constexpr int mantissa = Layout<R>::mantissa;
    const Bits sign = static_cast<Bits>(random_() & 1) << (sizeof(R) * 8 - 1);
    const Bits exponent = static_cast<Bits>(first + static_cast<int>(random_() % static_cast<uint64_t>(n))) << mantissa;
    const Bits digits = (static_cast<Bits>(random_()) & ((Bits(1) << mantissa) - 1)) >> (random_() % mantissa)
                                                                                            << (random_() % mantissa);
    return from_bits(sign | exponent | (digits & ((Bits(1) << mantissa) - 1)));
  }

 private:
  std::mt19937_64 random_{1};
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ExactFma, Types);

TYPED_TEST(ExactFma, NumbersOfEverySize) {
  const int all = Layout<TypeParam>::exponents, middle = all / 2 - 1;
  for (int i = 0; i < 200000; ++i) {
    this->expect_same(this->draw(0, all), this->draw(0, all), this->draw(0, all));
    this->expect_same(this->draw(middle - 30, 60), this->draw(middle - 30, 60), this->draw(middle - 60, 120));
    this->expect_same(this->draw(0, 3), this->draw(middle - 60, 62), this->draw(0, 3));  // subnormal
    this->expect_same(this->draw(all - 4, 3), this->draw(middle - 2, 4), this->draw(all - 4, 3));
  }
}

TYPED_TEST(ExactFma, WhatNearlyCancels) {
  using R = TypeParam;
  const int middle = Layout<R>::exponents / 2 - 1;
  for (int i = 0; i < 200000; ++i) {
    const R a = this->draw(middle - 30, 60), b = this->draw(middle - 30, 60), c = -(a * b);
    this->expect_same(a, b, c);
    this->expect_same(a, b, std::nextafter(c, R(0)));
    this->expect_same(a, b, std::nextafter(c, 2 * c));
    this->expect_same(a, b, -c);
  }
}

TYPED_TEST(ExactFma, SpecialNumbers) {
  using R = TypeParam;
  using Limits = std::numeric_limits<R>;
  std::vector<R> numbers;
  for (const R x : {R(0), R(1), R(1) + Limits::epsilon(), R(1) - Limits::epsilon() / 2, R(2), Limits::denorm_min(),
                    Limits::min() - Limits::denorm_min(), Limits::min(), Limits::max(), Limits::max() / 2,
                    Limits::infinity(), Limits::quiet_NaN()}) {
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  for (const R a : numbers)
    for (const R b : numbers)
      for (const R c : numbers) this->expect_same(a, b, c);
}

}  // namespace
