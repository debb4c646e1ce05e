// synfire_network beside its training: inference, real-time frames, parts by hand and how long they live, values and
// data that change, what it says of itself.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "network_by_hand.hpp"

namespace synfire_test {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

synfire_network_result train(synfire_network network, int64_t n_batches = 0) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_OK(synfire_network_train(network, n_batches, &result));
  return result;
}

template <class Handle, class Get>
Owned<Handle> part(Get get) {
  Handle handle = nullptr;
  EXPECT_OK(get(&handle));
  return Owned<Handle>(handle);
}
Buffer buffer_of(synfire_network network, const char* name) {
  return part<synfire_buffer>([&](auto* out) { return synfire_network_get_buffer(network, name, out); });
}
Graph graph_of(synfire_network network, int32_t kind) {
  return part<synfire_graph>([&](auto* out) { return synfire_network_get_graph(network, kind, out); });
}

std::string text_of(synfire_status (*write)(synfire_network, char*, uint64_t*) noexcept, synfire_network network) {
  uint64_t bytes = 0;
  EXPECT_OK(write(network, nullptr, &bytes));
  std::string text(bytes, '\0');
  EXPECT_OK(write(network, text.data(), &bytes));
  text.pop_back();
  return text;
}

class NetworkParts : public testing::Test {
 protected:
  Context context = make_context(2);

  static StagePlan of_spikes(int32_t dtype = SYNFIRE_DTYPE_BITS) {
    StagePlan plan;
    plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    plan.input_dtype = dtype;
    return plan;
  }
  Network build(const StagePlan& plan, const std::function<void(synfire_network)>& change = {}) const {
    Network network = make_stages(context, plan);
    if (change) change(network);
    EXPECT_OK(synfire_network_build(network));
    return network;
  }
  Network trained(const StagePlan& plan, int64_t n_batches = 5,
                  const std::function<void(synfire_network)>& change = {}) const {
    Network network = build(plan, change);
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(context, plan, plan.n_rows, 3));
    train(network, n_batches);
    return network;
  }
  // [R, C]
  std::vector<float> infer(synfire_network network, synfire_buffer inputs, int64_t n_rows, int64_t n_outputs) const {
    const Buffer outputs = make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(n_rows * n_outputs));
    EXPECT_OK(synfire_network_infer(network, inputs, n_rows, outputs));
    return download<float>(outputs, static_cast<size_t>(n_rows * n_outputs));
  }
};

// ---- inference ------------------------------------------------------------------------------------------------------

// With the network's own synapses and layers, one operation after the other.
TEST_F(NetworkParts, InferenceIsWhatThePartsGiveByHand) {
  const StagePlan plan = of_spikes();
  const Network network = trained(plan);
  const Data data = make_data(context, plan, plan.batch, 9);
  const std::vector<float> outputs = infer(network, data.inputs, plan.batch, plan.sizes[2]);

  const Shape hidden{plan.n_steps, plan.batch, plan.sizes[1]}, last{plan.n_steps, plan.batch, plan.sizes[2]};
  const auto words = static_cast<size_t>((plan.sizes[0] + 31) / 32);
  std::vector<uint32_t> rows = download<uint32_t>(data.inputs, hidden.sequence() / 15 * words), steps(rows.size());
  for (size_t b = 0; b < 4; ++b)
    for (size_t t = 0; t < 6; ++t)
      for (size_t w = 0; w < words; ++w) steps[(t * 4 + b) * words + w] = rows[(b * 6 + t) * words + w];
  Buffer input = make_buffer_of(context, steps);
  for (const char* const name : {"0", "1"}) {
    const bool is_last = name[0] == '1';
    const Shape& shape = is_last ? last : hidden;
    const Synapse synapse = part<synfire_synapse>(
        [&](auto* out) { return synfire_network_get_synapse(network, (std::string("s") + name).c_str(), out); });
    const Layer layer = part<synfire_layer>(
        [&](auto* out) { return synfire_network_get_layer(network, (std::string("n") + name).c_str(), out); });
    const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
    const Buffer v = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
    Buffer spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, shape.words());
    synfire_synapse_forward_desc product = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
    product.n_steps = shape.n_steps;
    product.batch = shape.batch;
    product.input = input;
    product.output = x;
    EXPECT_OK(synfire_synapse_forward(synapse, &product, nullptr));
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.tape = SYNFIRE_TAPE_NONE;
    forward.x = x;
    forward.v_seq = v;
    forward.spikes = is_last ? nullptr : spikes.get();
    EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
    input = std::move(spikes);
    if (!is_last) continue;
    const Buffer mean = make_buffer(context, SYNFIRE_DTYPE_F32, shape.row());
    synfire_reduce_desc reduce = SYNFIRE_REDUCE_DESC_INIT;
    reduce.reduction = SYNFIRE_REDUCE_MEAN;
    reduce.n_steps = shape.n_steps;
    reduce.n_neurons = shape.n_neurons;
    reduce.batch = shape.batch;
    reduce.source = v;
    reduce.destination = mean;
    EXPECT_OK(synfire_reduce(context, &reduce, nullptr));
    EXPECT_TRUE(same_bits(outputs, download<float>(mean, shape.row())));
    EXPECT_FALSE(all_are(outputs, 0.0F));
  }
}

