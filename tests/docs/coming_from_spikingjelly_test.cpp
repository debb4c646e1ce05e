// The claims of the page "Coming from SpikingJelly", one test for each row, named in the row: the call on the right
// computes what the formulas of the call on the left define. check_spikingjelly_rows.py keeps page and tests in
// agreement. SpikingJelly itself is not used; its formulas are written out below, one scalar at a time.
#include <cmath>
#include <optional>

#include "../capi/full_rig.hpp"

namespace synfire_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

// ---- The reference --------------------------------------------------------------------------------------------------

enum class Kind { if_node, lif, parametric_lif, qif, eif, izhikevich };

double sigma(double x) {
  return 1 / (1 + std::exp(-x));
}

// The constructor's arguments with their defaults. A v_reset without a value stands for None.
struct Node {
  Kind kind = Kind::lif;
  double v_threshold = 1;
  std::optional<double> v_reset = 0.0;
  bool detach_reset = false;
  double alpha = 4;  // surrogate.Sigmoid
  double tau = 2;    // init_tau of the parametric node
  bool decay_input = true;
  double v_c = 0.8, a0 = 1, v_rest = 0;
  double delta_t = 1, theta_rh = 0.8;
  double tau_w = 2, a = 0, b = 0, w_rest = 0;

  double leak_target() const { return v_reset.value_or(0); }

  double charge(double v, double w, double x) const {
    switch (kind) {
      case Kind::if_node:
        return v + x;
      case Kind::lif:
      case Kind::parametric_lif:
        return decay_input ? v + (x - (v - leak_target())) / tau : v - (v - leak_target()) / tau + x;
      case Kind::eif:
        return v + (x - v + v_rest + delta_t * std::exp((v - theta_rh) / delta_t)) / tau;
      default:
        return v + (x + a0 * (v - v_rest) * (v - v_c) - w) / tau;
    }
  }
  double slope_v(double v) const {
    switch (kind) {
      case Kind::if_node:
        return 1;
      case Kind::lif:
      case Kind::parametric_lif:
        return 1 - 1 / tau;
      case Kind::eif:
        return 1 - 1 / tau + std::exp((v - theta_rh) / delta_t) / tau;
      default:
        return 1 + a0 / tau * (2 * v - v_rest - v_c);
    }
  }
  double slope_x() const {
    return kind == Kind::if_node || (kind <= Kind::parametric_lif && !decay_input) ? 1 : 1 / tau;
  }
};

Node node_of(Kind kind) {
  Node node;
  node.kind = kind;
  if (kind == Kind::qif || kind == Kind::eif) node.v_reset = -0.1;
  if (kind == Kind::izhikevich) node.v_rest = -0.1;
  return node;
}

// A multi-step forward and backward of one neuron.
struct Sequence {
  std::vector<double> h, s, v, w, grad_x;
  double grad_v_init = 0, grad_w_init = 0, grad_reciprocal_tau = 0;
};

// How the jump of V is differentiated if the reset is detached: completely, or as in SpikingJelly's hard reset of
// Izhikevich, only in the factor 1 − S.
enum class Detached { fully, factor_only };

Sequence run(const Node& node, const std::vector<double>& x, double v_init, double w_init,
             const std::vector<double>& grad_s, const std::vector<double>& grad_v, const std::vector<double>& grad_w,
             Detached detached = Detached::fully) {
  const bool two = node.kind == Kind::izhikevich;
  const size_t n_steps = x.size();
  Sequence out;
  double v = v_init, w = w_init;
  for (size_t t = 0; t < n_steps; ++t) {
    const double h = node.charge(v, two ? w : 0, x[t]), s = h >= node.v_threshold ? 1 : 0;
    if (two) w = w + (node.a * (h - node.v_rest) - w) / node.tau_w + node.b * s;
    v = node.v_reset ? (s != 0 ? *node.v_reset : h) : h - node.v_threshold * s;
    out.h.push_back(h);
    out.s.push_back(s);
    out.v.push_back(v);
    out.w.push_back(w);
  }
  out.grad_x.resize(n_steps);
  double carried_v = 0, carried_w = 0;  // dL/dV[t], dL/dW[t] from the next step
  for (size_t t = n_steps; t-- > 0;) {
    const double before = t == 0 ? v_init : out.v[t - 1], e = sigma(node.alpha * (out.h[t] - node.v_threshold)),
                 g = node.alpha * e * (1 - e), attached = node.detach_reset ? 0 : 1;
    double jump =
        node.v_reset ? 1 - out.s[t] + (*node.v_reset - out.h[t]) * g * attached : 1 - node.v_threshold * g * attached;
    if (node.detach_reset && node.v_reset && detached == Detached::factor_only) jump += *node.v_reset * g;
    const double into_w = (two ? grad_w[t] : 0) + carried_w, into_v = grad_v[t] + carried_v;
    const double grad_h = grad_s[t] * g + into_v * jump + (two ? into_w * (node.a / node.tau_w + node.b * g) : 0);
    out.grad_x[t] = grad_h * node.slope_x();
    out.grad_reciprocal_tau += grad_h * ((node.decay_input ? x[t] : 0) - (before - node.leak_target()));
    carried_v = grad_h * node.slope_v(before);
    carried_w = two ? -grad_h / node.tau + (1 - 1 / node.tau_w) * into_w : 0;
  }
  out.grad_v_init = carried_v;
  out.grad_w_init = carried_w;
  return out;
}

// ---- Comparing ------------------------------------------------------------------------------------------------------

constexpr int64_t n_steps = 60, n_neurons = 5;
const Shape shape{n_steps, 1, n_neurons};

struct Setting {
  const char* name;
  double value;
};

std::vector<double> column(const std::vector<double>& values, size_t neuron) {
  std::vector<double> result;
  for (size_t i = neuron; i < values.size(); i += n_neurons) result.push_back(values[i]);
  return result;
}

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::fmax(largest, std::fabs(value));
  return largest;
}

testing::AssertionResult close(const std::vector<double>& a, const std::vector<double>& b) {
  const double bound = 1e-11 * std::fmax(1, largest_of(b));
  for (size_t i = 0; i < b.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= bound))
      return testing::AssertionFailure() << "step " << i << ": " << a[i] << " against " << b[i];
  return testing::AssertionSuccess();
}

FullInputs<double> drive(uint64_t seed, double x_high = 2.2) {
  Random random(seed);
  FullInputs<double> inputs;
  inputs.x = random.values<double>(shape.sequence(), -0.3, x_high);
  inputs.v_init = random.values<double>(shape.row(), -0.3, 0.6);
  inputs.w_init = random.values<double>(shape.row(), -0.2, 0.2);
  inputs.grad_spike_seq = random.values<double>(shape.sequence(), -1, 1);
  inputs.grad_v_seq = random.values<double>(shape.sequence(), -1, 1);
  inputs.grad_v_final.assign(shape.row(), 0);
  inputs.grad_w_seq = random.values<double>(shape.sequence(), -1, 1);
  inputs.grad_w_final.assign(shape.row(), 0);
  return inputs;
}

synfire_layer_desc layer_desc(int32_t model, int32_t dtype = SYNFIRE_DTYPE_F64) {
  synfire_layer_desc desc = describe(shape, dtype);
  desc.model = model;
  return desc;
}

