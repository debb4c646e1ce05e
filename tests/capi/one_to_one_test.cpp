// One-to-one synapses: against a reference that is written out here, in every scope, type and format of the input; as
// parts of layers, in graphs, trained by an optimiser.
#include <functional>
#include <string>

#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;

struct Map {
  int64_t height, width, channels;
  int64_t neurons() const { return height * width * channels; }
};

struct Case {
  Map map;
  int32_t scope;
  int64_t n_steps, batch;
  int64_t active = -1;
  int bits = 24;

  Product product() const { return {n_steps, batch, map.neurons(), map.neurons(), active}; }
  size_t entries() const {
    return static_cast<size_t>(scope == SYNFIRE_SCOPE_LAYER     ? 1
                               : scope == SYNFIRE_SCOPE_CHANNEL ? map.channels
                                                                : map.neurons());
  }
  // The entry of element i of a row [H, W, C].
  size_t entry(size_t i) const {
    return scope == SYNFIRE_SCOPE_LAYER     ? 0
           : scope == SYNFIRE_SCOPE_CHANNEL ? i % static_cast<size_t>(map.channels)
                                            : i;
  }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.map.height << "x" << c.map.width << "x" << c.map.channels << " scope " << c.scope << " "
             << c.product();
}

// A row longer than a tile of the host, maps whose channels do not divide it, more terms than a block of 1,024, and one
// of each.
const Case cases[] = {
    {{1, 1, 1}, SYNFIRE_SCOPE_NEURON, 1, 1},
    {{1, 1, 77}, SYNFIRE_SCOPE_NEURON, 5, 3, 2},
    {{1, 1, 300}, SYNFIRE_SCOPE_NEURON, 37, 2, -1, 32},
    {{3, 5, 7}, SYNFIRE_SCOPE_CHANNEL, 33, 4, 3},
    {{9, 11, 13}, SYNFIRE_SCOPE_CHANNEL, 3, 2},
    {{2, 2, 300}, SYNFIRE_SCOPE_CHANNEL, 2, 2, -1, 32},
    {{4, 3, 17}, SYNFIRE_SCOPE_LAYER, 21, 3, 2},
    {{1, 1, 600}, SYNFIRE_SCOPE_LAYER, 4, 1},
    {{1, 1, 40}, SYNFIRE_SCOPE_NEURON, 1100, 1},
    {{1, 1, 40}, SYNFIRE_SCOPE_NEURON, 2, 3, 0},
};

synfire_one_to_one_desc describe(const Case& c, bool with_bias, int32_t dtype = SYNFIRE_DTYPE_F32,
                                 int32_t kind = SYNFIRE_INPUT_SPIKES) {
  synfire_one_to_one_desc desc = SYNFIRE_ONE_TO_ONE_DESC_INIT;
  desc.input_kind = kind;
  desc.height = c.map.height;
  desc.width = c.map.width;
  desc.channels = c.map.channels;
  desc.scope = c.scope;
  desc.dtype = dtype;
  desc.bias = with_bias ? 1 : 0;
  desc.gradient_bits = c.bits;
  return desc;
}

Synapse make_one_to_one(synfire_context context, const synfire_one_to_one_desc& desc) {
  synfire_synapse synapse = nullptr;
  EXPECT_OK(synfire_synapse_create_one_to_one(context, &desc, &synapse));
  return Synapse(synapse);
}

// ---- The reference --------------------------------------------------------------------------------------------------

template <typename R>
std::vector<double> product_of(const Case& c, const std::vector<R>& weight, const std::vector<R>& bias,
                               const std::vector<double>& x) {
  const Product p = c.product();
  std::vector<double> y(p.rows() * p.outputs());
  for (size_t m = 0; m < p.rows(); ++m)
    for (size_t i = 0; i < p.outputs() && p.is_active(m); ++i) {
      const size_t at = m * p.outputs() + i, entry = c.entry(i);
      y[at] = static_cast<double>(std::fma(weight[entry], static_cast<R>(x[at]), bias.empty() ? R(0) : bias[entry]));
    }
  return y;
}

template <typename R>
std::vector<double> input_gradient_of(const Case& c, const std::vector<R>& weight, const std::vector<R>& grad) {
  const Product p = c.product();
  std::vector<double> dx(p.rows() * p.outputs());
  for (size_t m = 0; m < p.rows(); ++m)
    for (size_t i = 0; i < p.outputs() && p.is_active(m); ++i) {
      const R gradient = weight[c.entry(i)] * grad[m * p.outputs() + i];
      dx[m * p.outputs() + i] = static_cast<double>(gradient);
    }
  return dx;
}

