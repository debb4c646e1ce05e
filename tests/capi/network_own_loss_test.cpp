// A loss of the program's own, between the forward and the backward graph of a network: the bits of training with the
// same loss inside, stale tapes, several rows that begin anew, and a loss of the network beside the program's.
#include "described_stages.hpp"
#include "graph_support.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

constexpr int64_t n_steps = 5, batch = 4, n_inputs = 20, n_classes = 4;

template <class Handle, class Get>
Owned<Handle> part(Get get) {
  Handle handle = nullptr;
  require_ok(get(&handle));
  return Owned<Handle>(handle);
}
Graph graph_of(synfire_network network, int32_t kind) {
  return part<synfire_graph>([&](auto* out) { return synfire_network_get_graph(network, kind, out); });
}
Buffer buffer_named(synfire_network network, const char* name) {
  return part<synfire_buffer>([&](auto* out) { return synfire_network_get_buffer(network, name, out); });
}
std::vector<float> weights_of(synfire_network network, const char* stage, size_t count) {
  const Synapse synapse =
      part<synfire_synapse>([&](auto* out) { return synfire_network_get_synapse(network, stage, out); });
  std::vector<float> weights(count);
  require_ok(synfire_synapse_read(synapse, "weight", weights.data(), count * sizeof(float)));
  return weights;
}

struct Plan {
  int32_t own_loss = SYNFIRE_OWN_LOSS_NONE;
  bool has_loss = true;
  double dropout = 0;
  const char* reduction = "mean";
};

Network make_network(synfire_context context, const Plan& plan) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.seed = 3;
  desc.own_loss = plan.own_loss;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", n_inputs)}));
  require_ok(add_stage(network, "synapse", "s0", {number("n_outputs", 15), number("gain", 3)}));
  require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
  if (plan.dropout > 0) require_ok(add_stage(network, "dropout", "drop", {number("probability", plan.dropout)}));
  require_ok(add_stage(network, "synapse", "s1", {number("n_outputs", n_classes), number("gain", 3)}));
  require_ok(add_stage(network, "neurons", "out", {text("model", "li")}));
  require_ok(add_stage(network, "readout", "scores", {text("reduction", plan.reduction)}));
  if (plan.has_loss) require_ok(add_stage(network, "loss", "loss", {text("kind", "cross_entropy")}));
  require_ok(add_stage(network, "optimizer", "adam", {text("kind", "adam"), number("learning_rate", 0.01)}));
  return network;
}

// One frame for all rows: [T, B, K] as the graphs take it, and [R, T, K] as a data set has it.
struct Frame {
  std::vector<float> time_major, row_major;
  std::vector<uint32_t> labels;

  explicit Frame(uint64_t seed) {
    Random random(seed);
    row_major = random.values<float>(static_cast<size_t>(n_steps * batch * n_inputs), -1, 2);
    time_major.resize(row_major.size());
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t t = 0; t < n_steps; ++t)
        for (int64_t k = 0; k < n_inputs; ++k)
          time_major[static_cast<size_t>((t * batch + b) * n_inputs + k)] =
              row_major[static_cast<size_t>((b * n_steps + t) * n_inputs + k)];
    for (int64_t b = 0; b < batch; ++b) labels.push_back(static_cast<uint32_t>(random.whole(0, n_classes - 1)));
  }
};

Buffer labels_of(synfire_context context, const Frame& frame) {
  return buffer_of_bytes(context, SYNFIRE_DTYPE_U32, frame.labels.size(), frame.labels.data(),
                         frame.labels.size() * sizeof(uint32_t));
}

