// Models with a current (SYNFIRE_MODEL_CUBA_*), models that are solved exactly, and the integrator: recursions of other
// frameworks and integrals written out in f64, the models without spikes against those that fire, in every dtype and
// tape mode, and what they refuse. Their gradients: gradient_test.cpp.
#include "recording_support.hpp"
#include "storage_rig.hpp"

#include <cmath>
#include <numeric>

namespace synfire_test {
namespace {

using Named = std::vector<std::pair<const char*, std::vector<double>>>;

synfire_layer_desc describe_as(int32_t model, const Shape& shape, int32_t dtype = SYNFIRE_DTYPE_F64,
                               bool undecayed = false) {
  synfire_layer_desc desc = describe(shape, dtype);
  desc.model = model;
  desc.undecayed_input = undecayed ? 1 : 0;
  return desc;
}

bool has_current(int32_t model) {
  return model == SYNFIRE_MODEL_CUBA_LIF || model == SYNFIRE_MODEL_CUBA_LI || model == SYNFIRE_MODEL_CUBA_LIF_EXACT ||
         model == SYNFIRE_MODEL_CUBA_LI_EXACT;
}

// The course of one neuron in f64.
struct Course {
  std::vector<double> v, current, spikes;
};

// Runs one f64 layer with one neuron; initial V and I are 0 unless given.
Course course_of(synfire_context context, int32_t model, bool undecayed, int32_t reset, const Named& parameters,
                 const std::vector<double>& x, double v_init = 0, double current_init = 0) {
  const auto n_steps = static_cast<int64_t>(x.size());
  synfire_layer_desc desc = describe_as(model, {n_steps, 1, 1}, SYNFIRE_DTYPE_F64, undecayed);
  desc.reset = reset;
  const Layer layer = make_layer(context, desc);
  bool fires = false;
  for (const auto& [name, values] : parameters) {
    set_parameter(layer, name, values);
    fires = fires || std::string(name) == "v_threshold";
  }
  Rows of_x(context, SYNFIRE_DTYPE_F64, x.size(), 1);
  Rows v(context, SYNFIRE_DTYPE_F64, x.size(), 1), w(context, SYNFIRE_DTYPE_F64, x.size(), 1),
      spikes(context, SYNFIRE_DTYPE_F64, x.size(), 1), v0(context, SYNFIRE_DTYPE_F64, 1, 1),
      w0(context, SYNFIRE_DTYPE_F64, 1, 1);
  of_x.put(x), v0.put({v_init}), w0.put({current_init});
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = of_x, forward.v_seq = v, forward.v_init = v0;
  if (has_current(model)) forward.w_seq = w, forward.w_init = w0;
  if (fires) forward.spikes = spikes;
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  return {v.get(), has_current(model) ? w.get() : std::vector<double>{}, fires ? spikes.get() : std::vector<double>{}};
}

std::vector<double> drawn(size_t count, double low, double high, uint64_t seed) {
  return Random(seed).values<double>(count, low, high);
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, const char* name,
                 double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), wanted.size()) << name;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], tolerance * std::fmax(1, std::fabs(wanted[i]))) << name << '[' << i << ']';
}

// ---- other frameworks -----------------------------------------------------------------------------------------------

// snnTorch's Synaptic: I = alpha I + X, V = beta V + I, with a soft reset of the same step; Lava's CUBA the same with
// 1 - du and 1 - dv and a hard reset.
TEST(CubaLif, WithTheCurrentFirstIsASecondOrderNeuron) {
  const Context context = make_context();
  const std::vector<double> x = drawn(60, -0.2, 0.8, 1);
  const double alpha = 0.7, beta = 0.85, threshold = 1.1;
  for (const int32_t reset : {SYNFIRE_RESET_HARD, SYNFIRE_RESET_SOFT}) {
    Course wanted;
    double i = 0, v = 0;
    for (const double input : x) {
      i = alpha * i + input;
      v = beta * v + i;
      const double spike = v >= threshold ? 1 : 0;
      v = reset == SYNFIRE_RESET_SOFT ? v - threshold * spike : v * (1 - spike);
      wanted.current.push_back(i), wanted.v.push_back(v), wanted.spikes.push_back(spike);
    }
    const Course got =
        course_of(context, SYNFIRE_MODEL_CUBA_LIF, true, reset,
                  {{"tau", {1 / (1 - beta)}}, {"tau_syn", {1 / (1 - alpha)}}, {"v_threshold", {threshold}}}, x);
    expect_near(got.v, wanted.v, "v");
    expect_near(got.current, wanted.current, "current");
    EXPECT_EQ(got.spikes, wanted.spikes);
    EXPECT_GT(std::accumulate(got.spikes.begin(), got.spikes.end(), 0.0), 5);
  }
}