// The places of the terms of an entry, in their order.
std::vector<size_t> terms_of(const Case& c, size_t entry) {
  const Product p = c.product();
  std::vector<size_t> terms;
  for (size_t m = 0; m < p.rows(); ++m)
    for (size_t i = 0; i < p.outputs() && p.is_active(m); ++i)
      if (c.entry(i) == entry) terms.push_back(m * p.outputs() + i);
  return terms;
}

Gradients<double> ordered_gradients_of(const Case& c, const std::vector<double>& grad, const std::vector<double>& x) {
  using R = double;
  Gradients<R> got;
  for (size_t entry = 0; entry < c.entries(); ++entry) {
    const std::vector<size_t> terms = terms_of(c, entry);
    got.weight.push_back(static_cast<R>(ordered_sum<R>(
        terms.size(), [&](size_t q) { return std::pair(grad[terms[q]], static_cast<R>(x[terms[q]])); })));
    got.bias.push_back(
        static_cast<R>(ordered_sum<R>(terms.size(), [&](size_t q) { return std::pair(grad[terms[q]], R(1)); })));
  }
  return got;
}

// Values in f32 have a contribution of each element of a batch row, added on the grid of 32 bits of their largest.
Gradients<float> contributed_gradients_of(const Case& c, const std::vector<float>& grad, const std::vector<double>& x) {
  const Product p = c.product();
  const size_t row = p.rows_per_step() * p.outputs();
  std::vector<std::vector<float>> weights(c.entries()), biases(c.entries());
  for (size_t b = 0; b < p.rows_per_step() && p.is_active(b); ++b)
    for (size_t i = 0; i < p.outputs(); ++i) {
      double weight = 0, bias = 0;
      for (size_t t = p.rows() / p.rows_per_step(); t-- > 0;) {
        const size_t at = t * row + b * p.outputs() + i;
        weight = std::fma(static_cast<double>(grad[at]), x[at], weight);
        bias += static_cast<double>(grad[at]);
      }
      weights[c.entry(i)].push_back(static_cast<float>(weight));
      biases[c.entry(i)].push_back(static_cast<float>(bias));
    }
  Gradients<float> got;
  for (size_t entry = 0; entry < c.entries(); ++entry) {
    got.weight.push_back(sum_of_contributions(weights[entry]));
    got.bias.push_back(sum_of_contributions(biases[entry]));
  }
  return got;
}

