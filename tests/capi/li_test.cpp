// The leaky integrator (SYNFIRE_MODEL_LI): its values and gradients against sums written out in f64, LIF that never
// reaches its threshold, every dtype, tape mode and placement, and what a layer without spikes refuses.
#include "recording_support.hpp"
#include "storage_rig.hpp"

#include <cmath>
#include <numeric>

namespace synfire_test {
namespace {

synfire_layer_desc describe_li(const Shape& shape, int32_t dtype = SYNFIRE_DTYPE_F32, bool undecayed = false) {
  synfire_layer_desc desc = describe(shape, dtype);
  desc.model = SYNFIRE_MODEL_LI;
  desc.undecayed_input = undecayed ? 1 : 0;
  return desc;
}

// ---- the reference --------------------------------------------------------------------------------------------------

/// One neuron, as sums over its inputs instead of a recursion:
///
///     V[t] = v_rest + d^t (V[0] − v_rest) + gain Σ_{s ≤ t} d^{t−s} X[s],   d = 1 − 1/tau
struct Integrator {
  double tau = 2, v_rest = 0, v_init = 0;
  bool undecayed = false;
  std::vector<double> x;

  double decay() const { return 1 - 1 / tau; }
  double gain() const { return undecayed ? 1 : 1 / tau; }
  double v(size_t t) const {
    double sum = 0;
    for (size_t s = 0; s <= t; ++s) sum += std::pow(decay(), static_cast<double>(t - s)) * x[s];
    return v_rest + std::pow(decay(), static_cast<double>(t + 1)) * (v_init - v_rest) + gain() * sum;
  }
  /// Σ grad_v[t] V[t], the last V with grad_final in addition.
  double loss(const std::vector<double>& grad_v, double grad_final) const {
    double sum = grad_final * v(x.size() - 1);
    for (size_t t = 0; t < x.size(); ++t) sum += grad_v[t] * v(t);
    return sum;
  }
  template <class F>
  double slope(const std::vector<double>& grad_v, double grad_final, F move) const {
    constexpr double h = 1e-5;
    Integrator above = *this, below = *this;
    move(above, h);
    move(below, -h);
    return (above.loss(grad_v, grad_final) - below.loss(grad_v, grad_final)) / (2 * h);
  }
};

/// All arrays of one run of a layer.
struct Arrays {
  std::vector<double> v_seq, v_final, grad_x, grad_v_init, grad_tau, grad_v_rest;
};

struct Case {
  Shape shape;
  int32_t dtype = SYNFIRE_DTYPE_F32;
  bool undecayed = false, per_neuron = false;
  int32_t tape = SYNFIRE_TAPE_RECOMPUTE;
  bool f32_sequences = false;
  Placement placement = {};
  bool parameter_gradients = true;
};
std::string name_of(const Case& c) {
  return "T " + std::to_string(c.shape.n_steps) + " B " + std::to_string(c.shape.batch) + " N " +
         std::to_string(c.shape.n_neurons) + " dtype " + std::to_string(c.dtype) + (c.undecayed ? " undecayed" : "") +
         (c.per_neuron ? " per neuron" : "") + " tape " + std::to_string(c.tape) + (c.f32_sequences ? " f32" : "") +
         " padding " + std::to_string(c.placement.padding);
}

/// Inputs, stored as the case stores them.
struct Drive {
  explicit Drive(const Case& c) {
    Random random(static_cast<uint64_t>(c.shape.n_neurons * 100 + c.shape.n_steps));
    const int32_t stored = c.f32_sequences ? SYNFIRE_DTYPE_F32 : c.dtype, arithmetic = arithmetic_of(c.dtype);
    x = stored_as(stored, random.values<double>(c.shape.sequence(), -1, 2));
    grad_v = stored_as(stored, random.values<double>(c.shape.sequence(), -1, 1));
    v_init = stored_as(arithmetic, random.values<double>(c.shape.row(), -1, 1));
    grad_final = stored_as(arithmetic, random.values<double>(c.shape.row(), -1, 1));
    const auto n = static_cast<size_t>(c.shape.n_neurons);
    tau = c.per_neuron ? random.values<double>(n, 1.5, 8) : std::vector<double>{3};
    v_rest = {0.25};
  }
  std::vector<double> x, grad_v, v_init, grad_final, tau, v_rest;
};

/// Runs the layer of this model; `run` is called with its forward and backward.
Arrays run(synfire_context context, const Case& c, const Drive& drive, int32_t model = SYNFIRE_MODEL_LI) {
  synfire_layer_desc desc = describe_li(c.shape, c.dtype, c.undecayed);
  desc.model = model;
  const Layer layer = make_layer(context, desc);
  set_parameter(layer, "tau", drive.tau);
  set_parameter(layer, "v_rest", drive.v_rest);
  if (model == SYNFIRE_MODEL_LIF) set_parameter(layer, "v_threshold", {1e30});
  const int32_t stored = c.f32_sequences ? SYNFIRE_DTYPE_F32 : c.dtype, arithmetic = arithmetic_of(c.dtype);
  const auto steps = static_cast<size_t>(c.shape.n_steps);
  const auto sequence = [&] { return Rows(context, stored, steps, c.shape.row(), c.placement); };
  const auto row = [&](size_t count) { return Rows(context, arithmetic, 1, count); };
  Rows x = sequence(), v_seq = sequence(), grad_v = sequence(), grad_x = sequence();
  Rows v_init = row(c.shape.row()), v_final = row(c.shape.row()), grad_final = row(c.shape.row()),
       grad_v_init = row(c.shape.row()), grad_tau = row(drive.tau.size()), grad_v_rest = row(1);
  x.put(drive.x), grad_v.put(drive.grad_v), v_init.put(drive.v_init), grad_final.put(drive.grad_final);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.tape = c.tape;
  forward.x = x, forward.v_init = v_init, forward.v_seq = v_seq, forward.v_final = v_final;
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  const synfire_parameter_gradient asked[] = {{"tau", grad_tau}, {"v_rest", grad_v_rest}};
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_v_seq = grad_v, backward.grad_v_final = grad_final;
  backward.grad_x_seq = grad_x, backward.grad_v_init = grad_v_init;
  if (c.parameter_gradients) backward.parameter_gradients = asked, backward.n_parameter_gradients = 2;
  EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr));
  return {v_seq.get(), v_final.get(), grad_x.get(), grad_v_init.get(), grad_tau.get(), grad_v_rest.get()};
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance,
                 const char* name) {
  ASSERT_EQ(got.size(), wanted.size()) << name;
  double largest = 1e-3;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < got.size(); ++i)
    if (!(std::abs(got[i] - wanted[i]) <= tolerance * largest)) {
      ADD_FAILURE() << name << '[' << i << "]: " << got[i] << " against " << wanted[i];
      return;
    }
}

