// A network keeps what a program has asked for: arrays by name, monitors of stages, and readouts that continue from
// replay to replay.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "described_stages.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

constexpr int32_t refused = SYNFIRE_ERROR_INVALID_ARGUMENT, too_late = SYNFIRE_ERROR_WRONG_ORDER;

Buffer buffer_of(synfire_network network, const char* name) {
  synfire_buffer buffer = nullptr;
  EXPECT_OK(synfire_network_get_buffer(network, name, &buffer));
  return Buffer(buffer);
}
synfire_network_monitor monitor_of(synfire_network network, const char* stage, int32_t restart = 0) {
  synfire_network_monitor monitor = SYNFIRE_NETWORK_MONITOR_INIT;
  EXPECT_OK(synfire_network_get_monitor(network, stage, restart, &monitor));
  return monitor;
}
Graph inference_of(synfire_network network) {
  synfire_graph graph = nullptr;
  require_ok(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, &graph));
  return Graph(graph);
}
template <class Number>
std::vector<Number> read_array(synfire_network network, const char* stage, const char* array, size_t count) {
  synfire_synapse made = nullptr;
  require_ok(synfire_network_get_synapse(network, stage, &made));
  const Synapse synapse(made);
  std::vector<Number> numbers(count);
  EXPECT_OK(synfire_synapse_read(synapse, array, numbers.data(), count * sizeof(Number)));
  return numbers;
}
double norm_of(const std::vector<float>& numbers) {
  double sum = 0;
  for (const float number : numbers) sum += static_cast<double>(number) * static_cast<double>(number);
  return std::sqrt(sum);
}

class NetworkKept : public testing::Test {
 protected:
  Context context = make_context(2);

  static StagePlan of_spikes() {
    StagePlan plan;
    plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    plan.input_dtype = SYNFIRE_DTYPE_BITS;
    return plan;
  }
  Network build(const StagePlan& plan, const char* names) const {
    Network network = make_stages(context, plan);
    if (names) require_ok(synfire_network_keep(network, names));
    require_ok(synfire_network_build(network));
    return network;
  }
  Network with_data(const StagePlan& plan, const char* names, int64_t n_rows, const Data& data) const {
    Network network = build(plan, names);
    set_data(network, SYNFIRE_DATA_TRAINING, n_rows, data);
    set_data(network, SYNFIRE_DATA_EVALUATION, n_rows, data);
    return network;
  }
  static synfire_network_result train(synfire_network network, int64_t n_batches) {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    EXPECT_OK(synfire_network_train(network, n_batches, &result));
    return result;
  }
  static synfire_network_result evaluate(synfire_network network) {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    EXPECT_OK(synfire_network_evaluate(network, &result));
    return result;
  }
  std::vector<float> infer(synfire_network network, synfire_buffer inputs, int64_t n_rows, size_t width) const {
    const size_t count = static_cast<size_t>(n_rows) * width;
    const Buffer outputs = make_buffer(context, SYNFIRE_DTYPE_F32, count);
    EXPECT_OK(synfire_network_infer(network, inputs, n_rows, outputs));
    return download<float>(outputs, count);
  }
};

// ---- arrays by name -------------------------------------------------------------------------------------------------

constexpr const char* everything =
    "s0.output s0.grad_output  s0.monitor n0.spikes n0.v n0.counts n0.grad_spikes n0.monitor s1.output s1.grad_output "
    "s1.monitor n1.v";

// Kept arrays change no bit, with any readout and also where the other arrays are transient.
TEST_F(NetworkKept, WhatIsKeptChangesNoBit) {
  std::vector<StagePlan> plans(4, of_spikes());
  plans[1].readout = SYNFIRE_READOUT_STEPS;
  plans[1].dropout = 0.2;
  plans[2].last = SYNFIRE_MODEL_LIF;
  plans[2].of_spikes = true;
  plans[2].transient_arrays = 1;
  plans[2].rate_strength = 0.1;
  plans[3].lengths = true;
  plans[3].sizes = {20, 33, 17, 4};
  for (const StagePlan& plan : plans) {
    const Data data = make_data(context, plan, plan.n_rows, 3);
    const size_t width = static_cast<size_t>(plan.sizes.back()) *
                         static_cast<size_t>(plan.readout == SYNFIRE_READOUT_STEPS ? plan.n_steps : 1);
    struct Found {
      std::vector<uint32_t> words;
      double loss, evaluated;
      std::vector<float> inferred;
    };
    const auto run = [&](const char* names) {
      const Network network = with_data(plan, names, plan.n_rows, data);
      Found found = {};
      found.loss = train(network, 7).loss;
      found.evaluated = evaluate(network).loss;
      found.inferred = infer(network, data.inputs, plan.n_rows, width);
      found.words = learnt(network, plan).words();
      return found;
    };
    const Found expected = run(nullptr), found = run(everything);
    EXPECT_EQ(found.words, expected.words) << plan;
    EXPECT_EQ(found.loss, expected.loss) << plan;
    EXPECT_EQ(found.evaluated, expected.evaluated) << plan;
    EXPECT_TRUE(same_bits(found.inferred, expected.inferred)) << plan;
  }
}

