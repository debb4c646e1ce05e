// Branches: the edges between the kernels of a graph whose operations do not all depend on each other. The fake runs
// the nodes of each launch in any order that these edges allow (tests/capi/branches_test.cpp compares the results).
#include "../capi/network_by_hand.hpp"
#include "../capi/recording_support.hpp"
#include "stream_fixture.hpp"

namespace synfire_test {
namespace {

using fake::Edges;

// One after the other.
Edges line(size_t n_nodes) {
  Edges edges(n_nodes);
  for (size_t node = 1; node < n_nodes; ++node) edges[node] = {node - 1};
  return edges;
}

class Branches : public WithStream {
 protected:
  static constexpr int64_t n_steps = 64, n_neurons = 64;
  static constexpr uint64_t n = n_steps * n_neurons;

  // Two layers, each with what makes its X, and the sum of their potentials.
  struct Pair {
    Buffer source, sum, result;
    std::vector<Buffer> xs, vs;
    std::vector<Layer> layers;
    Graph graph;
  };
  Pair make_pair(int32_t memory, uint32_t n_slots = 1) const {
    Pair pair = {make_frame(context, n, SYNFIRE_MEMORY_DEVICE),
                 make_frame(context, n, SYNFIRE_MEMORY_DEVICE),
                 make_frame(context, n),
                 {},
                 {},
                 {},
                 make_slotted_graph(context, n_slots)};
    EXPECT_OK(synfire_buffer_fill(pair.source, 1.5));
    for (int i = 0; i < 2; ++i) {
      pair.layers.push_back(make_layer(context, describe(Shape{n_steps, 1, n_neurons}, SYNFIRE_DTYPE_F32)));
      pair.xs.push_back(make_frame(context, n, memory));
      pair.vs.push_back(make_frame(context, n, memory));
    }
    record_fill(pair.graph, pair.sum, 0);
    for (size_t i = 0; i < 2; ++i) {
      record_copy(pair.graph, pair.source, pair.xs[i]);
      record_pass(pair.graph, pair.layers[i], pair.xs[i], pair.vs[i]);
    }
    return pair;
  }
  static void record_sums(const Pair& pair) {
    for (const Buffer& v : pair.vs) record_scale_add(pair.graph, v, pair.sum, 1, 1);
  }
  static void record_pass(synfire_graph graph, synfire_layer layer, synfire_buffer x, synfire_buffer v) {
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.v_seq = v;
    forward.tape = SYNFIRE_TAPE_NONE;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  }
  static Edges edges_of(synfire_graph graph) {
    fake::reset_calls();
    EXPECT_OK(synfire_graph_instantiate(graph));
    return fake::edges();
  }
};

// fill, copy, pass and sum of the first branch; then copy, pass and sum of the second one; then the count of replays.
// The second sum adds to the first one.
const Edges two_branches = {{}, {0}, {1}, {2}, {}, {4}, {3, 5}, {6}};

TEST_F(Branches, HaveTheEdgesOfTheirOperands) {
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_TRANSIENT}) {
    SCOPED_TRACE(memory);
    const Pair pair = make_pair(memory);
    record_sums(pair);
    EXPECT_EQ(edges_of(pair.graph), two_branches);
    // Programmatic launches follow the branches; copies of this size are kernels.
    EXPECT_EQ(fake::captured_kernels(), (std::vector<bool>{false, true, true, true, false, true, false, true}));
    for (int i = 0; i < 8; ++i) replay(pair.graph);
    EXPECT_GT(fake::nodes_reordered(), 0u);
  }
}

TEST_F(Branches, OfAChainAreOne) {
  const Graph graph = make_graph(context);
  std::vector<Layer> layers;
  std::vector<Buffer> arrays;
  arrays.push_back(make_frame(context, n, SYNFIRE_MEMORY_DEVICE));
  for (int i = 0; i < 4; ++i) {
    layers.push_back(make_layer(context, describe(Shape{n_steps, 1, n_neurons}, SYNFIRE_DTYPE_F32)));
    arrays.push_back(make_frame(context, n, SYNFIRE_MEMORY_DEVICE));
    record_pass(graph, layers.back(), arrays[arrays.size() - 2], arrays.back());
  }
  EXPECT_EQ(edges_of(graph), line(5));
  EXPECT_EQ(fake::calls("cudaStreamUpdateCaptureDependencies"), 0u);
  EXPECT_EQ(fake::captured_kernels(), (std::vector<bool>{false, true, true, true, true}));
}

