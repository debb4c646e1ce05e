// Dual numbers: their value equals the plain computation bit for bit, their derivative agrees with central
// differences, and what is known at compile time remains a type.
#include <synfire/model/models.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <type_traits>

namespace {

using namespace synfire::model;

TEST(Dual, KnownDerivativesStayTypes) {
  using V = Dual<float, One>;
  using X = Dual<float, Zero>;
  static_assert(std::is_same_v<decltype(V{} + X{}), Dual<float, One>>);
  static_assert(std::is_same_v<decltype(X{} + X{}), Dual<float, Zero>>);
  static_assert(std::is_same_v<decltype(X{} - V{}), Dual<float, MinusOne>>);
  static_assert(std::is_same_v<decltype(-V{}), Dual<float, MinusOne>>);
  static_assert(std::is_same_v<decltype(X{} * X{}), Dual<float, Zero>>);
  static_assert(std::is_same_v<decltype(X{} * V{}), Dual<float, float>>);
  static_assert(std::is_same_v<decltype(fma(X{}, X{}, V{})), Dual<float, One>>);
  static_assert(std::is_same_v<decltype(exponential(X{})), Dual<float, Zero>>);
  // Differentiating the integrate-and-fire neuron costs nothing.
  static_assert(std::is_same_v<decltype(If::charge(static_cast<const X*>(nullptr), V{}, X{})), Dual<float, One>>);
}

// A formula that uses every operation.
template <class A, class B>
auto formula(A a, B b) {
  using synfire::model::exponential;
  using synfire::model::fma;
  return fma(a, b, exponential(a * b) - b) + (-a) * (b + a);
}

TEST(Dual, ValueIsThePlainValueAndDerivativeThatOfCentralDifferences) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int i = 0; i < 1000; ++i) {
    const double a = uniform(random), b = uniform(random), step = 1e-6;
    const auto along_a = formula(variable(a), constant(b));
    const auto along_b = formula(constant(a), variable(b));
    EXPECT_EQ(along_a.value, formula(a, b));
    EXPECT_EQ(along_b.value, formula(a, b));
    EXPECT_NEAR(along_a.derivative, (formula(a + step, b) - formula(a - step, b)) / (2 * step), 1e-8);
    EXPECT_NEAR(along_b.derivative, (formula(a, b + step) - formula(a, b - step)) / (2 * step), 1e-8);
    const float fa = static_cast<float>(a), fb = static_cast<float>(b);
    EXPECT_EQ(bits_of(formula(variable(fa), constant(fb)).value), bits_of(formula(fa, fb)));
  }
}

// A number and its dual agree in every bit, ±0, infinities and NaN included. The derivative is that of the selected
// side.
TEST(Dual, SelectionsTakeOneSide) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {-1.0f, -0.0f, 0.0f, 1e-45f, 2.5f, infinity, -infinity}) {
    const float expected = x > 0 ? x : 0.0f;
    EXPECT_EQ(bits_of(positive_part(x)), bits_of(expected)) << x;
    EXPECT_EQ(bits_of(positive_part(variable(x)).value), bits_of(expected)) << x;
    EXPECT_EQ(positive_part(variable(x)).derivative, x > 0 ? 1.0f : 0.0f) << x;
    EXPECT_EQ(positive_part(Dual<float, float>{x, 3.0f}).derivative, x > 0 ? 3.0f : 0.0f) << x;
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(positive_part(nan), positive_part(nan));
  EXPECT_NE(positive_part(variable(nan)).value, positive_part(variable(nan)).value);
  static_assert(std::is_same_v<decltype(positive_part(constant(1.0))), Dual<double, Zero>>);

  // x² below 1, else 7; also with both sides variable.
  const auto piecewise = [](auto x) { return select(value_of(x) < 1.0, x * x, 7.0); };
  EXPECT_EQ(piecewise(0.5), 0.25);
  EXPECT_EQ(piecewise(1.0), 7.0);
  EXPECT_EQ(piecewise(variable(0.5)).value, 0.25);
  EXPECT_EQ(piecewise(variable(0.5)).derivative, 1.0);
  EXPECT_EQ(piecewise(variable(1.0)).value, 7.0);
  EXPECT_EQ(piecewise(variable(1.0)).derivative, 0.0);
  EXPECT_EQ(select(false, 3.0, variable(2.0)).derivative, 1.0);
  EXPECT_EQ(select(true, 3.0, variable(2.0)).value, 3.0);
  EXPECT_EQ(select(true, -variable(2.0), variable(2.0)).derivative, -1.0);
  static_assert(std::is_same_v<decltype(select(true, constant(1.0), 2.0)), Dual<double, Zero>>);
  // An infinity on the side that is not selected has no effect.
  EXPECT_EQ(select(false, exponential(variable(1e9)), variable(2.0)).derivative, 1.0);
}

TEST(Dual, SlopesOfTheModels) {
  double parameters[] = {4.0, 0.5}, constants[3];
  Lif::derive(parameters, false, constants);
  Dual<double, Zero> c[3];
  for (int k = 0; k < 3; ++k) c[k] = constant(constants[k]);
  EXPECT_DOUBLE_EQ(Lif::charge(c, variable(0.3), constant(0.7)).derivative, 0.75);
  EXPECT_DOUBLE_EQ(Lif::charge(c, constant(0.3), variable(0.7)).derivative, 0.25);
  EXPECT_DOUBLE_EQ(Lif::charge(c, constant(0.3), constant(0.7)).value, 0.3 + (0.7 - (0.3 - 0.5)) / 4.0);
  Lif::derive(parameters, true, constants);
  for (int k = 0; k < 3; ++k) c[k] = constant(constants[k]);
  EXPECT_DOUBLE_EQ(Lif::charge(c, constant(0.3), variable(0.7)).derivative, 1.0);
  EXPECT_DOUBLE_EQ(Lif::charge(c, constant(0.3), constant(0.7)).value, 0.3 - (0.3 - 0.5) / 4.0 + 0.7);
}

}  // namespace