// Norse's LIF: V takes the current before it decays and jumps.
TEST(CubaLif, WithTheMembraneFirstTakesTheCurrentOfTheStepBefore) {
  const Context context = make_context();
  const std::vector<double> x = drawn(80, -0.5, 2, 2);
  const double dt = 0.001, tau_mem_inv = 100, tau_syn_inv = 200, v_leak = 0.1, threshold = 0.6;
  Course wanted;
  double i = 0, v = 0;
  for (const double input : x) {
    v = v + dt * tau_mem_inv * ((v_leak - v) + i);
    i = i - dt * tau_syn_inv * i + input;
    const double spike = v >= threshold ? 1 : 0;
    v = (1 - spike) * v;
    wanted.current.push_back(i), wanted.v.push_back(v), wanted.spikes.push_back(spike);
  }
  const double tau = 1 / (dt * tau_mem_inv), tau_syn = 1 / (dt * tau_syn_inv);
  const Course got = course_of(context, SYNFIRE_MODEL_CUBA_LIF, false, SYNFIRE_RESET_HARD,
                               {{"tau", {tau}},
                                {"tau_syn", {tau_syn}},
                                {"v_rest", {v_leak}},
                                {"input_gain", {tau_syn}},
                                {"current_first", {0}},
                                {"v_threshold", {threshold}}},
                               x);
  expect_near(got.v, wanted.v, "v");
  expect_near(got.current, wanted.current, "current");
  EXPECT_EQ(got.spikes, wanted.spikes);
  EXPECT_GT(std::accumulate(got.spikes.begin(), got.spikes.end(), 0.0), 3);
}

// NIR's CubaLIF by forward Euler with a step of dt, its current updated first.
TEST(CubaLif, HasTheFieldsOfNir) {
  const Context context = make_context();
  const std::vector<double> x = drawn(50, 0, 1, 3);
  const double dt = 1e-4, tau_syn = 4e-4, tau_mem = 1.2e-3, r = 1.7, v_leak = -0.1, w_in = 2.5, threshold = 1,
               v_reset = 0.05;
  Course wanted;
  double i = 0, v = 0;
  for (const double input : x) {
    i += dt / tau_syn * (w_in * input - i);
    v += dt / tau_mem * (v_leak - v + r * i);
    const double spike = v >= threshold ? 1 : 0;
    v = spike != 0 ? v_reset : v;
    wanted.current.push_back(i), wanted.v.push_back(v), wanted.spikes.push_back(spike);
  }
  const Course got = course_of(context, SYNFIRE_MODEL_CUBA_LIF, false, SYNFIRE_RESET_HARD,
                               {{"tau", {tau_mem / dt}},
                                {"tau_syn", {tau_syn / dt}},
                                {"v_rest", {v_leak}},
                                {"gain", {r}},
                                {"input_gain", {w_in}},
                                {"v_threshold", {threshold}},
                                {"v_reset", {v_reset}}},
                               x);
  expect_near(got.v, wanted.v, "v");
  expect_near(got.current, wanted.current, "current");
  EXPECT_EQ(got.spikes, wanted.spikes);
  EXPECT_GT(std::accumulate(got.spikes.begin(), got.spikes.end(), 0.0), 2);
}