TEST_F(NetworkParts, RowsDoNotDependOnEachOtherNorOnTheBatch) {
  for (const int32_t readout : {SYNFIRE_READOUT_LAST, SYNFIRE_READOUT_STEPS})
    for (const int32_t dtype : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8}) {
      StagePlan plan = of_spikes(dtype);
      plan.n_steps = 33;
      plan.readout = readout;
      const int64_t width = plan.sizes[2] * (readout == SYNFIRE_READOUT_STEPS ? plan.n_steps : 1);
      constexpr int64_t n_rows = 11;
      const Data data = make_data(context, plan, n_rows, 9);
      const Network network = build(plan);
      const std::vector<float> expected = infer(network, data.inputs, n_rows, width);
      EXPECT_TRUE(same_bits(infer(network, data.inputs, n_rows, width), expected));
      // Fewer rows are the first ones.
      EXPECT_TRUE(same_bits(infer(network, data.inputs, 3, width), slice(expected, 0, static_cast<size_t>(3 * width))));
      for (const int64_t batch : {1, 5, 16}) {
        StagePlan other = plan;
        other.batch = batch;
        EXPECT_TRUE(same_bits(infer(build(other), data.inputs, n_rows, width), expected)) << batch;
      }
    }
}

TEST_F(NetworkParts, EvaluationCountsWhatInferencePredicts) {
  const StagePlan plan = of_spikes();
  const Network network = trained(plan, 30);
  constexpr size_t n_rows = 50, n_classes = 4;
  const Data data = make_data(context, plan, n_rows, 9);
  set_data(network, SYNFIRE_DATA_EVALUATION, n_rows, data);
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_OK(synfire_network_evaluate(network, &result));
  const std::vector<float> outputs = infer(network, data.inputs, n_rows, n_classes);
  const std::vector<uint32_t> labels = download<uint32_t>(data.labels, n_rows);
  uint64_t correct = 0;
  double loss = 0;
  for (size_t row = 0; row < n_rows; ++row) {
    const std::vector<float> one = slice(outputs, row * n_classes, n_classes);
    correct += static_cast<uint64_t>(std::max_element(one.begin(), one.end()) - one.begin()) == labels[row] ? 1 : 0;
    double sum = 0;
    for (const float x : one) sum += std::exp(static_cast<double>(x));
    loss += std::log(sum) - static_cast<double>(one[labels[row]]);
  }
  EXPECT_EQ(result.n_correct, correct);
  EXPECT_EQ(result.n_counted, n_rows);
  EXPECT_NEAR(result.loss, loss / n_rows, 1e-6);
}

// Without a readout, the output is spikes, or V of neurons that never fire.
TEST_F(NetworkParts, ANetworkMayEndWithNeurons) {
  for (const int32_t model : {SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_LI}) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 5;
    desc.batch = 3;
    Network network = part<synfire_network>([&](auto* out) { return synfire_network_create(context, &desc, out); });
    EXPECT_OK(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_VALUES, 7));
    EXPECT_OK(synfire_network_add_synapse(network, "s", 40));
    EXPECT_OK(synfire_network_set_value(network, "s", "gain", 5));
    EXPECT_OK(synfire_network_add_neurons(network, "n", model));
    EXPECT_OK(synfire_network_build(network));
    constexpr int64_t n_rows = 4;
    Random random(5);
    const Buffer inputs = make_buffer_of(context, random.values<float>(n_rows * 5 * 7, 0, 3));
    const bool fires = model == SYNFIRE_MODEL_LIF;
    const Buffer outputs = make_buffer(context, fires ? SYNFIRE_DTYPE_BITS : SYNFIRE_DTYPE_F32,
                                       static_cast<uint64_t>(n_rows * 5 * (fires ? 2 : 40)));
    EXPECT_OK(synfire_network_infer(network, inputs, n_rows, outputs));
    if (fires) {
      const std::vector<uint32_t> words = download<uint32_t>(outputs, n_rows * 5 * 2);
      EXPECT_TRUE(std::any_of(words.begin(), words.end(), [](uint32_t word) { return word != 0; }));
      for (size_t i = 1; i < words.size(); i += 2) EXPECT_EQ(words[i] >> 8, 0u);  // beyond the 40 neurons
    } else {
      EXPECT_FALSE(all_are(download<float>(outputs, n_rows * 5 * 40), 0.0F));
    }
  }
}