class ComingFromSpikingJelly : public testing::Test {
 protected:
  // The layer with these settings equals the node, forward and backward, and does spike.
  void expect_same(const Node& node, const synfire_layer_desc& desc, const std::vector<Setting>& settings = {},
                   Detached detached = Detached::fully, bool equal = true) {
    FullRig<double> rig(context, desc);
    for (const Setting& setting : settings) set_parameter(rig.layer, setting.name, {setting.value});
    const FullInputs<double> inputs = drive(7, node.kind == Kind::if_node ? 0.9 : 2.2);
    rig.load(inputs);
    const bool parametric = node.kind == Kind::parametric_lif;
    if (parametric) rig.ask({{"reciprocal_tau", true}});
    const FullOutputs<double> out = rig.run();
    bool all_close = true;
    for (size_t i = 0; i < n_neurons; ++i) {
      SCOPED_TRACE(testing::Message() << "neuron " << i);
      const bool two = node.kind == Kind::izhikevich;
      const Sequence expected =
          run(node, column(inputs.x, i), inputs.v_init[i], inputs.w_init[i], column(inputs.grad_spike_seq, i),
              column(inputs.grad_v_seq, i), column(inputs.grad_w_seq, i), detached);
      EXPECT_EQ(column(out.spikes, i), expected.s);
      EXPECT_TRUE(close(column(out.h_seq, i), expected.h)) << "H";
      EXPECT_TRUE(close(column(out.v_seq, i), expected.v)) << "V";
      if (two) {
        EXPECT_TRUE(close(column(out.w_seq, i), expected.w)) << "W";
      }
      const auto gradient = close(column(out.grad_x_seq, i), expected.grad_x);
      all_close = all_close && gradient;
      if (!equal) continue;
      EXPECT_TRUE(gradient) << "dL/dX";
      EXPECT_TRUE(close({out.grad_v_init[i]}, {expected.grad_v_init})) << "dL/dV_init";
      if (two) {
        EXPECT_TRUE(close({out.grad_w_init[i]}, {expected.grad_w_init})) << "dL/dW_init";
      }
      if (parametric) {
        EXPECT_TRUE(close({rig.gradients()[0][i]}, {expected.grad_reciprocal_tau})) << "dL/d(1/tau)";
      }
    }
    EXPECT_GT(largest_of(out.spikes), 0) << "no neuron fires: nothing was shown";
    if (!equal) {
      EXPECT_FALSE(all_close) << "the two agree";
    }
  }

  // g'(x), through the backward of an IF neuron at threshold 0.
  double derivative(int32_t surrogate, const std::vector<Setting>& settings, double x) {
    synfire_layer_desc desc = describe({1, 1, 1}, SYNFIRE_DTYPE_F64);
    desc.model = SYNFIRE_MODEL_IF;
    desc.surrogate = surrogate;
    desc.detach_reset = 1;
    Rig<double> rig(context, desc);
    set_parameter(rig.layer, "v_threshold", {0});
    for (const Setting& setting : settings) set_parameter(rig.layer, setting.name, {setting.value});
    rig.load({{x}, {0}, {1}, {0}, {0}});
    EXPECT_OK(rig.run_forward());
    return rig.backward().grad_x_seq[0];
  }

  Context context = make_context();
};

// ---- Neurons --------------------------------------------------------------------------------------------------------

TEST_F(ComingFromSpikingJelly, IfNode) {
  expect_same(node_of(Kind::if_node), layer_desc(SYNFIRE_MODEL_IF));
}

TEST_F(ComingFromSpikingJelly, LifNode) {
  Node node = node_of(Kind::lif);
  expect_same(node, layer_desc(SYNFIRE_MODEL_LIF));
  node.tau = 5;
  expect_same(node, layer_desc(SYNFIRE_MODEL_LIF), {{"tau", 5}});
}

TEST_F(ComingFromSpikingJelly, LeakTarget) {
  Node node = node_of(Kind::lif);
  node.v_reset = -0.25;
  expect_same(node, layer_desc(SYNFIRE_MODEL_LIF), {{"v_reset", -0.25}, {"v_rest", -0.25}});
}

TEST_F(ComingFromSpikingJelly, DecayInput) {
  Node node = node_of(Kind::lif);
  node.decay_input = false;
  synfire_layer_desc desc = layer_desc(SYNFIRE_MODEL_LIF);
  desc.undecayed_input = 1;
  expect_same(node, desc);
  node.kind = Kind::parametric_lif;
  desc.model = SYNFIRE_MODEL_PLIF;
  expect_same(node, desc);
}

TEST_F(ComingFromSpikingJelly, ParametricLifNode) {
  Node node = node_of(Kind::parametric_lif);
  expect_same(node, layer_desc(SYNFIRE_MODEL_PLIF));
  node.tau = 3;
  expect_same(node, layer_desc(SYNFIRE_MODEL_PLIF), {{"tau", 3}});
}

// w = −log(tau − 1) gives 1/tau = σ(w); dL/dw is dL/d(1/tau)·r·(1 − r). Below the threshold everything is smooth, so
// differences of the loss along w must agree.
TEST_F(ComingFromSpikingJelly, LearnableW) {
  const double init_tau = 3, w = -std::log(init_tau - 1), r = sigma(w);
  EXPECT_NEAR(r, 1 / init_tau, 1e-15);
  synfire_layer_desc desc = layer_desc(SYNFIRE_MODEL_PLIF);
  desc.detach_reset = 1;  // otherwise the surrogate has an effect without a spike
  FullRig<double> rig(context, desc);
  FullInputs<double> inputs = drive(3, 0.9);  // V stays below 0.9
  inputs.grad_spike_seq.assign(shape.sequence(), 0);
  rig.load(inputs);
  rig.ask({{"reciprocal_tau"}});
  const auto loss = [&](double at) {
    set_parameter(rig.layer, "reciprocal_tau", {sigma(at)});
    const FullOutputs<double> out = rig.run();
    EXPECT_EQ(largest_of(out.spikes), 0);
    double sum = 0;
    for (size_t i = 0; i < out.v_seq.size(); ++i) sum += out.v_seq[i] * inputs.grad_v_seq[i];
    return sum;
  };
  const double step = 1e-5, difference = (loss(w + step) - loss(w - step)) / (2 * step);
  set_parameter(rig.layer, "tau", {init_tau});
  rig.run();
  EXPECT_NEAR(rig.gradients()[0][0] * r * (1 - r), difference, 1e-7 * std::fmax(1, std::fabs(difference)));
}

TEST_F(ComingFromSpikingJelly, QifNode) {
  expect_same(node_of(Kind::qif), layer_desc(SYNFIRE_MODEL_QIF));
  Node node = node_of(Kind::qif);
  node.tau = 3;
  node.v_c = 0.6;
  node.a0 = 1.2;
  node.v_rest = 0.1;
  node.v_reset = -0.2;
  expect_same(node, layer_desc(SYNFIRE_MODEL_QIF),
              {{"tau", 3}, {"v_c", 0.6}, {"a0", 1.2}, {"v_rest", 0.1}, {"v_reset", -0.2}});
}

TEST_F(ComingFromSpikingJelly, EifNode) {
  expect_same(node_of(Kind::eif), layer_desc(SYNFIRE_MODEL_EIF));
  Node node = node_of(Kind::eif);
  node.tau = 3;
  node.delta_t = 0.5;
  node.theta_rh = 0.7;
  node.v_rest = 0.1;
  node.v_reset = -0.2;
  expect_same(node, layer_desc(SYNFIRE_MODEL_EIF),
              {{"tau", 3}, {"delta_T", 0.5}, {"theta_rh", 0.7}, {"v_rest", 0.1}, {"v_reset", -0.2}});
}

TEST_F(ComingFromSpikingJelly, IzhikevichNode) {
  expect_same(node_of(Kind::izhikevich), layer_desc(SYNFIRE_MODEL_IZHIKEVICH));
  Node node = node_of(Kind::izhikevich);
  node.tau_w = 4;
  node.a = 0.2;
  node.b = 0.3;
  expect_same(node, layer_desc(SYNFIRE_MODEL_IZHIKEVICH), {{"tau_w", 4}, {"a", 0.2}, {"b", 0.3}});
  node.v_reset.reset();
  synfire_layer_desc desc = layer_desc(SYNFIRE_MODEL_IZHIKEVICH);
  desc.reset = SYNFIRE_RESET_SOFT;
  expect_same(node, desc, {{"tau_w", 4}, {"a", 0.2}, {"b", 0.3}});
}