// X, V, spikes and counts of one batch are those that the parts give by hand.
TEST_F(NetworkKept, ArraysOfInferenceAreThoseOfTheParts) {
  const StagePlan plan = of_spikes();
  const Network network = build(plan, everything);
  const Data data = make_data(context, plan, plan.batch, 9);
  infer(network, data.inputs, plan.batch, static_cast<size_t>(plan.sizes.back()));
  const Shape hidden{plan.n_steps, plan.batch, plan.sizes[1]};
  synfire_synapse synapse = nullptr;
  synfire_layer layer = nullptr;
  ASSERT_OK(synfire_network_get_synapse(network, "s0", &synapse));
  ASSERT_OK(synfire_network_get_layer(network, "n0", &layer));
  const Synapse owned(synapse);
  const Layer owned_layer(layer);
  const Buffer input = buffer_of(network, "input"), x = make_buffer(context, SYNFIRE_DTYPE_F32, hidden.sequence()),
               v = make_buffer(context, SYNFIRE_DTYPE_F32, hidden.sequence()),
               spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, hidden.words());
  synfire_synapse_forward_desc product = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  product.n_steps = plan.n_steps;
  product.batch = plan.batch;
  product.input = input;
  product.output = x;
  EXPECT_OK(synfire_synapse_forward(synapse, &product, nullptr));
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.tape = SYNFIRE_TAPE_NONE;
  forward.x = x;
  forward.v_seq = v;
  forward.spikes = spikes;
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  const std::vector<uint32_t> words = download<uint32_t>(spikes, hidden.words());
  EXPECT_TRUE(same_bits(download<float>(buffer_of(network, "s0.output"), hidden.sequence()),
                        download<float>(x, hidden.sequence())));
  EXPECT_TRUE(
      same_bits(download<float>(buffer_of(network, "n0.v"), hidden.sequence()), download<float>(v, hidden.sequence())));
  EXPECT_TRUE(same_bits(download<uint32_t>(buffer_of(network, "n0.spikes"), hidden.words()), words));
  std::vector<float> counts(hidden.row());
  for (size_t row = 0; row < hidden.words(); ++row)  // one word for each step and batch row
    for (size_t n = 0; n < static_cast<size_t>(plan.sizes[1]); ++n)
      counts[row % static_cast<size_t>(plan.batch) * static_cast<size_t>(plan.sizes[1]) + n] +=
          static_cast<float>(words[row] >> n & 1u);
  EXPECT_TRUE(same_bits(download<float>(buffer_of(network, "n0.counts"), hidden.row()), counts));
  EXPECT_FALSE(all_are(counts, 0.0F));
}

// The gradient of a synapse's output is what its bias learns from; that of a readout is there too. An output of the
// network is then written by training and evaluation as by inference.
TEST_F(NetworkKept, ArraysOfTrainingAndEvaluation) {
  StagePlan plan = of_spikes();
  plan.n_rows = plan.batch;
  const Data data = make_data(context, plan, plan.n_rows, 4);
  const Network network = with_data(plan, "s1.grad_output readout.output readout.grad_output n1.v", plan.n_rows, data);
  const auto classes = static_cast<size_t>(plan.sizes.back()), batch = static_cast<size_t>(plan.batch);
  train(network, 1);
  const std::vector<float> gradients =
      download<float>(buffer_of(network, "s1.grad_output"), static_cast<size_t>(plan.n_steps) * batch * classes);
  const std::vector<float> of_bias = read_array<float>(network, "s1", "bias_gradient", classes);
  for (size_t c = 0; c < classes; ++c) {
    double sum = 0;
    for (size_t i = c; i < gradients.size(); i += classes) sum += static_cast<double>(gradients[i]);
    EXPECT_NEAR(sum, static_cast<double>(of_bias[c]), 1e-5 * (1 + std::fabs(sum)));
  }
  EXPECT_FALSE(all_are(of_bias, 0.0F));
  EXPECT_FALSE(all_are(download<float>(buffer_of(network, "readout.grad_output"), batch * classes), 0.0F));

  // Evaluation takes the rows in order, so its output is that of inference.
  evaluate(network);
  const std::vector<float> scores = download<float>(buffer_of(network, "readout.output"), batch * classes);
  EXPECT_TRUE(same_bits(scores, infer(network, data.inputs, plan.batch, classes)));
  EXPECT_TRUE(same_bits(scores, download<float>(buffer_of(network, "output"), batch * classes)));
  EXPECT_FALSE(all_are(scores, 0.0F));
}