Gradients<float> exact_gradients_of(const Case& c, const std::vector<float>& grad, const std::vector<double>& x) {
  Gradients<float> got;
  for (size_t entry = 0; entry < c.entries(); ++entry) {
    float largest = 0;
    for (const size_t at : terms_of(c, entry))
      if (!(std::fabs(grad[at]) <= largest)) largest = std::fabs(grad[at]);
    if (!std::isfinite(largest)) {
      got.weight.push_back(std::numeric_limits<float>::quiet_NaN());
      got.bias.push_back(std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const int grid = grid_of(largest, c.bits == 24 ? largest_24 : largest_32);
    int64_t weight = 0, bias = 0;
    for (const size_t at : terms_of(c, entry)) {
      const int64_t term = on_grid(grad[at], grid);
      weight += x[at] != 0 ? term : 0;
      bias += term;
    }
    got.weight.push_back(static_cast<float>(std::ldexp(static_cast<double>(weight), grid)));
    got.bias.push_back(static_cast<float>(std::ldexp(static_cast<double>(bias), grid)));
  }
  return got;
}

// ---- Against it -----------------------------------------------------------------------------------------------------

class OneToOne : public SynapseTest {
 protected:
  // Product and gradients, now and in a graph, where the gradients are added to those of the call.
  template <typename R>
  void check(const Case& c, bool with_bias, int32_t input_dtype, const std::vector<double>& x, uint64_t seed) {
    const Product p = c.product();
    constexpr int32_t dtype = dtype_of<R>;
    const bool spikes = std::all_of(x.begin(), x.end(), [](double value) { return value == 0 || value == 1; }) &&
                        input_dtype != SYNFIRE_DTYPE_F16 && input_dtype != SYNFIRE_DTYPE_BF16;
    const bool as_values = !spikes;
    Random random(seed);
    const auto weight = random.values<R>(c.entries(), -2, 2);
    const auto bias = with_bias ? random.values<R>(c.entries(), -1, 1) : std::vector<R>();
    auto grad = random.values<R>(p.rows() * p.outputs(), -1, 1);
    for (R& g : grad) g *= static_cast<R>(std::ldexp(1.0, static_cast<int>(random.whole(-20, 3))));
    const Synapse synapse = make_one_to_one(
        context, describe(c, with_bias, dtype, as_values ? SYNFIRE_INPUT_VALUES : SYNFIRE_INPUT_SPIKES));
    write(synapse, "weight", weight);
    if (with_bias) write(synapse, "bias", bias);
    const Placement placement = seed % 2 == 0 ? Placement{} : Placement{3, 5};
    Rows input = as_values ? rows_for_input(context, input_dtype, p, placement)
                           : spikes_in(context, input_dtype, p, x, placement);
    if (as_values) input.put(x);
    const std::vector<double> read_back = as_values ? input.get() : x;  // rounded to 16 bits
    const Rows output = outputs_in(context, dtype, p, placement);
    Rows grad_output = outputs_in(context, dtype, p, placement), grad_input = outputs_in(context, dtype, p, placement);
    grad_output.put(std::vector<double>(grad.begin(), grad.end()));
    const Buffer n_active = active_buffer(p);
    const auto fd = forward(p, input, output, n_active);
    auto bd = backward(p, grad_output, input, grad_input, n_active);

    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    EXPECT_TRUE(same_bits(output.get(), product_of(c, weight, bias, read_back)));
    EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    const std::vector<double> dx = input_gradient_of(c, weight, grad);
    EXPECT_TRUE(same_bits(grad_input.get(), dx));
    Gradients<R> wanted;
    if constexpr (sizeof(R) == 4)
      wanted = as_values ? contributed_gradients_of(c, grad, read_back) : exact_gradients_of(c, grad, x);
    else
      wanted = ordered_gradients_of(c, grad, read_back);
    EXPECT_TRUE(same_bits(read<R>(synapse, "weight_gradient", c.entries()), wanted.weight));
    if (with_bias) {
      EXPECT_TRUE(same_bits(read<R>(synapse, "bias_gradient", c.entries()), wanted.bias));
    }

    bd.add_gradients = bd.add_input_gradient = 1;
    replay_of(synapse, fd, bd);
    EXPECT_TRUE(same_bits(output.get(), product_of(c, weight, bias, read_back)));
    std::vector<double> twice = dx;
    for (size_t i = 0; i < twice.size(); ++i)
      twice[i] = static_cast<double>(static_cast<R>(dx[i]) + static_cast<R>(dx[i]));
    EXPECT_TRUE(same_bits(grad_input.get(), twice));
    for (R& value : wanted.weight) value = value + value;
    for (R& value : wanted.bias) value = value + value;
    EXPECT_TRUE(same_bits(read<R>(synapse, "weight_gradient", c.entries()), wanted.weight));
    if (with_bias) {
      EXPECT_TRUE(same_bits(read<R>(synapse, "bias_gradient", c.entries()), wanted.bias));
    }
  }
};

TEST_F(OneToOne, SpikesInF32) {
  uint64_t seed = 1;
  constexpr int32_t formats[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32};
  for (const Case& c : cases)
    for (const bool with_bias : {false, true}) {
      SCOPED_TRACE(testing::Message() << c << " bias " << with_bias);
      check<float>(c, with_bias, formats[seed % 4], random_spikes(c.product(), 0.3, seed), seed);
      ++seed;
    }
}

TEST_F(OneToOne, SpikesInF64) {
  uint64_t seed = 100;
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c);
    check<double>(c, true, seed % 2 == 0 ? SYNFIRE_DTYPE_BITS : SYNFIRE_DTYPE_F64,
                  random_spikes(c.product(), 0.3, seed), seed);
    ++seed;
  }
}