Arrays reference(const Case& c, const Drive& drive) {
  const size_t row = c.shape.row(), steps = static_cast<size_t>(c.shape.n_steps),
               n = static_cast<size_t>(c.shape.n_neurons);
  Arrays out{std::vector<double>(steps * row),      std::vector<double>(row),
             std::vector<double>(steps * row),      std::vector<double>(row),
             std::vector<double>(drive.tau.size()), std::vector<double>(1)};
  for (size_t i = 0; i < row; ++i) {
    const size_t own = drive.tau.size() > 1 ? i % n : 0;
    Integrator neuron{drive.tau[own], drive.v_rest[0], drive.v_init[i], c.undecayed, {}};
    std::vector<double> grad_v;
    for (size_t t = 0; t < steps; ++t) {
      neuron.x.push_back(drive.x[t * row + i]);
      grad_v.push_back(drive.grad_v[t * row + i]);
    }
    for (size_t t = 0; t < steps; ++t) out.v_seq[t * row + i] = neuron.v(t);
    out.v_final[i] = neuron.v(steps - 1);
    const double final = drive.grad_final[i];
    for (size_t s = 0; s < steps; ++s) {
      double sum = final * std::pow(neuron.decay(), static_cast<double>(steps - 1 - s));
      for (size_t t = s; t < steps; ++t) sum += grad_v[t] * std::pow(neuron.decay(), static_cast<double>(t - s));
      out.grad_x[s * row + i] = neuron.gain() * sum;
      if (s == 0) out.grad_v_init[i] = neuron.decay() * sum;
    }
    out.grad_tau[own] += neuron.slope(grad_v, final, [](Integrator& moved, double h) { moved.tau += h; });
    out.grad_v_rest[0] += neuron.slope(grad_v, final, [](Integrator& moved, double h) { moved.v_rest += h; });
  }
  return out;
}