// Neurons whose output leaves the network, neurons in a cycle, and stages without weights.
TEST_F(NetworkKept, AnyStage) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 5;
  desc.batch = 3;
  synfire_network made = nullptr;
  ASSERT_OK(synfire_network_create(context, &desc, &made));
  const Network network(made);
  EXPECT_OK(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_SPIKES, 7));
  EXPECT_OK(add_stage(network, "synapse", "first", {number("n_outputs", 33), number("gain", 3)}));
  EXPECT_OK(add_stage(network, "synapse", "again", {number("n_outputs", 33)}, {{"loop", nullptr, 1}}));
  EXPECT_OK(add_stage(network, "sum", "both", {}, {reads("first"), reads("again")}));
  EXPECT_OK(synfire_network_add_neurons(network, "loop", SYNFIRE_MODEL_LIF));
  EXPECT_OK(add_stage(network, "synapse", "on", {number("n_outputs", 33), number("gain", 9)}));
  EXPECT_OK(synfire_network_add_neurons(network, "end", SYNFIRE_MODEL_LIF));
  EXPECT_OK(synfire_network_keep(network, "both.output loop.v loop.counts end.counts end.monitor again.monitor"));
  EXPECT_OK(synfire_network_keep(network, "end.spikes"));
  EXPECT_OK(synfire_network_keep(network, "end.spikes"));
  EXPECT_OK(synfire_network_build(network));
  Random random(8);
  std::vector<uint32_t> rows(15);
  for (uint32_t& row : rows) row = static_cast<uint32_t>(random.next() & 127u);
  const Buffer inputs = make_buffer_of(context, rows), outputs = make_buffer(context, SYNFIRE_DTYPE_BITS, 30);
  EXPECT_OK(synfire_network_infer(network, inputs, 3, outputs));
  const std::vector<uint32_t> spikes = download<uint32_t>(outputs, 30);
  // [R, T, words] and [T, B, words].
  const Buffer kept = buffer_of(network, "end.spikes");
  synfire_buffer_desc of_kept = SYNFIRE_BUFFER_DESC_INIT;
  EXPECT_OK(synfire_buffer_get_desc(kept, &of_kept));
  ASSERT_EQ(of_kept.dtype, SYNFIRE_DTYPE_BITS);
  const std::vector<uint32_t> steps = download<uint32_t>(kept, 30);
  std::vector<float> counts(99);
  uint64_t n_spikes = 0;
  for (size_t t = 0; t < 5; ++t)
    for (size_t b = 0; b < 3; ++b)
      for (size_t n = 0; n < 33; ++n) {
        EXPECT_EQ(steps[(t * 3 + b) * 2 + n / 32], spikes[(b * 5 + t) * 2 + n / 32]);
        const uint32_t spike = spikes[(b * 5 + t) * 2 + n / 32] >> n % 32 & 1u;
        counts[b * 33 + n] += static_cast<float>(spike);
        n_spikes += spike;
      }
  EXPECT_GT(n_spikes, 0u);
  EXPECT_TRUE(same_bits(download<float>(buffer_of(network, "end.counts"), 99), counts));
  EXPECT_FALSE(all_are(download<float>(buffer_of(network, "loop.counts"), 99), 0.0F));
  EXPECT_FALSE(all_are(download<float>(buffer_of(network, "both.output"), 495), 0.0F));
  EXPECT_FALSE(all_are(download<float>(buffer_of(network, "loop.v"), 495), 0.0F));
  const synfire_network_monitor neurons = monitor_of(network, "end"), weights = monitor_of(network, "again");
  EXPECT_EQ(neurons.n_replays, 1u);
  EXPECT_EQ(neurons.rate, static_cast<double>(n_spikes) / (33.0 * 15.0));
  EXPECT_TRUE(std::isnan(neurons.weight_norm));
  EXPECT_TRUE(std::isnan(neurons.gradient_norm));
  // Nothing is trained.
  EXPECT_TRUE(std::isnan(weights.gradient_norm));
  EXPECT_TRUE(std::isnan(weights.rate));
  EXPECT_TRUE(std::isnan(weights.silent));
  EXPECT_GT(weights.weight_norm, 0);
}