// The gradient of a cross-entropy, as an operation of its own.
void write_gradient(synfire_context context, synfire_network network, const Frame& frame) {
  const Buffer scores = buffer_named(network, "output"), gradient = buffer_named(network, "scores.gradient");
  const Buffer labels = labels_of(context, frame);
  synfire_loss_desc desc = SYNFIRE_LOSS_DESC_INIT;
  desc.kind = SYNFIRE_LOSS_CROSS_ENTROPY;
  desc.n_steps = 1;
  desc.n_classes = n_classes;
  desc.batch = batch;
  desc.source = scores;
  desc.labels = labels;
  desc.gradient = gradient;
  require_ok(synfire_loss(context, &desc, nullptr));
}

void give(synfire_context context, synfire_network network, const Frame& frame) {
  const Buffer inputs = make_buffer_of(context, frame.row_major), labels = labels_of(context, frame);
  require_ok(
      synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, batch, inputs, labels, nullptr, nullptr, nullptr));
}

class OwnLoss : public testing::Test {
 protected:
  Context context = make_context();

  void expect_same_weights(synfire_network one, synfire_network other) const {
    EXPECT_TRUE(same_bits(weights_of(one, "s0", n_inputs * 15), weights_of(other, "s0", n_inputs * 15)));
    EXPECT_TRUE(same_bits(weights_of(one, "s1", 15 * n_classes), weights_of(other, "s1", 15 * n_classes)));
  }
};

// Rows count equally, and sums over rows do not depend on their order.
TEST_F(OwnLoss, TrainsToTheBitAsALossOfTheNetwork) {
  const Network inside = make_network(context, {}), outside = make_network(context, {SYNFIRE_OWN_LOSS_STARTS, false});
  for (const synfire_network one : {inside.get(), outside.get()}) require_ok(synfire_network_build(one));
  const Graph forward = graph_of(outside, SYNFIRE_NETWORK_GRAPH_FORWARD),
              backward = graph_of(outside, SYNFIRE_NETWORK_GRAPH_BACKWARD);
  const Buffer input = buffer_named(outside, "input");
  const std::vector<float> before = weights_of(outside, "s0", n_inputs * 15);
  for (uint64_t i = 0; i < 4; ++i) {
    const Frame frame(i);
    give(context, inside, frame);
    trained(inside, 1);
    upload(input, frame.time_major);
    replay(forward);
    write_gradient(context, outside, frame);
    replay(backward);
    expect_same_weights(inside, outside);
  }
  EXPECT_NE(weights_of(outside, "s0", n_inputs * 15), before);
}

// The same with the network's own loss, which reads the labels of the frame; and dropout, which draws as training does.
TEST_F(OwnLoss, TakesTheLabelsOfTheFrame) {
  for (const double dropout : {0.0, 0.3}) {
    const Network plain = make_network(context, {SYNFIRE_OWN_LOSS_NONE, true, dropout}),
                  own = make_network(context, {SYNFIRE_OWN_LOSS_STARTS, true, dropout});
    for (const synfire_network one : {plain.get(), own.get()}) require_ok(synfire_network_build(one));
    const Graph forward = graph_of(own, SYNFIRE_NETWORK_GRAPH_FORWARD),
                backward = graph_of(own, SYNFIRE_NETWORK_GRAPH_BACKWARD);
    // Each row of a batch has a mask of its own, so all rows are the same.
    Frame frame(1);
    for (int64_t b = 1; b < batch && dropout > 0; ++b) {
      const auto row = static_cast<size_t>(n_steps * n_inputs);
      std::copy_n(frame.row_major.begin(), row, frame.row_major.begin() + b * n_steps * n_inputs);
      for (int64_t t = 0; t < n_steps; ++t)
        std::copy_n(frame.time_major.begin() + t * batch * n_inputs, n_inputs,
                    frame.time_major.begin() + (t * batch + b) * n_inputs);
      frame.labels[static_cast<size_t>(b)] = frame.labels[0];
    }
    give(context, plain, frame);
    upload(buffer_named(own, "in.input"), frame.time_major);
    upload(buffer_named(own, "loss.labels"), frame.labels);
    for (int i = 0; i < 3; ++i) {
      trained(plain, 1);
      replay(forward);
      replay(backward);
      expect_same_weights(plain, own);
    }
    // A network that learns while it runs also trains on a data set, and goes on from its file.
    const File file = saved(own);
    const Network next = created(context, file);
    upload(buffer_named(next, "input"), frame.time_major);
    upload(buffer_named(next, "loss.labels"), frame.labels);
    replay(graph_of(next, SYNFIRE_NETWORK_GRAPH_FORWARD));
    replay(graph_of(next, SYNFIRE_NETWORK_GRAPH_BACKWARD));
    replay(forward);
    replay(backward);
    EXPECT_TRUE(saved(next) == saved(own));
    give(context, own, frame);
    trained(own, 2);
  }
}