// The differential equation of LIF in 200 steps of Runge and Kutta for each step of the layer.
TEST(LifExact, SolvesTheEquationForAConstantInput) {
  const Context context = make_context();
  const double tau = 3.7, v_rest = 0.2, gain = 1.3, threshold = 1, v_reset = -0.1;
  const std::vector<double> x = drawn(30, -0.5, 3, 4);
  Course wanted;
  double v = 0;
  for (const double input : x) {
    constexpr int n = 200;
    const auto slope = [&](double at) { return (v_rest + gain * input - at) / tau / n; };
    for (int k = 0; k < n; ++k) {
      const double a = slope(v), b = slope(v + a / 2), c = slope(v + b / 2), d = slope(v + c);
      v += (a + 2 * b + 2 * c + d) / 6;
    }
    const double spike = v >= threshold ? 1 : 0;
    v = spike != 0 ? v_reset : v;
    wanted.v.push_back(v), wanted.spikes.push_back(spike);
  }
  const Course got = course_of(
      context, SYNFIRE_MODEL_LIF_EXACT, false, SYNFIRE_RESET_HARD,
      {{"tau", {tau}}, {"v_rest", {v_rest}}, {"gain", {gain}}, {"v_threshold", {threshold}}, {"v_reset", {v_reset}}},
      x);
  expect_near(got.v, wanted.v, "v", 1e-11);
  EXPECT_EQ(got.spikes, wanted.spikes);
  EXPECT_GT(std::accumulate(got.spikes.begin(), got.spikes.end(), 0.0), 3);
}

// A decay of e^(-dt/tau) beside a gain of dt/tau, and beside a gain of 1.
TEST(LifExact, HasADecayApartFromItsGain) {
  const Context context = make_context();
  const std::vector<double> x = drawn(20, -1, 1, 5);
  for (const double gain : {1 / 4.5, 1.0}) {
    std::vector<double> wanted;
    double v = 0;
    for (const double input : x) wanted.push_back(v = std::exp(-1 / 4.5) * v + gain * input);
    expect_near(course_of(context, SYNFIRE_MODEL_LI_EXACT, true, 0, {{"tau", {4.5}}, {"gain", {gain}}}, x).v, wanted,
                "v");
  }
}

TEST(Integrator, AddsItsInputs) {
  const Context context = make_context();
  const std::vector<double> x = drawn(20, -1, 1, 6);
  std::vector<double> wanted;
  double v = 0.25;
  for (const double input : x) wanted.push_back(v += 0.5 * input);
  expect_near(course_of(context, SYNFIRE_MODEL_INTEGRATOR, false, 0, {{"gain", {0.5}}}, x, 0.25).v, wanted, "v");
}

// ---- what a current leaves in a step --------------------------------------------------------------------------------

// The integral, in long double: by its closed form, or by its series where the two time constants are close.
double kappa_of(double tau, double tau_syn) {
  const long double a = 1 / static_cast<long double>(tau), b = 1 / static_cast<long double>(tau_syn), z = b - a;
  if (std::fabs(z) > 0.1L) return static_cast<double>((std::exp(-a) - std::exp(-b)) / z);
  long double sum = 0, term = 1;
  for (int k = 1; k < 30; ++k) {
    sum += term;
    term *= -z / (k + 1);
  }
  return static_cast<double>(std::exp(-a) * sum);
}

TEST(CubaLifExact, HasTheIntegralForTimeConstantsOfAnyRatio) {
  const Context context = make_context();
  std::vector<double> constants = {0.02, 0.3, 0.999, 1, 1.001, 2, 3.3, 50, 1e4, 1e9};
  constants.push_back(std::nextafter(2.0, 3.0));
  constants.push_back(1 / (0.5 - 1e-9));
  for (const double tau : constants)
    for (const double tau_syn : constants) {
      SCOPED_TRACE(testing::Message() << "tau " << tau << " tau_syn " << tau_syn);
      // An I of 1 before a step without X. With undecayed input, V is the integral itself.
      const Course got = course_of(context, SYNFIRE_MODEL_CUBA_LI_EXACT, true, 0,
                                   {{"tau", {tau}}, {"tau_syn", {tau_syn}}, {"current_first", {0}}}, {0.0}, 0, 1);
      const double wanted = kappa_of(tau, tau_syn);
      const double rounding = 4e-15 * (1 + 1 / tau + 1 / tau_syn);
      ASSERT_NEAR(got.v[0], wanted, rounding * wanted);
      ASSERT_NEAR(got.current[0], std::exp(-1 / tau_syn), 4e-16 * (1 + 1 / tau_syn));
      const Course decayed = course_of(context, SYNFIRE_MODEL_CUBA_LI_EXACT, false, 0,
                                       {{"tau", {tau}}, {"tau_syn", {tau_syn}}, {"current_first", {0}}}, {0.0}, 0, 1);
      ASSERT_NEAR(decayed.v[0], wanted / tau, rounding * wanted / tau);
    }
}