// w_rest is only the initial W.
TEST_F(ComingFromSpikingJelly, WRest) {
  const Layer layer = make_layer(context, layer_desc(SYNFIRE_MODEL_IZHIKEVICH));
  const std::vector<double> w_rest(n_neurons, 0.15);
  ASSERT_OK(synfire_layer_write_state(layer, "w", w_rest.data(), sizeof(double) * n_neurons));
  const FullInputs<double> inputs = drive(5);
  const Buffer x = make_buffer_of(context, inputs.x), w_seq = make_buffer(context, SYNFIRE_DTYPE_F64, shape.sequence());
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.w_seq = w_seq;
  ASSERT_OK(synfire_layer_forward(layer, &forward, nullptr));
  Node node = node_of(Kind::izhikevich);
  node.w_rest = 0.15;
  const std::vector<double> zeros(n_steps, 0), w = download<double>(w_seq, shape.sequence());
  for (size_t i = 0; i < n_neurons; ++i)
    EXPECT_TRUE(close(column(w, i), run(node, column(inputs.x, i), 0, node.w_rest, zeros, zeros, zeros).w));
}

// ---- Threshold and reset --------------------------------------------------------------------------------------------

TEST_F(ComingFromSpikingJelly, Threshold) {
  Node node = node_of(Kind::lif);
  node.v_threshold = 0.7;
  expect_same(node, layer_desc(SYNFIRE_MODEL_LIF), {{"v_threshold", 0.7}});
}

TEST_F(ComingFromSpikingJelly, SoftReset) {
  for (const auto& [kind, model] :
       {std::pair{Kind::if_node, SYNFIRE_MODEL_IF}, std::pair{Kind::lif, SYNFIRE_MODEL_LIF}}) {
    Node node = node_of(kind);
    node.v_reset.reset();
    synfire_layer_desc desc = layer_desc(model);
    desc.reset = SYNFIRE_RESET_SOFT;
    expect_same(node, desc);
  }
}

TEST_F(ComingFromSpikingJelly, HardReset) {
  Node node = node_of(Kind::if_node);
  node.v_reset = -0.3;
  expect_same(node, layer_desc(SYNFIRE_MODEL_IF), {{"v_reset", -0.3}});
}

TEST_F(ComingFromSpikingJelly, DetachReset) {
  for (const auto& [kind, model] : {std::pair{Kind::if_node, SYNFIRE_MODEL_IF}, std::pair{Kind::lif, SYNFIRE_MODEL_LIF},
                                    std::pair{Kind::parametric_lif, SYNFIRE_MODEL_PLIF},
                                    std::pair{Kind::qif, SYNFIRE_MODEL_QIF}, std::pair{Kind::eif, SYNFIRE_MODEL_EIF}}) {
    for (const bool soft : {false, true}) {
      SCOPED_TRACE(testing::Message() << "model " << model << (soft ? ", soft" : ", hard"));
      Node node = node_of(kind);
      node.detach_reset = true;
      synfire_layer_desc desc = layer_desc(model);
      desc.detach_reset = 1;
      if (soft) {
        node.v_reset.reset();
        desc.reset = SYNFIRE_RESET_SOFT;
      }
      expect_same(node, desc);
    }
  }
}

// ---- Surrogates -----------------------------------------------------------------------------------------------------

TEST_F(ComingFromSpikingJelly, SurrogateAlpha) {
  Node node = node_of(Kind::lif);
  node.alpha = 2.5;
  synfire_layer_desc desc = layer_desc(SYNFIRE_MODEL_LIF);
  desc.surrogate = SYNFIRE_SURROGATE_SIGMOID;
  expect_same(node, desc, {{"alpha", 2.5}});
}

// The defaults of the classes, and their derivatives at two points by formula.
TEST_F(ComingFromSpikingJelly, SurrogateClasses) {
  const double pi = std::acos(-1.0);
  struct Class {
    const char* name;
    int32_t id;
    std::vector<Setting> defaults;
    double (*derivative)(double x, double pi);
  };
  const std::vector<Class> classes = {
      {"Sigmoid",
       SYNFIRE_SURROGATE_SIGMOID,
       {{"alpha", 4}},
       [](double x, double) { return 4 * sigma(4 * x) * (1 - sigma(4 * x)); }},
      {"ATan", SYNFIRE_SURROGATE_ATAN, {{"alpha", 2}}, [](double x, double p) { return 1 / (1 + p * p * x * x); }},
      {"PiecewiseQuadratic",
       SYNFIRE_SURROGATE_PIECEWISE_QUADRATIC,
       {{"alpha", 1}},
       [](double x, double) { return std::fmax(0, 1 - std::fabs(x)); }},
      {"PiecewiseExp",
       SYNFIRE_SURROGATE_PIECEWISE_EXP,
       {{"alpha", 1}},
       [](double x, double) { return 0.5 * std::exp(-std::fabs(x)); }},
      {"SoftSign",
       SYNFIRE_SURROGATE_SOFT_SIGN,
       {{"alpha", 2}},
       [](double x, double) { return 1 / std::pow(1 + 2 * std::fabs(x), 2); }},
      {"SuperSpike",
       SYNFIRE_SURROGATE_SUPER_SPIKE,
       {{"alpha", 1}},
       [](double x, double) { return 1 / std::pow(1 + std::fabs(x), 2); }},
      {"Erf",
       SYNFIRE_SURROGATE_ERF,
       {{"alpha", 2}},
       [](double x, double p) { return 2 / std::sqrt(p) * std::exp(-4 * x * x); }},
      {"PiecewiseLeakyReLU",
       SYNFIRE_SURROGATE_PIECEWISE_LEAKY_RELU,
       {{"w", 1}, {"c", 0.01}},
       [](double x, double) { return std::fabs(x) < 1 ? 0.5 : 0.01; }},
      {"S2NN",
       SYNFIRE_SURROGATE_S2NN,
       {{"alpha", 4}, {"beta", 1}},
       [](double x, double) { return x < 0 ? 4 * sigma(4 * x) * (1 - sigma(4 * x)) : 1 / (x + 1); }},
      {"QPseudoSpike",
       SYNFIRE_SURROGATE_Q_PSEUDO_SPIKE,
       {{"alpha", 2}},
       [](double x, double) { return std::pow(1 + 2 * std::fabs(x), -2); }},
      {"LeakyKReLU",
       SYNFIRE_SURROGATE_LEAKY_K_RELU,
       {{"leak", 0}, {"k", 1}},
       [](double x, double) { return x >= 0 ? 1.0 : 0.0; }},
      {"FakeNumericalGradient",
       SYNFIRE_SURROGATE_FAKE_NUMERICAL_GRADIENT,
       {{"alpha", 0.3}},
       [](double x, double) { return std::fmin(1 / std::fabs(x), 0.3); }},
      {"LogTailedReLU",
       SYNFIRE_SURROGATE_LOG_TAILED_RELU,
       {{"alpha", 0}},
       [](double x, double) { return x <= 0   ? 0
                                     : x <= 1 ? 1
                                              : 1 / x; }},
      {"NonzeroSignLogAbs",
       SYNFIRE_SURROGATE_NONZERO_SIGN_LOG_ABS,
       {{"alpha", 1}},
       [](double x, double) { return 1 / (1 + std::fabs(x)); }},
      {"SquarewaveFourierSeries",
       SYNFIRE_SURROGATE_SQUAREWAVE_FOURIER_SERIES,
       {{"n", 2}, {"T_period", 8}},
       [](double x, double p) { return 0.5 * std::cos(p * x / 4); }},
      {"Rect", SYNFIRE_SURROGATE_RECT, {{"alpha", 1}}, [](double x, double) { return std::fabs(x) < 0.5 ? 1.0 : 0.0; }},
  };
  ASSERT_EQ(classes.size(), 16u);
  for (const Class& one : classes) {
    SCOPED_TRACE(one.name);
    synfire_layer_desc desc = layer_desc(SYNFIRE_MODEL_LIF);
    desc.surrogate = one.id;
    const Layer layer = make_layer(context, desc);
    for (const Setting& setting : one.defaults) {
      double value = nan;
      EXPECT_OK(synfire_layer_get_parameter(layer, setting.name, &value, 1));
      EXPECT_EQ(value, setting.value) << setting.name;
    }
    for (const double x : {-1.75, -0.25, 0.25, 1.75})
      EXPECT_NEAR(derivative(one.id, {}, x), one.derivative(x, pi), 1e-14) << x;
  }
}