TEST_F(OwnLoss, NeedsAForwardForEachBackward) {
  for (const double dropout : {0.0, 0.3}) {
    const Network network = make_network(context, {SYNFIRE_OWN_LOSS_CONTINUES, false, dropout});
    require_ok(synfire_network_build(network));
    const Graph forward = graph_of(network, SYNFIRE_NETWORK_GRAPH_FORWARD),
                backward = graph_of(network, SYNFIRE_NETWORK_GRAPH_BACKWARD);
    EXPECT_EQ(synfire_graph_launch(backward, nullptr, nullptr), SYNFIRE_ERROR_STALE_TAPE);
    replay(forward);
    replay(backward);
    EXPECT_EQ(synfire_graph_launch(backward, nullptr, nullptr), SYNFIRE_ERROR_STALE_TAPE) << dropout;
    replay(forward);
    replay(forward);
    replay(backward);
  }
}

// A trained path without neurons has no tape of a layer. Other graphs of the network write what a backward reads.
TEST_F(OwnLoss, NeedsAForwardWithoutLayersToo) {
  for (const char* const first : {"synapse", "scale"}) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = n_steps;
    desc.batch = batch;
    desc.own_loss = SYNFIRE_OWN_LOSS_STARTS;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    const Network network(made);
    require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", n_classes)}));
    if (std::string(first) == "synapse")
      require_ok(add_stage(network, "synapse", "first", {number("n_outputs", n_classes)}));
    require_ok(add_stage(network, "scale", "second", {}));
    require_ok(add_stage(network, "readout", "scores", {text("reduction", "max")}));
    require_ok(add_stage(network, "optimizer", "sgd", {text("kind", "sgd"), number("learning_rate", 0.5)}));
    require_ok(synfire_network_build(network));
    const Graph forward = graph_of(network, SYNFIRE_NETWORK_GRAPH_FORWARD),
                backward = graph_of(network, SYNFIRE_NETWORK_GRAPH_BACKWARD),
                inference = graph_of(network, SYNFIRE_NETWORK_GRAPH_INFERENCE);
    const std::vector<float> before = weights_of(network, "second", n_classes);
    const auto expect_stale = [&](const char* word) {
      EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-FRAME", word),
                   synfire_graph_launch(backward, nullptr, nullptr));
    };
    upload(buffer_named(network, "in.input"), std::vector<float>(n_steps * batch * n_classes, 0.5F));
    upload(buffer_named(network, "scores.gradient"), std::vector<float>(batch * n_classes, 1.0F));
    expect_stale("has not run yet");
    replay(forward);
    replay(inference);
    expect_stale("another graph");
    EXPECT_TRUE(same_bits(before, weights_of(network, "second", n_classes)));
    replay(forward);
    replay(backward);
    EXPECT_FALSE(same_bits(before, weights_of(network, "second", n_classes)));
    expect_stale("has used");
    replay(forward);
    const File file = saved(network);
    EXPECT_OK(synfire_network_load_from_memory(network, file.data(), file.size()));
    expect_stale("a file");
    replay(forward);
    replay(backward);
  }
}