// Two steps of half the length are one step: the solution is exact.
TEST(CubaLifExact, DoesNotDependOnTheLengthOfAStep) {
  const Context context = make_context();
  const std::vector<double> jumps = drawn(20, 0, 1, 7);
  std::vector<double> half;
  for (const double jump : jumps) half.push_back(jump), half.push_back(0);
  const double tau = 6, tau_syn = 2.5;
  const auto run = [&](double scale, const std::vector<double>& x) {
    return course_of(context, SYNFIRE_MODEL_CUBA_LI_EXACT, true, 0,
                     {{"tau", {tau * scale}}, {"tau_syn", {tau_syn * scale}}, {"gain", {1 / scale}}, {"v_rest", {0.3}}},
                     x)
        .v;
  };
  const std::vector<double> whole = run(1, jumps), halves = run(2, half);
  std::vector<double> every_second;
  for (size_t i = 1; i < halves.size(); i += 2) every_second.push_back(halves[i]);
  expect_near(every_second, whole, "v");
}

// ---- models without spikes ------------------------------------------------------------------------------------------

struct Case {
  int32_t model;
  Shape shape;
  int32_t dtype;
  bool undecayed = false, per_neuron = false;
  int32_t tape = SYNFIRE_TAPE_RECOMPUTE;
};

// All arrays of a run without spikes, one after another.
std::vector<std::vector<double>> arrays_of(synfire_context context, const Case& c, int32_t model) {
  synfire_layer_desc desc = describe_as(model, c.shape, c.dtype, c.undecayed);
  const Layer layer = make_layer(context, desc);
  const bool current = has_current(model), fires = model == SYNFIRE_MODEL_LIF_EXACT || model == SYNFIRE_MODEL_IF ||
                                                   model == SYNFIRE_MODEL_CUBA_LIF ||
                                                   model == SYNFIRE_MODEL_CUBA_LIF_EXACT;
  const auto n = static_cast<size_t>(c.shape.n_neurons);
  std::vector<const char*> names = {"tau", "v_rest", "gain"};
  if (current) names.insert(names.end(), {"tau_syn", "input_gain", "current_first"});
  if (model == SYNFIRE_MODEL_IF || model == SYNFIRE_MODEL_INTEGRATOR) names.clear();
  Random random(11);
  for (const char* const name : names) {
    const bool share = std::string(name) == "current_first";
    set_parameter(layer, name, random.values<double>(c.per_neuron ? n : 1, share ? 0 : 1.5, share ? 1 : 6));
  }
  if (fires) set_parameter(layer, "v_threshold", {1e30});
  const auto steps = static_cast<size_t>(c.shape.n_steps), row = c.shape.row();
  const int32_t arithmetic = arithmetic_of(c.dtype);
  const auto sequence = [&] { return Rows(context, c.dtype, steps, row); };
  const auto rows = [&](size_t count) { return Rows(context, arithmetic, 1, count); };
  Rows x = sequence(), v_seq = sequence(), w_seq = sequence(), grad_v = sequence(), grad_w = sequence(),
       grad_x = sequence();
  Rows v_init = rows(row), w_init = rows(row), v_final = rows(row), w_final = rows(row), grad_v_init = rows(row),
       grad_w_init = rows(row), grad_final = rows(row);
  for (Rows* const one : {&x, &grad_v, &grad_w})
    one->put(stored_as(c.dtype, random.values<double>(c.shape.sequence(), -1, 2)));
  for (Rows* const one : {&v_init, &w_init, &grad_final})
    one->put(stored_as(arithmetic, random.values<double>(row, -1, 1)));
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.tape = c.tape;
  forward.x = x, forward.v_init = v_init, forward.v_seq = v_seq, forward.v_final = v_final;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_v_seq = grad_v, backward.grad_v_final = grad_final;
  backward.grad_x_seq = grad_x, backward.grad_v_init = grad_v_init;
  if (current) {
    forward.w_init = w_init, forward.w_seq = w_seq, forward.w_final = w_final;
    backward.grad_w_seq = grad_w, backward.grad_w_init = grad_w_init;
  }
  std::vector<Rows> gradients;
  std::vector<synfire_parameter_gradient> asked;
  for (size_t i = 0; i < names.size(); ++i) gradients.push_back(rows(i % 2 == 0 ? 1 : n));
  for (size_t i = 0; i < names.size(); ++i) asked.push_back({names[i], gradients[i]});
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr));
  std::vector<std::vector<double>> all = {v_seq.get(), v_final.get(), grad_x.get(), grad_v_init.get()};
  if (current) all.insert(all.end(), {w_seq.get(), w_final.get(), grad_w_init.get()});
  // The same again with gradients of the parameters.
  backward.parameter_gradients = asked.data(), backward.n_parameter_gradients = asked.size();
  if (!asked.empty()) {
    EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr));
  }
  all.push_back(grad_x.get());
  for (const Rows& gradient : gradients) all.push_back(gradient.get());
  return all;
}

