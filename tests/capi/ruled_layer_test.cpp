// Layers under rules that few have: a strict threshold, a delayed reset, refractory steps, ALIF's threshold. Numbers
// against an independent oracle (ruled_oracle.hpp); the same bits whatever the tape, the scope of parameters and the
// windows; their countdown is state like every other variable.
#include "ruled_oracle.hpp"

#include <algorithm>

#include "support.hpp"

namespace synfire_test {
namespace {

struct Arrays {
  std::vector<double> x, v_init, grad_spike, grad_v;
};

Arrays make_arrays(const Shape& shape, uint64_t seed) {
  Random random(seed);
  const auto floats = [&](size_t count, double low, double high) {
    std::vector<double> values;
    for (const float value : random.values<float>(count, low, high)) values.push_back(static_cast<double>(value));
    return values;
  };
  return {floats(shape.sequence(), -0.5, 3.0), floats(shape.row(), -0.5, 0.9), floats(shape.sequence(), -1, 1),
          floats(shape.sequence(), -1, 1)};
}

template <typename To>
std::vector<To> narrowed(const std::vector<double>& values) {
  return std::vector<To>(values.begin(), values.end());
}

struct Results {
  std::vector<double> spikes, v, h, grad_x, grad_v_init;
  std::vector<std::vector<double>> gradients;

  friend bool operator==(const Results&, const Results&) = default;
};

const std::vector<const char*>& names_of(RuledKind kind) {
  static const std::vector<const char*> lif = {"tau", "v_rest", "v_threshold", "v_reset"};
  static const std::vector<const char*> izhikevich = {"tau", "v_c", "a0",          "v_rest", "tau_w",
                                                      "a",   "b",   "v_threshold", "v_reset"};
  static const std::vector<const char*> alif = {"tau", "v_rest", "rho", "beta_a", "v_threshold", "v_reset"};
  return kind == RuledKind::lif ? lif : kind == RuledKind::izhikevich ? izhikevich : alif;
}

std::vector<double> parameters_of(RuledKind kind) {
  if (kind == RuledKind::lif) return {2.5, 0.125, 0.875, -0.125};
  if (kind == RuledKind::izhikevich) return {2.75, 1.625, 0.125, -0.125, 3, 0.25, 0.25, 0.875, -0.25};
  return {2.5, -0.125, 0.75, 1.5, 0.75, 0.0625};
}

synfire_layer_desc described(const RuledNeuron& neuron, const Shape& shape, int32_t dtype) {
  synfire_layer_desc desc = describe(shape, dtype);
  desc.model = neuron.kind == RuledKind::lif          ? SYNFIRE_MODEL_LIF
               : neuron.kind == RuledKind::izhikevich ? SYNFIRE_MODEL_IZHIKEVICH
                                                      : SYNFIRE_MODEL_ALIF;
  desc.reset = neuron.reset == RuledReset::hard   ? SYNFIRE_RESET_HARD
               : neuron.reset == RuledReset::soft ? SYNFIRE_RESET_SOFT
                                                  : SYNFIRE_RESET_SOFT_DELAYED;
  desc.detach_reset = neuron.detach ? 1 : 0;
  desc.strict_threshold = neuron.strict ? 1 : 0;
  desc.refractory_steps = neuron.refractory_steps;
  return desc;
}

Layer make_ruled(synfire_context context, const RuledNeuron& neuron, const Shape& shape, int32_t dtype,
                 bool per_neuron = false) {
  Layer layer = make_layer(context, described(neuron, shape, dtype));
  const auto& names = names_of(neuron.kind);
  for (size_t p = 0; p < names.size(); ++p)
    set_parameter(layer, names[p],
                  std::vector<double>(per_neuron ? static_cast<size_t>(shape.n_neurons) : 1, neuron.parameters[p]));
  return layer;
}

// Both passes from the layer's state, whose V is written before.
template <typename R>
Results run(synfire_context context, synfire_layer layer, const RuledNeuron& neuron, const Shape& shape,
            const Arrays& arrays, int32_t tape = SYNFIRE_TAPE_RECOMPUTE, bool replayed = false) {
  const auto empty = [&](size_t count) { return make_buffer(context, dtype_of<R>, count); };
  const Buffer x = make_buffer_of(context, narrowed<R>(arrays.x)), spikes = empty(shape.sequence()),
               v = empty(shape.sequence()), h = empty(shape.sequence()),
               grad_spike = make_buffer_of(context, narrowed<R>(arrays.grad_spike)),
               grad_v = make_buffer_of(context, narrowed<R>(arrays.grad_v)), grad_x = empty(shape.sequence()),
               grad_v_init = empty(shape.row());
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x, forward.spikes = spikes, forward.v_seq = v, forward.h_seq = h, forward.tape = tape;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = grad_spike, backward.grad_v_seq = grad_v, backward.grad_x_seq = grad_x;
  backward.grad_v_init = grad_v_init;
  const auto& names = names_of(neuron.kind);
  std::vector<Buffer> sums;
  std::vector<synfire_parameter_gradient> entries;
  for (const char* const name : names) {
    sums.push_back(empty(1));
    entries.push_back({name, sums.back()});
  }
  backward.parameter_gradients = entries.data(), backward.n_parameter_gradients = entries.size();
  const std::vector<R> start = narrowed<R>(arrays.v_init);
  EXPECT_OK(synfire_layer_reset_state(layer, nullptr));
  EXPECT_OK(synfire_layer_write_state(layer, "v", start.data(), start.size() * sizeof(R)));
  if (replayed) {
    const Graph graph = make_graph(context);
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    EXPECT_OK(synfire_graph_record_backward(graph, layer, &backward));
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
  } else {
    EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
    EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr));
    EXPECT_OK(synfire_context_synchronize(context));
  }
  const auto read = [](const Buffer& buffer, size_t count) {
    const std::vector<R> values = download<R>(buffer, count);
    return std::vector<double>(values.begin(), values.end());
  };
  Results results = {read(spikes, shape.sequence()), read(v, shape.sequence()),      read(h, shape.sequence()),
                     read(grad_x, shape.sequence()), read(grad_v_init, shape.row()), {}};
  for (const Buffer& sum : sums) results.gradients.push_back(read(sum, 1));
  return results;
}