// From frame to frame, as the inference graph does; and single rows begin anew.
TEST_F(OwnLoss, ContinuesTheStateOfRows) {
  const Network network = make_network(context, {SYNFIRE_OWN_LOSS_CONTINUES, false, 0, "last"}),
                other = make_network(context, {SYNFIRE_OWN_LOSS_NONE, true, 0, "last"});
  for (const synfire_network one : {network.get(), other.get()}) require_ok(synfire_network_build(one));
  const Graph forward = graph_of(network, SYNFIRE_NETWORK_GRAPH_FORWARD),
              inference = graph_of(other, SYNFIRE_NETWORK_GRAPH_INFERENCE);
  const Buffer here = buffer_named(network, "input"), there = buffer_named(other, "input");
  const auto run = [&](const Frame& frame) {
    upload(here, frame.time_major);
    upload(there, frame.time_major);
    replay(forward);
    replay(inference);
    return std::pair(download<float>(buffer_named(network, "scores.output"), batch * n_classes),
                     download<float>(buffer_named(other, "output"), batch * n_classes));
  };
  const Frame first(1), second(2);
  for (const Frame* const frame : {&first, &second}) {
    const auto [one, two] = run(*frame);
    EXPECT_TRUE(same_bits(one, two));
  }
  EXPECT_OK(synfire_network_reset_rows(network, 1, 2));
  EXPECT_OK(synfire_network_reset_state(other));
  const auto [some, all] = run(first);
  const auto row = [](const std::vector<float>& of, int64_t b) {
    return std::vector<float>(of.begin() + b * n_classes, of.begin() + (b + 1) * n_classes);
  };
  for (const int64_t b : {1, 2}) EXPECT_TRUE(same_bits(row(some, b), row(all, b)));
  for (const int64_t b : {0, 3}) EXPECT_NE(row(some, b), row(all, b));
}

TEST_F(OwnLoss, RefusesWhatItDoesNotHave) {
  const Network network = make_network(context, {SYNFIRE_OWN_LOSS_STARTS, false}), plain = make_network(context, {});
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-NOT-BUILT"), synfire_network_reset_rows(network, 0, 1));
  for (const synfire_network one : {network.get(), plain.get()}) require_ok(synfire_network_build(one));
  synfire_graph none = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-OWN-LOSS", "own_loss"),
               synfire_network_get_graph(plain, SYNFIRE_NETWORK_GRAPH_FORWARD, &none));
  synfire_buffer nothing = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-BUFFER", "\"scores.gradient\""),
               synfire_network_get_buffer(network, "gradient", &nothing));
  const std::pair<int64_t, int64_t> ranges[] = {{-1, 1}, {0, 0}, {0, 5}, {4, 1}, {INT64_MAX, INT64_MAX}};
  for (const auto& [first, count] : ranges)
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-ROWS", "4 rows"),
                 synfire_network_reset_rows(network, first, count));
  const Frame frame(1);
  const Buffer inputs = make_buffer_of(context, frame.row_major), labels = labels_of(context, frame);
  EXPECT_FAILS(
      SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-INCOMPLETE", "loss"),
      synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, batch, inputs, labels, nullptr, nullptr, nullptr));
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 1;
  desc.own_loss = 3;
  synfire_network made = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-KIND", "own_loss is 3"),
               synfire_network_create(context, &desc, &made));
  // Without an optimizer there is nothing to step.
  desc.own_loss = SYNFIRE_OWN_LOSS_STARTS;
  require_ok(synfire_network_create(context, &desc, &made));
  const Network open(made);
  require_ok(add_stage(open, "input", "in", {text("kind", "values"), number("n_features", 2)}));
  require_ok(add_stage(open, "synapse", "s", {number("n_outputs", 2)}));
  require_ok(add_stage(open, "neurons", "n", {text("model", "lif")}));
  require_ok(synfire_network_build(open));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-OWN-LOSS", "optimizer"),
               synfire_network_get_graph(open, SYNFIRE_NETWORK_GRAPH_BACKWARD, &none));
}

}  // namespace
}  // namespace synfire_test