/// The rounding of a dtype, times a little.
double tolerance_of(const Case& c) {
  switch (c.f32_sequences ? SYNFIRE_DTYPE_F32 : c.dtype) {
    case SYNFIRE_DTYPE_F64:
      return 1e-12;
    case SYNFIRE_DTYPE_F16:
      return 1e-3;
    case SYNFIRE_DTYPE_BF16:
      return 8e-3;
    default:
      return 3e-6;
  }
}

void expect_as_reference(synfire_context context, const Case& c) {
  SCOPED_TRACE(name_of(c));
  const Drive drive(c);
  const Arrays got = run(context, c, drive), wanted = reference(c, drive);
  const double tolerance = tolerance_of(c);
  const double arithmetic = c.dtype == SYNFIRE_DTYPE_F64 ? 1e-12 : 3e-6;
  expect_near(got.v_seq, wanted.v_seq, tolerance, "v_seq");
  expect_near(got.v_final, wanted.v_final, arithmetic, "v_final");
  expect_near(got.grad_x, wanted.grad_x, tolerance, "grad_x");
  expect_near(got.grad_v_init, wanted.grad_v_init, arithmetic, "grad_v_init");
  if (!c.parameter_gradients) return;
  // The reference is a difference quotient; a narrow tape carries the rounding of V.
  const double differences = c.dtype == SYNFIRE_DTYPE_F64 ? 1e-7 : c.tape == SYNFIRE_TAPE_STORE_NARROW ? 2e-2 : 1e-4;
  expect_near(got.grad_tau, wanted.grad_tau, differences, "grad_tau");
  expect_near(got.grad_v_rest, wanted.grad_v_rest, differences, "grad_v_rest");
}

const Shape shapes[] = {{1, 1, 1}, {5, 1, 33}, {32, 2, 7}, {33, 3, 20}, {70, 1, 64}, {100, 2, 5}};
constexpr int32_t dtypes[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16};

// ---- values ---------------------------------------------------------------------------------------------------------

TEST(LeakyIntegrator, IsTheSumOfItsDecayedInputsAndSoAreItsGradients) {
  const Context context = make_context();
  for (const Shape& shape : shapes)
    for (const int32_t dtype : dtypes)
      for (const bool undecayed : {false, true})
        for (const bool per_neuron : {false, true})
          for (const bool gradients : {false, true})
            expect_as_reference(context,
                                {shape, dtype, undecayed, per_neuron, SYNFIRE_TAPE_RECOMPUTE, false, {}, gradients});
}

TEST(LeakyIntegrator, TakesEveryTapePlacementAndSequencesOfF32) {
  const Context context = make_context();
  Sample cases;
  for (const Shape& shape : {Shape{33, 3, 20}, Shape{70, 1, 64}})
    for (const int32_t dtype : dtypes)
      for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW})
        for (const Placement placement : {Placement{}, Placement{1, 3}})
          for (const bool f32 : {false, true})
            for (const bool gradients : {false, true}) {
              if ((!is_narrow(dtype) && (tape == SYNFIRE_TAPE_STORE_NARROW || f32)) || !cases.next()) continue;
              expect_as_reference(context, {shape, dtype, false, false, tape, f32, placement, gradients});
            }
}

// LIF that never reaches its threshold has no spikes either.
void expect_as_lif(synfire_context context, const Case& c) {
  SCOPED_TRACE(name_of(c));
  const Drive drive(c);
  Case without = c;
  without.parameter_gradients = false;
  const Arrays li = run(context, c, drive), lif = run(context, c, drive, SYNFIRE_MODEL_LIF),
               short_way = run(context, without, drive);
  EXPECT_EQ(li.v_seq, lif.v_seq);
  EXPECT_EQ(li.v_final, lif.v_final);
  EXPECT_EQ(li.grad_x, lif.grad_x);
  EXPECT_EQ(li.grad_v_init, lif.grad_v_init);
  EXPECT_EQ(li.grad_tau, lif.grad_tau);
  EXPECT_EQ(li.grad_v_rest, lif.grad_v_rest);
  // Gradients of parameters take another way through the same numbers.
  EXPECT_TRUE(same_bits(short_way.grad_x, li.grad_x));
  EXPECT_TRUE(same_bits(short_way.grad_v_init, li.grad_v_init));
}