TEST(ModelsWithoutSpikes, HaveTheNumbersOfThoseThatFireBelowTheirThreshold) {
  const Context context = make_context();
  const std::pair<int32_t, int32_t> pairs[] = {{SYNFIRE_MODEL_LI_EXACT, SYNFIRE_MODEL_LIF_EXACT},
                                               {SYNFIRE_MODEL_CUBA_LI, SYNFIRE_MODEL_CUBA_LIF},
                                               {SYNFIRE_MODEL_CUBA_LI_EXACT, SYNFIRE_MODEL_CUBA_LIF_EXACT},
                                               {SYNFIRE_MODEL_INTEGRATOR, SYNFIRE_MODEL_IF}};
  Sample cases;
  for (const auto& [silent, firing] : pairs)
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{33, 3, 20}, Shape{70, 1, 65}})
      for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
        for (const bool undecayed : {false, true})
          for (const bool per_neuron : {false, true})
            for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW}) {
              const bool narrow = tape == SYNFIRE_TAPE_STORE_NARROW;
              if ((narrow && !is_narrow(dtype)) || (undecayed && silent == SYNFIRE_MODEL_INTEGRATOR) || !cases.next())
                continue;
              SCOPED_TRACE(testing::Message() << silent << " dtype " << dtype << " tape " << tape << " T "
                                              << shape.n_steps << " undecayed " << undecayed << " each " << per_neuron);
              const Case c = {silent, shape, dtype, undecayed, per_neuron, tape};
              ASSERT_EQ(arrays_of(context, c, silent), arrays_of(context, c, firing));
            }
}

// A V that is not finite does not fire, and its gradient is that of a linear model.
TEST(ModelsWithoutSpikes, DoNotFireAtInfinity) {
  const Context context = make_context();
  const Layer layer = make_layer(context, describe_as(SYNFIRE_MODEL_CUBA_LI, {3, 1, 1}, SYNFIRE_DTYPE_F32));
  Rows w_init(context, SYNFIRE_DTYPE_F32, 1, 1), x(context, SYNFIRE_DTYPE_F32, 3, 1),
      v(context, SYNFIRE_DTYPE_F32, 3, 1), v_init(context, SYNFIRE_DTYPE_F32, 1, 1),
      grad_v(context, SYNFIRE_DTYPE_F32, 3, 1), grad_x(context, SYNFIRE_DTYPE_F32, 3, 1);
  const double infinity = std::numeric_limits<double>::infinity();
  x.put({0, 0, 0}), v_init.put({infinity}), w_init.put({0}), grad_v.put({0, 0, 1});
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x, forward.v_init = v_init, forward.w_init = w_init, forward.v_seq = v;
  ASSERT_OK(synfire_layer_forward(layer, &forward, nullptr));
  EXPECT_EQ(v.get(), std::vector<double>(3, infinity));
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_v_seq = grad_v, backward.grad_x_seq = grad_x;
  ASSERT_OK(synfire_layer_backward(layer, &backward, nullptr));
  EXPECT_FLOAT_EQ(static_cast<float>(grad_x.get()[2]), 0.1F * 0.2F);
  EXPECT_TRUE(std::isfinite(grad_x.get()[0]));
}