Results expected(const RuledNeuron& neuron, const Shape& shape, const Arrays& arrays) {
  Results results;
  for (auto* const sequence : {&results.spikes, &results.v, &results.h, &results.grad_x})
    sequence->resize(shape.sequence());
  results.gradients.assign(neuron.parameters.size(), {0.0});
  for (size_t i = 0; i < shape.row(); ++i) {
    RuledRun one;
    for (size_t at = i; at < shape.sequence(); at += shape.row()) {
      one.x.push_back(arrays.x[at]);
      one.grad_spike.push_back(arrays.grad_spike[at]);
      one.grad_v.push_back(arrays.grad_v[at]);
    }
    one.v_init = arrays.v_init[i];
    run_ruled(neuron, one);
    for (size_t t = 0; t < one.x.size(); ++t) {
      const size_t at = t * shape.row() + i;
      results.spikes[at] = one.spikes[t], results.v[at] = one.v[t], results.h[at] = one.h[t];
      results.grad_x[at] = one.grad_x[t];
    }
    results.grad_v_init.push_back(one.grad_v_init);
    for (size_t p = 0; p < one.gradients.size(); ++p) results.gradients[p][0] += one.gradients[p];
  }
  return results;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance, const char* name) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::fabs(b[i]))) << name << "[" << i << "]";
}
void expect_near(const Results& a, const Results& b, double tolerance) {
  EXPECT_EQ(a.spikes, b.spikes);
  expect_near(a.v, b.v, tolerance, "v");
  expect_near(a.h, b.h, tolerance, "h");
  expect_near(a.grad_x, b.grad_x, tolerance, "grad_x");
  expect_near(a.grad_v_init, b.grad_v_init, tolerance, "grad_v_init");
  for (size_t p = 0; p < a.gradients.size(); ++p) expect_near(a.gradients[p], b.gradients[p], tolerance, "a gradient");
}