TEST(LeakyIntegrator, HasTheNumbersOfLifBelowItsThreshold) {
  const Context context = make_context();
  for (const Shape& shape : shapes)
    for (const int32_t dtype : dtypes)
      for (const bool undecayed : {false, true})
        for (const bool per_neuron : {false, true}) expect_as_lif(context, {shape, dtype, undecayed, per_neuron});
}

// So many that a GPU gives several to each thread.
TEST(LeakyIntegrator, HasThemWithManyNeurons) {
  const Context context = make_context();
  const int64_t many = on_host() ? 4096 : 139264;
  for (const int32_t dtype : dtypes)
    for (const bool per_neuron : {false, true}) expect_as_lif(context, {{3, 1, many}, dtype, false, per_neuron});
  expect_as_lif(context, {{3, 1, many + 1}});
}

TEST(LeakyIntegrator, HasTheSameBitsOnAnyNumberOfThreads) {
  const Case c{{40, 2, 20011}, SYNFIRE_DTYPE_F32, false, false, SYNFIRE_TAPE_RECOMPUTE, false, {}, false};
  const Drive drive(c);
  const Context one = make_context(1), many = make_context(3);
  const Arrays a = run(one, c, drive), b = run(many, c, drive);
  EXPECT_TRUE(same_bits(a.v_seq, b.v_seq));
  EXPECT_TRUE(same_bits(a.grad_x, b.grad_x));
  EXPECT_TRUE(same_bits(a.grad_v_init, b.grad_v_init));
}

TEST(LeakyIntegrator, HIsV) {
  const Context context = make_context();
  Rig<float> rig(context, describe_li({9, 2, 13}));
  rig.load(random_inputs<float>(rig.shape, 3));
  const auto outputs = rig.forward({Spikes::none});
  EXPECT_TRUE(same_bits(outputs.h_seq, outputs.v_seq));
  const auto last = slice(outputs.v_seq, rig.shape.sequence() - rig.shape.row(), rig.shape.row());
  EXPECT_TRUE(same_bits(outputs.v_final, last));
}

// ---- state, absent gradients, active rows ---------------------------------------------------------------------------

TEST(LeakyIntegrator, BeginsAtZeroAndContinues) {
  const Context context = make_context();
  const Shape once{12, 1, 5}, twice{24, 1, 5};
  Rig<float> rig(context, describe_li(once)), whole(context, describe_li(twice));
  const auto inputs = random_inputs<float>(twice, 8);
  whole.load(inputs);
  set_parameter(whole.layer, "v_rest", {0.5});
  set_parameter(rig.layer, "v_rest", {0.5});
  EXPECT_TRUE(all_are(read_state<float>(rig.layer, 5), 0.0f));
  const ForwardChoice from_state{Spikes::none, false};
  const auto wanted = whole.forward(from_state);
  std::vector<float> got;
  for (const size_t half : {size_t{0}, size_t{1}}) {
    upload(rig.x, slice(inputs.x, half * once.sequence(), once.sequence()));
    got = joined(got, rig.forward(from_state).v_seq);
  }
  EXPECT_TRUE(same_bits(got, wanted.v_seq));
  EXPECT_OK(synfire_layer_reset_state(rig.layer, nullptr));
  EXPECT_TRUE(all_are(read_state<float>(rig.layer, 5), 0.0f));
}

TEST(LeakyIntegrator, AnAbsentGradientAddsNotEvenTheSignOfAZero) {
  const Context context = make_context();
  for (const Shape& shape : {Shape{3, 2, 19}, Shape{40, 1, 8}}) {
    Rig<float> rig(context, describe_li(shape));
    Inputs<float> inputs = random_inputs<float>(shape, 1);
    inputs.grad_v_seq.assign(shape.sequence(), -0.0f);
    inputs.grad_v_final.assign(shape.row(), -0.0f);
    rig.load(inputs);
    EXPECT_OK(rig.run_forward({Spikes::none}));
    const auto given = rig.backward({false, true}), absent = rig.backward({false, false});
    EXPECT_TRUE(same_bits(given, absent));
    EXPECT_TRUE(all_are(given.grad_x_seq, -0.0f));
  }
}