// A mean of spikes that a synapse reads is a sum, and the synapse's weights carry its factor. What is kept is that sum
// and its gradient. Where other stages read numbers too, there is no array with the whole gradient.
TEST_F(NetworkKept, MeansThatAreCounts) {
  const auto make = [&](bool has_other_reader) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 1;
    desc.seed = 5;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    Network network(made);
    require_ok(add_stage(network, "input", "in",
                         {text("kind", "values"), number("height", 2), number("width", 4), number("channels", 1)}));
    require_ok(add_stage(network, "conv2d", "conv", {number("output_channels", 1), number("kernel", 1)}));
    require_ok(add_stage(network, "neurons", "n", {text("model", "lif")}));
    require_ok(add_stage(network, "pool", "mean", {text("kind", "mean"), number("window", 2)}));
    require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 2)}));
    require_ok(synfire_network_add_neurons(network, "v", SYNFIRE_MODEL_LI));
    if (has_other_reader) {
      require_ok(add_stage(network, "flatten", "flat", {}, {reads("mean")}));
      require_ok(add_stage(network, "neurons", "direct", {text("model", "li")}));
      require_ok(add_stage(network, "sum", "both", {}, {reads("v", "v"), reads("direct", "v")}));
    }
    require_ok(add_stage(network, "readout", "out", {text("reduction", "mean")}));
    require_ok(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
    require_ok(synfire_network_add_optimizer(network, "sgd", SYNFIRE_OPTIMIZER_KIND_SGD, 0.1));
    require_ok(synfire_network_keep(network, "mean.output mean.grad_output n.spikes n.grad_spikes"));
    return network;
  };
  const Network network = make(false);
  ASSERT_OK(synfire_network_build(network));
  const Buffer inputs = make_buffer_of(context, std::vector<float>{9, -9, 9, 9, -9, 9, 9, 9}),
               labels = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
  upload(labels, std::vector<uint32_t>{1});
  ASSERT_OK(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 1, inputs, labels, nullptr, nullptr, nullptr));
  train(network, 1);
  const std::vector<float> above = download<float>(buffer_of(network, "mean.grad_output"), 2),
                           below = download<float>(buffer_of(network, "n.grad_spikes"), 8);
  const std::vector<uint8_t> sums = download<uint8_t>(buffer_of(network, "mean.output"), 2);
  const uint32_t spikes = download<uint32_t>(buffer_of(network, "n.spikes"), 1)[0];
  uint32_t counted[2] = {};
  for (size_t i = 0; i < 8; ++i) {
    const size_t window = i % 4 / 2;
    counted[window] += spikes >> i & 1u;
    EXPECT_EQ(below[i], above[window]) << i;
  }
  EXPECT_EQ(sums[0], counted[0]);
  EXPECT_EQ(sums[1], counted[1]);
  EXPECT_NE(sums[0], sums[1]);
  EXPECT_NE(above[0], 0.0F);
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-KEEP", "\"mean.grad_output\""), synfire_network_build(make(true)));
}

TEST_F(NetworkKept, WhatNobodyAskedForIsNotThere) {
  const StagePlan plan = of_spikes();
  synfire_buffer buffer = nullptr;
  const Network network = build(plan, "n0.counts");
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-NOT-KEPT", "\"n0.v\"", "synfire_network_keep", "before it is built"),
               synfire_network_get_buffer(network, "n0.v", &buffer));
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-NOT-KEPT", "\"s0.grad_output\""),
               synfire_network_get_buffer(network, "s0.grad_output", &buffer));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-BUFFER", "n0.counted", "did you mean \"n0.counts\""),
               synfire_network_get_buffer(network, "n0.counted", &buffer));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-BUFFER", "s0.outptu", "did you mean \"s0.output\""),
               synfire_network_get_buffer(network, "s0.outptu", &buffer));
  // Nothing reads this V, so it cannot be asked for either.
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-BUFFER", "n0.grad_v"),
               synfire_network_get_buffer(network, "n0.grad_v", &buffer));
  EXPECT_EQ(buffer, nullptr);
  synfire_network_monitor monitor = SYNFIRE_NETWORK_MONITOR_INIT;
  monitor.rate = 7;
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-NOT-KEPT", "\"n0.monitor\""),
               synfire_network_get_monitor(network, "n0", 0, &monitor));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-MONITOR", "\"n1\""),
               synfire_network_get_monitor(network, "n1", 0, &monitor));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-STAGE", "nothing"),
               synfire_network_get_monitor(network, "nothing", 0, &monitor));
  EXPECT_EQ(monitor.rate, 7);
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-BUILT"), synfire_network_keep(network, "n0.v"));
  // It takes memory only where it is asked for.
  const auto bytes_of = [&](const char* names) {
    StagePlan transient = plan;
    transient.transient_arrays = 1;
    const Network made = make_stages(context, transient);
    if (names) require_ok(synfire_network_keep(made, names));
    synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT;
    EXPECT_OK(synfire_network_query_memory(made, &memory));
    return memory.device_bytes;
  };
  EXPECT_GT(bytes_of("n0.v n0.spikes"), bytes_of(nullptr));
}

