// Counts: dense synapses of counts against the same synapses of spikes, and networks in which counts flow to synapses,
// neurons, sums and readouts; neurons that read an array without a synapse, and the gradient of an X of one step.
#include <string>

#include "described_stages.hpp"
#include "graph_support.hpp"
#include "network_file.hpp"
#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

class CountsTest : public SynapseTest {};

// A count of c is c spikes of inputs with equal weights: outputs and gradients of inputs have the same bits, and
// gradients of weights are sums of those of the equal ones.
TEST_F(CountsTest, AreAsManySpikes) {
  constexpr int64_t most = 6;
  const Product p = {3, 5, 37, 21}, wide = {3, 5, 37 * most, 21};
  Random random(11);
  auto of_counts = describe(p, true, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_COUNTS), of_spikes = describe(wide, true);
  const Synapse counts = make_synapse(context, of_counts), spikes = make_synapse(context, of_spikes);
  const auto weights = random.values<float>(p.inputs() * p.outputs(), -1, 1),
             bias = random.values<float>(p.outputs(), -1, 1);
  std::vector<float> repeated;
  for (const float weight : weights) repeated.insert(repeated.end(), most, weight);
  write(counts, "weight", weights);
  write(counts, "bias", bias);
  write(spikes, "weight", repeated);
  write(spikes, "bias", bias);

  std::vector<double> given, fired;
  for (size_t i = 0; i < p.rows() * p.inputs(); ++i) {
    given.push_back(static_cast<double>(random.whole(0, most)));
    for (int64_t j = 0; j < most; ++j) fired.push_back(static_cast<double>(j) < given.back() ? 1 : 0);
  }
  Rows input = rows_for_input(context, SYNFIRE_DTYPE_U8, p);
  input.put(given);
  const Rows bits = spikes_in(context, SYNFIRE_DTYPE_BITS, wide, fired), y = outputs_in(context, SYNFIRE_DTYPE_F32, p),
             expected = outputs_in(context, SYNFIRE_DTYPE_F32, wide);
  auto pass = forward(p, input, y, nullptr);
  ASSERT_OK(synfire_synapse_forward(counts, &pass, nullptr));
  pass = forward(wide, bits, expected, nullptr);
  ASSERT_OK(synfire_synapse_forward(spikes, &pass, nullptr));
  EXPECT_EQ(y.get(), expected.get());
  EXPECT_NE(y.get(), std::vector<double>(y.get().size()));

  Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  grad.put(as_doubles(random.values<float>(p.rows() * p.outputs(), -1, 1)));
  const Rows dx = Rows(context, SYNFIRE_DTYPE_F32, 3, 5 * p.inputs()),
             wide_dx = Rows(context, SYNFIRE_DTYPE_F32, 3, 5 * wide.inputs());
  auto back = backward(p, grad, input, dx, nullptr);
  ASSERT_OK(synfire_synapse_backward(counts, &back, nullptr));
  back = backward(wide, grad, bits, wide_dx, nullptr);
  ASSERT_OK(synfire_synapse_backward(spikes, &back, nullptr));
  const std::vector<double> one = dx.get(), many = wide_dx.get();
  for (size_t i = 0; i < one.size(); ++i)
    for (size_t j = 0; j < most; ++j) ASSERT_EQ(one[i], many[i * most + j]) << i;
  const auto dw = read<float>(counts, "weight_gradient", weights.size()),
             wide_dw = read<float>(spikes, "weight_gradient", repeated.size());
  for (size_t i = 0; i < dw.size(); ++i) {
    double sum = 0, size = 0;
    for (size_t j = 0; j < most; ++j) {
      sum += static_cast<double>(wide_dw[i * most + j]);
      size += std::fabs(static_cast<double>(wide_dw[i * most + j]));
    }
    ASSERT_NEAR(static_cast<double>(dw[i]), sum, 1e-6 * size + 1e-12) << i;
  }
  EXPECT_EQ(read<float>(counts, "bias_gradient", bias.size()), read<float>(spikes, "bias_gradient", bias.size()));
}