TEST(LeakyIntegrator, LeavesInactiveRowsAlone) {
  const Context context = make_context();
  Rig<float> rig(context, describe_li({6, 3, 8}));
  rig.load(random_inputs<float>(rig.shape, 2));
  const auto all = rig.forward({Spikes::none});
  const auto all_back = rig.backward({false});
  EXPECT_OK(synfire_layer_set_n_active(rig.layer, 2));
  const auto some = rig.forward({Spikes::none});
  const auto some_back = rig.backward({false});
  for (size_t i = 0; i < rig.shape.sequence(); ++i) {
    const bool active = i % rig.shape.row() < 16;
    EXPECT_EQ(active, some.v_seq[i] == all.v_seq[i]);
    EXPECT_EQ(active, some_back.grad_x_seq[i] == all_back.grad_x_seq[i]);
  }
}

// ---- tapes ----------------------------------------------------------------------------------------------------------

// Without gradients of parameters, the backward reads neither X nor H.
TEST(LeakyIntegrator, NeedsXAgainForGradientsOfParametersOnly) {
  const Context context = make_context();
  Rig<float> rig(context, describe_li({40, 1, 10}));
  rig.load(random_inputs<float>(rig.shape, 4));
  EXPECT_OK(rig.run_forward({Spikes::none}));
  const auto before = rig.backward({false});
  EXPECT_OK(synfire_buffer_fill(rig.x, 7));
  EXPECT_TRUE(same_bits(rig.backward({false}), before));
  const Buffer gradient = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  const synfire_parameter_gradient asked = {"tau", gradient};
  synfire_backward_desc desc = rig.backward_desc({false});
  desc.parameter_gradients = &asked, desc.n_parameter_gradients = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN"), synfire_layer_backward(rig.layer, &desc, nullptr));
}

TEST(LeakyIntegrator, MayPutHOverX) {
  const Context context = make_context();
  Rig<float> rig(context, describe_li({40, 1, 10}));
  rig.load(random_inputs<float>(rig.shape, 5));
  EXPECT_OK(rig.run_forward({Spikes::none}));
  const auto wanted = rig.backward({false});
  synfire_forward_desc desc = rig.forward_desc({Spikes::none});
  desc.tape = SYNFIRE_TAPE_STORE, desc.in_place = 1;
  desc.h_seq = nullptr;
  EXPECT_OK(synfire_layer_forward(rig.layer, &desc, nullptr));
  EXPECT_TRUE(
      same_bits(download<float>(rig.x, rig.shape.sequence()), download<float>(rig.v_seq, rig.shape.sequence())));
  EXPECT_TRUE(same_bits(rig.backward({false}), wanted));
}