std::vector<RuledNeuron> ruled_neurons() {
  std::vector<RuledNeuron> neurons;
  for (const RuledKind kind : {RuledKind::lif, RuledKind::izhikevich, RuledKind::alif})
    for (const RuledReset reset : {RuledReset::hard, RuledReset::soft, RuledReset::delayed})
      for (const bool detach : {false, true})
        for (const int rules : {0, 1, 2}) {
          const RuledNeuron neuron = {kind, reset, detach, rules == 1, rules == 2 ? 3 : 0, parameters_of(kind)};
          const bool plain = kind != RuledKind::alif && reset != RuledReset::delayed && rules == 0;
          if (!plain) neurons.push_back(neuron);
        }
  return neurons;
}

std::string text_of(const RuledNeuron& neuron) {
  return "kind " + std::to_string(static_cast<int>(neuron.kind)) + ", reset " +
         std::to_string(static_cast<int>(neuron.reset)) + (neuron.detach ? ", detached" : "") +
         (neuron.strict ? ", strict, " : ", ") + std::to_string(neuron.refractory_steps) + " refractory steps";
}

// ---- numbers --------------------------------------------------------------------------------------------------------

TEST(RuledLayers, AgreeWithTheOracle) {
  const Context context = make_context();
  const Shape shape{37, 2, 5};
  const Arrays arrays = make_arrays(shape, 1);
  for (const RuledNeuron& neuron : ruled_neurons()) {
    SCOPED_TRACE(text_of(neuron));
    const Results oracle = expected(neuron, shape, arrays);
    EXPECT_GT(std::count(oracle.spikes.begin(), oracle.spikes.end(), 1.0), 20);
    const Layer wide = make_ruled(context, neuron, shape, SYNFIRE_DTYPE_F64);
    expect_near(run<double>(context, wide, neuron, shape, arrays), oracle, 1e-9);
    const Layer narrow = make_ruled(context, neuron, shape, SYNFIRE_DTYPE_F32);
    expect_near(run<float>(context, narrow, neuron, shape, arrays), oracle, 1e-3);
  }
}

TEST(RuledLayers, HaveTheSameBitsHoweverTheyRun) {
  const Context context = make_context();
  const Shape shape{70, 1, 35};
  const Arrays arrays = make_arrays(shape, 2);
  for (const RuledNeuron& neuron : ruled_neurons()) {
    if (neuron.detach) continue;
    SCOPED_TRACE(text_of(neuron));
    const Layer layer = make_ruled(context, neuron, shape, SYNFIRE_DTYPE_F32);
    const Results results = run<float>(context, layer, neuron, shape, arrays);
    EXPECT_TRUE(run<float>(context, layer, neuron, shape, arrays, SYNFIRE_TAPE_STORE) == results);
    EXPECT_TRUE(run<float>(context, layer, neuron, shape, arrays, SYNFIRE_TAPE_RECOMPUTE, true) == results);
    const Layer one_each = make_ruled(context, neuron, shape, SYNFIRE_DTYPE_F32, true);
    EXPECT_TRUE(run<float>(context, one_each, neuron, shape, arrays) == results);
  }
}

