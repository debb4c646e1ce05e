// Layers under rules that few have (model/ruled.hpp), step by step in f64: against automatic differentiation of
// textbook formulas, for every combination of rules.
#include <gtest/gtest.h>
#include <synfire/model/update.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "../capi/ruled_oracle.hpp"

namespace {

using namespace synfire::model;
using synfire_test::RuledKind;
using synfire_test::RuledNeuron;
using synfire_test::RuledReset;
using synfire_test::RuledRun;

static_assert(AdaptsThreshold<Alif> && !AdaptsThreshold<Lif> && !AdaptsThreshold<Izhikevich>);
static_assert(Ruled<Izhikevich>::n_states == 3 && slope_reads_w<Ruled<Lif>> && !follows_input<Ruled<Alif>>());
static_assert(Rules{true, true}.are_plain() &&
              !Rules{.soft_reset = false, .detach_reset = false, .refractory_steps = 1}.are_plain());

template <class Formula>
constexpr RuledKind kind_of = RuledKind::lif;
template <>
constexpr RuledKind kind_of<Izhikevich> = RuledKind::izhikevich;
template <>
constexpr RuledKind kind_of<Alif> = RuledKind::alif;

template <class Formula>
class Steps {
 public:
  using Model = Ruled<Formula>;

  Steps(const RuledNeuron& neuron, const RuledRun& run)
      : rules_{.soft_reset = neuron.reset != RuledReset::hard,
               .detach_reset = neuron.detach,
               .strict_threshold = neuron.strict,
               .delayed_reset = neuron.reset == RuledReset::delayed,
               .refractory_steps = neuron.refractory_steps},
        run_(run) {
    std::copy(neuron.parameters.begin(), neuron.parameters.end(), parameters_);
    derive_own<Formula>(parameters_, false, constants_);
  }

  void compare() {
    forward();
    backward();
  }

 private:
  void forward() {
    StateOf<Model, double> state = {run_.v_init, {}};
    if constexpr (Formula::n_states == 2) state.w[0] = run_.w_init;
    for (size_t t = 0; t < run_.x.size(); ++t) {
      before_.push_back(state);
      h_.push_back(charge<Model>(constants_, rules_, state, run_.x[t]));
      const bool spike = fires<Model>(constants_, rules_, state, h_[t]);
      state = advance<Model>(constants_, rules_, state, run_.x[t], h_[t], spike);
      ASSERT_NEAR(h_[t], run_.h[t], 1e-12);
      ASSERT_EQ(spike, run_.spikes[t] != 0) << "step " << t;
      ASSERT_NEAR(state.v, run_.v[t], 1e-12);
      if constexpr (Formula::n_states == 2) {
        ASSERT_NEAR(state.w[0], run_.w[t], 1e-12);
      }
      ASSERT_EQ(state.w[countdown_place<Model>], run_.countdown[t]);
    }
  }

  void backward() {
    double slopes[max_slope_rows * max_model_constants];
    derive_slopes<Formula>(parameters_, false, slopes);
    std::vector<double> gradients(Formula::n_parameters + 2);
    StateOf<Model, double> carried = {};
    for (size_t t = run_.x.size(); t-- > 0;) {
      IncomingOf<Model, double> in = {run_.grad_spike[t], run_.grad_v[t] + carried.v, {}};
      for (int k = 0; k < n_further_states<Model>; ++k) in.w[k] = carried.w[k];
      if constexpr (Formula::n_states == 2) in.w[0] += run_.grad_w[t];
      const double g = synfire_test::ruled_surrogate(h_[t] - step_threshold<Model>(constants_, before_[t]));
      const auto step = backward_step<Model>(constants_, rules_, before_[t], run_.x[t], h_[t], g, in);
      EXPECT_NEAR(step.x, run_.grad_x[t], 1e-10) << "step " << t;
      for (int p = 0; p < Formula::n_parameters; ++p)
        gradients[static_cast<size_t>(p)] += parameter_gradient<Model>(
            constants_, rules_, slopes + p * max_model_constants, before_[t], run_.x[t], h_[t], step, in);
      gradients[Formula::n_parameters] +=
          v_threshold_gradient<Model>(constants_, rules_, before_[t], h_[t], g, step, in);
      gradients[Formula::n_parameters + 1] += v_reset_gradient<Model>(constants_, rules_, before_[t], h_[t], in);
      carried = step.before;
    }
    EXPECT_NEAR(carried.v, run_.grad_v_init, 1e-10);
    if constexpr (Formula::n_states == 2) {
      EXPECT_NEAR(carried.w[0], run_.grad_w_init, 1e-10);
    }
    for (size_t p = 0; p < gradients.size(); ++p)
      EXPECT_NEAR(gradients[p], run_.gradients[p], 1e-9 * (1 + std::fabs(run_.gradients[p]))) << "parameter " << p;
  }