// ---- names, ranges, refusals ----------------------------------------------------------------------------------------

TEST(CubaLif, NamesItsCurrent) {
  const Context context = make_context();
  for (const int32_t model : {SYNFIRE_MODEL_CUBA_LIF, SYNFIRE_MODEL_CUBA_LI}) {
    const Layer layer = make_layer(context, describe_as(model, {4, 2, 3}, SYNFIRE_DTYPE_F32));
    const std::vector<float> set = {1, 2, 3, 4, 5, 6};
    ASSERT_OK(synfire_layer_write_state(layer, "current", set.data(), sizeof(float) * set.size()));
    std::vector<float> got(6);
    ASSERT_OK(synfire_layer_read_state(layer, "w", got.data(), sizeof(float) * got.size()));
    EXPECT_EQ(got, set);
    ASSERT_OK(synfire_layer_reset_state(layer, nullptr));
    ASSERT_OK(synfire_layer_read_state(layer, "current", got.data(), sizeof(float) * got.size()));
    EXPECT_EQ(got, std::vector<float>(6));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-STATE-NAME", "current"),
                 synfire_layer_read_state(layer, "i", got.data(), sizeof(float) * got.size()));
  }
}

TEST(CubaLif, RefusesTimeConstantsBelowAStep) {
  const Context context = make_context();
  struct Refused {
    int32_t model;
    const char* name;
    double value;
  };
  const Refused all[] = {
      {SYNFIRE_MODEL_CUBA_LIF, "tau", 0.99},          {SYNFIRE_MODEL_CUBA_LIF, "tau_syn", 0.5},
      {SYNFIRE_MODEL_CUBA_LI, "tau_syn", 0},          {SYNFIRE_MODEL_CUBA_LIF, "current_first", 1.01},
      {SYNFIRE_MODEL_CUBA_LI, "current_first", -0.1}, {SYNFIRE_MODEL_CUBA_LIF_EXACT, "tau", 0},
      {SYNFIRE_MODEL_CUBA_LIF_EXACT, "tau_syn", -1},  {SYNFIRE_MODEL_LIF_EXACT, "tau", 0}};
  for (const Refused& one : all) {
    SCOPED_TRACE(testing::Message() << one.model << ' ' << one.name);
    const Layer layer = make_layer(context, describe_as(one.model, {4, 1, 3}, SYNFIRE_DTYPE_F32));
    double before = 0, after = 0;
    ASSERT_OK(synfire_layer_get_parameter(layer, one.name, &before, 1));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-RANGE", one.name),
                 synfire_layer_set_parameter(layer, one.name, &one.value, 1));
    ASSERT_OK(synfire_layer_get_parameter(layer, one.name, &after, 1));
    EXPECT_EQ(before, after);
  }
  // Solved exactly, any time constant has constants; one whose reciprocal overflows has not.
  const Layer exact = make_layer(context, describe_as(SYNFIRE_MODEL_CUBA_LIF_EXACT, {4, 1, 3}, SYNFIRE_DTYPE_F32));
  const double small = 1e-3, too_small = 1e-310;
  EXPECT_OK(synfire_layer_set_parameter(exact, "tau", &small, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-OVERFLOW", "tau"),
               synfire_layer_set_parameter(exact, "tau", &too_small, 1));
}

