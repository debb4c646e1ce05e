// How many kernels small layers take: those of the graph with joined operations, as long as all of them are switched
// on.
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

}  // namespace
}  // namespace synfire_test