  const Rules rules_;
  const RuledRun& run_;
  double parameters_[max_parameters] = {}, constants_[first_model_constant + max_model_constants] = {};
  std::vector<StateOf<Model, double>> before_;
  std::vector<double> h_;
};

template <class Formula>
void compare_all(const std::vector<double>& parameters) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(-1, 1);
  int n_spikes = 0;
  for (const RuledReset reset : {RuledReset::hard, RuledReset::soft, RuledReset::delayed})
    for (const int flags : {0, 1, 2, 3})
      for (const int refractory_steps : {0, 1, 3}) {
        const RuledNeuron neuron = {kind_of<Formula>, reset,     (flags & 1) != 0, (flags & 2) != 0,
                                    refractory_steps, parameters};
        RuledRun run;
        for (int t = 0; t < 40; ++t) {
          run.x.push_back(1.2 + 1.8 * any(random));
          run.grad_spike.push_back(any(random));
          run.grad_v.push_back(any(random));
          run.grad_w.push_back(any(random));
        }
        run.v_init = 0.5 * any(random);
        run.w_init = Formula::n_states == 2 ? 0.2 * any(random) : 0;
        if (Formula::n_states == 1) run.grad_w.clear();
        run_ruled(neuron, run);
        n_spikes += static_cast<int>(std::count(run.spikes.begin(), run.spikes.end(), 1.0));
        SCOPED_TRACE(testing::Message() << "reset " << static_cast<int>(reset) << ", flags " << flags << ", "
                                        << refractory_steps << " refractory steps");
        Steps<Formula>(neuron, run).compare();
      }
  EXPECT_GT(n_spikes, 36);
}

TEST(Ruled, Lif) {
  compare_all<Lif>({2.5, 0.1, 0.9, -0.1});
}
TEST(Ruled, Izhikevich) {
  compare_all<Izhikevich>({2.8, 1.6, 0.15, -0.1, 3.0, 0.2, 0.3, 0.95, -0.2});
}
TEST(Ruled, Alif) {
  compare_all<Alif>({2.5, -0.1, 0.8, 1.5, 0.7, 0.05});
}

// H exactly at the threshold, and at its two neighbours.
TEST(Ruled, AStrictThresholdIsExact) {
  double parameters[max_parameters] = {}, constants[first_model_constant + max_model_constants];
  for (const double threshold : {0.1, 1.0, -0.3, 0.0}) {
    parameters[2] = threshold;
    parameters[0] = 2;
    derive_own<Lif>(parameters, false, constants);
    for (const bool strict : {false, true}) {
      const Rules rules = {.soft_reset = true, .detach_reset = false, .strict_threshold = strict};
      const StateOf<Ruled<Lif>, double> state = {};
      EXPECT_FALSE(fires<Ruled<Lif>>(constants, rules, state, std::nextafter(threshold, -1.0)));
      EXPECT_EQ(fires<Ruled<Lif>>(constants, rules, state, threshold), !strict);
      EXPECT_TRUE(fires<Ruled<Lif>>(constants, rules, state, std::nextafter(threshold, 2.0)));
      EXPECT_FALSE(fires<Ruled<Lif>>(constants, rules, state, std::nan("")));
      EXPECT_EQ(reset<Ruled<Lif>>(constants, rules, state, 2.0, true), 2.0 - threshold);
    }
  }
  EXPECT_EQ(next_above(1.0f), std::nextafterf(1.0f, 2.0f));
  EXPECT_EQ(next_above(-1.0f), std::nextafterf(-1.0f, 2.0f));
  EXPECT_EQ(next_above(0.0f), std::nextafterf(0.0f, 2.0f));
}

}  // namespace