TEST(ModelsWithoutSpikes, RefuseRulesOfFiring) {
  const Context context = make_context();
  for (const int32_t model :
       {SYNFIRE_MODEL_LI_EXACT, SYNFIRE_MODEL_CUBA_LI, SYNFIRE_MODEL_CUBA_LI_EXACT, SYNFIRE_MODEL_INTEGRATOR}) {
    for (int field = 0; field < 3; ++field) {
      synfire_layer_desc desc = describe_as(model, {4, 1, 3}, SYNFIRE_DTYPE_F32);
      (field == 0 ? desc.surrogate : field == 1 ? desc.reset : desc.detach_reset) = 1;
      synfire_layer layer = nullptr;
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-LAYER-NO-SPIKES"),
                   synfire_layer_create(context, &desc, &layer));
      EXPECT_EQ(layer, nullptr);
    }
    const Layer layer = make_layer(context, describe_as(model, {4, 1, 3}, SYNFIRE_DTYPE_F32));
    const double value = 1;
    for (const char* const name : {"v_threshold", "v_reset", "alpha"})
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-NAME", "gain"),
                   synfire_layer_set_parameter(layer, name, &value, 1));
    // The layer describes itself as one that can be made.
    synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
    ASSERT_OK(synfire_layer_get_desc(layer, &desc));
    const Layer again = make_layer(context, desc);
    const Rows spikes(context, SYNFIRE_DTYPE_F32, 4, 3), x(context, SYNFIRE_DTYPE_F32, 4, 3);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x, forward.spikes = spikes;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-LAYER-NO-SPIKES", "spikes"),
                 synfire_layer_forward(again, &forward, nullptr));
  }
}

// ---- networks -------------------------------------------------------------------------------------------------------

// Graphs update time constants of a current per neuron, with the bits of eager calls.
TEST(CubaLif, LearnsItsTimeConstantsInAGraph) {
  const Context context = make_context();
  constexpr size_t n = 9;
  for (const int32_t model : {SYNFIRE_MODEL_CUBA_LI, SYNFIRE_MODEL_CUBA_LI_EXACT}) {
    Rig<float> rig(context, describe_as(model, {20, 2, n}, SYNFIRE_DTYPE_F32)),
        eager(context, describe_as(model, {20, 2, n}, SYNFIRE_DTYPE_F32));
    const auto inputs = random_inputs<float>(rig.shape, 6);
    rig.load(inputs), eager.load(inputs);
    std::vector<double> tau(n, 3.0);
    set_parameter(rig.layer, "tau_syn", tau);
    const Buffer gradient = make_buffer(context, SYNFIRE_DTYPE_F32, n);
    const synfire_parameter_gradient asked = {"tau_syn", gradient};
    const Graph graph = make_graph(context);
    const synfire_forward_desc forward = rig.forward_desc({Spikes::none, false});
    synfire_backward_desc backward = rig.backward_desc({false});
    backward.parameter_gradients = &asked, backward.n_parameter_gradients = 1;
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
    EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
    record_update(graph, rig.layer, "tau_syn", gradient, 0.01);
    EXPECT_OK(synfire_graph_instantiate(graph));
    synfire_backward_desc again = eager.backward_desc({false});
    again.parameter_gradients = &asked, again.n_parameter_gradients = 1;
    for (int step = 0; step < 3; ++step) {
      rig.poison();
      replay(graph);
      const auto computed = rig.backward_outputs();
      set_parameter(eager.layer, "tau_syn", tau);
      EXPECT_OK(eager.run_forward({Spikes::none, false}));
      eager.poison();
      EXPECT_OK(synfire_layer_backward(eager.layer, &again, nullptr));
      EXPECT_TRUE(same_bits(computed, eager.backward_outputs()));
      const auto slopes = download<float>(gradient, n);
      std::vector<double> updated(n);
      EXPECT_OK(synfire_layer_get_parameter(rig.layer, "tau_syn", updated.data(), n));
      for (size_t i = 0; i < n; ++i) tau[i] = std::fma(-0.01, static_cast<double>(slopes[i]), tau[i]);
      EXPECT_EQ(updated, tau);
    }
  }
}

}  // namespace
}  // namespace synfire_test