// H rounded to 16 bits, beside spikes that stay exact.
TEST(RuledLayers, KeepTheirSpikesOnNarrowTapes) {
  const Context context = make_context();
  const Shape shape{40, 1, 33};
  const Arrays arrays = make_arrays(shape, 3);
  for (const RuledNeuron& neuron : ruled_neurons()) {
    if (neuron.detach || neuron.kind == RuledKind::izhikevich) continue;
    SCOPED_TRACE(text_of(neuron));
    for (const int32_t dtype : {SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
      const Layer layer = make_ruled(context, neuron, shape, dtype);
      const Results stored = run<float>(context, layer, neuron, shape, arrays, SYNFIRE_TAPE_STORE);
      const Results narrow = run<float>(context, layer, neuron, shape, arrays, SYNFIRE_TAPE_STORE_NARROW);
      EXPECT_EQ(narrow.spikes, stored.spikes);
      expect_near(narrow.grad_x, stored.grad_x, dtype == SYNFIRE_DTYPE_F16 ? 0.02 : 0.2, "grad_x");
    }
  }
}

// A neuron without a leak whose H is the threshold, bit for bit.
TEST(RuledLayers, StrictThresholdsAreExact) {
  const Context context = make_context();
  for (const float threshold : {1.0f, 0.1f, 0.3f}) {
    for (const int32_t strict : {0, 1}) {
      const Shape shape{1, 1, 3};
      synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
      desc.model = SYNFIRE_MODEL_IF;
      desc.reset = SYNFIRE_RESET_SOFT;
      desc.strict_threshold = strict;
      const Layer layer = make_layer(context, desc);
      set_parameter(layer, "v_threshold", {static_cast<double>(threshold)});
      const std::vector<float> inputs = {std::nextafter(threshold, -9.0f), threshold, std::nextafter(threshold, 9.0f)};
      const Buffer x = make_buffer_of(context, inputs), spikes = make_buffer(context, SYNFIRE_DTYPE_F32, 3),
                   v = make_buffer(context, SYNFIRE_DTYPE_F32, 3);
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.x = x, forward.spikes = spikes, forward.v_final = v;
      ASSERT_OK(synfire_layer_forward(layer, &forward, nullptr));
      ASSERT_OK(synfire_context_synchronize(context));
      const float at_it = strict == 1 ? 0.0f : 1.0f;
      EXPECT_EQ(download<float>(spikes, 3), (std::vector<float>{0, at_it, 1}));
      EXPECT_EQ(download<float>(v, 3),
                (std::vector<float>{inputs[0], inputs[1] - at_it * threshold, inputs[2] - threshold}));
    }
  }
}

// ---- state ----------------------------------------------------------------------------------------------------------

RuledNeuron counting_neuron() {
  return {RuledKind::alif, RuledReset::delayed, false, false, 2, parameters_of(RuledKind::alif)};
}

std::vector<float> state_of(synfire_layer layer, const char* name, size_t count) {
  std::vector<float> values(count);
  EXPECT_OK(synfire_layer_read_state(layer, name, values.data(), count * sizeof(float)));
  return values;
}

std::vector<float> spikes_of(synfire_context context, synfire_layer layer, const Shape& shape,
                             const std::vector<float>& inputs) {
  const Buffer x = make_buffer_of(context, inputs), spikes = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x, forward.spikes = spikes;
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  EXPECT_OK(synfire_context_synchronize(context));
  return download<float>(spikes, shape.sequence());
}

TEST(RuledLayers, GoOnFromWindowToWindow) {
  const Context context = make_context();
  const Shape whole{50, 2, 35}, window{25, 2, 35};
  const std::vector<float> x = narrowed<float>(make_arrays(whole, 4).x);
  const RuledNeuron neuron = counting_neuron();
  const Layer one = make_ruled(context, neuron, whole, SYNFIRE_DTYPE_F32),
              two = make_ruled(context, neuron, window, SYNFIRE_DTYPE_F32);
  const std::vector<float> spikes = spikes_of(context, one, whole, x);
  std::vector<float> found;
  for (const size_t first : {size_t{0}, window.sequence()})
    found = joined(found, spikes_of(context, two, window, slice(x, first, window.sequence())));
  EXPECT_TRUE(same_bits(found, spikes));
  for (const char* const name : {"v", "a", "countdown"})
    EXPECT_TRUE(same_bits(state_of(one, name, whole.row()), state_of(two, name, whole.row()))) << name;
  const std::vector<float> countdown = state_of(one, "countdown", whole.row());
  EXPECT_TRUE(std::all_of(countdown.begin(), countdown.end(), [](float q) { return q >= 0 && q <= 3; }));
  EXPECT_GT(*std::max_element(countdown.begin(), countdown.end()), 0);
}

// Two windows, the gradient of the countdown handed on, give the gradients of one.
TEST(RuledLayers, ChainTheirGradients) {
  const Context context = make_context();
  const Shape whole{24, 1, 9}, window{12, 1, 9};
  const Arrays arrays = make_arrays(whole, 5);
  RuledNeuron neuron = counting_neuron();
  neuron.kind = RuledKind::lif;
  neuron.parameters = parameters_of(neuron.kind);
  const auto double_buffer = [&](size_t count) { return make_buffer(context, SYNFIRE_DTYPE_F64, count); };
  const Layer one = make_ruled(context, neuron, whole, SYNFIRE_DTYPE_F64),
              two = make_ruled(context, neuron, window, SYNFIRE_DTYPE_F64);
  const Results results = run<double>(context, one, neuron, whole, arrays);

  Buffer v[3], countdown[3], grad_v[3], grad_countdown[3];
  for (int i = 0; i < 3; ++i)
    v[i] = double_buffer(window.row()), countdown[i] = double_buffer(window.row()),
    grad_v[i] = double_buffer(window.row()), grad_countdown[i] = double_buffer(window.row());
  upload(v[0], arrays.v_init);
  for (const Buffer* const zero : {&countdown[0], &grad_v[2], &grad_countdown[2]})
    ASSERT_OK(synfire_buffer_fill(*zero, 0));
  const auto of_part = [&](const std::vector<double>& sequence, size_t part) {
    return slice(sequence, part * window.sequence(), window.sequence());
  };
  // Both passes over one window, from the state before it and with the gradients after it.
  const auto pass = [&](size_t part) {
    const Buffer x = make_buffer_of(context, of_part(arrays.x, part)),
                 spikes = make_buffer_of(context, of_part(arrays.grad_spike, part)),
                 potentials = make_buffer_of(context, of_part(arrays.grad_v, part)),
                 grad_x = double_buffer(window.sequence());
    const synfire_state_buffer init = {"countdown", countdown[part]}, last = {"countdown", countdown[part + 1]},
                               grad_last = {"countdown", grad_countdown[part + 1]},
                               grad_init = {"countdown", grad_countdown[part]};
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x, forward.v_init = v[part], forward.v_final = v[part + 1];
    forward.state_init = &init, forward.n_state_init = 1, forward.state_final = &last, forward.n_state_final = 1;
    EXPECT_OK(synfire_layer_forward(two, &forward, nullptr));
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = spikes, backward.grad_v_seq = potentials, backward.grad_x_seq = grad_x;
    backward.grad_v_final = grad_v[part + 1], backward.grad_v_init = grad_v[part];
    backward.grad_state_final = &grad_last, backward.n_grad_state_final = 1;
    backward.grad_state_init = &grad_init, backward.n_grad_state_init = 1;
    EXPECT_OK(synfire_layer_backward(two, &backward, nullptr));
    EXPECT_OK(synfire_context_synchronize(context));
    return download<double>(grad_x, window.sequence());
  };
  ASSERT_OK(synfire_buffer_fill(grad_v[1], 0));
  ASSERT_OK(synfire_buffer_fill(grad_countdown[1], 0));
  pass(0);  // for the state between the windows
  expect_near(pass(1), of_part(results.grad_x, 1), 1e-12, "grad_x of the second");
  expect_near(pass(0), of_part(results.grad_x, 0), 1e-12, "grad_x of the first");
  expect_near(download<double>(grad_v[0], window.row()), results.grad_v_init, 1e-12, "grad_v_init");
}

TEST(RuledLayers, TheCountdownIsState) {
  const Context context = make_context();
  const Shape shape{7, 3, 5};
  const RuledNeuron neuron = counting_neuron();
  const Layer layer = make_ruled(context, neuron, shape, SYNFIRE_DTYPE_F32),
              other = make_ruled(context, neuron, shape, SYNFIRE_DTYPE_F32);
  const auto read = [&](synfire_layer of) { return state_of(of, "countdown", shape.row()); };
  spikes_of(context, layer, shape, narrowed<float>(make_arrays(shape, 6).x));
  const std::vector<float> left = read(layer);
  ASSERT_GT(*std::max_element(left.begin(), left.end()), 0);

  uint64_t bytes = 0;
  ASSERT_OK(synfire_layer_snapshot(layer, nullptr, nullptr, &bytes));
  std::vector<uint8_t> snapshot(bytes);
  ASSERT_OK(synfire_layer_snapshot(layer, nullptr, snapshot.data(), &bytes));
  ASSERT_OK(synfire_layer_restore(other, nullptr, snapshot.data(), bytes));
  EXPECT_TRUE(same_bits(read(other), left));

  synfire_state_desc rows = SYNFIRE_STATE_DESC_INIT;
  rows.first_row = 1, rows.n_rows = 1;
  ASSERT_OK(synfire_layer_reset_rows(other, &rows, nullptr));
  ASSERT_OK(synfire_context_synchronize(context));
  std::vector<float> some = left;
  std::fill_n(some.begin() + 5, 5, 0.0f);
  EXPECT_TRUE(same_bits(read(other), some));

  // A countdown of another length means something else.
  RuledNeuron longer = neuron;
  longer.refractory_steps = 4;
  const Layer foreign = make_ruled(context, longer, shape, SYNFIRE_DTYPE_F32);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SNAPSHOT-LAYOUT", "4 refractory_steps"),
               synfire_layer_restore(foreign, nullptr, snapshot.data(), bytes));
  EXPECT_TRUE(all_are(read(foreign), 0.0f));

  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  synfire_layer_desc desc = described(neuron, shape, SYNFIRE_DTYPE_F32);
  ASSERT_OK(synfire_layer_query_memory(&desc, &memory));
  EXPECT_EQ(memory.state_bytes, 3u * 256u);
  synfire_layer_desc found = SYNFIRE_LAYER_DESC_INIT;
  ASSERT_OK(synfire_layer_get_desc(layer, &found));
  EXPECT_EQ(found.reset, SYNFIRE_RESET_SOFT_DELAYED);
  EXPECT_EQ(found.refractory_steps, 2);
  EXPECT_EQ(found.strict_threshold, 0);
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST(RuledLayers, RefuseWhatTheyCannotBe) {
  const Context context = make_context();
  const auto expect_refused = [&](const char* word, auto change) {
    SCOPED_TRACE(word);
    synfire_layer_desc desc = describe(Shape{2, 1, 3}, SYNFIRE_DTYPE_F32);
    change(desc);
    synfire_layer layer = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(word), synfire_layer_create(context, &desc, &layer));
    EXPECT_EQ(layer, nullptr);
  };
  expect_refused("reset", [](auto& desc) { desc.reset = 3; });
  for (const int32_t bad : {-1, 1'000'001, std::numeric_limits<int32_t>::max()})
    expect_refused("refractory_steps", [&](auto& desc) { desc.refractory_steps = bad; });
  expect_refused("strict_threshold", [](auto& desc) { desc.strict_threshold = 2; });
  expect_refused("strict_threshold", [](auto& desc) { desc.model = SYNFIRE_MODEL_LI, desc.strict_threshold = 1; });
  expect_refused("refractory_steps", [](auto& desc) { desc.model = SYNFIRE_MODEL_LI, desc.refractory_steps = 1; });
  expect_refused("reset", [](auto& desc) { desc.model = SYNFIRE_MODEL_LI, desc.reset = SYNFIRE_RESET_SOFT_DELAYED; });

  synfire_layer_desc desc = describe(Shape{2, 1, 3}, SYNFIRE_DTYPE_F32);
  desc.model = SYNFIRE_MODEL_ALIF;
  const Layer layer = make_layer(context, desc);
  for (const double bad : {-0.01, 1.01, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("rho"), synfire_layer_set_parameter(layer, "rho", &bad, 1));
  double rho = 0;
  EXPECT_OK(synfire_layer_get_parameter(layer, "rho", &rho, 1));
  EXPECT_EQ(rho, 0.99);
  // A layer that counts nothing down has no countdown.
  float values[3];
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("countdown"),
               synfire_layer_read_state(layer, "countdown", values, sizeof values));
}

}  // namespace
}  // namespace synfire_test