TEST_F(NetworkKept, UnknownNamesChangeNothing) {
  const StagePlan plan = of_spikes();
  const Network network = make_stages(context, plan);
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-KEEP", "at least one name"), synfire_network_keep(network, ""));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-KEEP", "at least one name"), synfire_network_keep(network, "  "));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-KEEP", "\"n0.spike\"", "\"n0.spikes\"", "\"s0.output\""),
               synfire_network_keep(network, "n0.v n0.spike"));
  for (const char* const name : {"n0", "v", "n0.", ".v", "n1.spikes", "n1.monitor", "input.output", "loss.output",
                                 "optimizer.monitor", "n0.output", "s0.spikes"})
    EXPECT_FAILS(refused, WORDS("SYN-NETWORK-KEEP", name), synfire_network_keep(network, name));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL"), synfire_network_keep(network, nullptr));
  EXPECT_OK(synfire_network_build(network));
  synfire_buffer buffer = nullptr;
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-NOT-KEPT"), synfire_network_get_buffer(network, "n0.v", &buffer));

  // Without an optimiser there are no gradients.
  const Network of_inference = make_stages(context, plan, false);
  EXPECT_OK(synfire_network_build(of_inference));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-BUFFER", "n0.grad_spikes"),
               synfire_network_get_buffer(of_inference, "n0.grad_spikes", &buffer));
  const Network untrained = make_stages(context, plan, false);
  EXPECT_OK(synfire_network_keep(untrained, "n0.grad_spikes"));
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-KEEP", "\"n0.grad_spikes\"", "optimizer"),
               synfire_network_build(untrained));
}

// ---- monitors -------------------------------------------------------------------------------------------------------

// Sums over replays do not depend on how the rows are divided among them.
TEST_F(NetworkKept, RatesAreThoseOfTheRows) {
  StagePlan plan = of_spikes();
  plan.lengths = true;
  plan.n_rows = 11;
  plan.sizes = {20, 47, 4};
  const Data data = make_data(context, plan, plan.n_rows, 5);
  std::vector<double> of_frames, silent_in_frames;  // of inference, which has no lengths
  const auto seen = [&](int64_t batch) {
    plan.batch = batch;
    const Network network = with_data(plan, "n0.monitor n0.counts", plan.n_rows, data);
    EXPECT_EQ(monitor_of(network, "n0").n_replays, 0u);
    EXPECT_EQ(monitor_of(network, "n0").rate, 0);
    infer(network, data.inputs, plan.n_rows, static_cast<size_t>(plan.sizes.back()));
    of_frames.push_back(monitor_of(network, "n0").rate);
    silent_in_frames.push_back(monitor_of(network, "n0").silent);
    evaluate(network);
    synfire_network_monitor found = monitor_of(network, "n0");
    EXPECT_EQ(found.n_replays, static_cast<uint64_t>((plan.n_rows + batch - 1) / batch));
    if (batch != plan.n_rows) return found;
    // All rows in one batch: the counts that are kept say the same.
    const auto neurons = static_cast<size_t>(plan.sizes[1]), rows = static_cast<size_t>(plan.n_rows);
    const std::vector<float> counts = download<float>(buffer_of(network, "n0.counts"), rows * neurons);
    const std::vector<uint32_t> lengths = download<uint32_t>(data.lengths, rows);
    const double n_steps = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}));
    EXPECT_EQ(found.rate, static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0.0)) /
                              (static_cast<double>(neurons) * n_steps));
    double n_silent = 0;
    for (size_t n = 0; n < neurons; ++n) {
      bool fires = false;
      for (size_t b = 0; b < rows; ++b) fires = fires || counts[b * neurons + n] != 0;
      n_silent += fires ? 0 : 1;
    }
    EXPECT_EQ(found.silent, n_silent / static_cast<double>(neurons));
    return found;
  };
  const synfire_network_monitor whole = seen(11);
  EXPECT_GT(whole.rate, 0);
  for (const int64_t batch : {int64_t{1}, int64_t{4}}) {
    const synfire_network_monitor found = seen(batch);
    EXPECT_EQ(found.rate, whole.rate);
    EXPECT_EQ(found.silent, whole.silent);
  }
  EXPECT_GT(of_frames.front(), 0);
  EXPECT_TRUE(all_are(of_frames, of_frames.front()));
  EXPECT_TRUE(all_are(silent_in_frames, silent_in_frames.front()));
}

TEST_F(NetworkKept, NormsAreThoseOfWeightsAndGradients) {
  StagePlan plan = of_spikes();
  plan.sizes = {70, 33, 4};  // more than a chunk of the sum
  const Data data = make_data(context, plan, plan.n_rows, 6);
  const Network network = with_data(plan, "s0.monitor s1.monitor", plan.n_rows, data);
  const size_t count = 70 * 33;
  double squares = 0, last = 0;
  for (int i = 0; i < 3; ++i) {
    train(network, 1);
    const synfire_network_monitor found = monitor_of(network, "s0");
    last = norm_of(read_array<float>(network, "s0", "weight_gradient", count));
    squares += last * last;
    EXPECT_EQ(found.n_replays, 1u);
    EXPECT_NEAR(found.gradient_norm, last, 1e-12 * last);
    const double weights = norm_of(read_array<float>(network, "s0", "weight", count));
    EXPECT_NEAR(found.weight_norm, weights, 1e-12 * weights);
  }
  EXPECT_GT(last, 0);
  const Network again = with_data(plan, "s0.monitor", plan.n_rows, data);
  train(again, 3);
  synfire_network_monitor found = monitor_of(again, "s0");
  EXPECT_EQ(found.n_replays, 3u);
  EXPECT_NEAR(found.gradient_norm, std::sqrt(squares / 3), 1e-12 * last);
  // Evaluation begins anew, and computes no gradient.
  evaluate(again);
  found = monitor_of(again, "s0");
  EXPECT_EQ(found.n_replays, 0u);
  EXPECT_EQ(found.gradient_norm, 0);
}