TEST_F(CountsTest, DenseSynapsesSayWhatTheyAre) {
  const Product p = {1, 1, 5, 3};
  auto desc = describe(p, false, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_COUNTS);
  const Synapse synapse = make_synapse(context, desc);
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  ASSERT_OK(synfire_synapse_get_info(synapse, &info));
  EXPECT_STREQ(info.kind, "dense");
  EXPECT_EQ(info.input_kind, SYNFIRE_INPUT_COUNTS);
  EXPECT_EQ(info.gradient_bits, 24);
  EXPECT_EQ(info.takes_mask, 1);
  EXPECT_EQ(info.takes_dropout, 1);
  synfire_synapse_array_info array = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
  ASSERT_OK(synfire_synapse_get_array_info(synapse, 0, &array));
  EXPECT_EQ(array.n_dimensions, 2U);
  EXPECT_EQ(array.shape[0], 3);
  EXPECT_EQ(array.shape[1], 5);
  synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
  ASSERT_OK(synfire_synapse_query_memory(&desc, &memory));
  EXPECT_EQ(memory.weight_bytes, 60U);

  const std::vector<uint8_t> mask(15, 1);
  synfire_synapse made = nullptr;
  desc.mask = mask.data();
  desc.mask_length = mask.size();
  const Synapse masked = make_synapse(context, desc);
  ASSERT_OK(synfire_synapse_get_info(masked, &info));
  EXPECT_EQ(info.has_mask, 1);
  desc.mask_length = 14;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-MASK", "15"),
               synfire_synapse_create(context, &desc, &made));
  for (const float bad : {-1.0f, 1.5f, std::nanf("")}) {
    desc = describe(p, false, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_COUNTS);
    desc.count_scale = bad;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-COUNTS", "at most 1"),
                 synfire_synapse_create(context, &desc, &made));
  }
  for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES}) {
    desc = describe(p, false, SYNFIRE_DTYPE_F32, kind);
    desc.count_scale = 0.5f;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-COUNTS", "0 or 1"),
                 synfire_synapse_create(context, &desc, &made));
  }
  desc = describe(p, false, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_COUNTS);
  desc.n_inputs = 4210753;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-INPUTS", "4210752"),
               synfire_synapse_create(context, &desc, &made));
  const Rows wrong = rows_for_input(context, SYNFIRE_DTYPE_F32, p), out = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  const auto pass = forward(p, wrong, out, nullptr);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-TYPE", "desc.input"),
               synfire_synapse_forward(synapse, &pass, nullptr));
}

// ---- networks -------------------------------------------------------------------------------------------------------

constexpr int64_t n_steps = 6, batch = 4, n_inputs = 9;

class CountsInNetworks : public testing::Test {
 protected:
  Context context = make_context();

  Network make_empty(int32_t own_loss = SYNFIRE_OWN_LOSS_NONE) const {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = n_steps;
    desc.batch = batch;
    desc.seed = 5;
    desc.own_loss = own_loss;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    return Network(made);
  }
  Buffer counts_of(const std::vector<uint8_t>& counts) const {
    return buffer_of_bytes(context, SYNFIRE_DTYPE_U8, counts.size(), counts.data(), counts.size());
  }
  std::vector<float> inferred(synfire_network network, synfire_buffer inputs, uint64_t n_outputs) const {
    const Buffer to = make_buffer(context, SYNFIRE_DTYPE_F32, n_outputs);
    require_ok(synfire_network_infer(network, inputs, batch, to));
    return download<float>(to, n_outputs);
  }
  static int32_t input_kind_of(synfire_network network, const char* stage) {
    synfire_synapse found = nullptr;
    require_ok(synfire_network_get_synapse(network, stage, &found));
    const Synapse synapse(found);
    synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
    require_ok(synfire_synapse_get_info(synapse, &info));
    return info.input_kind;
  }
  static std::vector<float> weights_of(synfire_network network, const char* stage, size_t count) {
    synfire_synapse found = nullptr;
    require_ok(synfire_network_get_synapse(network, stage, &found));
    const Synapse synapse(found);
    return read<float>(synapse, "weight", count);
  }
};

