// How many kernels small layers take: those of the graph with joined operations, as long as all of them are switched
// on.
#include "../capi/described_stages.hpp"
#include "../capi/network_by_hand.hpp"
#include "../capi/recording_support.hpp"
#include "../capi/trained_network.hpp"
#include "fake_cuda.hpp"

namespace synfire_test {
namespace {

class StackLaunches : public testing::Test {
 protected:
  Context context;

  void SetUp() override {
    fake::install();
    context = make_context();
  }
  void TearDown() override { fake::release(); }

  // How many graphs one of the library's becomes: a second one where operations are joined.
  uint64_t captures_of(const NetworkPlan& plan) const {
    fake::reset_calls();
    const TrainedNetwork network(context, plan, [](synfire_status status) { EXPECT_OK(status); });
    return fake::calls("cudaStreamEndCapture");
  }
  // The kernels in the graphs that an inference of two layers becomes.
  size_t kernels_of(int64_t n_steps, int64_t batch) const;
};

NetworkPlan classifier() {
  NetworkPlan plan;
  plan.sizes = {64, 128, 128, 8};
  plan.n_steps = 16;
  return plan;
}

TEST_F(StackLaunches, AStepOfSmallLayersIsCapturedTwice) {
  EXPECT_EQ(captures_of(classifier()), 2u);
  NetworkPlan large = classifier();
  large.sizes = {900, 900, 900, 8};
  large.n_steps = 200;
  large.batch = large.active = 8;
  EXPECT_EQ(captures_of(large), 1u) << "nothing of it gains";
}

// How X of a layer is recorded: as part of its forward, or by a product of its own into a buffer of this memory.
enum class Product { of_the_forward, transient, device };

// Layers one after another, whose passes are recorded into a graph.
struct Layers {
  Graph graph;
  std::vector<Buffer> buffers, xs;
  std::vector<Synapse> synapses;
  std::vector<Layer> layers;
  std::vector<int32_t> operations;
  uint64_t graph_bytes = 0;  // of device memory, that instantiating took