TEST_F(OneToOne, Values) {
  uint64_t seed = 200;
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c);
    const Product p = c.product();
    const auto x = Random(seed).values<double>(p.rows() * p.inputs(), -3, 3);
    std::vector<double> narrow(x.size());
    for (size_t i = 0; i < x.size(); ++i) narrow[i] = static_cast<double>(static_cast<float>(x[i]));
    check<float>(c, seed % 2 == 0, SYNFIRE_DTYPE_F32, narrow, seed);
    for (double& value : narrow) value = std::nearbyint(value * 16) / 16;  // exact in 16 bits
    check<float>(c, true, seed % 2 == 0 ? SYNFIRE_DTYPE_F16 : SYNFIRE_DTYPE_BF16, narrow, seed + 1);
    check<double>(c, true, SYNFIRE_DTYPE_F64, x, seed);
    seed += 2;
  }
}

// One gradient that is not finite makes NaN of its entry and of no other.
TEST_F(OneToOne, GradientsThatAreNotFinite) {
  const Case c = {{2, 1, 3}, SYNFIRE_SCOPE_CHANNEL, 2, 1};
  const Synapse synapse = make_one_to_one(context, describe(c, true));
  const Product p = c.product();
  Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, std::vector<double>(12, 0));
  for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    std::vector<double> values(12, 1);
    values[4] = bad;
    grad.put(values);
    const auto bd = backward(p, grad, input, nullptr, nullptr);
    EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    const auto weight = read<float>(synapse, "weight_gradient", 3), bias = read<float>(synapse, "bias_gradient", 3);
    EXPECT_TRUE(same_bits(slice(weight, 0, 1), {0.0f}) && same_bits(slice(weight, 2, 1), {0.0f}));
    EXPECT_TRUE(std::isnan(weight[1]) && std::isnan(bias[1]));
    EXPECT_TRUE(same_bits(slice(bias, 0, 1), {4.0f}) && same_bits(slice(bias, 2, 1), {4.0f}));
  }
}

// ---- As a part of a layer -------------------------------------------------------------------------------------------

// A layer computes the same with a one-to-one synapse as with its product, apart, and so do the gradients.
TEST_F(OneToOne, OfALayerIsThatApart) {
  const Case c = {{1, 1, 45}, SYNFIRE_SCOPE_NEURON, 13, 3};
  const Product p = c.product();
  const Shape shape = {p.n_steps, p.batch, p.n_outputs};
  const Synapse together = make_one_to_one(context, describe(c, true)),
                apart = make_one_to_one(context, describe(c, true));
  Random random(7);
  const auto weight = random.values<float>(c.entries(), 0, 3), bias = random.values<float>(c.entries(), 0, 1);
  for (const synfire_synapse each : {together.get(), apart.get()}) {
    write(each, "weight", weight);
    write(each, "bias", bias);
  }
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, random_spikes(p, 0.4, 8));
  Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  grad.put(as_doubles(random.values<float>(shape.sequence(), -1, 1)));
  for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE}) {
    const Layer one = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32)),
                other = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
    const Rows spikes_one = outputs_in(context, SYNFIRE_DTYPE_F32, p),
               spikes_other = outputs_in(context, SYNFIRE_DTYPE_F32, p), x = outputs_in(context, SYNFIRE_DTYPE_F32, p),
               grad_x = outputs_in(context, SYNFIRE_DTYPE_F32, p), dx_one = outputs_in(context, SYNFIRE_DTYPE_F32, p),
               dx_other = outputs_in(context, SYNFIRE_DTYPE_F32, p);
    synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
    fd.tape = tape;
    fd.synapse = together;
    fd.synapse_input = input;
    fd.spikes = spikes_one;
    synfire_backward_desc bd = SYNFIRE_BACKWARD_DESC_INIT;
    bd.grad_spike_seq = grad;
    bd.grad_synapse_input = dx_one;
    replay_of(one, fd, bd);

    const auto product = forward(p, input, x, nullptr);
    EXPECT_OK(synfire_synapse_forward(apart, &product, nullptr));
    fd.synapse = nullptr;
    fd.synapse_input = nullptr;
    fd.x = x;
    fd.spikes = spikes_other;
    EXPECT_OK(synfire_layer_forward(other, &fd, nullptr));
    bd.grad_synapse_input = nullptr;
    bd.grad_x_seq = grad_x;
    EXPECT_OK(synfire_layer_backward(other, &bd, nullptr));
    const auto gradients = backward(p, grad_x, input, dx_other, nullptr);
    EXPECT_OK(synfire_synapse_backward(apart, &gradients, nullptr));

    EXPECT_TRUE(same_bits(spikes_one.get(), spikes_other.get()));
    EXPECT_TRUE(same_bits(dx_one.get(), dx_other.get()));
    for (const char* const name : {"weight_gradient", "bias_gradient"})
      EXPECT_TRUE(same_bits(read<float>(together, name, c.entries()), read<float>(apart, name, c.entries())));
    // Weights that change after the forward make its tape stale.
    fd.x = nullptr;
    fd.synapse = together;
    fd.synapse_input = input;
    fd.spikes = spikes_one;
    EXPECT_OK(synfire_layer_forward(one, &fd, nullptr));
    write(together, "weight", weight);
    bd.grad_x_seq = nullptr;
    bd.grad_synapse_input = dx_one;
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WEIGHTS"), synfire_layer_backward(one, &bd, nullptr));
  }
}