TEST(LeakyIntegrator, TakesNoMemoryForSpikes) {
  for (const int32_t dtype : dtypes) {
    synfire_layer_desc desc = describe_li({100, 1, 21}, dtype);
    synfire_layer_memory li = SYNFIRE_LAYER_MEMORY_INIT, lif = SYNFIRE_LAYER_MEMORY_INIT;
    ASSERT_OK(synfire_layer_query_memory(&desc, &li));
    desc.model = SYNFIRE_MODEL_LIF;
    ASSERT_OK(synfire_layer_query_memory(&desc, &lif));
    EXPECT_EQ(li.narrow_tape_spike_bytes, 0u);
    EXPECT_EQ(li.narrow_tape_bytes, lif.narrow_tape_bytes);
    EXPECT_EQ(li.tape_bytes, lif.tape_bytes);
    EXPECT_EQ(li.state_bytes, lif.state_bytes);
    EXPECT_EQ(li.gradient_bytes * 2, lif.gradient_bytes);  // of two parameters instead of four
    EXPECT_LT(li.per_neuron_parameter_bytes, lif.per_neuron_parameter_bytes);
  }
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

// A layer of LIF, then the integrator over its input; replays train tau towards what the eager calls compute.
TEST(LeakyIntegrator, LearnsItsTauInAGraph) {
  for (const bool per_neuron : {false, true}) {
    const Context context = make_context();
    Rig<float> rig(context, describe_li({20, 2, 9})), eager(context, describe_li({20, 2, 9}));
    const auto inputs = random_inputs<float>(rig.shape, 6);
    rig.load(inputs), eager.load(inputs);
    std::vector<double> tau(per_neuron ? 9 : 1, 3.0);
    set_parameter(rig.layer, "tau", tau);
    const Buffer gradient = make_buffer(context, SYNFIRE_DTYPE_F32, tau.size());
    const synfire_parameter_gradient asked = {"tau", gradient};
    const Graph graph = make_graph(context);
    const synfire_forward_desc forward = rig.forward_desc({Spikes::none});
    synfire_backward_desc backward = rig.backward_desc({false});
    backward.parameter_gradients = &asked, backward.n_parameter_gradients = 1;
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
    EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
    record_update(graph, rig.layer, "tau", gradient, 0.01);
    EXPECT_OK(synfire_graph_instantiate(graph));
    synfire_backward_desc again = eager.backward_desc({false});
    again.parameter_gradients = &asked, again.n_parameter_gradients = 1;
    for (int step = 0; step < 3; ++step) {
      rig.poison();
      replay(graph);
      const auto computed = rig.backward_outputs();
      set_parameter(eager.layer, "tau", tau);
      EXPECT_OK(eager.run_forward({Spikes::none}));
      eager.poison();
      EXPECT_OK(synfire_layer_backward(eager.layer, &again, nullptr));
      EXPECT_TRUE(same_bits(computed, eager.backward_outputs()));
      const auto slopes = download<float>(gradient, tau.size());
      std::vector<double> updated(tau.size());
      EXPECT_OK(synfire_layer_get_parameter(rig.layer, "tau", updated.data(), updated.size()));
      for (size_t i = 0; i < tau.size(); ++i) tau[i] = std::fma(-0.01, static_cast<double>(slopes[i]), tau[i]);
      EXPECT_EQ(updated, tau);
    }
  }
}

// ---- what it has not ------------------------------------------------------------------------------------------------

TEST(LeakyIntegrator, HasTauAndVRestAlone) {
  const Context context = make_context();
  const Layer layer = make_layer(context, describe_li({4, 1, 3}));
  const char* const names[] = {"tau", "v_rest"};
  synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_OK(synfire_layer_get_parameter_info(layer, i, &info));
    EXPECT_STREQ(info.name, names[i]);
    EXPECT_EQ(info.default_value, i == 0 ? 2 : 0);
  }
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("index"), synfire_layer_get_parameter_info(layer, 2, &info));
  const double value = 1;
  for (const char* const name : {"v_threshold", "v_reset", "alpha"})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-PARAMETER-NAME", "tau", "v_rest"),
                 synfire_layer_set_parameter(layer, name, &value, 1));
}

TEST(LeakyIntegrator, RefusesRulesOfFiring) {
  const Context context = make_context();
  const auto refused = [&](const char* field, auto change) {
    synfire_layer_desc desc = describe_li({4, 1, 3});
    change(desc);
    synfire_layer layer = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-LAYER-NO-SPIKES", field, "li"),
                 synfire_layer_create(context, &desc, &layer));
    EXPECT_EQ(layer, nullptr);
  };
  refused("surrogate", [](auto& desc) { desc.surrogate = SYNFIRE_SURROGATE_SIGMOID; });
  refused("reset", [](auto& desc) { desc.reset = SYNFIRE_RESET_SOFT; });
  refused("detach_reset", [](auto& desc) { desc.detach_reset = 1; });
}

TEST(LeakyIntegrator, RefusesSpikesAndTheirGradient) {
  const Context context = make_context();
  Rig<float> rig(context, describe_li({4, 1, 3}));
  rig.load(random_inputs<float>(rig.shape, 9));
  rig.poison();
  const Graph graph = make_graph(context);
  for (const Spikes spikes : {Spikes::dense, Spikes::bits}) {
    const synfire_forward_desc desc = rig.forward_desc({spikes});
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-LAYER-NO-SPIKES", "spikes", "li"),
                 synfire_layer_forward(rig.layer, &desc, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-LAYER-NO-SPIKES", "spikes", "li"),
                 synfire_graph_record_forward(graph, rig.layer, &desc));
  }
  EXPECT_TRUE(rig.untouched());
  EXPECT_OK(rig.run_forward({Spikes::none}));
  rig.poison();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-LAYER-NO-SPIKES", "grad_spike_seq", "li"),
               rig.run_backward());
  EXPECT_TRUE(rig.untouched());
}

}  // namespace
}  // namespace synfire_test