// A synapse of a sum of spikes, of counts and of both side by side adds them exactly, also one with a dropout or a
// mask, and other readers of the same counts do not change them.
TEST_F(CountsInNetworks, ReachSynapsesAsTheyAre) {
  const Network network = make_empty();
  require_ok(
      add_stage(network, "input", "in", {text("kind", "counts"), number("n_features", n_inputs), number("bound", 3)}));
  require_ok(add_stage(network, "synapse", "first", {number("n_outputs", n_inputs), number("gain", 3)}));
  require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
  require_ok(add_stage(network, "sum", "sum", {}, {reads("in"), reads("hidden")}));
  require_ok(add_stage(network, "flatten", "flat"));
  require_ok(add_stage(network, "synapse", "second", {number("n_outputs", 5)}));
  require_ok(add_stage(network, "neurons", "direct", {text("model", "li")}, {reads("sum")}));
  require_ok(add_stage(network, "dropout", "drop", {number("probability", 0.5)}, {reads("sum")}));
  require_ok(add_stage(network, "synapse", "dropped", {number("n_outputs", 5)}));
  require_ok(add_stage(network, "synapse", "masked", {number("n_outputs", 5)}, {reads("sum")}));
  require_ok(add_stage(network, "concatenate", "both", {}, {reads("sum"), reads("hidden")}));
  require_ok(add_stage(network, "synapse", "third", {number("n_outputs", 5)}));
  for (const char* const x : {"second", "dropped", "masked", "third"})
    require_ok(add_stage(network, "neurons", (std::string("n.") + x).c_str(), {text("model", "li")}, {reads(x)}));
  std::vector<uint8_t> mask(static_cast<size_t>(n_inputs * 5), 1);
  mask[7] = 0;
  require_ok(synfire_network_set_mask(network, "masked", mask.data(), mask.size()));
  require_ok(synfire_network_build(network));
  for (const char* const counts : {"first", "second", "third", "dropped", "masked"})
    EXPECT_EQ(input_kind_of(network, counts), SYNFIRE_INPUT_COUNTS) << counts;
  EXPECT_EQ(weights_of(network, "first", n_inputs * n_inputs).size(), static_cast<size_t>(n_inputs * n_inputs));
}

// Counts of up to 3 and three times as many spikes, with the same weights.
TEST_F(CountsInNetworks, HaveTheBitsOfAsManySpikes) {
  const auto make = [&](bool counts) {
    Network network = make_empty();
    StageValues values = {text("kind", counts ? "counts" : "spikes"),
                          number("n_features", counts ? n_inputs : 3 * n_inputs)};
    values.push_back(counts ? number("bound", 3) : text("dtype", "u8"));
    require_ok(add_stage(network, "input", "in", values));
    require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 20), number("gain", 3)}));
    require_ok(add_stage(network, "neurons", "n", {text("model", "lif")}));
    require_ok(add_stage(network, "readout", "r", {text("reduction", "steps")}));
    require_ok(synfire_network_build(network));
    return network;
  };
  const Network counts = make(true), spikes = make(false);
  const auto write_weights = [&](synfire_network network, const std::vector<float>& weights) {
    synfire_synapse found = nullptr;
    require_ok(synfire_network_get_synapse(network, "s", &found));
    const Synapse synapse(found);
    require_ok(synfire_synapse_write(synapse, "weight", weights.data(), weights.size() * sizeof(float)));
    require_ok(synfire_synapse_write(synapse, "bias", std::vector<float>(20).data(), 20 * sizeof(float)));
  };
  Random random(4);
  const auto weights = random.values<float>(static_cast<size_t>(n_inputs * 20), -1, 1);
  std::vector<float> repeated;
  for (const float weight : weights) repeated.insert(repeated.end(), 3, weight);
  write_weights(counts, weights);
  write_weights(spikes, repeated);
  std::vector<uint8_t> given, fired;
  for (int64_t i = 0; i < batch * n_steps * n_inputs; ++i) {
    given.push_back(static_cast<uint8_t>(random.whole(0, 5)));  // above the bound too
    for (uint8_t j = 0; j < 3; ++j) fired.push_back(j < given.back() ? 1 : 0);
  }
  const uint64_t n = batch * n_steps * 20;
  const std::vector<float> v = inferred(counts, counts_of(given), n);
  EXPECT_TRUE(same_bits(v, inferred(spikes, counts_of(fired), n)));
  EXPECT_FALSE(all_are(v, 0.0F));
}