// One step in each replay of the inference graph, and the state continues: the same as all steps in one.
TEST_F(NetworkParts, FramesOfALoopContinue) {
  StagePlan plan = of_spikes(SYNFIRE_DTYPE_U8);
  plan.batch = 1;
  plan.n_steps = 12;
  plan.readout = SYNFIRE_READOUT_STEPS;
  const Data data = make_data(context, plan, 1, 9);
  const std::vector<float> expected = infer(build(plan), data.inputs, 1, 12 * 4);
  StagePlan frames = plan;
  frames.n_steps = 1;
  const Network network = build(frames);
  const Graph graph = graph_of(network, SYNFIRE_NETWORK_GRAPH_INFERENCE);
  const Buffer input = buffer_of(network, "input"), output = buffer_of(network, "output");
  std::vector<uint8_t> rows(12 * 20);
  EXPECT_OK(synfire_buffer_download(data.inputs, 0, rows.data(), rows.size()));
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (size_t t = 0; t < 12; ++t) {
      uint64_t ticket = 0;
      void* memory = nullptr;
      EXPECT_OK(synfire_graph_get_slot(graph, 0, input, &memory, nullptr));
      std::memcpy(memory, rows.data() + t * 20, 20);
      EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
      EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1));
      EXPECT_OK(synfire_graph_get_slot(graph, ticket, output, &memory, nullptr));
      std::vector<float> now(4);
      std::memcpy(now.data(), memory, sizeof(float) * 4);
      ASSERT_TRUE(same_bits(now, slice(expected, t * 4, 4))) << "step " << t;
    }
    EXPECT_OK(synfire_network_reset_state(network));
  }
}

// With slots, several frames are in flight, and the results are those of one after the other.
TEST_F(NetworkParts, SlotsHoldFramesInFlight) {
  StagePlan plan = of_spikes(SYNFIRE_DTYPE_U8);
  plan.batch = 1;
  plan.n_steps = 1;
  const Network one = build(plan);
  uint64_t bytes = 0;
  EXPECT_OK(synfire_network_save_to_memory(one, nullptr, &bytes));
  std::vector<unsigned char> file(bytes);
  EXPECT_OK(synfire_network_save_to_memory(one, file.data(), &bytes));
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.n_slots = 3;
  const Network network = part<synfire_network>(
      [&](auto* out) { return synfire_network_create_from_memory(context, file.data(), file.size(), &desc, out); });
  synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT, of_one = SYNFIRE_NETWORK_MEMORY_INIT;
  EXPECT_OK(synfire_network_query_memory(network, &memory));
  EXPECT_OK(synfire_network_query_memory(one, &of_one));
  EXPECT_EQ(memory.pinned_bytes, 3 * of_one.pinned_bytes + 2u * 2 * 256);
  EXPECT_EQ(memory.device_bytes, of_one.device_bytes);

  const auto frames_of = [&](const Network& of, size_t n_in_flight) {
    const Graph graph = graph_of(of, SYNFIRE_NETWORK_GRAPH_INFERENCE);
    const Buffer input = buffer_of(of, "input"), output = buffer_of(of, "output");
    std::vector<float> results;
    for (size_t first = 0; first < 12; first += n_in_flight) {
      std::vector<uint64_t> tickets(n_in_flight);
      for (size_t i = 0; i < n_in_flight; ++i) {
        void* frame = nullptr;
        EXPECT_OK(synfire_graph_get_slot(graph, 0, input, &frame, nullptr));
        for (size_t k = 0; k < 20; ++k) static_cast<uint8_t*>(frame)[k] = (first + i + k) % 3 == 0 ? 1 : 0;
        EXPECT_OK(synfire_graph_launch(graph, nullptr, &tickets[i]));
      }
      for (const uint64_t ticket : tickets) {
        void* frame = nullptr;
        EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1));
        EXPECT_OK(synfire_graph_get_slot(graph, ticket, output, &frame, nullptr));
        results.insert(results.end(), static_cast<float*>(frame), static_cast<float*>(frame) + 4);
      }
    }
    return results;
  };
  EXPECT_TRUE(same_bits(frames_of(network, 3), frames_of(one, 1)));
}

// ---- parts ----------------------------------------------------------------------------------------------------------