// One recording with three values of alpha.
TEST_F(ComingFromSpikingJelly, AnnealedAlpha) {
  FullRig<double> rig(context, layer_desc(SYNFIRE_MODEL_LIF));
  const FullInputs<double> inputs = drive(11);
  rig.load(inputs);
  const Graph graph = rig.graph();
  for (const double alpha : {1.0, 4.0, 9.0}) {
    set_parameter(rig.layer, "alpha", {alpha});
    replay(graph);
    const FullOutputs<double> out = rig.outputs();
    Node node = node_of(Kind::lif);
    node.alpha = alpha;
    for (size_t i = 0; i < n_neurons; ++i)
      EXPECT_TRUE(close(column(out.grad_x_seq, i),
                        run(node, column(inputs.x, i), inputs.v_init[i], 0, column(inputs.grad_spike_seq, i),
                            column(inputs.grad_v_seq, i), column(inputs.grad_w_seq, i))
                            .grad_x));
  }
}

TEST_F(ComingFromSpikingJelly, SurrogatesAtCriticalPoints) {
  EXPECT_EQ(derivative(SYNFIRE_SURROGATE_PIECEWISE_LEAKY_RELU, {{"w", 0.5}}, 0.25), 1.0);  // 1/(2w), not 1/w
  EXPECT_EQ(derivative(SYNFIRE_SURROGATE_PIECEWISE_LEAKY_RELU, {{"w", 0.5}}, 0.5),
            0.01);  // the edge belongs to the outside
  EXPECT_NEAR(derivative(SYNFIRE_SURROGATE_S2NN, {}, -1), 4 * sigma(-4) * sigma(4), 1e-15);
  EXPECT_EQ(derivative(SYNFIRE_SURROGATE_LOG_TAILED_RELU, {{"alpha", 0.1}}, 0), 0.1);
  EXPECT_EQ(derivative(SYNFIRE_SURROGATE_FAKE_NUMERICAL_GRADIENT, {}, -0.0), 0.3);
  for (int32_t id = 1; id <= 16; ++id)
    for (const double x : {-infinity, -1.0, -0.0, 0.0, 1.0, infinity, nan})
      EXPECT_TRUE(std::isfinite(derivative(id, {}, x))) << "surrogate " << id << " at " << x;
}

// ---- Steps, shapes, states ------------------------------------------------------------------------------------------

// [T, ...] in one call, time first.
TEST_F(ComingFromSpikingJelly, MultiStep) {
  Rig<float> rig(context, describe({4, 1, 2}, SYNFIRE_DTYPE_F32));
  Inputs<float> inputs = random_inputs<float>(rig.shape, 1);
  inputs.x = {2, 0, 2, 0, 2, 0, 2, 3};  // neuron 0: 2 at every step; neuron 1: 3 at the last
  inputs.v_init = {0, 0};
  rig.load(inputs);
  EXPECT_EQ(rig.forward().spikes, (std::vector<float>{1, 0, 1, 0, 1, 0, 1, 1}));
}

// T calls of one step are one call of T steps, bit for bit: the state continues.
TEST_F(ComingFromSpikingJelly, SingleStep) {
  const Inputs<float> inputs = random_inputs<float>(shape, 2);
  Rig<float> all(context, describe(shape, SYNFIRE_DTYPE_F32));
  all.load(inputs);
  const auto expected = all.forward({.v_init = false});
  const Shape one_step{1, 1, n_neurons};
  Rig<float> one(context, describe(one_step, SYNFIRE_DTYPE_F32));
  for (size_t t = 0; t < n_steps; ++t) {
    upload(one.x, slice(inputs.x, t * n_neurons, n_neurons));
    const auto out = one.forward({.v_init = false});
    EXPECT_TRUE(same_bits(out.spikes, slice(expected.spikes, t * n_neurons, n_neurons))) << "step " << t;
    EXPECT_TRUE(same_bits(out.v_seq, slice(expected.v_seq, t * n_neurons, n_neurons))) << "step " << t;
  }
}

// [T, B, C, H, W] is the same memory as [T, B, N] with N = C·H·W, and B rows share their parameters.
TEST_F(ComingFromSpikingJelly, TrailingDimensions) {
  const Shape batched{7, 3, 2 * 2 * 3}, flat{7, 1, 3 * 2 * 2 * 3};
  const Inputs<float> inputs = random_inputs<float>(batched, 3);
  Rig<float> rows(context, describe(batched, SYNFIRE_DTYPE_F32)), one(context, describe(flat, SYNFIRE_DTYPE_F32));
  rows.load(inputs);
  one.load(inputs);
  EXPECT_TRUE(same_bits(rows.forward().v_seq, one.forward().v_seq));
  EXPECT_TRUE(same_bits(rows.backward().grad_x_seq, one.backward().grad_x_seq));
  std::vector<double> taus(12);
  for (size_t i = 0; i < taus.size(); ++i) taus[i] = 2 + 0.5 * static_cast<double>(i);
  std::vector<double> repeated = taus;
  for (int i = 0; i < 2; ++i) repeated = joined(repeated, taus);
  set_parameter(rows.layer, "tau", taus);
  set_parameter(one.layer, "tau", repeated);
  EXPECT_TRUE(same_bits(rows.forward().v_seq, one.forward().v_seq));
}

TEST_F(ComingFromSpikingJelly, ResetNet) {
  for (const auto& [reset, start] : {std::pair{SYNFIRE_RESET_HARD, -0.3F}, std::pair{SYNFIRE_RESET_SOFT, 0.0F}}) {
    synfire_layer_desc desc = layer_desc(SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F32);
    desc.reset = reset;
    Rig<float> rig(context, desc);
    set_parameter(rig.layer, "v_reset", {-0.3});
    ASSERT_OK(synfire_layer_reset_state(rig.layer, nullptr));
    rig.load(random_inputs<float>(shape, 4));
    const auto first = rig.forward({.v_init = false}), second = rig.forward({.v_init = false});
    EXPECT_FALSE(same_bits(first.v_seq, second.v_seq)) << "the state did not continue";
    ASSERT_OK(synfire_layer_reset_state(rig.layer, nullptr));
    EXPECT_TRUE(all_are(read_state<float>(rig.layer, n_neurons), start));
    EXPECT_TRUE(same_bits(rig.forward({.v_init = false}), first));
  }
}

// node.v, read and written between calls.
TEST_F(ComingFromSpikingJelly, NodeV) {
  Rig<float> rig(context, layer_desc(SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F32));
  rig.load(random_inputs<float>(shape, 5));
  const auto out = rig.forward({.v_init = false});
  EXPECT_TRUE(same_bits(read_state<float>(rig.layer, n_neurons), out.v_final));
  const std::vector<float> v = {0.5F, -0.5F, 0.25F, 0, 0.125F};
  ASSERT_OK(synfire_layer_write_state(rig.layer, "v", v.data(), sizeof(float) * n_neurons));
  const auto from_state = rig.forward({.v_init = false});
  upload(rig.v_init, v);
  EXPECT_TRUE(same_bits(rig.forward(), from_state));
}

TEST_F(ComingFromSpikingJelly, StoreVSeq) {
  Rig<float> rig(context, layer_desc(SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F32));
  rig.load(random_inputs<float>(shape, 6));
  const auto with = rig.forward(), without = rig.forward({.v_seq = false, .h_seq = false});
  EXPECT_TRUE(same_bits(without.spikes, with.spikes));
  EXPECT_TRUE(same_bits(without.v_final, with.v_final));
  EXPECT_TRUE(all_are(without.v_seq, std::numeric_limits<float>::quiet_NaN())) << "written without being requested";
  EXPECT_TRUE(same_bits(slice(with.v_seq, (n_steps - 1) * n_neurons, n_neurons), with.v_final));
  for (size_t i = 0; i < with.h_seq.size(); ++i) EXPECT_EQ(with.h_seq[i] >= 1, with.spikes[i] != 0);
}

TEST_F(ComingFromSpikingJelly, SpikesAsBits) {
  Rig<float> rig(context, layer_desc(SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F32));
  rig.load(random_inputs<float>(shape, 7));
  const auto dense = rig.forward({.spikes = Spikes::dense}), bits = rig.forward({.spikes = Spikes::bits});
  EXPECT_EQ(bits.spike_bits, pack_bits(shape, dense.spikes));
  for (const float spike : dense.spikes) EXPECT_TRUE(spike == 0 || spike == 1);
}