  Layers(synfire_context context, const std::vector<int64_t>& sizes, int64_t n_steps, int64_t batch,
         Product product = Product::of_the_forward)
      : graph(make_graph(context)) {
    const auto spikes_of = [&](int64_t neurons) {
      return make_buffer(context, SYNFIRE_DTYPE_BITS, static_cast<uint64_t>(n_steps * batch * ((neurons + 31) / 32)));
    };
    buffers.push_back(spikes_of(sizes[0]));
    for (size_t i = 0; i + 1 < sizes.size(); ++i) {
      synfire_synapse_desc synapse = SYNFIRE_SYNAPSE_DESC_INIT;
      synapse.n_inputs = sizes[i];
      synapse.n_outputs = sizes[i + 1];
      synfire_synapse made = nullptr;
      EXPECT_OK(synfire_synapse_create(context, &synapse, &made));
      synapses.emplace_back(made);
      layers.push_back(make_layer(context, describe(Shape{n_steps, batch, sizes[i + 1]}, SYNFIRE_DTYPE_F32)));
      const synfire_buffer input = buffers.back();
      buffers.push_back(spikes_of(sizes[i + 1]));
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.spikes = buffers.back();
      forward.tape = SYNFIRE_TAPE_NONE;
      if (product == Product::of_the_forward) {
        forward.synapse = synapses.back();
        forward.synapse_input = input;
      } else {
        xs.push_back(make_frame(context, static_cast<uint64_t>(n_steps * batch * sizes[i + 1]),
                                product == Product::transient ? SYNFIRE_MEMORY_TRANSIENT : SYNFIRE_MEMORY_DEVICE));
        synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
        desc.n_steps = n_steps;
        desc.batch = batch;
        desc.input = input;
        desc.output = xs.back();
        EXPECT_OK(synfire_graph_record_synapse_forward(graph, synapses.back(), &desc));
        forward.x = xs.back();
      }
      EXPECT_OK(synfire_graph_record_forward(graph, layers.back(), &forward));
      operations.push_back(last_operation(graph));
    }
    fake::reset_calls();
    const uint64_t before = fake::device_bytes();
    EXPECT_OK(synfire_graph_instantiate(graph));
    graph_bytes = fake::device_bytes() - before;
  }
};

size_t StackLaunches::kernels_of(int64_t n_steps, int64_t batch) const {
  const Layers network(context, {64, 128, 8}, n_steps, batch);
  return fake::captured_kernels().size();
}

// Three layers in one kernel, and the one that counts replays.
TEST_F(StackLaunches, ThreeLayersAreOneKernel) {
  const Layers network(context, {64, 128, 128, 8}, 16, 1);
  EXPECT_EQ(fake::captured_kernels().size(), 6u + 1 + 1 + 1);
  // Switching one off and on is a matter of which graph is launched.
  for (const int32_t enabled : {1, 0, 1}) {
    EXPECT_OK(synfire_graph_set_enabled(network.graph, network.operations[1], enabled));
    fake::reset_calls();
    replay(network.graph);
    EXPECT_EQ(fake::calls(), fake::calls("cuGraphLaunch") + fake::calls("cuStreamIsCapturing"));
  }
}

// A product that is an operation of its own is joined with the forward that reads it, as one that is part of a forward
// is. Its output takes no more memory if it is transient.
TEST_F(StackLaunches, ProductsOfTheirOwnAreJoinedToo) {
  const Layers one(context, {64, 128, 128, 8}, 16, 1);
  const size_t n_kernels = fake::captured_kernels().size();
  for (const Product product : {Product::transient, Product::device}) {
    const Layers other(context, {64, 128, 128, 8}, 16, 1, product);
    EXPECT_EQ(fake::captured_kernels().size(), n_kernels);
    EXPECT_EQ(other.graph_bytes, product == Product::transient ? one.graph_bytes : sizeof(uint64_t));
    replay(other.graph);
  }
}

// How the gradients of synapses are recorded: with the backward of their layer, or as operations of their own, of which
// one may have the gradients of the weights and another one that of the input.
enum class Gradients { of_the_backward, together, weights_first, input_first, weights_at_the_end };

// A training step of three layers. Returns the number of nodes of the graph with joined operations, and the gradients.
struct Step {
  size_t n_nodes;
  std::vector<uint32_t> gradients;
};
Step step_of(synfire_context context, Gradients kind) {
  constexpr int64_t n_steps = 16, n_layers = 3, sizes[] = {64, 128, 128, 8};
  const auto sequence = [&](int64_t neurons, int32_t memory = SYNFIRE_MEMORY_DEVICE) {
    return make_frame(context, static_cast<uint64_t>(n_steps * neurons), memory);
  };
  const Graph graph = make_graph(context);
  std::vector<uint32_t> words(n_steps * 2);
  Random random(3);
  for (uint32_t& word : words) word = static_cast<uint32_t>(random.next() & random.next());
  std::vector<Buffer> spikes, grads, grad_xs;
  spikes.push_back(make_buffer_of(context, words));
  std::vector<Synapse> synapses;
  std::vector<Layer> layers;
  for (int64_t i = 0; i < n_layers; ++i) {
    synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
    desc.n_inputs = sizes[i], desc.n_outputs = sizes[i + 1];
    desc.seed = static_cast<uint64_t>(i), desc.gain = 3;
    synfire_synapse made = nullptr;
    EXPECT_OK(synfire_synapse_create(context, &desc, &made));
    synapses.emplace_back(made);
    layers.push_back(make_layer(context, describe(Shape{n_steps, 1, sizes[i + 1]}, SYNFIRE_DTYPE_F32)));
    spikes.push_back(
        make_buffer(context, SYNFIRE_DTYPE_BITS, static_cast<uint64_t>(n_steps * ((sizes[i + 1] + 31) / 32))));
    grads.push_back(sequence(sizes[i + 1]));
    grad_xs.push_back(sequence(sizes[i + 1], SYNFIRE_MEMORY_TRANSIENT));
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.synapse = synapses.back(), forward.synapse_input = spikes[static_cast<size_t>(i)];
    forward.spikes = spikes.back();
    Buffer x;
    if (kind != Gradients::of_the_backward) {
      x = sequence(sizes[i + 1]);
      synfire_synapse_forward_desc product = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
      product.n_steps = n_steps, product.batch = 1;
      product.input = forward.synapse_input, product.output = x;
      EXPECT_OK(synfire_graph_record_synapse_forward(graph, synapses.back(), &product));
      forward.synapse = nullptr, forward.synapse_input = nullptr, forward.x = x;
    }
    EXPECT_OK(synfire_graph_record_forward(graph, layers.back(), &forward));
  }
  EXPECT_OK(synfire_buffer_fill(grads.back(), 0.5));
  const auto gradients = [&](size_t i, bool weights, bool input) {
    synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    desc.n_steps = n_steps, desc.batch = 1, desc.grad_output = grad_xs[i];
    if (weights) desc.input = spikes[i];
    if (input && i > 0) desc.grad_input = grads[i - 1];
    if (!desc.input && !desc.grad_input) return;
    EXPECT_OK(synfire_graph_record_synapse_backward(graph, synapses[i], &desc));
  };
  for (size_t i = n_layers; i-- > 0;) {
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = grads[i];
    if (kind != Gradients::of_the_backward)
      backward.grad_x_seq = grad_xs[i];
    else if (i > 0)
      backward.grad_synapse_input = grads[i - 1];
    EXPECT_OK(synfire_graph_record_backward(graph, layers[i], &backward));
    switch (kind) {
      case Gradients::of_the_backward:
        break;
      case Gradients::together:
        gradients(i, true, true);
        break;
      case Gradients::weights_first:
        gradients(i, true, false);
        gradients(i, false, true);
        break;
      case Gradients::input_first:
        gradients(i, false, true);
        gradients(i, true, false);
        break;
      case Gradients::weights_at_the_end:
        gradients(i, false, true);
        break;
    }
  }
  if (kind == Gradients::weights_at_the_end)
    for (size_t i = 0; i < n_layers; ++i) gradients(i, true, false);
  EXPECT_OK(synfire_graph_instantiate(graph));
  Step step = {fake::edges().size(), {}};
  replay(graph);
  for (size_t i = 0; i < n_layers; ++i) {
    std::vector<uint32_t> values(static_cast<size_t>(sizes[i] * sizes[i + 1]));
    EXPECT_OK(synfire_synapse_read(synapses[i], "weight_gradient", values.data(), values.size() * 4));
    step.gradients.insert(step.gradients.end(), values.begin(), values.end());
  }
  return step;
}

TEST_F(StackLaunches, BackwardsOfTheirOwnAreJoinedToo) {
  const Step expected = step_of(context, Gradients::of_the_backward);
  // The layers; a backward for each, and two gradients of inputs; all gradients of weights; the count of replays.
  EXPECT_EQ(expected.n_nodes, 1u + 3 + 2 + 1 + 1);
  EXPECT_TRUE(std::any_of(expected.gradients.begin(), expected.gradients.end(), [](uint32_t w) { return w != 0; }));
  for (const Gradients kind :
       {Gradients::together, Gradients::weights_first, Gradients::input_first, Gradients::weights_at_the_end}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const Step step = step_of(context, kind);
    EXPECT_EQ(step.n_nodes, expected.n_nodes);
    EXPECT_EQ(step.gradients, expected.gradients);
  }
}

// Long sequences, and those of few batch rows, are faster in launches of their own, which are captured once.
TEST_F(StackLaunches, LongSequencesStayApart) {
  const size_t joined = 4 + 1 + 1 + 1, apart = 4 + 1;
  EXPECT_EQ(kernels_of(16, 1), joined);
  EXPECT_EQ(kernels_of(17, 1), apart);
  EXPECT_EQ(kernels_of(17, 7), apart);
  EXPECT_EQ(kernels_of(17, 8), joined);
  EXPECT_EQ(kernels_of(32, 8), joined);
  EXPECT_EQ(kernels_of(33, 8), apart);
}

// A network of a body and of heads that read it, each with a readout and possibly a loss after its neurons.
Network make_heads(synfire_context context, int n_heads, bool trains) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 16;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  require_ok(add_stage(network, "input", "in", {text("kind", "rates"), number("n_features", 64)}));
  require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 128)}));
  require_ok(add_stage(network, "neurons", "body", {text("model", "lif")}));
  for (int i = 0; i < n_heads; ++i) {
    const std::string head = std::to_string(i);
    require_ok(add_stage(network, "synapse", ("s" + head).c_str(), {number("n_outputs", 8)}, {reads("body")}));
    require_ok(add_stage(network, "neurons", ("n" + head).c_str(), {text("model", "li")}));
    require_ok(add_stage(network, "readout", ("r" + head).c_str(), {text("reduction", "mean")}));
    if (trains) require_ok(add_stage(network, "loss", ("l" + head).c_str(), {text("kind", "cross_entropy")}));
  }
  if (trains) require_ok(add_stage(network, "optimizer", "o", {text("kind", "sgd")}));
  return network;
}