TEST_F(NetworkParts, HandlesOfPartsOutliveTheNetwork) {
  const uint64_t before = still_queued();
  {
    const StagePlan plan;
    Network network = trained(plan, 1), twin = trained(plan, 1);
    Graph graph = graph_of(network, SYNFIRE_NETWORK_GRAPH_TRAINING);
    Graph again = graph_of(network, SYNFIRE_NETWORK_GRAPH_TRAINING);
    EXPECT_NE(graph.get(), again.get());
    again.reset();
    const Synapse synapse =
        part<synfire_synapse>([&](auto* out) { return synfire_network_get_synapse(network, "s1", out); });
    Layer layer = part<synfire_layer>([&](auto* out) { return synfire_network_get_layer(network, "n0", out); });
    layer.reset();
    network.reset();
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
    replay(graph);
    replay(graph);
    train(twin, 2);
    const Synapse expected =
        part<synfire_synapse>([&](auto* out) { return synfire_network_get_synapse(twin, "s1", out); });
    std::vector<float> a(60), b(60);
    EXPECT_OK(synfire_synapse_read(synapse, "weight", a.data(), sizeof(float) * 60));
    EXPECT_OK(synfire_synapse_read(expected, "weight", b.data(), sizeof(float) * 60));
    EXPECT_TRUE(same_bits(a, b));
  }
  EXPECT_EQ(still_queued(), before);
}

TEST_F(NetworkParts, BuffersHoldWhatTheTrainingLeft) {
  const StagePlan plan;
  const Network network = trained(plan);
  const Shape hidden{plan.n_steps, plan.batch, plan.sizes[1]}, last{plan.n_steps, plan.batch, plan.sizes[2]};
  EXPECT_FALSE(all_are(download<uint32_t>(buffer_of(network, "n0.spikes"), hidden.words()), 0u));
  EXPECT_FALSE(all_are(download<float>(buffer_of(network, "n0.grad_spikes"), hidden.sequence()), 0.0F));
  EXPECT_FALSE(all_are(download<float>(buffer_of(network, "n1.v"), last.sequence()), 0.0F));
  EXPECT_FALSE(all_are(download<float>(buffer_of(network, "n1.grad_v"), last.sequence()), 0.0F));
}

// ---- values ---------------------------------------------------------------------------------------------------------

TEST_F(NetworkParts, ValuesChangeBetweenReplays) {
  const StagePlan plan;
  const Data data = make_data(context, plan, plan.n_rows, 3);
  const Network network = build(plan);
  set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
  ByHand by_hand(context, plan, data, data, plan.n_rows);
  for (const double rate : {0.05, 0.001, 0.0}) {
    EXPECT_OK(synfire_network_set_value(network, "optimizer", "learning_rate", rate));
    EXPECT_OK(synfire_graph_set_value(by_hand.training(), by_hand.step(), "learning_rate", rate));
    double now = -1;
    EXPECT_OK(synfire_network_get_value(network, "optimizer", "learning_rate", &now));
    EXPECT_EQ(now, rate);
    train(network, 2);
    by_hand.train(2);
    ASSERT_EQ(learnt(network, plan).words(), by_hand.learnt().words());
  }
  for (const char* const name : {"weight_decay", "clip_norm"}) {
    EXPECT_OK(synfire_network_set_value(network, "optimizer", name, 0.3));
    EXPECT_OK(synfire_network_set_value(network, "optimizer", "learning_rate", 0.01));
    EXPECT_OK(synfire_graph_set_value(by_hand.training(), by_hand.step(), name, 0.3));
    EXPECT_OK(synfire_graph_set_value(by_hand.training(), by_hand.step(), "learning_rate", 0.01));
    train(network, 2);
    by_hand.train(2);
    ASSERT_EQ(learnt(network, plan).words(), by_hand.learnt().words());
  }
}

// Values that were set stay when a graph is recorded again, and random numbers go on.
TEST_F(NetworkParts, OtherDataChangesNothingElse) {
  StagePlan plan;
  plan.dropout = 0.3;
  const Data data = make_data(context, plan, plan.n_rows, 3);
  const Network one = build(plan), other = build(plan);
  for (const synfire_network network : {one.get(), other.get()}) {
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    EXPECT_OK(synfire_network_set_value(network, "optimizer", "learning_rate", 0.03));
    EXPECT_OK(synfire_network_set_value(network, "drop", "probability", 0.6));
    train(network, 2);
  }
  // Recorded again, for other arrays and back.
  Data longer = make_data(context, plan, plan.n_rows, 3);
  longer.lengths = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, 10, std::vector<uint32_t>(10, 6).data(), 40);
  set_data(other, SYNFIRE_DATA_TRAINING, plan.n_rows, longer);
  set_data(other, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
  EXPECT_EQ(train(one, 3).batch, 2u);
  EXPECT_EQ(train(other, 3).batch, 2u);
  EXPECT_EQ(learnt(one, plan).words(), learnt(other, plan).words());
  // Other rows of the same number: the same graph, which goes on.
  const Graph before = graph_of(other, SYNFIRE_NETWORK_GRAPH_TRAINING);
  set_data(other, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(context, plan, plan.n_rows, 77));
  synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
  EXPECT_EQ(train(other, 1).batch, 0u);
  EXPECT_OK(synfire_graph_get_statistics(before, &statistics));
  EXPECT_EQ(statistics.n_replays, 4u);
  // Another number of rows begins with another epoch 0.
  const Data fewer = make_data(context, plan, 5, 3);
  set_data(other, SYNFIRE_DATA_TRAINING, 5, fewer);
  EXPECT_EQ(train(other, 1).epoch, 0u);
  EXPECT_EQ(train(other).epoch, 1u);
}