// ---- Training -------------------------------------------------------------------------------------------------------

// Steps of plain descent, in one optimiser with a dense synapse: w - rate * g, element by element. The product uses the
// new weights at once.
TEST_F(OneToOne, IsTrained) {
  const Case c = {{3, 2, 5}, SYNFIRE_SCOPE_CHANNEL, 6, 2};
  const Product p = c.product();
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64}) {
    const Synapse synapse = make_one_to_one(context, describe(c, true, dtype));
    const Synapse dense = make_synapse(context, synfire_test::describe(Product{1, 1, 9, 4}, true, dtype));
    const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, random_spikes(p, 0.5, 3));
    Rows grad = outputs_in(context, dtype, p);
    grad.put(Random(4).values<double>(p.rows() * p.outputs(), -1, 1));
    synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
    od.learning_rate = 0.25;
    synfire_optimizer handle = nullptr;
    ASSERT_OK(synfire_optimizer_create(context, &od, &handle));
    const Optimizer optimizer(handle);
    EXPECT_OK(synfire_optimizer_add_weights(optimizer, synapse, 1, 0));
    EXPECT_OK(synfire_optimizer_add_weights(optimizer, dense, 1, 0));
    EXPECT_OK(synfire_optimizer_add_array(optimizer, synapse, "bias", 2, 0));
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-MEMBER"), synfire_optimizer_add_bias(optimizer, synapse, 1, 0));
    const auto bd = backward(p, grad, input, nullptr, nullptr);
    EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
    EXPECT_OK(synfire_optimizer_step(optimizer, &step, nullptr));
    const auto expect = [&]<typename R>(R) {
      const auto weight = read<R>(synapse, "weight", 5), bias = read<R>(synapse, "bias", 5),
                 of_weight = read<R>(synapse, "weight_gradient", 5), of_bias = read<R>(synapse, "bias_gradient", 5);
      for (size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(weight[i], std::fma(R(-0.25), of_weight[i], R(1)));
        EXPECT_EQ(bias[i], R(-0.5) * of_bias[i]);
      }
      const Rows output = outputs_in(context, dtype, p);
      const auto fd = forward(p, input, output, nullptr);
      EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
      EXPECT_TRUE(same_bits(output.get(), product_of(c, weight, bias, random_spikes(p, 0.5, 3))));
    };
    if (dtype == SYNFIRE_DTYPE_F32)
      expect(0.0f);
    else
      expect(0.0);
  }
}