// The nodes of the two graphs that one of a network becomes.
struct Nodes {
  size_t plain, joined;
};
Nodes nodes_of_the_last() {
  const size_t joined = fake::edges().size();
  return {fake::captured_kernels().size() - joined, joined};
}
Nodes nodes_of_inference(synfire_context context, int n_heads) {
  fake::reset_calls();
  const Network network = make_heads(context, n_heads, false);
  require_ok(synfire_network_build(network));
  return nodes_of_the_last();
}
Nodes nodes_of_training(synfire_context context, int n_heads) {
  const Network network = make_heads(context, n_heads, true);
  require_ok(synfire_network_build(network));
  const std::vector<uint32_t> classes = {3};
  const Buffer inputs = make_buffer_of(context, std::vector<float>(64, 0.5F)),
               labels = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, 1, classes.data(), 4);
  fake::reset_calls();
  require_ok(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 1, inputs, labels, nullptr, nullptr, nullptr));
  return nodes_of_the_last();
}

// A head more adds its readout to the joined graph of an inference: its product and its neurons are in the launch of
// the body. In a training step they are too, and so are its gradients of weights in the launch of all of them: a head
// saves the three launches that one more layer of a chain saves.
TEST_F(StackLaunches, HeadsOfANetworkAreJoinedAsAChainIs) {
  const Nodes chain = nodes_of_inference(context, 1), trained_chain = nodes_of_training(context, 1);
  for (const size_t more : {1U, 2U}) {
    const Nodes inference = nodes_of_inference(context, static_cast<int>(1 + more)),
                training = nodes_of_training(context, static_cast<int>(1 + more));
    EXPECT_EQ(inference.plain, chain.plain + 3 * more);
    EXPECT_EQ(inference.joined, chain.joined + more);
    EXPECT_EQ(training.plain - training.joined, trained_chain.plain - trained_chain.joined + 3 * more);
  }
}

}  // namespace
}  // namespace synfire_test