TEST_F(NetworkParts, ParametersOfNeuronsAreValues) {
  const StagePlan plan;
  const Network network = build(plan, [](synfire_network open) {
    EXPECT_OK(synfire_network_set_value(open, "n0", "tau", 3.5));
    EXPECT_OK(synfire_network_set_value(open, "n0", "alpha", 2));
    EXPECT_OK(synfire_network_set_value(open, "n0", "tau", 4));
  });
  const Layer layer = part<synfire_layer>([&](auto* out) { return synfire_network_get_layer(network, "n0", out); });
  double tau = 0;
  EXPECT_OK(synfire_layer_get_parameter(layer, "tau", &tau, 1));
  EXPECT_EQ(tau, 4);
  EXPECT_OK(synfire_network_set_value(network, "n0", "tau", 5));
  EXPECT_OK(synfire_layer_get_parameter(layer, "tau", &tau, 1));
  EXPECT_EQ(tau, 5);
  set_parameter(layer, "tau", {6});
  EXPECT_OK(synfire_network_get_value(network, "n0", "tau", &tau));
  EXPECT_EQ(tau, 6);
  double threshold = 0;
  EXPECT_OK(synfire_network_get_value(network, "n0", "v_threshold", &threshold));
  EXPECT_EQ(threshold, 1);
}

// A parameter of all neurons is trained as one number.
TEST_F(NetworkParts, ASharedParameterIsTrained) {
  const StagePlan plan;
  const Network network = trained(plan, 20, [](synfire_network open) {
    EXPECT_OK(synfire_network_train_parameter(open, "n0", "v_threshold", 0, 1, 0, 0.5, 0.999));
    EXPECT_OK(synfire_network_train_parameter(open, "n1", "tau", 0, 1, 0, -none, none));
  });
  double threshold = 0, tau = 0;
  EXPECT_OK(synfire_network_get_value(network, "n0", "v_threshold", &threshold));
  EXPECT_OK(synfire_network_get_value(network, "n1", "tau", &tau));
  EXPECT_GE(threshold, 0.5);
  EXPECT_LE(threshold, 0.999);
  EXPECT_NE(tau, 2);
}

// ---- variants -------------------------------------------------------------------------------------------------------