// The passes of a network of one chain follow each other, in all of its graphs, whatever hangs on them.
TEST_F(Branches, OfANetworkOfOneChainAreOne) {
  for (const int32_t transient_arrays : {0, 1}) {
    StagePlan plan;
    plan.sizes = {40, 30, 30, 4};
    plan.n_steps = 64;
    plan.dropout = plan.hidden_dropout = 0.25;
    plan.rate_strength = 0.1;
    plan.train_tau = true;
    plan.clip_norm = 1;
    plan.transient_arrays = transient_arrays;
    const Data data = make_data(context, plan, plan.n_rows, 1);
    const Network network = make_stages(context, plan);
    const auto expect_line = [&] {
      const Edges edges = fake::edges();
      EXPECT_GT(edges.size(), 10u);
      EXPECT_EQ(edges, line(edges.size()));
    };
    fake::reset_calls();
    ASSERT_OK(synfire_network_build(network));
    expect_line();
    set_data(network, SYNFIRE_DATA_EVALUATION, plan.n_rows, data);
    expect_line();
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    expect_line();
    EXPECT_EQ(fake::calls("cudaStreamUpdateCaptureDependencies"), 0u);
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    fake::reset_calls();
    EXPECT_OK(synfire_network_train(network, 3, &result));
    EXPECT_EQ(fake::nodes_reordered(), 0u);
  }
}

// Passes that fill the GPU, or are short, gain nothing. With one step more, the short ones do.
TEST_F(Branches, OfLargeAndOfShortPassesAreOne) {
  const auto edges_of_two = [&](const Shape& shape) {
    const auto count = static_cast<uint64_t>(shape.sequence());
    const Graph graph = make_graph(context);
    const Buffer x = make_frame(context, count, SYNFIRE_MEMORY_DEVICE);
    std::vector<Layer> layers;
    std::vector<Buffer> vs;
    for (int i = 0; i < 2; ++i) {
      layers.push_back(make_layer(context, describe(shape, SYNFIRE_DTYPE_F32)));
      vs.push_back(make_frame(context, count, SYNFIRE_MEMORY_DEVICE));
      record_pass(graph, layers.back(), x, vs.back());
    }
    return edges_of(graph);
  };
  EXPECT_EQ(edges_of_two({15, 1, 64}), line(3));
  EXPECT_EQ(edges_of_two({64, 64, 512}), line(3));
  EXPECT_EQ(edges_of_two({16, 1, 64}), (Edges{{}, {}, {0, 1}}));
}

// Side by side, branches need memory of their own at the same time. They get no more than the same graph takes with
// buffers that have memory.
TEST_F(Branches, TakeNoMoreMemoryThanBuffers) {
  const auto bytes_of = [&](synfire_graph graph) {
    const uint64_t before = fake::device_bytes();
    EXPECT_OK(synfire_graph_instantiate(graph));
    return fake::device_bytes() - before - sizeof(uint64_t);
  };
  const Pair pair = make_pair(SYNFIRE_MEMORY_TRANSIENT);
  record_sums(pair);
  constexpr uint64_t one = n * sizeof(float);
  EXPECT_EQ(bytes_of(pair.graph), 4 * one) << "X and V of each";

  // X of two products that are part of forwards has the place of one, as in a graph without branches.
  const Graph graph = make_graph(context);
  const Buffer spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, n / 32);
  std::vector<Synapse> synapses;
  std::vector<Layer> layers;
  std::vector<Buffer> vs;
  for (int i = 0; i < 2; ++i) {
    synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
    desc.n_inputs = desc.n_outputs = n_neurons;
    synfire_synapse made = nullptr;
    ASSERT_OK(synfire_synapse_create(context, &desc, &made));
    synapses.emplace_back(made);
    layers.push_back(make_layer(context, describe(Shape{n_steps, 1, n_neurons}, SYNFIRE_DTYPE_F32)));
    vs.push_back(make_frame(context, n, SYNFIRE_MEMORY_DEVICE));
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.synapse = synapses.back();
    forward.synapse_input = spikes;
    forward.v_seq = vs.back();
    forward.tape = SYNFIRE_TAPE_NONE;
    ASSERT_OK(synfire_graph_record_forward(graph, layers.back(), &forward));
  }
  EXPECT_LT(bytes_of(graph), 2 * one);
  const Edges edges = fake::edges();
  EXPECT_EQ(edges, line(edges.size()));
}