// X is the array itself: with a scale of 1 between them, neurons have the same bits, and so does what is trained
// before.
TEST_F(CountsInNetworks, NeuronsReadWhatTheyAreGiven) {
  for (const char* const port : {"spikes", "v"}) {
    const auto make = [&](bool direct) {
      Network network = make_empty();
      require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", n_inputs)}));
      require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 12), number("gain", 3)}));
      require_ok(add_stage(network, "neurons", "n", {text("model", "lif")}));
      if (!direct) {
        require_ok(
            add_stage(network, "scale", "one", {text("scope", "layer"), number("frozen", 1)}, {reads("n", port)}));
        require_ok(add_stage(network, "neurons", "next", {text("model", "li")}));
      } else {
        EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-CHAIN", "\"n\" unless it names that stage"),
                     add_stage(network, "neurons", "next", {text("model", "li")}));
        require_ok(add_stage(network, "neurons", "next", {text("model", "li")}, {reads("n", port)}));
      }
      require_ok(add_stage(network, "readout", "r", {text("reduction", "mean")}));
      require_ok(add_stage(network, "loss", "loss", {text("kind", "cross_entropy")}));
      require_ok(add_stage(network, "optimizer", "adam", {text("kind", "adam"), number("learning_rate", 0.01)}));
      require_ok(synfire_network_build(network));
      return network;
    };
    const Network direct = make(true), scaled = make(false);
    Random random(9);
    const Buffer inputs = make_buffer_of(context, random.values<float>(batch * n_steps * n_inputs, -1, 2));
    const std::vector<uint32_t> classes = {3, 0, 7, 11};
    const Buffer labels = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, 4, classes.data(), 16);
    for (const Network* const network : {&direct, &scaled}) {
      require_ok(
          synfire_network_set_data(*network, SYNFIRE_DATA_TRAINING, batch, inputs, labels, nullptr, nullptr, nullptr));
      trained(*network, 5);
    }
    EXPECT_TRUE(same_bits(weights_of(direct, "s", n_inputs * 12), weights_of(scaled, "s", n_inputs * 12))) << port;
    EXPECT_TRUE(same_bits(inferred(direct, inputs, batch * 12), inferred(scaled, inputs, batch * 12))) << port;
    EXPECT_NE(FileParts(saved(direct)).header.find("version=2"), std::string::npos);
  }
}