// One step that is much too large: without bounds, a time constant ends where no gradient brings it back from. NaN asks
// for bounds that suit the parameter.
TEST_F(NetworkParts, DefaultBoundsKeepAParameterInUse) {
  const StagePlan plan = of_spikes();
  const auto tau_after = [&](double rate, double lower, double upper, int32_t per_neuron) {
    const Network network = trained(plan, 1, [&](synfire_network open) {
      EXPECT_OK(synfire_network_train_parameter(open, "n1", "tau", per_neuron, rate, 0, lower, upper));
    });
    const Layer layer = part<synfire_layer>([&](auto* out) { return synfire_network_get_layer(network, "n1", out); });
    std::vector<double> values(4);
    EXPECT_OK(synfire_layer_get_parameter(layer, "tau", values.data(), values.size()));
    return values;
  };
  const double nan = std::nan("");
  bool fell = false, rose = false;
  for (const double tau : tau_after(1e30, -none, none, 1)) {
    EXPECT_TRUE(tau < 1e-30 || tau > 1e10) << tau;
    fell |= tau < 1;
    rose |= tau > 1;
  }
  EXPECT_TRUE(fell || rose);
  for (const double tau : tau_after(1e30, nan, nan, 1)) EXPECT_TRUE(tau == 1 || tau == 10'000) << tau;
  for (const double tau : tau_after(1e30, 1.5, nan, 1)) EXPECT_TRUE(tau == 1.5 || tau == 10'000) << tau;
  for (const double tau : tau_after(1e30, nan, 3, 1)) EXPECT_TRUE(tau == 1 || tau == 3) << tau;
  // Where no bound is met, they change no bit.
  EXPECT_EQ(tau_after(1, nan, nan, 1), tau_after(1, -none, none, 1));
}

TEST_F(NetworkParts, TapesAndPlacesOfDataChangeNoBit) {
  StagePlan plan;
  plan.train_tau = true;
  const std::vector<uint32_t> expected = learnt(trained(plan), plan).words();
  const auto with = [&](const char* stage, const char* name, double value) {
    return learnt(
               trained(plan, 5,
                       [&](synfire_network open) { EXPECT_OK(synfire_network_set_value(open, stage, name, value)); }),
               plan)
        .words();
  };
  EXPECT_EQ(with("n0", "tape", SYNFIRE_TAPE_STORE), expected);
  EXPECT_EQ(with("input", "pinned", 1), expected);
  EXPECT_NE(with("s0", "gradient_bits", 32), expected);
  EXPECT_NE(with("input", "seed", 12345), expected);
  EXPECT_NE(with("n0", "surrogate", SYNFIRE_SURROGATE_ATAN), expected);
}

TEST_F(NetworkParts, NeuronsMayStoreSixteenBits) {
  const StagePlan plan;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
    const Network network = trained(plan, 10, [&](synfire_network open) {
      EXPECT_OK(synfire_network_set_value(open, "n0", "dtype", dtype));
      EXPECT_OK(synfire_network_set_value(open, "n0", "tape", SYNFIRE_TAPE_STORE_NARROW));
    });
    EXPECT_NE(learnt(network, plan).words(), learnt(build(plan), plan).words());
  }
}

TEST_F(NetworkParts, MasksLeaveOutConnections) {
  const StagePlan plan;
  std::vector<uint8_t> mask(15 * 20);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % 3 == 0 ? 1 : 0;
  const Network network = trained(plan, 5, [&](synfire_network open) {
    EXPECT_OK(synfire_network_set_mask(open, "s0", mask.data(), mask.size()));
  });
  const Synapse synapse =
      part<synfire_synapse>([&](auto* out) { return synfire_network_get_synapse(network, "s0", out); });
  std::vector<float> weights(mask.size());
  EXPECT_OK(synfire_synapse_read(synapse, "weight", weights.data(), weights.size() * sizeof(float)));
  for (size_t i = 0; i < mask.size(); ++i) EXPECT_EQ(weights[i] != 0, mask[i] != 0) << i;
}

TEST_F(NetworkParts, ClassesMayWeighAndLabelsBeIgnored) {
  const StagePlan plan;
  const std::vector<uint32_t> plain = learnt(trained(plan), plan).words();
  const float weights[] = {1, 5, 1, 2};
  const auto weighted = [&](synfire_network open) {
    EXPECT_OK(synfire_network_set_class_weights(open, "loss", weights, 4));
  };
  EXPECT_NE(learnt(trained(plan, 5, weighted), plan).words(), plain);
  const Network network = build(plan, [](synfire_network open) {
    EXPECT_OK(synfire_network_set_value(open, "loss", "ignores_label", 1));
    EXPECT_OK(synfire_network_set_value(open, "loss", "ignored_label", 4294967295.0));
  });
  Data data = make_data(context, plan, plan.n_rows, 3);
  std::vector<uint32_t> labels = download<uint32_t>(data.labels, 10);
  labels[0] = labels[7] = 0xFFFFFFFF;
  upload(data.labels, labels);
  set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
  EXPECT_EQ(train(network).n_counted, 8u);
}

TEST_F(NetworkParts, StepsMayHaveLabelsAndTargetsOfTheirOwn) {
  for (const bool of_targets : {false, true}) {
    StagePlan plan;
    plan.readout = SYNFIRE_READOUT_STEPS;
    plan.loss = of_targets ? SYNFIRE_LOSS_MEAN_SQUARED_ERROR : SYNFIRE_LOSS_CROSS_ENTROPY;
    const Network network =
        build(plan, [](synfire_network open) { EXPECT_OK(synfire_network_set_value(open, "loss", "per_step", 1)); });
    Data data = make_data(context, plan, plan.n_rows, 3);
    std::vector<uint32_t> labels(10 * 6);
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = i % 4;
    Random random(4);
    if (of_targets)
      data.targets = make_buffer_of(context, random.values<float>(10 * 6 * 4, -1, 1));
    else
      data.labels = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, 60, labels.data(), 240);
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    const synfire_network_result first = train(network);
    EXPECT_EQ(first.n_counted, 60u);
    double last = 0;
    for (int i = 0; i < 20; ++i) last = train(network).loss;
    EXPECT_LT(last, first.loss);
  }
}

// ---- what it says of itself -----------------------------------------------------------------------------------------