// An operation that is switched off keeps its place between its neighbours.
TEST_F(Branches, KeepTheirEdgesWhenOperationsAreSwitchedOff) {
  const Pair pair = make_pair(SYNFIRE_MEMORY_DEVICE, 2);
  record_sums(pair);
  record_copy(pair.graph, pair.sum, pair.result);
  ASSERT_OK(synfire_graph_instantiate(pair.graph));
  const auto run = [&] {
    const uint64_t ticket = launch(pair.graph);
    wait(pair.graph, ticket);
    return slot_of(pair.graph, ticket, pair.result)[0];
  };
  run();
  fake::reset_calls();
  EXPECT_OK(synfire_graph_set_enabled(pair.graph, 5, 0));  // the first sum
  const float one = run();
  EXPECT_OK(synfire_graph_set_enabled(pair.graph, 5, 1));
  EXPECT_OK(synfire_graph_set_enabled(pair.graph, 0, 0));  // fill: the sum grows
  EXPECT_NE(run(), one);
  EXPECT_EQ(fake::calls("cudaGraphInstantiateWithParams"), 0u);
}

// A callback may do anything: all before it has ended, and all after it waits.
TEST_F(Branches, MeetAtACallback) {
  const Pair pair = make_pair(SYNFIRE_MEMORY_DEVICE);
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = [](void*, const synfire_native_call* call) -> synfire_status {
    return fake::launch(static_cast<cudaStream_t>(call->stream), [] {}) == cudaSuccess ? 0 : -1;
  };
  ASSERT_OK(synfire_graph_record_native(pair.graph, &native));
  record_sums(pair);
  // fill, copy, pass; copy, pass; the callback; both sums; the count of replays.
  EXPECT_EQ(edges_of(pair.graph), (Edges{{}, {0}, {1}, {}, {3}, {2, 4}, {5}, {6}, {7}}));
  EXPECT_EQ(fake::captured_kernels(), (std::vector<bool>{false, true, true, false, true, false, true, true}));
  replay(pair.graph);
}

// The caller's graph gets all branches as one node.
TEST_F(Branches, ArePartOfACallersGraph) {
  const Pair pair = make_pair(SYNFIRE_MEMORY_TRANSIENT);
  record_sums(pair);
  record_copy(pair.graph, pair.sum, pair.result);
  ASSERT_OK(synfire_graph_instantiate(pair.graph));
  replay(pair.graph);
  const float expected = data_of(pair.result)[0];
  EXPECT_NE(expected, 0);
  fake::reset_calls();
  for (int i = 0; i < 4; ++i) {
    for (const Layer& layer : pair.layers) EXPECT_OK(synfire_layer_reset_state(layer, nullptr));
    data_of(pair.result)[0] = 0;
    ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(synfire_graph_launch(pair.graph, callers(), nullptr), SYNFIRE_CAPTURED) << last_error_text();
    cudaGraph_t captured = nullptr;
    ASSERT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
    EXPECT_EQ(fake::count_nodes(captured), 1u);
    EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
    EXPECT_EQ(data_of(pair.result)[0], expected) << i;
    fake::destroy_graph(captured);
  }
  EXPECT_GT(fake::nodes_reordered(), 0u);
}

TEST_F(Branches, ThatCudaRefusesLeaveNothingBehind) {
  const Pair pair = make_pair(SYNFIRE_MEMORY_DEVICE);
  record_sums(pair);
  const fake::Live before = fake::live();
  fake::fail("cudaStreamUpdateCaptureDependencies", cudaErrorInvalidValue);
  EXPECT_FAILS(SYNFIRE_ERROR_CUDA, {"cudaStreamUpdateCaptureDependencies"}, synfire_graph_instantiate(pair.graph));
  EXPECT_EQ(fake::live(), before);
  EXPECT_EQ(edges_of(pair.graph), two_branches);
}

}  // namespace
}  // namespace synfire_test