// Every rule gives the same bits as for a dense synapse whose one weight for each output is the same number.
TEST_F(OneToOne, EveryRuleIsThatOfDense) {
  const Case c = {{1, 1, 1300}, SYNFIRE_SCOPE_NEURON, 1, 1};
  const Synapse synapse = make_one_to_one(context, describe(c, false)),
                dense = make_synapse(context, synfire_test::describe(Product{1, 1, 1, 1300}, false));
  Random random(11);
  for (const int32_t kind : {SYNFIRE_OPTIMIZER_KIND_SGD, SYNFIRE_OPTIMIZER_KIND_ADAM, SYNFIRE_OPTIMIZER_KIND_ADAMW}) {
    const auto weight = random.values<float>(1300, -1, 1), gradient = random.values<float>(1300, -1, 1);
    std::vector<std::vector<float>> found;
    for (const synfire_synapse each : {synapse.get(), dense.get()}) {
      synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
      od.kind = kind;
      od.momentum = 0.9;
      od.weight_decay = 0.1;
      od.clip_norm = 1;
      synfire_optimizer handle = nullptr;
      ASSERT_OK(synfire_optimizer_create(context, &od, &handle));
      const Optimizer optimizer(handle);
      EXPECT_OK(synfire_optimizer_add_weights(optimizer, each, 0.5, 1));
      write(each, "weight", weight);
      write(each, "weight_gradient", gradient);
      const Graph graph = make_graph(context);
      const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
      EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &step));
      EXPECT_OK(synfire_graph_instantiate(graph));
      uint64_t ticket = 0;
      for (int i = 0; i < 3; ++i) EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
      EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
      found.push_back(read<float>(each, "weight", 1300));
      synfire_optimizer_memory memory = SYNFIRE_OPTIMIZER_MEMORY_INIT;
      EXPECT_OK(synfire_optimizer_query_memory(optimizer, &memory));
      EXPECT_EQ(memory.moment_bytes, 1300u * 4 * (kind == SYNFIRE_OPTIMIZER_KIND_SGD ? 1 : 2));
      EXPECT_GT(memory.state_bytes, 0u);
    }
    EXPECT_TRUE(same_bits(found[0], found[1]));
    EXPECT_FALSE(same_bits(found[0], weight));
  }
}

// ---- What it is -----------------------------------------------------------------------------------------------------

TEST_F(OneToOne, Info) {
  const Case c = {{4, 6, 3}, SYNFIRE_SCOPE_CHANNEL, 1, 1};
  auto desc = describe(c, true, SYNFIRE_DTYPE_F64, SYNFIRE_INPUT_VALUES);
  desc.initial_weight = -0.5;
  const Synapse synapse = make_one_to_one(context, desc);
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  EXPECT_OK(synfire_synapse_get_info(synapse, &info));
  EXPECT_STREQ(info.kind, "one_to_one");
  EXPECT_EQ(info.input_kind, SYNFIRE_INPUT_VALUES);
  EXPECT_EQ(std::vector({info.input_height, info.input_width, info.input_channels}), std::vector<int64_t>({4, 6, 3}));
  EXPECT_EQ(std::vector({info.output_height, info.output_width, info.output_channels}),
            std::vector<int64_t>({4, 6, 3}));
  EXPECT_EQ(info.row_operations, 72u);
  EXPECT_EQ(info.dtype, SYNFIRE_DTYPE_F64);
  EXPECT_EQ(info.n_arrays, 2u);
  EXPECT_EQ(info.frozen + info.takes_mask + info.takes_dropout, 0);
  for (const uint32_t i : {0u, 1u}) {
    synfire_synapse_array_info array = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
    EXPECT_OK(synfire_synapse_get_array_info(synapse, i, &array));
    EXPECT_STREQ(array.name, i == 0 ? "weight" : "bias");
    EXPECT_EQ(std::vector(array.shape, array.shape + 4), std::vector<int64_t>({3, 0, 0, 0}));
    EXPECT_EQ(read<double>(synapse, array.name, 3), std::vector<double>(3, i == 0 ? -0.5 : 0));
  }
  synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
  EXPECT_OK(synfire_synapse_query_memory_one_to_one(&desc, &memory));
  EXPECT_EQ(memory.weight_bytes, 48u);
  EXPECT_EQ(memory.derived_bytes, 0u);
  EXPECT_EQ(memory.gradient_bytes, 48u);
  desc.frozen = 1;
  EXPECT_OK(synfire_synapse_query_memory_one_to_one(&desc, &memory));
  EXPECT_EQ(memory.gradient_bytes, 0u);
  // Zero means the default everywhere.
  synfire_one_to_one_desc plain = SYNFIRE_ONE_TO_ONE_DESC_INIT;
  plain.channels = 2;
  EXPECT_EQ(read<float>(make_one_to_one(context, plain), "weight", 2), std::vector<float>({1, 1}));
}