// Without a monitor there is nothing of it in the graphs.
TEST_F(NetworkKept, MonitorsCostNothingWhenOff) {
  const StagePlan plan = of_spikes();
  const Data data = make_data(context, plan, plan.n_rows, 6);
  const auto operations = [&](const char* names, int32_t kind) {
    const Network network = with_data(plan, names, plan.n_rows, data);
    train(network, 1);
    synfire_graph made = nullptr;
    require_ok(synfire_network_get_graph(network, kind, &made));
    const Graph graph(made);
    uint64_t bytes = 0;
    EXPECT_OK(synfire_graph_write_dot(graph, nullptr, &bytes));
    std::string text(static_cast<size_t>(bytes), '\0');
    EXPECT_OK(synfire_graph_write_dot(graph, text.data(), &bytes));
    return text;
  };
  for (const int32_t kind : {SYNFIRE_NETWORK_GRAPH_TRAINING, SYNFIRE_NETWORK_GRAPH_INFERENCE}) {
    const std::string off = operations(nullptr, kind), on = operations("n0.monitor s0.monitor", kind);
    EXPECT_EQ(off.find("tally"), std::string::npos);
    EXPECT_EQ(off.find("square sum"), std::string::npos);
    EXPECT_NE(on.find("tally"), std::string::npos);
    EXPECT_EQ(on.find("square sum") != std::string::npos, kind == SYNFIRE_NETWORK_GRAPH_TRAINING);
  }
}

TEST_F(NetworkKept, MonitorsGoOnInLoops) {
  const StagePlan plan = of_spikes();
  const Network network = build(plan, "n0.monitor");
  const Data data = make_data(context, plan, plan.batch, 9);
  infer(network, data.inputs, plan.batch, static_cast<size_t>(plan.sizes.back()));
  const Graph graph = inference_of(network);
  replay(graph);
  replay(graph);
  EXPECT_EQ(monitor_of(network, "n0").n_replays, 3u);
  const synfire_network_monitor before = monitor_of(network, "n0", 1);
  EXPECT_GT(before.rate, 0);
  EXPECT_EQ(monitor_of(network, "n0").n_replays, 0u);
  replay(graph);
  EXPECT_EQ(monitor_of(network, "n0").n_replays, 1u);
  synfire_network_monitor monitor = SYNFIRE_NETWORK_MONITOR_INIT;
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-FLAG", "restart is 2"),
               synfire_network_get_monitor(network, "n0", 2, &monitor));
}

// ---- readouts that continue -----------------------------------------------------------------------------------------

class ContinuingReadout : public NetworkKept {
 protected:
  static constexpr int64_t n_steps = 12, batch = 3, width = 35, n_outputs = 5;

  // An inference network with weights from a seed, for frames of this many steps.
  Network make(int64_t frame, int32_t reduction, bool of_spikes, bool continues,
               int32_t dtype = SYNFIRE_DTYPE_F32) const {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = frame;
    desc.batch = batch;
    desc.dtype = dtype;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    Network network(made);
    require_ok(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_SPIKES, width));
    require_ok(synfire_network_add_synapse(network, "s", n_outputs));
    require_ok(synfire_network_set_value(network, "s", "gain", 3));
    require_ok(synfire_network_add_neurons(network, "n", SYNFIRE_MODEL_LIF));
    require_ok(synfire_network_add_readout(network, "out", reduction, of_spikes ? 1 : 0));
    if (continues) require_ok(synfire_network_set_value(network, "out", "continues", 1));
    require_ok(synfire_network_build(network));
    return network;
  }
  // [T, B, words]
  static std::vector<uint32_t> frames() {
    Random random(11);
    std::vector<uint32_t> words(n_steps * batch * 2);
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = static_cast<uint32_t>(random.next() & random.next()) & (i % 2 == 0 ? 0xFFFFFFFFu : 7u);
    return words;
  }
  // The output after some frames.
  template <class Number = float>
  static std::vector<Number> run(synfire_network network, int64_t frame, int64_t first = 0, int64_t last = n_steps) {
    const Graph graph = inference_of(network);
    const Buffer input = buffer_of(network, "input"), output = buffer_of(network, "output");
    const std::vector<uint32_t> words = frames();
    for (int64_t t = first; t < last; t += frame) {
      upload(input, slice(words, static_cast<size_t>(t * batch * 2), static_cast<size_t>(frame * batch * 2)));
      replay(graph);
    }
    return download<Number>(output, batch * n_outputs);
  }
};