// Counts and spikes of an input are numbers to neurons.
TEST_F(CountsInNetworks, NeuronsReadInputs) {
  const auto make = [&](const StageValues& of_input) {
    Network network = make_empty();
    require_ok(add_stage(network, "input", "in", of_input));
    require_ok(add_stage(network, "neurons", "n", {text("model", "lif")}, {reads("in")}));
    require_ok(add_stage(network, "readout", "r", {text("reduction", "steps")}, {reads("n", "v")}));
    require_ok(synfire_network_build(network));
    return network;
  };
  std::vector<uint8_t> counts;
  std::vector<float> numbers;
  for (int64_t i = 0; i < batch * n_steps * n_inputs; ++i) {
    counts.push_back(static_cast<uint8_t>(i % 5));
    numbers.push_back(static_cast<float>(std::min<int64_t>(i % 5, 3)));
  }
  const uint64_t n = batch * n_steps * n_inputs;
  const StageValues width = {number("n_features", n_inputs)};
  const std::vector<float> v =
      inferred(make({text("kind", "counts"), width[0], number("bound", 3)}), counts_of(counts), n);
  EXPECT_TRUE(same_bits(v, inferred(make({text("kind", "values"), width[0]}), make_buffer_of(context, numbers), n)));
  EXPECT_FALSE(all_are(v, 0.0F));
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = counts[i] > 2 ? 1 : 0;
    numbers[i] = static_cast<float>(counts[i]);
  }
  EXPECT_TRUE(same_bits(inferred(make({text("kind", "spikes"), width[0], text("dtype", "u8")}), counts_of(counts), n),
                        inferred(make({text("kind", "values"), width[0]}), make_buffer_of(context, numbers), n)));
}

// The gradient of an X of one step is added from the last step to the first: here that of the bias of a synapse before
// neurons whose V is the X of each step (tau 1), from gradients of V of which two cancel each other.
TEST_F(CountsInNetworks, TheGradientOfOneStepIsAddedFromTheLast) {
  const auto bias_after = [&](const std::vector<float>& of_steps) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 3;
    desc.batch = 1;
    desc.own_loss = SYNFIRE_OWN_LOSS_STARTS;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    const Network network(made);
    require_ok(
        add_stage(network, "input", "in", {text("kind", "values"), number("n_features", 1), number("n_steps", 1)}));
    require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 1), text("initialization", "zero")}));
    require_ok(add_stage(network, "neurons", "n", {text("model", "li"), number("tau", 1)}));
    require_ok(add_stage(network, "readout", "r", {text("reduction", "steps")}));
    require_ok(add_stage(network, "optimizer", "sgd", {text("kind", "sgd"), number("learning_rate", 1)}));
    require_ok(synfire_network_build(network));
    const auto run = [&](int32_t kind) {
      synfire_graph found = nullptr;
      require_ok(synfire_network_get_graph(network, kind, &found));
      const Graph graph(found);
      replay(graph);
    };
    run(SYNFIRE_NETWORK_GRAPH_FORWARD);
    synfire_buffer found = nullptr;
    require_ok(synfire_network_get_buffer(network, "r.gradient", &found));
    const Buffer gradient(found);
    upload(gradient, of_steps);
    run(SYNFIRE_NETWORK_GRAPH_BACKWARD);
    synfire_synapse of_s = nullptr;
    require_ok(synfire_network_get_synapse(network, "s", &of_s));
    const Synapse synapse(of_s);
    return -read<float>(synapse, "bias", 1)[0];
  };
  constexpr float large = 0x1p30F;
  EXPECT_EQ(bias_after({1, large, -large}), 1);
  EXPECT_EQ(bias_after({large, -large, 1}), 0);
  EXPECT_EQ(bias_after({3, 4, 5}), 12);
}

// The X of neurons that read an input is an array of the network's own: a backward marks it as used.
TEST_F(CountsInNetworks, TheFrameStaysAsItIs) {
  const Network network = make_empty(SYNFIRE_OWN_LOSS_CONTINUES);
  require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", n_inputs)}));
  require_ok(add_stage(network, "neurons", "n", {text("model", "lif")}, {reads("in")}));
  require_ok(synfire_network_train_parameter(network, "n", "tau", 0, 1, 0, 1, 100));
  require_ok(add_stage(network, "readout", "r", {text("reduction", "mean")}, {reads("n", "v")}));
  require_ok(add_stage(network, "optimizer", "sgd", {text("kind", "sgd"), number("learning_rate", 0.1)}));
  require_ok(synfire_network_build(network));
  synfire_buffer found = nullptr;
  require_ok(synfire_network_get_buffer(network, "input", &found));
  const Buffer input(found);
  const std::vector<float> frame(static_cast<size_t>(n_steps * batch * n_inputs), 0.75F);
  upload(input, frame);
  for (const int32_t kind : {SYNFIRE_NETWORK_GRAPH_FORWARD, SYNFIRE_NETWORK_GRAPH_BACKWARD}) {
    synfire_graph of_kind = nullptr;
    require_ok(synfire_network_get_graph(network, kind, &of_kind));
    const Graph graph(of_kind);
    replay(graph);
  }
  EXPECT_EQ(download<float>(input, frame.size()), frame);
}