TEST_F(OneToOne, Refusals) {
  const Case c = {{1, 1, 4}, SYNFIRE_SCOPE_NEURON, 2, 1};
  const synfire_one_to_one_desc good = describe(c, true);
  const auto expect = [&](const char* rule, const char* word,
                          const std::function<void(synfire_one_to_one_desc&)>& change) {
    SCOPED_TRACE(rule);
    synfire_one_to_one_desc bad = good;
    change(bad);
    synfire_synapse made = nullptr;
    EXPECT_FAILS(refused, WORDS(rule, word), synfire_synapse_create_one_to_one(context, &bad, &made));
    EXPECT_EQ(made, nullptr);
    synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
    EXPECT_FAILS(refused, WORDS(rule, word), synfire_synapse_query_memory_one_to_one(&bad, &memory));
  };
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{1} << 62})
    expect("SYN-SYNAPSE-MAP", "desc.channels", [&](auto& desc) { desc.channels = bad; });
  for (const int64_t bad : {int64_t{-1}, int64_t{1} << 61}) {
    expect("SYN-SYNAPSE-MAP", "desc.height", [&](auto& desc) { desc.height = bad; });
    expect("SYN-SYNAPSE-MAP", "desc.width", [&](auto& desc) { desc.width = bad; });
  }
  expect("SYN-SYNAPSE-SCOPE", "desc.scope is 3", [](auto& desc) { desc.scope = 3; });
  expect("SYN-SYNAPSE-INPUT-KIND", "desc.input_kind", [](auto& desc) { desc.input_kind = 2; });
  expect("SYN-SYNAPSE-DTYPE", "desc.dtype", [](auto& desc) { desc.dtype = SYNFIRE_DTYPE_F16; });
  expect("SYN-SYNAPSE-GRADIENT-BITS", "desc.gradient_bits", [](auto& desc) { desc.gradient_bits = 16; });
  expect("SYN-SYNAPSE-FLAG", "desc.bias", [](auto& desc) { desc.bias = 2; });
  expect("SYN-SYNAPSE-FLAG", "desc.frozen", [](auto& desc) { desc.frozen = -1; });
  expect("SYN-RESERVED", "desc.reserved", [](auto& desc) { desc.reserved = 1; });
  for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan(""), 1e39})
    expect("SYN-SYNAPSE-WEIGHT", "desc.initial_weight", [&](auto& desc) { desc.initial_weight = bad; });

  const Synapse synapse = make_one_to_one(context, good);
  const Product p = c.product();
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, std::vector<double>(8)),
             output = outputs_in(context, SYNFIRE_DTYPE_F32, p), grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  // It takes no dropout, and its arrays have a name and a size.
  const Buffer mask = make_buffer(context, SYNFIRE_DTYPE_BITS, 1), scale = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  auto fd = forward(p, input, output, nullptr);
  fd.input_mask = mask;
  fd.input_scale = scale;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-SYNAPSE-DROPOUT-KIND", "one_to_one"),
               synfire_synapse_forward(synapse, &fd, nullptr));
  auto bd = backward(p, grad, input, nullptr, nullptr);
  bd.input_mask = mask;
  bd.input_scale = scale;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-SYNAPSE-DROPOUT-KIND"),
               synfire_synapse_backward(synapse, &bd, nullptr));
  std::vector<float> values(4, 1);
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "did you mean \"weight\"?"),
               synfire_synapse_read(synapse, "weigth", values.data(), 16));
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-SIZE", "f32 [4]"), synfire_synapse_read(synapse, "bias", values.data(), 12));
  EXPECT_OK(synfire_synapse_write(synapse, "weights", values.data(), 16));
  // Gradients over 2^31 terms of one weight.
  const Synapse wide = make_one_to_one(context, describe({{1, 1, 1 << 16}, SYNFIRE_SCOPE_LAYER, 1, 1}, false));
  auto long_one = backward(p, grad, input, nullptr, nullptr);
  long_one.n_steps = 1 << 15;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-SYNAPSE-ROWS", "65536 elements"),
               synfire_synapse_backward(wide, &long_one, nullptr));
  auto frozen_desc = good;
  frozen_desc.frozen = 1;
  const Synapse frozen = make_one_to_one(context, frozen_desc);
  bd = backward(p, grad, input, nullptr, nullptr);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-SYNAPSE-FROZEN"), synfire_synapse_backward(frozen, &bd, nullptr));
  // A layer has as many neurons.
  const Layer layer = make_layer(context, describe(Shape{2, 1, 5}, SYNFIRE_DTYPE_F32));
  synfire_forward_desc of_layer = SYNFIRE_FORWARD_DESC_INIT;
  of_layer.synapse = synapse;
  of_layer.synapse_input = input;
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-CHAIN", "4 outputs", "5 neurons"),
               synfire_layer_forward(layer, &of_layer, nullptr));
}

}  // namespace
}  // namespace synfire_test