TEST_F(NetworkParts, TheSummaryHasStagesShapesParametersAndBytes) {
  StagePlan plan;
  plan.train_tau = true;
  const Network network = make_stages(context, plan);
  const std::string text = text_of(synfire_network_write_summary, network);
  for (const char* const words :
       {"input                  input      [6, 4, 20]                       rates in f32\n",
        "s0                     synapse    [6, 4, 15]                  315\n",
        "n0                     neurons    [6, 4, 15]                   15  lif, trains tau\n",
        "readout                readout    [4, 4]                           mean of v\n",
        "394 parameters, 6 steps of 4 rows in f32\n", "synapses ", ", data 0 B\n"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "in\n" << text;
  const std::string dot = text_of(synfire_network_write_dot, network);
  EXPECT_EQ(dot.rfind("digraph network {", 0), 0u);
  for (const char* const words : {"label=\"n0\\nneurons: lif, trains tau\\n[6, 4, 15]\"", "s0 -> s1;", "s6 -> s7;"})
    EXPECT_NE(dot.find(words), std::string::npos) << words;
}

TEST_F(NetworkParts, MemoryIsKnownBeforeAnythingIsAllocated) {
  const StagePlan plan;
  const Network network = make_stages(context, plan);
  synfire_network_memory bytes = SYNFIRE_NETWORK_MEMORY_INIT, later = SYNFIRE_NETWORK_MEMORY_INIT;
  EXPECT_OK(synfire_network_query_memory(network, &bytes));
  EXPECT_EQ(bytes.device_bytes,
            bytes.synapse_bytes + bytes.layer_bytes + bytes.buffer_bytes + bytes.optimizer_bytes + bytes.graph_bytes);
  // Rates [4, 20] in, outputs [4, 4] out.
  EXPECT_EQ(bytes.pinned_bytes, (4u * 20 + 4 * 4) * sizeof(float));
  // At least weights, gradients and two moments.
  EXPECT_GT(bytes.optimizer_bytes, 3u * (300 + 15 + 60 + 4) * sizeof(float));
  EXPECT_EQ(bytes.data_bytes, 0u);
  EXPECT_OK(synfire_network_build(network));
  set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(context, plan, plan.n_rows, 3));
  EXPECT_OK(synfire_network_query_memory(network, &later));
  EXPECT_EQ(later.device_bytes, bytes.device_bytes);
  EXPECT_EQ(later.data_bytes, (10u * 20 + 10) * 4);
}

// The networks of docs/pages/memory.md take less than in version 0.2, where each graph had scratch memory of its own.
// The numbers are those of one thread of a host.
TEST_F(NetworkParts, TakeLessMemoryThanTheyTookBefore) {
  struct Before {
    std::vector<int64_t> sizes;
    int64_t n_steps, batch;
    int32_t input, last;
    double dropout;  // before each synapse
    uint64_t bytes;
  };
  constexpr int32_t spikes = SYNFIRE_NETWORK_INPUT_SPIKES, rates = SYNFIRE_NETWORK_INPUT_RATES;
  constexpr int32_t lif = SYNFIRE_MODEL_LIF, li = SYNFIRE_MODEL_LI;
  const Before networks[] = {
      {{41, 53, 3}, 20, 30, rates, li, 0, 1012084},
      {{64, 128, 128, 8}, 16, 1, spikes, lif, 0, 971876},
      {{64, 128, 128, 8}, 16, 64, spikes, lif, 0, 5413404},
      {{300, 700, 90, 11}, 37, 50, spikes, lif, 0, 42816180},
      {{700, 512, 20}, 100, 128, spikes, lif, 0, 176260188},
      {{700, 512, 512, 512, 20}, 100, 128, spikes, lif, 0, 298515020},
      {{700, 512, 512, 512, 20}, 100, 128, spikes, lif, 0.2, 299576156},
  };
  const Context host = make_context_on(SYNFIRE_BACKEND_HOST);
  for (const Before& before : networks) {
    uint64_t bytes[2] = {};
    for (const int32_t transient_arrays : {0, 1}) {
      synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
      desc.n_steps = before.n_steps;
      desc.batch = before.batch;
      desc.transient_arrays = transient_arrays;
      synfire_network made = nullptr;
      ASSERT_OK(synfire_network_create(host, &desc, &made));
      const Network network(made);
      EXPECT_OK(synfire_network_add_input(network, "input", before.input, before.sizes[0]));
      for (size_t i = 0; i + 1 < before.sizes.size(); ++i) {
        if (before.dropout > 0) {
          EXPECT_OK(synfire_network_add_dropout(network, numbered('d', i).c_str(), before.dropout));
        }
        EXPECT_OK(synfire_network_add_synapse(network, numbered('s', i).c_str(), before.sizes[i + 1]));
        const bool is_last = i + 2 == before.sizes.size();
        EXPECT_OK(synfire_network_add_neurons(network, numbered('n', i).c_str(), is_last ? before.last : lif));
      }
      EXPECT_OK(
          synfire_network_add_readout(network, "readout", SYNFIRE_READOUT_MEAN, before.last == SYNFIRE_MODEL_LIF));
      EXPECT_OK(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
      EXPECT_OK(synfire_network_add_optimizer(network, "optimizer", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01));
      synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT;
      EXPECT_OK(synfire_network_query_memory(network, &memory));
      bytes[transient_arrays] = memory.device_bytes;
    }
    const auto kibibytes = [](uint64_t count) { return static_cast<unsigned long long>((count + 512) / 1024); };
    std::printf("%lld-...-%lld, T %lld, B %lld: %llu KiB, %llu with transient arrays, %llu before\n",
                static_cast<long long>(before.sizes.front()), static_cast<long long>(before.sizes.back()),
                static_cast<long long>(before.n_steps), static_cast<long long>(before.batch), kibibytes(bytes[0]),
                kibibytes(bytes[1]), kibibytes(before.bytes));
    EXPECT_LT(bytes[0], before.bytes);
    EXPECT_LT(bytes[1], bytes[0]);
  }
}

// The same bits in less memory; what lies between the stages is not given out then.
TEST_F(NetworkParts, MayHaveTransientArrays) {
  StagePlan plan;
  plan.sizes = {40, 64, 64, 64, 4};
  plan.last = SYNFIRE_MODEL_LIF;
  plan.of_spikes = true;
  plan.dropout = 0.2;
  plan.rate_strength = 0.1;
  plan.train_tau = true;
  plan.lengths = true;
  const Data data = make_data(context, plan, plan.n_rows, 3);
  struct Found {
    std::vector<uint32_t> words;
    double loss, evaluated;
    std::vector<float> inferred;
    uint64_t bytes;
  };
  const auto trained = [&](int32_t transient_arrays) {
    plan.transient_arrays = transient_arrays;
    const Network network = make_stages(context, plan);
    EXPECT_OK(synfire_network_build(network));
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    set_data(network, SYNFIRE_DATA_EVALUATION, plan.n_rows, data);
    Found found = {};
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    EXPECT_OK(synfire_network_train(network, 7, &result));
    found.loss = result.loss;
    EXPECT_OK(synfire_network_evaluate(network, &result));
    found.evaluated = result.loss;
    const Buffer outputs =
        make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(plan.n_rows * plan.sizes.back()));
    EXPECT_OK(synfire_network_infer(network, data.inputs, plan.n_rows, outputs));
    found.inferred = download<float>(outputs, static_cast<size_t>(plan.n_rows * plan.sizes.back()));
    found.words = learnt(network, plan).words();
    synfire_network_memory bytes = SYNFIRE_NETWORK_MEMORY_INIT;
    EXPECT_OK(synfire_network_query_memory(network, &bytes));
    found.bytes = bytes.device_bytes;
    synfire_buffer spikes = nullptr;
    if (transient_arrays == 0) {
      EXPECT_OK(synfire_network_get_buffer(network, "n1.spikes", &spikes));
      synfire_buffer_destroy(spikes);
    } else {
      EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-NOT-KEPT", "n1.spikes"),
                   synfire_network_get_buffer(network, "n1.spikes", &spikes));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT,
                   WORDS("SYN-NETWORK-BUFFER", "spikes", "has \"input\", \"input.input\", \"output\""),
                   synfire_network_get_buffer(network, "spikes", &spikes));
    }
    return found;
  };
  const Found expected = trained(0), found = trained(1);
  EXPECT_EQ(found.words, expected.words);
  EXPECT_EQ(found.loss, expected.loss);
  EXPECT_EQ(found.evaluated, expected.evaluated);
  EXPECT_EQ(found.inferred, expected.inferred);
  EXPECT_LT(found.bytes, expected.bytes);

  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 1;
  desc.transient_arrays = 2;
  synfire_network made = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-FLAG", "desc.transient_arrays is 2"),
               synfire_network_create(context, &desc, &made));
}

// Networks larger than any machine report their memory, and are refused when they are built.
TEST_F(NetworkParts, HugeNetworksAreAnsweredAndRefused) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 1 << 10;
  desc.batch = 1 << 10;
  const Network network = part<synfire_network>([&](auto* out) { return synfire_network_create(context, &desc, out); });
  EXPECT_OK(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_RATES, 1 << 10));
  EXPECT_OK(synfire_network_add_synapse(network, "s", int64_t{1} << 30));
  EXPECT_OK(synfire_network_add_neurons(network, "n", SYNFIRE_MODEL_LIF));
  EXPECT_OK(synfire_network_add_readout(network, "r", SYNFIRE_READOUT_SUM, 1));
  synfire_network_memory bytes = SYNFIRE_NETWORK_MEMORY_INIT;
  EXPECT_OK(synfire_network_query_memory(network, &bytes));
  EXPECT_GT(bytes.device_bytes, uint64_t{1} << 43);  // weights of 2^42 bytes, twice at least
  EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS(), synfire_network_build(network));
  EXPECT_OK(synfire_network_set_value(network, "s", "gain", 2));  // still not built
}

}  // namespace
}  // namespace synfire_test
