// Models with three and four variables: one step of the adjoint against central differences of the model's own
// functions, in the short and the full form of adapt().
#include <gtest/gtest.h>
#include <synfire/model/update.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "../added/cascade.hpp"
#include "gated.hpp"

namespace {

using namespace synfire::model;

static_assert(IsModel<Gated>::value && IsModel<Cascade>::value);
static_assert(follows_input<Gated>() && !follows_input<Cascade>() && !follows_input<Izhikevich>());
static_assert(slope_reads_input<Gated> && !slope_reads_input<Cascade>);

template <class Model>
class Step {
 public:
  static constexpr int n_further = Model::n_states - 1;
  static constexpr int n_inputs = Model::n_states + 1;  // the variables, X
  static constexpr int n_constants = first_model_constant + Model::n_constants;

  explicit Step(std::mt19937& random) {
    std::uniform_real_distribution<double> any(-0.9, 0.9);
    for (int p = 0; p < Model::n_parameters; ++p) {
      const ParameterSpec& spec = Model::parameters[p];
      parameters_[p] = spec.default_value * (1 + 0.2 * any(random));
    }
    parameters_[Model::n_parameters] = 1.0;
    parameters_[Model::n_parameters + 1] = Model::default_v_reset;
    derive_own<Model>(parameters_, false, constants_);
    for (double& input : inputs_) input = any(random);
    g_ = std::fabs(any(random));
    in_.spike = any(random);
    in_.v = any(random);
    for (double& w : in_.w) w = any(random);
  }

  StateOf<Model, double> state(const double* inputs) const {
    StateOf<Model, double> state = {};
    state.v = inputs[0];
    for (int k = 0; k < n_further; ++k) state.w[k] = inputs[k + 1];
    return state;
  }

  // L of what the step leaves, to first order: S counts as a number of slope g along H.
  double loss(const double* constants, const double* inputs, Rules rules) const {
    const StateOf<Model, double> before = state(inputs);
    const double x = inputs[n_inputs - 1], h = charge<Model>(constants, before, x), h0 = h_at_rest();
    const bool fired = fires<Model>(constants_, h0);
    const double s = (fired ? 1.0 : 0.0) + g_ * ((h - constants[constant_v_threshold]) - (h0 - constants_[0]));
    const double s_in_reset = rules.detach_reset ? (fired ? 1.0 : 0.0) : s;
    const double v = rules.soft_reset ? h - constants[constant_v_threshold] * s_in_reset
                                      : h * (1 - s_in_reset) + constants[constant_v_reset] * s_in_reset;
    StateOf<Model, double> after = {};
    advance_further<Model>(constants + first_model_constant, before, x, h, s, after);
    double sum = in_.spike * s + in_.v * v;
    for (int k = 0; k < n_further; ++k) sum += in_.w[k] * after.w[k];
    return sum;
  }

  void compare(Rules rules) {
    const StateOf<Model, double> before = state(inputs_);
    const double x = inputs_[n_inputs - 1], h = charge<Model>(constants_, before, x);
    const auto step = backward_step<Model>(constants_, rules, before, x, h, g_, in_);
    for (int i = 0; i < n_inputs; ++i) {
      const double eps = 1e-5;
      double up[n_inputs], down[n_inputs];
      std::copy_n(inputs_, n_inputs, up);
      std::copy_n(inputs_, n_inputs, down);
      up[i] += eps;
      down[i] -= eps;
      const double expected = (loss(constants_, up, rules) - loss(constants_, down, rules)) / (2 * eps);
      const double is = i == n_inputs - 1 ? step.x : i == 0 ? step.before.v : step.before.w[i - 1];
      EXPECT_NEAR(is, expected, 1e-8) << Model::name << ", input " << i;
    }
    double slopes[max_slope_rows * max_model_constants];
    derive_slopes<Model>(parameters_, false, slopes);
    for (int p = 0; p < Model::n_parameters; ++p) {
      const double eps = 1e-5;
      double losses[2];
      for (const int side : {0, 1}) {
        double moved[max_parameters], constants[n_constants];
        std::copy_n(parameters_, max_parameters, moved);
        moved[p] += side == 0 ? eps : -eps;
        derive_own<Model>(moved, false, constants);
        losses[side] = loss(constants, inputs_, rules);
      }
      EXPECT_NEAR(parameter_gradient<Model>(constants_, slopes + p * max_model_constants, before, x, h, step, in_),
                  (losses[0] - losses[1]) / (2 * eps), 1e-8)
          << Model::name << ", " << Model::parameters[p].name;
    }
  }

 private:
  double h_at_rest() const { return charge<Model>(constants_, state(inputs_), inputs_[n_inputs - 1]); }

  double parameters_[max_parameters] = {}, constants_[n_constants], inputs_[n_inputs], g_;
  IncomingOf<Model, double> in_ = {};
};

template <class Model>
void compare_many() {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    Step<Model> step(random);
    for (const bool soft : {false, true})
      for (const bool detach : {false, true}) step.compare({soft, detach});
  }
}

TEST(FurtherStates, ThreeVariablesThatFollowTheInput) {
  compare_many<Gated>();
}
TEST(FurtherStates, FourVariablesInTheShortForm) {
  compare_many<Cascade>();
}

TEST(FurtherStates, ACurrentAndAVoltage) {
  compare_many<CubaLif>();
  compare_many<CubaLifExact>();
}
TEST(FurtherStates, AModelWithoutSpikesTakesTheKernelsOfOneThatFires) {
  static_assert(is_silent<CubaLi> && !never_fires<CubaLi> && n_firing_parameters<CubaLi> == 0);
  static_assert(is_silent<LiExact> && never_fires<LiExact> && is_silent<Integrator> && !is_silent<CubaLif>);
  double constants[max_constants];
  const double parameters[] = {4, 2, 0.25, 1, 1, 1};
  derive_own<CubaLiExact>(parameters, false, constants);
  EXPECT_TRUE(std::isnan(constants[constant_v_threshold]));
  for (const double h : {0.0, 1e300, -1e300, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_FALSE(fires<CubaLif>(constants, h));
}

TEST(FurtherStates, AreNamed) {
  EXPECT_STREQ(state_name<CubaLi>(0), "v");
  EXPECT_STREQ(state_name<CubaLifExact>(1), "current");
  EXPECT_STREQ(state_name<Gated>(0), "v");
  EXPECT_STREQ(state_name<Gated>(1), "g_e");
  EXPECT_STREQ(state_name<Gated>(2), "g_i");
  EXPECT_STREQ(state_name<Izhikevich>(1), "w");
}

}  // namespace