TEST_F(ComingFromSpikingJelly, PerNeuronParameters) {
  FullRig<double> rig(context, layer_desc(SYNFIRE_MODEL_LIF));
  const std::vector<double> taus = {1.5, 2, 3, 5, 8}, thresholds = {0.8, 0.9, 1, 1.1, 1.2};
  set_parameter(rig.layer, "tau", taus);
  set_parameter(rig.layer, "v_threshold", thresholds);
  const FullInputs<double> inputs = drive(9);
  rig.load(inputs);
  const FullOutputs<double> out = rig.run();
  for (size_t i = 0; i < n_neurons; ++i) {
    Node node = node_of(Kind::lif);
    node.tau = taus[i];
    node.v_threshold = thresholds[i];
    const Sequence expected = run(node, column(inputs.x, i), inputs.v_init[i], 0, column(inputs.grad_spike_seq, i),
                                  column(inputs.grad_v_seq, i), column(inputs.grad_w_seq, i));
    EXPECT_EQ(column(out.spikes, i), expected.s);
    EXPECT_TRUE(close(column(out.grad_x_seq, i), expected.grad_x));
  }
}

// ---- Running --------------------------------------------------------------------------------------------------------

// The backend is a property of the context: either the requested one runs, or an error gives the reason.
TEST_F(ComingFromSpikingJelly, Backend) {
  for (const int32_t asked : {SYNFIRE_BACKEND_HOST, SYNFIRE_BACKEND_CUDA, SYNFIRE_BACKEND_AUTO}) {
    synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
    desc.backend = asked;
    synfire_context handle = nullptr;
    const synfire_status status = synfire_context_create(&desc, &handle);
    const Context made(handle);
    if (status < 0) {
      EXPECT_EQ(asked, SYNFIRE_BACKEND_CUDA) << last_error_text();
      EXPECT_EQ(status, SYNFIRE_ERROR_NO_DEVICE);
      EXPECT_EQ(handle, nullptr);
      continue;
    }
    synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
    ASSERT_OK(synfire_context_get_properties(made, &properties));
    if (asked != SYNFIRE_BACKEND_AUTO) {
      EXPECT_EQ(properties.backend, asked);
    }
    EXPECT_EQ(status == SYNFIRE_HOST_FALLBACK, properties.fallback_reason != SYNFIRE_FALLBACK_NONE);
  }
}

// The bits of an f32 that f16 and bf16 represent exactly.
uint16_t as_bf16(float value) {
  return static_cast<uint16_t>(bits_of(value) >> 16);
}
uint16_t as_f16(float value) {
  const uint32_t bits = bits_of(value), exponent = bits >> 23 & 0xFFu;
  if (value == 0) return static_cast<uint16_t>(bits >> 16 & 0x8000u);
  return static_cast<uint16_t>((bits >> 16 & 0x8000u) | (exponent - 112u) << 10 | (bits >> 13 & 0x3FFu));
}

// X stored in 16 bits, arithmetic and state in f32: for the same numbers, the spikes and the final V of an f32 layer.
TEST_F(ComingFromSpikingJelly, HalfPrecision) {
  Inputs<float> inputs = random_inputs<float>(shape, 14);
  for (float& x : inputs.x) x = std::round(x * 64) / 64;
  Rig<float> wide(context, layer_desc(SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F32));
  wide.load(inputs);
  const auto expected = wide.forward({.spikes = Spikes::bits});
  for (const int32_t dtype : {SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
    SCOPED_TRACE(dtype);
    std::vector<uint16_t> narrow;
    for (const float x : inputs.x) narrow.push_back(dtype == SYNFIRE_DTYPE_F16 ? as_f16(x) : as_bf16(x));
    const Layer layer = make_layer(context, layer_desc(SYNFIRE_MODEL_LIF, dtype));
    const Buffer x = make_buffer(context, dtype, shape.sequence()),
                 spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, shape.words()),
                 v_init = make_buffer_of(context, inputs.v_init),
                 v_final = make_buffer(context, SYNFIRE_DTYPE_F32, shape.row());
    ASSERT_OK(synfire_buffer_upload(x, 0, narrow.data(), narrow.size() * sizeof narrow[0]));
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.spikes = spikes;
    forward.v_init = v_init;
    forward.v_final = v_final;
    ASSERT_OK(synfire_layer_forward(layer, &forward, nullptr));
    EXPECT_EQ(download<uint32_t>(spikes, shape.words()), expected.spike_bits);
    EXPECT_TRUE(same_bits(download<float>(v_final, shape.row()), expected.v_final));
  }
}

TEST_F(ComingFromSpikingJelly, LossBackward) {
  FullRig<float> rig(context, layer_desc(SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F32));
  const FullInputs<double> inputs = drive(13);
  const auto narrow = [](const std::vector<double>& values) {
    return std::vector<float>(values.begin(), values.end());
  };
  rig.load({narrow(inputs.x),
            narrow(inputs.v_init),
            {},
            narrow(inputs.grad_spike_seq),
            narrow(inputs.grad_v_seq),
            std::vector<float>(n_neurons, 0),
            {},
            {}});
  const FullOutputs<float> out = rig.run();
  for (size_t i = 0; i < n_neurons; ++i) {
    const Sequence expected =
        run(node_of(Kind::lif), column(inputs.x, i), inputs.v_init[i], 0, column(inputs.grad_spike_seq, i),
            column(inputs.grad_v_seq, i), column(inputs.grad_w_seq, i));
    for (size_t t = 0; t < n_steps; ++t) EXPECT_NEAR(out.grad_x_seq[t * n_neurons + i], expected.grad_x[t], 1e-5);
    EXPECT_NEAR(out.grad_v_init[i], expected.grad_v_init, 1e-5);
  }
}

TEST_F(ComingFromSpikingJelly, NoGrad) {
  Rig<float> rig(context, layer_desc(SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F32));
  rig.load(random_inputs<float>(shape, 8));
  const auto taped = rig.forward(), bare = rig.forward({.tape = SYNFIRE_TAPE_NONE});
  EXPECT_TRUE(same_bits(bare, taped));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("tape|forward"), rig.run_backward());
}

// Two windows of T/2. With the gradient passed on at the cut the result is the whole sequence's; without it, it is
// truncated there.
TEST_F(ComingFromSpikingJelly, Truncation) {
  constexpr size_t half = n_steps / 2 * n_neurons;
  const Inputs<double> inputs = random_inputs<double>(shape, 10);
  Rig<double> whole(context, describe(shape, SYNFIRE_DTYPE_F64));
  whole.load(inputs);
  const auto states = whole.forward();
  const auto expected = whole.backward();

  const Shape window{n_steps / 2, 1, n_neurons};
  Rig<double> rig(context, describe(window, SYNFIRE_DTYPE_F64));
  const auto run_window = [&](size_t first, const std::vector<double>& v_init, const std::vector<double>& from_after) {
    rig.load({slice(inputs.x, first, half), v_init, slice(inputs.grad_spike_seq, first, half),
              slice(inputs.grad_v_seq, first, half), from_after});
    EXPECT_OK(rig.run_forward());
    return rig.backward();
  };
  const auto middle = slice(states.v_seq, half - n_neurons, n_neurons);
  const auto second = run_window(half, middle, inputs.grad_v_final);
  const auto chained = run_window(0, inputs.v_init, second.grad_v_init);
  EXPECT_TRUE(same_bits(joined(chained.grad_x_seq, second.grad_x_seq), expected.grad_x_seq));
  const auto truncated = run_window(0, inputs.v_init, std::vector<double>(n_neurons, 0));
  EXPECT_FALSE(same_bits(truncated.grad_x_seq, chained.grad_x_seq));
}