TEST_F(ContinuingReadout, SpikesGiveTheBitsOfOneSequence) {
  for (const int32_t reduction : {SYNFIRE_READOUT_SUM, SYNFIRE_READOUT_MEAN, SYNFIRE_READOUT_MAX}) {
    const std::vector<float> expected = run(make(n_steps, reduction, true, false), n_steps);
    EXPECT_FALSE(all_are(expected, 0.0F));
    for (const int64_t frame : {int64_t{1}, int64_t{3}, int64_t{12}})
      EXPECT_TRUE(same_bits(run(make(frame, reduction, true, true), frame), expected)) << reduction << " " << frame;
    const std::vector<double> in_f64 = run<double>(make(n_steps, reduction, true, false, SYNFIRE_DTYPE_F64), n_steps);
    EXPECT_TRUE(same_bits(run<double>(make(1, reduction, true, true, SYNFIRE_DTYPE_F64), 1), in_f64));
  }
}

// V is added in f64 in the order of the steps: the number of steps of a frame does not matter, and beside the sequence
// only the order differs.
TEST_F(ContinuingReadout, PotentialsAreAddedInTheOrderOfTheSteps) {
  for (const int32_t reduction : {SYNFIRE_READOUT_SUM, SYNFIRE_READOUT_MEAN, SYNFIRE_READOUT_MAX}) {
    const std::vector<float> whole = run(make(n_steps, reduction, false, false), n_steps),
                             expected = run(make(1, reduction, false, true), 1);
    for (const int64_t frame : {int64_t{4}, int64_t{12}})
      EXPECT_TRUE(same_bits(run(make(frame, reduction, false, true), frame), expected)) << reduction << " " << frame;
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_FLOAT_EQ(whole[i], expected[i]) << reduction;
    if (reduction == SYNFIRE_READOUT_MAX) {
      EXPECT_TRUE(same_bits(whole, expected));
    }
  }
  // By hand, of the V that is kept.
  const Network network = [&] {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = n_steps;
    desc.batch = batch;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    Network made_network(made);
    require_ok(synfire_network_add_input(made_network, "in", SYNFIRE_NETWORK_INPUT_SPIKES, width));
    require_ok(synfire_network_add_synapse(made_network, "s", n_outputs));
    require_ok(synfire_network_set_value(made_network, "s", "gain", 3));
    require_ok(synfire_network_add_neurons(made_network, "n", SYNFIRE_MODEL_LIF));
    require_ok(synfire_network_add_readout(made_network, "out", SYNFIRE_READOUT_MEAN, 0));
    require_ok(synfire_network_keep(made_network, "n.v"));
    require_ok(synfire_network_build(made_network));
    return made_network;
  }();
  run(network, n_steps);
  const std::vector<float> v = download<float>(buffer_of(network, "n.v"), n_steps * batch * n_outputs);
  const std::vector<float> found = run(make(1, SYNFIRE_READOUT_MEAN, false, true), 1);
  for (size_t i = 0; i < found.size(); ++i) {
    double sum = 0;
    for (size_t t = 0; t < static_cast<size_t>(n_steps); ++t) sum += static_cast<double>(v[t * found.size() + i]);
    EXPECT_EQ(found[i], static_cast<float>(sum / static_cast<double>(n_steps)));
  }
}

TEST_F(ContinuingReadout, BelongsToTheState) {
  const Network network = make(1, SYNFIRE_READOUT_MEAN, true, true);
  const std::vector<float> expected = run(network, 1);
  // It goes on until it is reset.
  EXPECT_FALSE(same_bits(run(network, 1), expected));
  EXPECT_OK(synfire_network_reset_state(network));
  EXPECT_TRUE(same_bits(run(network, 1), expected));
  // Single rows begin anew.
  EXPECT_OK(synfire_network_reset_state(network));
  run(network, 1, 0, 5);
  EXPECT_OK(synfire_network_reset_rows(network, 1, 1));
  const std::vector<float> later = run(network, 1, 5),
                           rest = run(make(n_steps - 5, SYNFIRE_READOUT_MEAN, true, false), n_steps - 5, 5);
  for (size_t i = 0; i < later.size(); ++i)
    EXPECT_EQ(bits_of(later[i]), bits_of(i / n_outputs == 1 ? rest[i] : expected[i])) << i;

  // Inference of rows begins with each batch, and leaves nothing.
  const Buffer rows = make_buffer_of(context, slice(frames(), 0, batch * 2)),
               outputs = make_buffer(context, SYNFIRE_DTYPE_F32, batch * n_outputs);
  EXPECT_OK(synfire_network_infer(network, rows, batch, outputs));
  const std::vector<float> once = download<float>(outputs, batch * n_outputs);
  EXPECT_OK(synfire_network_infer(network, rows, batch, outputs));
  EXPECT_TRUE(same_bits(download<float>(outputs, batch * n_outputs), once));
  EXPECT_TRUE(same_bits(run(network, 1), expected));
}

