// The adjoint written out by hand, compared with central differences of a smooth spike, with automatic differentiation
// and with the library. Also the rules of a detached reset, term by term, on a single step.
#include "closed_form_oracle.hpp"

namespace synfire_test {
namespace {

// ---- The references against each other ------------------------------------------------------------------------------

// Fourth-order central difference of a loss with respect to one number.
template <typename Loss>
double central_difference(Loss loss, double& number) {
  constexpr double h = 2e-4;
  const double at = number;
  const auto moved = [&](double steps) {
    number = at + steps * h;
    const double result = loss();
    number = at;
    return result;
  };
  return (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * h);
}

// Every model, reset, kind of reset gradient and input mode, every surrogate with a primitive, every parameter (PLIF's
// leak by both names), X and the initial state.
TEST(ClosedForm, EqualsCentralDifferencesOfASmoothSpike) {
  const Shape shape{6, 1, 1};
  Random random(21);
  size_t n_surrogates = 0, n_gradients = 0;
  for (const ReferenceSurrogate& surrogate : reference_surrogates()) {
    if (surrogate.primitive == nullptr) continue;
    ++n_surrogates;
    for (const ReferenceNeuron& neuron : reference_neurons(surrogate, 1, random)) {
      SCOPED_TRACE(neuron.text());
      const NeuronOracle smooth(neuron, shape, SpikeKind::smooth);
      NeuronOracle::Element e = smooth.element(smooth.drive<double>(random, 0.02), 0);
      const NeuronOracle::Gradients g = ClosedFormOracle(neuron, shape, SpikeKind::smooth).gradients(e);
      const auto loss = [&] {
        return smooth.run<double>(e, e.x, {e.v_init, e.w_init}, e.parameters, &g.run.spike).loss;
      };
      const auto expect_same = [&](double gradient, double difference, const std::string& name) {
        EXPECT_LE(std::fabs(gradient - difference) / std::fmax(1, std::fabs(difference)), 1e-7)
            << name << ": " << gradient << " against " << difference;
        ++n_gradients;
      };
      for (size_t t = 0; t < e.x.size(); ++t) expect_same(g.x[t], central_difference(loss, e.x[t]), "x");
      expect_same(g.v_init, central_difference(loss, e.v_init), "v_init");
      if (neuron.model->two_variables) expect_same(g.w_init, central_difference(loss, e.w_init), "w_init");
      for (size_t p = 0; p < e.parameters.size(); ++p)
        expect_same(g.parameters[p], central_difference(loss, e.parameters[p]), neuron.name(p));
      if (neuron.model->id == SYNFIRE_MODEL_PLIF) {
        const double r = e.parameters[0];
        double tau = 1 / r;
        const auto loss_of_tau = [&] {
          e.parameters[0] = 1 / tau;
          return loss();
        };
        expect_same(-r * r * g.parameters[0], central_difference(loss_of_tau, tau), "tau");
        e.parameters[0] = r;
      }
      if (HasFailure()) return;
    }
  }
  // All except super_spike and fake_numerical_gradient.
  EXPECT_EQ(n_surrogates, library_has_added() ? 16u : 15u);
  EXPECT_GT(n_gradients, 5000u);
}

TEST(ClosedForm, EqualsAutomaticDifferentiation) {
  const Shape shape{30, 1, 4};
  Random random(22);
  for (const ReferenceSurrogate& surrogate : reference_surrogates())
    for (const ReferenceNeuron& neuron : reference_neurons(surrogate, 4, random)) {
      SCOPED_TRACE(neuron.text());
      const NeuronOracle tape(neuron, shape);
      const ClosedFormOracle closed(neuron, shape);
      const FullInputs<double> inputs = tape.drive<double>(random, 0);
      const ReferenceOutputs a = closed.outputs(inputs), b = tape.outputs(inputs);
      const auto expect_same = [](const std::vector<double>& got, const std::vector<double>& wanted) {
        ASSERT_EQ(got.size(), wanted.size());
        for (size_t i = 0; i < got.size(); ++i)
          EXPECT_LE(std::fabs(got[i] - wanted[i]), 1e-12 * std::fmax(1, std::fabs(wanted[i]))) << i;
      };
      expect_same(a.grad_x_seq, b.grad_x_seq);
      expect_same(a.grad_v_init, b.grad_v_init);
      expect_same(a.grad_w_init, b.grad_w_init);
      for (size_t p = 0; p < a.gradients.size(); ++p) expect_same(a.gradients[p], b.gradients[p]);
      if (HasFailure()) return;
    }
}

// ---- A detached reset, term by term ---------------------------------------------------------------------------------

// One step of one neuron that charges to `h`. The gradients are 3 for its spike, 5 for its V and 7 for its W, so that
// every term shows in the sums.
struct OneStep {
  double h;
  bool soft, detached;
  double v_threshold = 0.75, v_reset = -0.25, alpha = 2, b = 0.5;
  double s() const { return h >= v_threshold ? 1 : 0; }
  double g() const {
    const double sigma = 1 / (1 + std::exp(-alpha * (h - v_threshold)));
    return alpha * sigma * (1 - sigma);
  }
};

struct StepGradients {
  double x, v_threshold, v_reset, b;
};

StepGradients run_one_step(synfire_context context, int32_t model, const OneStep& step) {
  synfire_layer_desc desc = describe(Shape{1, 1, 1}, SYNFIRE_DTYPE_F64);
  desc.model = model;
  desc.reset = step.soft ? SYNFIRE_RESET_SOFT : SYNFIRE_RESET_HARD;
  desc.detach_reset = step.detached ? 1 : 0;
  FullRig<double> rig(context, desc);
  const bool two = model == SYNFIRE_MODEL_IZHIKEVICH;
  set_parameter(rig.layer, "v_threshold", {step.v_threshold});
  set_parameter(rig.layer, "v_reset", {step.v_reset});
  set_parameter(rig.layer, "alpha", {step.alpha});
  if (two) set_parameter(rig.layer, "b", {step.b});
  // Izhikevich at V = v_rest: H = V + X/tau with tau = 2. With a = 0, W does not depend on H.
  const double v = two ? -0.1 : 0.0, x = two ? 2 * (step.h - v) : step.h;
  FullInputs<double> inputs;
  inputs.x = {x}, inputs.v_init = {v}, inputs.grad_spike_seq = {3}, inputs.grad_v_seq = {5}, inputs.grad_v_final = {0};
  if (two) inputs.w_init = {0}, inputs.grad_w_seq = {7}, inputs.grad_w_final = {0};
  rig.load(inputs);
  rig.ask(two ? std::vector<Asked>{{"v_threshold"}, {"v_reset"}, {"b"}}
              : std::vector<Asked>{{"v_threshold"}, {"v_reset"}});
  const FullOutputs<double> out = rig.run();
  EXPECT_EQ(out.spikes[0], step.s());
  EXPECT_NEAR(out.h_seq[0], step.h, 1e-15);
  const auto gradients = rig.gradients();
  return {out.grad_x_seq[0], gradients[0][0], gradients[1][0], two ? gradients[2][0] : 0};
}

constexpr double step_bound = 1e-13;

// dS/dv_threshold = −g'. Detaching drops only what flows through S inside the reset. V = H − v_threshold·S keeps its
// own −S for v_threshold, and V = v_reset keeps its own S for v_reset.
TEST(DetachedReset, DropsThePathsThroughSInTheResetAndKeepsDirectOnes) {
  const Context context = make_context();
  for (const double h : {0.25, 0.7, 0.8, 1.5})
    for (const bool soft : {false, true})
      for (const bool detached : {false, true}) {
        const OneStep step{h, soft, detached};
        SCOPED_TRACE(testing::Message() << "H " << h << (soft ? " soft" : " hard")
                                        << (detached ? " detached" : " attached"));
        const double s = step.s(), g = step.g(), through_reset = soft ? -step.v_threshold : step.v_reset - h;
        const double grad_s = 3 + (detached ? 0 : 5 * through_reset);
        const StepGradients got = run_one_step(context, SYNFIRE_MODEL_IF, step);
        EXPECT_NEAR(got.x, grad_s * g + 5 * (soft ? 1 : 1 - s), step_bound);
        EXPECT_NEAR(got.v_threshold, -grad_s * g - (soft ? 5 * s : 0), step_bound);
        EXPECT_NEAR(got.v_reset, soft ? 0 : 5 * s, step_bound);
      }
}

// The spike's jump of W is adaptation, not reset: b·S keeps its surrogate gradient, and b its S, detached or not.
// Under a detached hard reset dV/dH is exactly 1 − S.
TEST(DetachedReset, LeavesTheAdaptationAttached) {
  const Context context = make_context();
  for (const double h : {0.25, 0.7, 0.8, 1.5})
    for (const bool soft : {false, true})
      for (const bool detached : {false, true}) {
        const OneStep step{h, soft, detached};
        SCOPED_TRACE(testing::Message() << "H " << h << (soft ? " soft" : " hard")
                                        << (detached ? " detached" : " attached"));
        const double s = step.s(), g = step.g(), through_reset = soft ? -step.v_threshold : step.v_reset - h;
        const double grad_s = 3 + 7 * step.b + (detached ? 0 : 5 * through_reset);
        const StepGradients got = run_one_step(context, SYNFIRE_MODEL_IZHIKEVICH, step);
        EXPECT_NEAR(got.x, (grad_s * g + 5 * (soft ? 1 : 1 - s)) / 2, step_bound);
        EXPECT_NEAR(got.v_threshold, -grad_s * g - (soft ? 5 * s : 0), step_bound);
        EXPECT_NEAR(got.v_reset, soft ? 0 : 5 * s, step_bound);
        EXPECT_NEAR(got.b, 7 * s, step_bound);
      }
}

}  // namespace
}  // namespace synfire_test