// Recorded once and replayed: the bits of eager calls. A parameter changed in between takes effect.
TEST_F(ComingFromSpikingJelly, CudaGraph) {
  FullRig<float> eager(context, layer_desc(SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F32)),
      replayed(context, layer_desc(SYNFIRE_MODEL_LIF, SYNFIRE_DTYPE_F32));
  const FullInputs<double> wide = drive(15);
  const auto narrow = [](const std::vector<double>& values) {
    return std::vector<float>(values.begin(), values.end());
  };
  const FullInputs<float> inputs = {narrow(wide.x),          narrow(wide.v_init),       {}, narrow(wide.grad_spike_seq),
                                    narrow(wide.grad_v_seq), narrow(wide.grad_v_final), {}, {}};
  eager.load(inputs);
  replayed.load(inputs);
  const Graph graph = replayed.graph();
  for (const double tau : {2.0, 7.0}) {
    set_parameter(eager.layer, "tau", {tau});
    set_parameter(replayed.layer, "tau", {tau});
    replayed.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(replayed.outputs(), eager.run()));
  }
}

// ---- Where Synfire differs ------------------------------------------------------------------------------------------

TEST_F(ComingFromSpikingJelly, RestApartFromReset) {
  FullRig<double> rig(context, layer_desc(SYNFIRE_MODEL_LIF));
  set_parameter(rig.layer, "v_rest", {0.2});
  set_parameter(rig.layer, "v_reset", {-0.5});
  FullInputs<double> inputs = drive(17);
  inputs.x.assign(shape.sequence(), 0);
  inputs.x[0] = 5;  // neuron 0 fires at once
  inputs.v_init.assign(n_neurons, 0.2);
  rig.load(inputs);
  const FullOutputs<double> out = rig.run();
  EXPECT_EQ(out.v_seq[0], -0.5);
  EXPECT_NEAR(out.v_seq[shape.sequence() - n_neurons], 0.2, 1e-12);  // back at rest
  EXPECT_NEAR(out.v_seq[1], 0.2, 1e-15);                             // where the others stay
}

TEST_F(ComingFromSpikingJelly, DetachedIzhikevich) {
  Node node = node_of(Kind::izhikevich);
  node.detach_reset = true;
  node.v_reset = 0.3;
  node.b = 0.2;
  synfire_layer_desc desc = layer_desc(SYNFIRE_MODEL_IZHIKEVICH);
  desc.detach_reset = 1;
  expect_same(node, desc, {{"v_reset", 0.3}, {"b", 0.2}}, Detached::fully);
  expect_same(node, desc, {{"v_reset", 0.3}, {"b", 0.2}}, Detached::factor_only, false);
  // With v_reset = 0, the default, the two agree.
  node.v_reset = 0;
  expect_same(node, desc, {{"b", 0.2}}, Detached::factor_only);
}

TEST_F(ComingFromSpikingJelly, TauOfOneAndBelow) {
  for (const double tau : {1.0, 0.75}) {
    Node node = node_of(Kind::parametric_lif);
    node.tau = tau;
    expect_same(node, layer_desc(SYNFIRE_MODEL_PLIF), {{"tau", tau}});
    node.kind = Kind::lif;
    expect_same(node, layer_desc(SYNFIRE_MODEL_LIF), {{"tau", tau}});
  }
}

TEST_F(ComingFromSpikingJelly, NanNeverFires) {
  for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model) {
    synfire_layer_desc desc = layer_desc(model, SYNFIRE_DTYPE_F32);
    FullRig<float> rig(context, desc);
    FullInputs<float> inputs = {
        std::vector<float>(shape.sequence(), std::numeric_limits<float>::quiet_NaN()), {}, {}, {}, {}, {}, {}, {}};
    const std::vector<float> row(n_neurons, 0), sequence(shape.sequence(), 0);
    inputs.v_init = inputs.w_init = inputs.grad_v_final = inputs.grad_w_final = row;
    inputs.grad_spike_seq = inputs.grad_v_seq = inputs.grad_w_seq = sequence;
    rig.load(inputs);
    EXPECT_TRUE(all_are(rig.run().spikes, 0.0F)) << "model " << model;
  }
}

// The same bits in every run and on any number of threads.
TEST_F(ComingFromSpikingJelly, ReproducibleGradient) {
  const Shape large{20, 2, 5000};
  synfire_layer_desc desc = describe(large, SYNFIRE_DTYPE_F32);
  desc.model = SYNFIRE_MODEL_PLIF;
  const Inputs<float> inputs = random_inputs<float>(large, 12);
  std::optional<std::vector<float>> first;
  for (const int32_t n_threads : {1, 1, 2, 4}) {
    const Context threaded = make_context(n_threads);
    FullRig<float> rig(threaded, desc);
    rig.load({inputs.x, inputs.v_init, {}, inputs.grad_spike_seq, inputs.grad_v_seq, inputs.grad_v_final, {}, {}});
    rig.ask({{"reciprocal_tau"}});
    rig.run();
    if (!first) first = rig.gradients()[0];
    EXPECT_NE((*first)[0], 0);
    EXPECT_TRUE(same_bits(rig.gradients()[0], *first)) << n_threads << " threads";
  }
}

// ---- Networks -------------------------------------------------------------------------------------------------------

// Random numbers from -1 to 1, the same in every run.
std::vector<double> numbers(size_t count, uint32_t seed) {
  std::vector<double> result(count);
  for (double& number : result) {
    seed = seed * 1664525u + 1013904223u;
    number = seed / 2147483648.0 - 1;
  }
  return result;
}

Buffer filled(synfire_context context, const std::vector<double>& values) {
  Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_F64, values.size());
  EXPECT_OK(synfire_buffer_upload(buffer, 0, values.data(), values.size() * sizeof(double)));
  return buffer;
}

// In f64, of values, with a bias and weights from numbers().
struct Linear {
  size_t inputs, outputs;
  std::vector<double> weight, bias;
  Synapse synapse;

  Linear(synfire_context context, size_t n_inputs, size_t n_outputs)
      : inputs(n_inputs), outputs(n_outputs), weight(numbers(n_inputs * n_outputs, 21)), bias(numbers(n_outputs, 22)) {
    synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
    desc.input_kind = SYNFIRE_INPUT_VALUES;
    desc.dtype = SYNFIRE_DTYPE_F64;
    desc.n_inputs = static_cast<int64_t>(inputs);
    desc.n_outputs = static_cast<int64_t>(outputs);
    desc.bias = 1;
    synfire_synapse made = nullptr;
    EXPECT_OK(synfire_synapse_create(context, &desc, &made));
    synapse = Synapse(made);
    EXPECT_OK(synfire_synapse_write(synapse, "weight", weight.data(), weight.size() * sizeof(double)));
    EXPECT_OK(synfire_synapse_write(synapse, "bias", bias.data(), bias.size() * sizeof(double)));
  }
  std::vector<double> read(const char* name, size_t count) const {
    std::vector<double> values(count);
    EXPECT_OK(synfire_synapse_read(synapse, name, values.data(), count * sizeof(double)));
    return values;
  }
};

// y = x W^T + b for every step at once, and the gradients that autograd gives.
TEST_F(ComingFromSpikingJelly, LinearLayer) {
  const size_t steps = 3, batch = 2, rows = steps * batch;
  const Linear linear(context, 5, 4);
  const std::vector<double> x = numbers(rows * 5, 23), g = numbers(rows * 4, 24);
  const Buffer input = filled(context, x), grad_output = filled(context, g),
               output = make_buffer(context, SYNFIRE_DTYPE_F64, rows * 4),
               grad_input = make_buffer(context, SYNFIRE_DTYPE_F64, rows * 5);
  synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  forward.n_steps = steps;
  forward.batch = batch;
  forward.input = input;
  forward.output = output;
  ASSERT_OK(synfire_synapse_forward(linear.synapse, &forward, nullptr));
  synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
  backward.n_steps = steps;
  backward.batch = batch;
  backward.grad_output = grad_output;
  backward.input = input;
  backward.grad_input = grad_input;
  ASSERT_OK(synfire_synapse_backward(linear.synapse, &backward, nullptr));
  std::vector<double> y(rows * 4), grad_weight(20), grad_bias(4), grad_x(rows * 5);
  for (size_t m = 0; m < rows; ++m)
    for (size_t n = 0; n < 4; ++n) {
      y[m * 4 + n] = linear.bias[n];
      grad_bias[n] += g[m * 4 + n];
      for (size_t k = 0; k < 5; ++k) {
        y[m * 4 + n] += linear.weight[n * 5 + k] * x[m * 5 + k];
        grad_weight[n * 5 + k] += g[m * 4 + n] * x[m * 5 + k];
        grad_x[m * 5 + k] += g[m * 4 + n] * linear.weight[n * 5 + k];
      }
    }
  EXPECT_TRUE(close(download<double>(output, y.size()), y));
  EXPECT_TRUE(close(linear.read("weight_gradient", 20), grad_weight));
  EXPECT_TRUE(close(linear.read("bias_gradient", 4), grad_bias));
  EXPECT_TRUE(close(download<double>(grad_input, grad_x.size()), grad_x));
}

