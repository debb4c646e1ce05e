// The derivatives of each model's charge and adaptation by dual numbers, compared with those of closed_form.hpp.
#include "closed_form.hpp"

#include <synfire/model/models.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace synfire::model;

template <class>
struct TypesOf;
template <class... Entries>
struct TypesOf<List<Entries...>> {
  using type = testing::Types<Entries...>;
};

struct Names {
  template <class E>
  static std::string GetName(int) {
    return E::type::name;
  }
};

// Every model of the list. Fails for a model that is missing from closed_form.hpp.
template <class E>
struct ModelTest : testing::Test {};
TYPED_TEST_SUITE(ModelTest, TypesOf<Models>::type, Names);

// Values of a parameter: positive ones on both sides of 1, others on both sides of 0.
double draw(const ParameterSpec& spec, std::mt19937_64& random) {
  std::uniform_real_distribution<double> positive(0.4, 4), any(-1, 1);
  return spec.open_range || spec.minimum > 0 ? positive(random) : any(random);
}

template <class Model, class R>
struct Duals {
  Dual<R, Zero> at[Model::n_constants > 0 ? Model::n_constants : 1];
  Dual<R, R> along[Model::n_constants > 0 ? Model::n_constants : 1];  // one parameter
};

// W after the step, in the short or the full form of adapt().
template <class Model, class C, class V, class W, class X, class H, class S>
auto adapted_of(const C* c, V v, W w, X x, H h, S s) {
  if constexpr (AdaptsAlone<Model, 1>)
    return Model::adapt(c, w, h, s);
  else
    return Model::adapt(c, v, w, x, h, s);
}

template <class E, class R>
void expect_closed_forms(double bound) {
  using Model = typename E::type;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> potential(-1, 1.5), input(-2, 3);
  for (const bool undecayed : {false, true}) {
    if (undecayed && !Model::has_input_decay) continue;
    for (int i = 0; i < 2000; ++i) {
      // Both sides compute with values that R represents exactly.
      const auto rounded = [](double value) { return static_cast<double>(static_cast<R>(value)); };
      constexpr int n = Model::n_parameters;
      double p[n > 0 ? n : 1] = {};
      for (int k = 0; k < n; ++k) p[k] = rounded(draw(Model::parameters[k], random));
      closed_form::Step step = {rounded(potential(random)), rounded(potential(random)), rounded(input(random)), 0,
                                static_cast<double>(i % 2)};
      double exact[max_model_constants] = {};
      Model::derive(p, undecayed, exact);
      R constants[max_model_constants] = {};
      Duals<Model, R> c;
      for (int k = 0; k < Model::n_constants; ++k) {
        constants[k] = static_cast<R>(exact[k]);
        c.at[k] = constant(constants[k]);
      }
      const R v = static_cast<R>(step.v), w = static_cast<R>(step.w), x = static_cast<R>(step.x);
      const R h = charge_of<Model>(constants, v, w, x), s = static_cast<R>(step.s);
      step.h = static_cast<double>(h);
      const closed_form::Slopes d = closed_form::slopes(E::id, undecayed, p, step);
      const auto expect = [&](const char* what, auto derivative, double wanted) {
        const double got = static_cast<double>(number<R>(derivative));
        EXPECT_LE(std::fabs(got - wanted), bound * std::fmax(1, std::fabs(wanted)))
            << what << ": " << got << " against " << wanted << (undecayed ? ", undecayed" : "") << ", draw " << i;
      };
      const auto cv = constant(v), cw = constant(w), cx = constant(x);
      expect("dH/dV", charge_of<Model>(c.at, variable(v), cw, cx).derivative, d.h_v);
      expect("dH/dX", charge_of<Model>(c.at, cv, cw, variable(x)).derivative, d.h_x);
      EXPECT_EQ(bits_of(charge_of<Model>(c.at, variable(v), cw, cx).value), bits_of(h));
      if constexpr (Model::n_states == 2) {
        expect("dH/dW", charge_of<Model>(c.at, cv, variable(w), cx).derivative, d.h_w);
        const auto ch = constant(h), cs = constant(s);
        expect("dW/dV", adapted_of<Model>(c.at, variable(v), cw, cx, ch, cs).derivative, 0);
        expect("dW/dW", adapted_of<Model>(c.at, cv, variable(w), cx, ch, cs).derivative, d.w_w);
        expect("dW/dX", adapted_of<Model>(c.at, cv, cw, variable(x), ch, cs).derivative, d.w_x);
        expect("dW/dH", adapted_of<Model>(c.at, cv, cw, cx, variable(h), cs).derivative, d.w_h);
        expect("dW/dS", adapted_of<Model>(c.at, cv, cw, cx, ch, variable(s)).derivative, d.w_s);
      }
      ASSERT_EQ(d.h_p.size(), static_cast<size_t>(n));
      for (int k = 0; k < n; ++k) {
        Dual<double, double> values[n > 0 ? n : 1], derived[max_model_constants] = {};
        for (int j = 0; j < n; ++j) values[j] = {p[j], j == k ? 1.0 : 0.0};
        Model::derive(values, undecayed, derived);
        for (int j = 0; j < Model::n_constants; ++j) c.along[j] = {constants[j], static_cast<R>(derived[j].derivative)};
        const auto at = static_cast<size_t>(k);
        expect(Model::parameters[k].name, charge_of<Model>(c.along, cv, cw, cx).derivative, d.h_p[at]);
        if constexpr (Model::n_states == 2)
          expect(Model::parameters[k].name, adapted_of<Model>(c.along, cv, cw, cx, constant(h), constant(s)).derivative,
                 d.w_p[at]);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(ModelTest, HasTheDerivativesOfItsFormula) {
  expect_closed_forms<TypeParam, double>(5e-15);
  expect_closed_forms<TypeParam, float>(3e-6);  // constants rounded to f32, amplified by slopes up to 50
}

}  // namespace