TEST_F(ContinuingReadout, FilesHaveIt) {
  for (const bool of_spikes : {true, false}) {
    const Network network = make(1, SYNFIRE_READOUT_MEAN, of_spikes, true);
    const std::vector<float> expected = run(network, 1);
    EXPECT_OK(synfire_network_reset_state(network));
    run(network, 1, 0, 7);
    const File file = saved(network);
    EXPECT_TRUE(same_bits(run(network, 1, 7), expected));
    const Network other = created(context, file);
    EXPECT_EQ(saved(other), file);
    EXPECT_TRUE(same_bits(run(other, 1, 7), expected));
    EXPECT_OK(load(network, file));
    EXPECT_TRUE(same_bits(run(network, 1, 7), expected));

    // A network without the value takes the file, and the other way round: the readout then begins.
    const Network plain = make(1, SYNFIRE_READOUT_MEAN, of_spikes, false);
    const File without = saved(plain);
    EXPECT_OK(load(plain, file));
    EXPECT_OK(load(network, without));
    EXPECT_TRUE(same_bits(run(network, 1), expected));
  }
}

// A network that was trained on sequences runs frame by frame, and shows what it is asked for.
TEST_F(ContinuingReadout, AFileCanBeLoadedWithIt) {
  const Network trained = make(n_steps, SYNFIRE_READOUT_MEAN, true, false);
  const std::vector<float> expected = run(trained, n_steps);
  EXPECT_OK(synfire_network_reset_state(trained));
  const File file = saved(trained);
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.n_steps = 1;
  desc.continues = 1;
  desc.keep = "n.v n.monitor";
  synfire_network made = nullptr;
  ASSERT_OK(synfire_network_create_from_memory(context, file.data(), file.size(), &desc, &made));
  const Network network(made);
  EXPECT_TRUE(same_bits(run(network, 1), expected));
  EXPECT_EQ(monitor_of(network, "n").n_replays, static_cast<uint64_t>(n_steps));
  EXPECT_FALSE(all_are(download<float>(buffer_of(network, "n.v"), batch * n_outputs), 0.0F));
  double value = 0;
  EXPECT_OK(synfire_network_get_value(network, "out", "continues", &value));
  EXPECT_EQ(value, 1);

  desc.keep = "n.w";
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-KEEP", "\"n.w\""),
               synfire_network_create_from_memory(context, file.data(), file.size(), &desc, &made));
  desc.keep = nullptr;
  desc.continues = 2;
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-FLAG", "desc.continues is 2"),
               synfire_network_create_from_memory(context, file.data(), file.size(), &desc, &made));
  desc.continues = 0;
  desc.reserved = 1;
  EXPECT_FAILS(refused, WORDS("SYN-RESERVED", "desc.reserved"),
               synfire_network_create_from_memory(context, file.data(), file.size(), &desc, &made));
}

// Training and evaluation are those of sequences.
TEST_F(ContinuingReadout, TrainingDoesNotContinue) {
  const StagePlan plan = of_spikes();
  const Data data = make_data(context, plan, plan.n_rows, 3);
  const auto learn = [&](double continues) {
    const Network network = make_stages(context, plan);
    require_ok(synfire_network_set_value(network, "readout", "continues", continues));
    require_ok(synfire_network_build(network));
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    set_data(network, SYNFIRE_DATA_EVALUATION, plan.n_rows, data);
    const double loss = train(network, 5).loss;
    EXPECT_EQ(evaluate(network).loss, evaluate(network).loss);
    return std::pair(loss, learnt(network, plan).words());
  };
  EXPECT_EQ(learn(1), learn(0));
}

TEST_F(ContinuingReadout, OnlyThoseThatCanContinue) {
  for (const int32_t reduction : {SYNFIRE_READOUT_LAST, SYNFIRE_READOUT_STEPS}) {
    StagePlan plan = of_spikes();
    plan.readout = reduction;
    const Network network = make_stages(context, plan, false);
    EXPECT_FAILS(refused, WORDS("SYN-NETWORK-VALUE", "\"continues\"", "a sum, a mean or a maximum"),
                 synfire_network_set_value(network, "readout", "continues", 1));
    EXPECT_OK(synfire_network_set_value(network, "readout", "continues", 0));
    EXPECT_OK(synfire_network_build(network));
  }
  const Network network = make(1, SYNFIRE_READOUT_MEAN, true, false);
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-BUILT", "continues"),
               synfire_network_set_value(network, "out", "continues", 1));
}

}  // namespace
}  // namespace synfire_test