// An X that is an output too keeps its numbers in a backward.
TEST_F(CountsInNetworks, OutputsStayAsTheyAre) {
  const Network network = make_empty(SYNFIRE_OWN_LOSS_STARTS);
  require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", n_inputs)}));
  require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 5), number("gain", 3)}));
  require_ok(add_stage(network, "neurons", "n", {text("model", "li")}));
  require_ok(add_stage(network, "scale", "x", {}, {reads("n", "v")}));
  require_ok(add_stage(network, "readout", "seen", {text("reduction", "steps")}));
  require_ok(add_stage(network, "neurons", "m", {text("model", "li")}, {reads("x")}));
  require_ok(add_stage(network, "readout", "r", {text("reduction", "mean")}));
  require_ok(add_stage(network, "optimizer", "sgd", {text("kind", "sgd"), number("learning_rate", 0.1)}));
  require_ok(synfire_network_build(network));
  const auto buffer = [&](const char* name) {
    synfire_buffer found = nullptr;
    require_ok(synfire_network_get_buffer(network, name, &found));
    return Buffer(found);
  };
  Random random(2);
  upload(buffer("input"), random.values<float>(n_steps * batch * n_inputs, 1, 2));
  std::vector<float> seen;
  for (const int32_t kind : {SYNFIRE_NETWORK_GRAPH_FORWARD, SYNFIRE_NETWORK_GRAPH_BACKWARD}) {
    synfire_graph of_kind = nullptr;
    require_ok(synfire_network_get_graph(network, kind, &of_kind));
    replay(Graph(of_kind));
    const std::vector<float> now = download<float>(buffer("seen.output"), n_steps * batch * 5);
    if (!seen.empty()) {
      EXPECT_TRUE(same_bits(now, seen));
    }
    seen = now;
    EXPECT_NE(seen.front(), 0);
  }
}

// Two uses of a synapse read the same: counts both, or values both.
TEST_F(CountsInNetworks, UsesOfOneSynapseReadTheSame) {
  const Network network = make_empty();
  require_ok(
      add_stage(network, "input", "in", {text("kind", "counts"), number("n_features", n_inputs), number("bound", 3)}));
  require_ok(add_stage(network, "input", "more",
                       {text("kind", "counts"), number("n_features", n_inputs), number("bound", 200)}));
  require_ok(add_stage(network, "input", "values", {text("kind", "values"), number("n_features", n_inputs)}));
  require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 5)}, {reads("in")}));
  require_ok(add_stage(network, "dropout", "drop", {number("probability", 0.5)}, {reads("in")}));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT,
               WORDS("SYN-NETWORK-SHAPE", "\"b\" reads values", "\"s\", which reads counts"),
               add_stage(network, "synapse", "b", {text("weights_of", "s")}, {reads("values")}));
  ASSERT_OK(add_stage(network, "synapse", "b", {text("weights_of", "s")}, {reads("more")}));
  require_ok(add_stage(network, "sum", "x", {}, {reads("s"), reads("b")}));
  require_ok(add_stage(network, "neurons", "n", {text("model", "li")}));
  require_ok(add_stage(network, "synapse", "d", {text("weights_of", "s")}, {reads("drop")}));
  require_ok(add_stage(network, "neurons", "m", {text("model", "li")}));
  require_ok(add_stage(network, "neurons", "k", {text("model", "li")}, {reads("values")}));
  EXPECT_OK(synfire_network_build(network));
}

}  // namespace
}  // namespace synfire_test