// One mask for all steps of a row; what is kept is divided by 1 - p.
TEST_F(ComingFromSpikingJelly, DropoutLayer) {
  const size_t steps = 3, batch = 2, inputs = 40;
  const Linear linear(context, inputs, inputs);
  std::vector<double> identity(inputs * inputs), zeros(inputs);
  for (size_t i = 0; i < inputs; ++i) identity[i * inputs + i] = 1;
  ASSERT_OK(synfire_synapse_write(linear.synapse, "weight", identity.data(), identity.size() * sizeof(double)));
  ASSERT_OK(synfire_synapse_write(linear.synapse, "bias", zeros.data(), zeros.size() * sizeof(double)));
  const Buffer mask = make_buffer(context, SYNFIRE_DTYPE_BITS, batch * 2),
               scale = make_buffer(context, SYNFIRE_DTYPE_F64, 1),
               output = make_buffer(context, SYNFIRE_DTYPE_F64, steps * batch * inputs);
  const std::vector<double> x = numbers(steps * batch * inputs, 25);
  const Buffer input = filled(context, x);
  synfire_dropout_desc dropout = SYNFIRE_DROPOUT_DESC_INIT;
  dropout.n_neurons = inputs;
  dropout.batch = batch;
  dropout.mask = mask;
  dropout.scale = scale;
  for (const double p : {0.25, 0.0}) {  // 0: net.eval()
    dropout.probability = p;
    ASSERT_OK(synfire_dropout(context, &dropout, nullptr));
    synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
    forward.n_steps = steps;
    forward.batch = batch;
    forward.input = input;
    forward.output = output;
    forward.input_mask = mask;
    forward.input_scale = scale;
    ASSERT_OK(synfire_synapse_forward(linear.synapse, &forward, nullptr));
    const std::vector<double> y = download<double>(output, x.size());
    size_t dropped = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const bool kept = y[i % (batch * inputs)] != 0;
      EXPECT_NEAR(y[i], kept ? x[i] / (1 - p) : 0, 1e-15);
      dropped += !kept;
    }
    EXPECT_EQ(dropped > 0, p > 0);
    EXPECT_LT(dropped, x.size() / 2);
  }
}

TEST_F(ComingFromSpikingJelly, PoissonEncoder) {
  const int64_t steps = 4000;
  const std::vector<float> probability = {0, 0.1F, 0.75F, 1};
  const Buffer rates = make_buffer(context, SYNFIRE_DTYPE_F32, 4),
               spikes = make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<size_t>(steps) * 4);
  ASSERT_OK(synfire_buffer_upload(rates, 0, probability.data(), 16));
  synfire_encode_bernoulli_desc encode = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
  encode.n_steps = steps;
  encode.n_neurons = 4;
  encode.rates = rates;
  encode.spikes = spikes;
  ASSERT_OK(synfire_encode_bernoulli(context, &encode, nullptr));
  const std::vector<float> drawn = download<float>(spikes, static_cast<size_t>(steps) * 4);
  for (size_t n = 0; n < 4; ++n) {
    double count = 0;
    for (size_t t = 0; t < static_cast<size_t>(steps); ++t) count += drawn[t * 4 + n];
    const double p = static_cast<double>(probability[n]), deviation = std::sqrt(steps * p * (1 - p));
    EXPECT_NEAR(count, steps * p, 5 * deviation) << "p " << p;
  }
}

// A loss of the mean over the steps, its gradient for every step.
struct MeanLoss {
  static constexpr size_t steps = 3, batch = 2, classes = 4;
  std::vector<double> x = numbers(steps * batch * classes, 26), mean = std::vector<double>(batch * classes),
                      gradient = std::vector<double>(batch * classes), spread;
  double loss = 0;

  void run(synfire_context context, synfire_loss_desc desc) {
    const Buffer source = filled(context, x), means = make_buffer(context, SYNFIRE_DTYPE_F64, mean.size()),
                 of_mean = make_buffer(context, SYNFIRE_DTYPE_F64, mean.size()),
                 of_source = make_buffer(context, SYNFIRE_DTYPE_F64, x.size()),
                 total = make_buffer(context, SYNFIRE_DTYPE_F64, 1);
    synfire_reduce_desc reduce = SYNFIRE_REDUCE_DESC_INIT;
    reduce.reduction = SYNFIRE_REDUCE_MEAN;
    reduce.n_steps = steps;
    reduce.batch = batch;
    reduce.n_neurons = classes;
    reduce.source = source;
    reduce.destination = means;
    ASSERT_OK(synfire_reduce(context, &reduce, nullptr));
    desc.batch = batch;
    desc.n_classes = classes;
    desc.source = means;
    desc.gradient = of_mean;
    desc.loss = total;
    ASSERT_OK(synfire_loss(context, &desc, nullptr));
    synfire_reduce_backward_desc back = SYNFIRE_REDUCE_BACKWARD_DESC_INIT;
    back.reduction = SYNFIRE_REDUCE_MEAN;
    back.n_steps = steps;
    back.batch = batch;
    back.n_neurons = classes;
    back.grad_destination = of_mean;
    back.grad_source = of_source;
    ASSERT_OK(synfire_reduce_backward(context, &back, nullptr));
    loss = download<double>(total, 1)[0];
    mean = download<double>(means, mean.size());
    gradient = download<double>(of_mean, gradient.size());
    spread = download<double>(of_source, x.size());
  }
  double expected_mean(size_t i) const {
    double sum = 0;
    for (size_t t = 0; t < steps; ++t) sum += x[t * batch * classes + i];
    return sum / steps;
  }
  void expect(double expected_loss, const std::vector<double>& expected_gradient) const {
    EXPECT_NEAR(loss, expected_loss, 1e-12);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(gradient[i % gradient.size()], expected_gradient[i % gradient.size()], 1e-12);
      EXPECT_NEAR(spread[i], expected_gradient[i % gradient.size()] / steps, 1e-12);
    }
  }
};

TEST_F(ComingFromSpikingJelly, CrossEntropy) {
  const std::vector<uint32_t> label = {2, 0};
  const Buffer labels = make_buffer(context, SYNFIRE_DTYPE_U32, 2);
  ASSERT_OK(synfire_buffer_upload(labels, 0, label.data(), 8));
  synfire_loss_desc desc = SYNFIRE_LOSS_DESC_INIT;
  desc.labels = labels;
  MeanLoss mean;
  mean.run(context, desc);
  double loss = 0;
  std::vector<double> gradient;
  for (size_t b = 0; b < MeanLoss::batch; ++b) {
    double sum = 0;
    for (size_t c = 0; c < MeanLoss::classes; ++c) sum += std::exp(mean.expected_mean(b * MeanLoss::classes + c));
    loss -= std::log(std::exp(mean.expected_mean(b * MeanLoss::classes + label[b])) / sum) / MeanLoss::batch;
    for (size_t c = 0; c < MeanLoss::classes; ++c)
      gradient.push_back((std::exp(mean.expected_mean(b * MeanLoss::classes + c)) / sum - (c == label[b] ? 1 : 0)) /
                         MeanLoss::batch);
  }
  mean.expect(loss, gradient);
}

