// Dual numbers: their value is that of the plain computation bit for bit, their derivative that of central differences,
// and what is known at compile time stays a type.
#include <synfire/model/models.hpp>

#include <gtest/gtest.h>

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
  // The integrate-and-fire neuron costs nothing to differentiate.
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