TEST_F(ComingFromSpikingJelly, MeanSquaredError) {
  const std::vector<uint32_t> label = {2, 0};  // F.one_hot(label)
  const Buffer labels = make_buffer(context, SYNFIRE_DTYPE_U32, 2);
  ASSERT_OK(synfire_buffer_upload(labels, 0, label.data(), 8));
  synfire_loss_desc desc = SYNFIRE_LOSS_DESC_INIT;
  desc.kind = SYNFIRE_LOSS_MEAN_SQUARED_ERROR;
  desc.labels = labels;
  MeanLoss mean;
  mean.run(context, desc);
  double loss = 0;
  std::vector<double> gradient;
  const double count = MeanLoss::batch * MeanLoss::classes;
  for (size_t i = 0; i < MeanLoss::batch * MeanLoss::classes; ++i) {
    const double wanted = i % MeanLoss::classes == label[i / MeanLoss::classes] ? 1 : 0,
                 difference = mean.expected_mean(i) - wanted;
    loss += difference * difference / count;
    gradient.push_back(2 * difference / count);
  }
  mean.expect(loss, gradient);
}

// The formulas of PyTorch's BatchNorm2d over T * B * H * W numbers of a channel; gamma is `scale`.
void expect_batch_norm(synfire_context context, double scale) {
  constexpr int64_t steps = 3, rows = 2, side = 2, channels = 2;
  constexpr size_t count = 24, size = 48;  // of a channel, of all
  const std::vector<double> y = numbers(size, 31), gamma(channels, scale), zeros(channels), ones(channels, 1.0);
  const Buffer source = filled(context, y), x = make_buffer(context, SYNFIRE_DTYPE_F64, size),
               factors = filled(context, gamma), mean = filled(context, zeros), variance = filled(context, ones);
  synfire_normalize_desc desc = SYNFIRE_NORMALIZE_DESC_INIT;
  desc.n_steps = steps;
  desc.batch = rows;
  desc.height = desc.width = side;
  desc.channels = channels;
  desc.source = source;
  desc.destination = x;
  desc.gamma = factors;
  desc.running_mean = mean;
  desc.running_variance = variance;
  ASSERT_OK(synfire_normalize(context, &desc, nullptr));
  std::vector<double> expected(size), means(channels), variances(channels), evaluated(size);
  for (size_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (size_t i = c; i < size; i += channels) sum += y[i];
    const double m = sum / count;
    for (size_t i = c; i < size; i += channels) squares += (y[i] - m) * (y[i] - m);
    for (size_t i = c; i < size; i += channels) expected[i] = scale * (y[i] - m) / std::sqrt(squares / count + 1e-5);
    means[c] = 0.1 * m;
    variances[c] = 0.9 + 0.1 * squares / (count - 1);
    for (size_t i = c; i < size; i += channels)
      evaluated[i] = scale * (y[i] - means[c]) / std::sqrt(variances[c] + 1e-5);
  }
  EXPECT_TRUE(close(download<double>(x, size), expected));
  EXPECT_TRUE(close(download<double>(mean, channels), means));
  EXPECT_TRUE(close(download<double>(variance, channels), variances));
  desc.mode = SYNFIRE_NORMALIZE_EVALUATION;
  ASSERT_OK(synfire_normalize(context, &desc, nullptr));
  EXPECT_TRUE(close(download<double>(x, size), evaluated));
}

TEST_F(ComingFromSpikingJelly, BatchNorm) {
  expect_batch_norm(context, 1);
}

TEST_F(ComingFromSpikingJelly, ThresholdDependentBatchNorm) {
  expect_batch_norm(context, 1.0 * 0.5);  // alpha, V_th
}

TEST_F(ComingFromSpikingJelly, UpsampleAndZeroPad) {
  const std::vector<double> map = numbers(12, 32);  // 2 x 3 places of 2 channels
  const Buffer source = filled(context, map), larger = make_buffer(context, SYNFIRE_DTYPE_F64, 48),
               padded = make_buffer(context, SYNFIRE_DTYPE_F64, 30);
  synfire_upsample_desc upsample = SYNFIRE_UPSAMPLE_DESC_INIT;
  upsample.n_steps = 1;
  upsample.height = 2;
  upsample.width = 3;
  upsample.channels = 2;
  upsample.source = source;
  upsample.destination = larger;
  ASSERT_OK(synfire_upsample(context, &upsample, nullptr));
  synfire_pad_desc pad = SYNFIRE_PAD_DESC_INIT;
  pad.n_steps = 1;
  pad.height = 2;
  pad.width = 3;
  pad.channels = 2;
  pad.left = 1;
  pad.right = 1;
  pad.bottom = 1;
  pad.source = source;
  pad.destination = padded;
  ASSERT_OK(synfire_pad(context, &pad, nullptr));
  std::vector<double> expected_larger, expected_padded;
  for (size_t y = 0; y < 4; ++y)
    for (size_t x = 0; x < 6; ++x)
      for (size_t c = 0; c < 2; ++c) expected_larger.push_back(map[(y / 2 * 3 + x / 2) * 2 + c]);
  for (size_t y = 0; y < 3; ++y)
    for (size_t x = 0; x < 5; ++x)
      for (size_t c = 0; c < 2; ++c)
        expected_padded.push_back(y < 2 && x >= 1 && x < 4 ? map[(y * 3 + x - 1) * 2 + c] : 0.0);
  EXPECT_EQ(download<double>(larger, 48), expected_larger);
  EXPECT_EQ(download<double>(padded, 30), expected_padded);
}

// Steps of an optimiser over the weights and bias of a Linear, against a formula for one number. `next` gets the
// weight, its gradient and the number of the step, from 1 on.
template <class Next>
void expect_steps(synfire_context context, synfire_optimizer_desc desc, Next next) {
  Linear linear(context, 3, 2);
  synfire_optimizer made = nullptr;
  ASSERT_OK(synfire_optimizer_create(context, &desc, &made));
  const Optimizer optimizer(made);
  ASSERT_OK(synfire_optimizer_add_weights(optimizer, linear.synapse, 1, 1));
  ASSERT_OK(synfire_optimizer_add_bias(optimizer, linear.synapse, 1, 1));
  const Buffer input = filled(context, numbers(6, 27)), grad_output = filled(context, numbers(4, 28));
  synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
  backward.n_steps = 2;
  backward.grad_output = grad_output;
  backward.input = input;
  ASSERT_OK(synfire_synapse_backward(linear.synapse, &backward, nullptr));
  const std::vector<double> grad_weight = linear.read("weight_gradient", 6),
                            grad_bias = linear.read("bias_gradient", 2);
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  std::vector<double> weight = linear.weight, bias = linear.bias;
  for (int t = 1; t <= 5; ++t) {
    ASSERT_OK(synfire_optimizer_step(optimizer, &step, nullptr));
    for (size_t i = 0; i < 6; ++i) weight[i] = next(i, weight[i], grad_weight[i], t);
    for (size_t i = 0; i < 2; ++i) bias[i] = next(6 + i, bias[i], grad_bias[i], t);
    EXPECT_TRUE(close(linear.read("weight", 6), weight)) << "step " << t;
    EXPECT_TRUE(close(linear.read("bias", 2), bias)) << "step " << t;
  }
}

TEST_F(ComingFromSpikingJelly, StochasticGradientDescent) {
  synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  desc.learning_rate = 0.1;
  desc.momentum = 0.9;
  std::vector<double> momentum(8);
  expect_steps(context, desc, [&](size_t i, double weight, double gradient, int) {
    momentum[i] = 0.9 * momentum[i] + gradient;
    return weight - 0.1 * momentum[i];
  });
}

TEST_F(ComingFromSpikingJelly, Adam) {
  synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  desc.kind = SYNFIRE_OPTIMIZER_KIND_ADAM;  // its learning rate is 1e-3, unless given
  std::vector<double> first(8), second(8);
  expect_steps(context, desc, [&](size_t i, double weight, double gradient, int t) {
    first[i] = 0.9 * first[i] + 0.1 * gradient;
    second[i] = 0.999 * second[i] + 0.001 * gradient * gradient;
    return weight -
           1e-3 * (first[i] / (1 - std::pow(0.9, t))) / (std::sqrt(second[i] / (1 - std::pow(0.999, t))) + 1e-8);
  });
}

}  // namespace
}  // namespace synfire_test
