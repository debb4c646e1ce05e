// Transient buffers: what the operations of a graph pass on to each other, and what is refused of them.
#include "network_by_hand.hpp"
#include "recording_support.hpp"

namespace synfire_test {
namespace {

constexpr uint64_t n = 1000;

class Transients : public testing::Test {
 protected:
  Buffer transient(uint64_t n_elements = n, int32_t dtype = SYNFIRE_DTYPE_F32) {
    return make_frame(context_, n_elements, SYNFIRE_MEMORY_TRANSIENT, dtype);
  }

  const Context context_ = make_context();
};

// Each link of the chain doubles what it reads, so that a link that another one has overwritten shows.
TEST_F(Transients, PassNumbersFromOperationToOperation) {
  constexpr size_t n_links = 12;
  const Buffer source = make_frame(context_, n), destination = make_frame(context_, n);
  std::vector<Buffer> links;
  for (size_t i = 0; i < n_links; ++i) links.push_back(transient());
  const Graph graph = make_slotted_graph(context_, 2);
  record_copy(graph, source, links[0]);
  for (size_t i = 1; i < n_links; ++i) {
    record_fill(graph, links[i], 0);
    record_scale_add(graph, links[i - 1], links[i], 2, 1);
  }
  record_copy(graph, links.back(), destination);
  links.clear();  // the graph keeps what it uses
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (int replay = 0; replay < 4; ++replay) {
    float* const in = slot_of(graph, 0, source);
    for (uint64_t i = 0; i < n; ++i) in[i] = static_cast<float>(i) + static_cast<float>(replay);
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    const float* const out = slot_of(graph, ticket, destination);
    for (uint64_t i = 0; i < n; ++i)
      ASSERT_EQ(out[i], 2048 * (static_cast<float>(i) + static_cast<float>(replay))) << replay << " " << i;
  }
}

TEST_F(Transients, ServeSeveralGraphs) {
  const Buffer between = transient();
  for (const float value : {3.0f, 5.0f}) {
    const Buffer destination = make_frame(context_, n);
    const Graph graph = make_graph(context_);
    record_fill(graph, between, static_cast<double>(value));
    record_copy(graph, between, destination);
    ASSERT_OK(synfire_graph_instantiate(graph));
    wait(graph, launch(graph));
    EXPECT_EQ(data_of(destination)[n - 1], value);
  }
}

TEST_F(Transients, HaveNoMemory) {
  const Buffer buffer = transient(), other = make_buffer(context_, SYNFIRE_DTYPE_F32, n);
  void* data = &data;
  uint64_t bytes = 0;
  EXPECT_OK(synfire_buffer_get_data(buffer, &data, &bytes));
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(bytes, n * sizeof(float));
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  EXPECT_OK(synfire_buffer_get_desc(buffer, &desc));
  EXPECT_EQ(desc.memory, SYNFIRE_MEMORY_TRANSIENT);
  EXPECT_EQ(desc.data, nullptr);
  EXPECT_EQ(desc.n_elements, n);

  float value = 0;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-MEMORY", "buffer"),
               synfire_buffer_upload(buffer, 0, &value, 4));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-MEMORY", "buffer"),
               synfire_buffer_download(buffer, 0, &value, 4));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-MEMORY", "buffer"), synfire_buffer_fill(buffer, 0));
  desc.data = &value;
  synfire_buffer made = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-DATA", "desc.data"),
               synfire_buffer_create(context_, &desc, &made));

  const synfire_scale_add_desc add = scale_add_desc(other, buffer, 1, 0);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-EAGER", "desc.destination"),
               synfire_scale_add(context_, &add, nullptr));
}

TEST_F(Transients, AreNotReboundNorLearntFrom) {
  const Buffer buffer = transient(), other = transient(), with_memory = make_buffer(context_, SYNFIRE_DTYPE_F32, n);
  const Graph graph = make_graph(context_);
  record_fill(graph, buffer, 1);
  record_copy(graph, buffer, with_memory);
  ASSERT_OK(synfire_graph_instantiate(graph));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-REBIND-TRANSIENT", "old_buffer", "transient"),
               synfire_graph_rebind(graph, buffer, other));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-REBIND-TRANSIENT", "new_buffer", "transient"),
               synfire_graph_rebind(graph, with_memory, other));
  wait(graph, launch(graph));

  const synfire_layer_desc layer_desc = describe({4, 1, 8}, SYNFIRE_DTYPE_F32);
  const Layer layer = make_layer(context_, layer_desc);
  synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  desc.kind = SYNFIRE_OPTIMIZER_KIND_SGD;
  desc.learning_rate = 0.1;
  synfire_optimizer made = nullptr;
  ASSERT_OK(synfire_optimizer_create(context_, &desc, &made));
  const Optimizer optimizer(made);
  const Buffer gradient = transient(1);
  constexpr double by_default = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-MEMORY", "gradient"),
               synfire_optimizer_add_parameter(optimizer, layer, "tau", gradient, 1, 1, by_default, by_default));
}

// The order in which operations are enabled and disabled does not matter: a launch is refused while a reader is enabled
// and nothing before it writes.
TEST_F(Transients, AreNotReadWithoutAWriter) {
  const Buffer buffer = transient(), destination = make_frame(context_, n);
  const Graph graph = make_graph(context_);
  record_fill(graph, buffer, 1);                  // 0
  record_scale_add(graph, buffer, buffer, 3, 1);  // 1: reads what it writes
  record_copy(graph, buffer, destination);        // 2
  const auto enable = [&](int32_t operation, int32_t enabled) {
    EXPECT_OK(synfire_graph_set_enabled(graph, operation, enabled));
  };
  const auto expect_refused = [&](const char* reader, const char* writer) {
    uint64_t ticket = 0;
    EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-TRANSIENT-DISABLED", reader, writer),
                 synfire_graph_launch(graph, nullptr, &ticket));
  };
  enable(0, 0);
  ASSERT_OK(synfire_graph_instantiate(graph));
  expect_refused("operation 1 reads", "operation 0");
  enable(1, 0);
  expect_refused("operation 2 reads", "operation 1");
  enable(2, 0);
  wait(graph, launch(graph));
  enable(2, 1), enable(0, 1);
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(destination)[0], 1.0f);
  enable(1, 1);
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(destination)[0], 4.0f);

  const Graph unwritten = make_graph(context_);
  record_copy(unwritten, buffer, destination);
  record_fill(unwritten, buffer, 1);
  ASSERT_OK(synfire_graph_instantiate(unwritten));
  uint64_t ticket = 0;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER,
               WORDS("SYN-TRANSIENT-DISABLED", "operation 0 reads", "no operation before it"),
               synfire_graph_launch(unwritten, nullptr, &ticket));
}

// The places of a graph survive its changes: another buffer in the place of one that has memory, which plans them
// again; values that change between replays; and the end of the handles, with new buffers in their memory.
TEST_F(Transients, StayWhenTheirGraphChanges) {
  const Buffer source = make_buffer_of(context_, std::vector<float>(n, 3)), other = make_frame(context_, n);
  Buffer destination = make_frame(context_, n), between = transient(), twice = transient();
  const Graph graph = make_graph(context_);
  const int32_t fill = record_fill(graph, between, 1);
  record_scale_add(graph, source, between, 2, 1);
  record_copy(graph, between, twice);
  const int32_t add = record_scale_add(graph, between, twice, 1, 1);
  record_copy(graph, twice, destination);
  between.reset(), twice.reset();
  EXPECT_EQ(still_queued(context_), 2u) << "the graph keeps them";
  ASSERT_OK(synfire_graph_instantiate(graph));
  const std::vector<Buffer> others = [&] {
    std::vector<Buffer> made;
    for (int i = 0; i < 4; ++i) made.push_back(transient());
    return made;
  }();
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(destination)[n - 1], 14.0f);
  EXPECT_OK(synfire_graph_set_value(graph, fill, "value", 5));
  EXPECT_OK(synfire_graph_set_value(graph, add, "scale", 3));
  EXPECT_OK(synfire_graph_rebind(graph, destination, other));
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(other)[n - 1], 44.0f);
  EXPECT_EQ(data_of(destination)[n - 1], 14.0f);
  EXPECT_OK(synfire_graph_rebind(graph, other, destination));
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(destination)[0], 44.0f);
}

TEST_F(Transients, AreOfTheirContext) {
  const Context elsewhere = make_context();
  const Buffer buffer = make_frame(elsewhere, n, SYNFIRE_MEMORY_TRANSIENT), destination = make_frame(context_, n);
  const Graph graph = make_graph(context_);
  synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
  desc.source = buffer, desc.destination = destination;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("desc.source", "context"), synfire_graph_record_copy(graph, &desc));
  desc.source = destination, desc.destination = buffer;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("desc.destination", "context"),
               synfire_graph_record_copy(graph, &desc));
}

TEST_F(Transients, HaveNoSlotsAndNoCallbackSeesThem) {
  const Buffer buffer = transient();
  const Graph graph = make_slotted_graph(context_, 2);
  record_fill(graph, buffer, 1);
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = [](void*, const synfire_native_call*) -> synfire_status { return 0; };
  const synfire_buffer array = buffer;
  native.reads = &array, native.n_reads = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-MEMORY", "desc.reads[0]"),
               synfire_graph_record_native(graph, &native));
  native.reads = nullptr, native.n_reads = 0, native.writes = &array, native.n_writes = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-MEMORY", "desc.writes[0]"),
               synfire_graph_record_native(graph, &native));
  ASSERT_OK(synfire_graph_instantiate(graph));
  wait(graph, launch(graph));
  void* data = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-GRAPH-SLOT-BUFFER", "transient"),
               synfire_graph_get_slot(graph, 0, buffer, &data, nullptr));
  EXPECT_EQ(data, nullptr);
}

// A tape refers to the X of its forward. After the replay there is no such X: neither a backward that runs now nor one
// of another graph can read it.
TEST_F(Transients, EndWithTheReplayOfTheirForward) {
  const Layer layer = make_layer(context_, describe({5, 1, 8}, SYNFIRE_DTYPE_F32));
  const Buffer x = transient(40), gradient = make_buffer_of(context_, std::vector<float>(40, 1)),
               grad_x = make_buffer(context_, SYNFIRE_DTYPE_F32, 40);
  const Graph graph = make_graph(context_), later = make_graph(context_);
  const int32_t fill = record_fill(graph, x, 2);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  const int32_t recorded = last_operation(graph);
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = gradient, backward.grad_x_seq = grad_x;
  EXPECT_OK(synfire_graph_record_backward(graph, layer, &backward));
  ASSERT_OK(synfire_graph_instantiate(graph));
  wait(graph, launch(graph));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-EAGER", "the forward's x"),
               synfire_layer_backward(layer, &backward, nullptr));
  EXPECT_OK(synfire_graph_record_backward(later, layer, &backward));
  ASSERT_OK(synfire_graph_instantiate(later));
  uint64_t ticket = 0;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-TRANSIENT-DISABLED", "no operation before it"),
               synfire_graph_launch(later, nullptr, &ticket));

  // With the forward switched off, the backward reads the tape of the replay before; but X is gone unless it is written
  // again.
  EXPECT_OK(synfire_graph_set_enabled(graph, recorded, 0));
  EXPECT_OK(synfire_graph_set_enabled(graph, fill, 0));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, {"SYN-TRANSIENT-DISABLED"}, synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_OK(synfire_graph_set_enabled(graph, recorded, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, {"SYN-TRANSIENT-DISABLED"}, synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_OK(synfire_graph_set_enabled(graph, fill, 1));
  wait(graph, launch(graph));

  const synfire_forward_desc eager = forward;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-EAGER", "desc.x"),
               synfire_layer_forward(layer, &eager, nullptr));
}

// A graph that no arena can hold is refused when it is instantiated, as often as it is tried, and harms no other one.
TEST_F(Transients, TooLargeForAnyArenaAreRefused) {
  const Buffer huge = transient(uint64_t{1} << 48), small = transient(), destination = make_frame(context_, n);
  const Graph graph = make_graph(context_), other = make_graph(context_);
  record_fill(graph, huge, 1);
  for (int i = 0; i < 2; ++i)
    EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, {on_host() ? "SYN-MEMORY-HOST" : "SYN-MEMORY-DEVICE"},
                 synfire_graph_instantiate(graph));
  record_fill(other, small, 7);
  record_copy(other, small, destination);
  ASSERT_OK(synfire_graph_instantiate(other));
  wait(other, launch(other));
  EXPECT_EQ(data_of(destination)[n - 1], 7.0f);
}

// Every pair of graphs has its own memory, also when their replays follow each other without a wait between them.
TEST_F(Transients, OfSeveralGraphsInFlightAreApart) {
  const Buffer between = transient();
  std::vector<Graph> graphs;
  std::vector<Buffer> destinations;
  for (int i = 0; i < 3; ++i) {
    destinations.push_back(make_frame(context_, n));
    graphs.push_back(make_graph(context_));
    record_fill(graphs.back(), between, i + 1);
    record_scale_add(graphs.back(), between, between, 1, 1);
    record_copy(graphs.back(), between, destinations.back());
    ASSERT_OK(synfire_graph_instantiate(graphs.back()));
  }
  for (int round = 0; round < 3; ++round) {
    std::vector<uint64_t> tickets;
    for (const Graph& graph : graphs) tickets.push_back(launch(graph));
    for (size_t i = 0; i < graphs.size(); ++i) {
      wait(graphs[i], tickets[i]);
      EXPECT_EQ(data_of(destinations[i])[n / 2], 2.0f * static_cast<float>(i + 1));
    }
  }
}

TEST_F(Transients, AreNoDataOfANetwork) {
  StagePlan plan;
  const Data data = make_data(context_, plan, plan.n_rows, 1);
  const Network network = make_stages(context_, plan);
  ASSERT_OK(synfire_network_build(network));
  const Buffer inputs = transient(static_cast<uint64_t>(plan.n_rows * plan.sizes.front())),
               labels = transient(static_cast<uint64_t>(plan.n_rows), SYNFIRE_DTYPE_U32);
  const auto set = [&](synfire_buffer of_inputs, synfire_buffer of_labels) {
    return synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, of_inputs, of_labels, nullptr, nullptr,
                                    nullptr);
  };
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-TRANSIENT-MEMORY"}, set(inputs, data.labels));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-TRANSIENT-MEMORY"}, set(data.inputs, labels));
  EXPECT_OK(set(data.inputs, data.labels));
  const Buffer outputs =
                   make_buffer(context_, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(plan.n_rows * plan.sizes.back())),
               no_outputs = transient(static_cast<uint64_t>(plan.n_rows * plan.sizes.back()));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-TRANSIENT-MEMORY"},
               synfire_network_infer(network, inputs, plan.n_rows, outputs));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, {"SYN-TRANSIENT-MEMORY"},
               synfire_network_infer(network, data.inputs, plan.n_rows, no_outputs));
}

// A step of two layers: whether the arrays between its operations have memory or not, the bits are the same.
TEST_F(Transients, GiveTheSameBits) {
  constexpr int64_t n_steps = 7, batch = 3, inputs = 40, hidden = 33, outputs = 5;
  const auto step = [&](int32_t between) {
    const auto numbers = [&](int64_t width) {
      return make_frame(context_, static_cast<uint64_t>(n_steps * batch * width), between);
    };
    const auto synapse = [&](int64_t from, int64_t to, uint64_t seed) {
      synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
      desc.n_inputs = from, desc.n_outputs = to, desc.seed = seed, desc.gain = 3, desc.bias = 1;
      synfire_synapse made = nullptr;
      EXPECT_OK(synfire_synapse_create(context_, &desc, &made));
      return Synapse(made);
    };
    const Synapse first = synapse(inputs, hidden, 1), second = synapse(hidden, outputs, 2);
    const Layer hidden_layer = make_layer(context_, describe({n_steps, batch, hidden}, SYNFIRE_DTYPE_F32)),
                output_layer = make_layer(context_, describe({n_steps, batch, outputs}, SYNFIRE_DTYPE_F32));
    std::vector<uint32_t> words(static_cast<size_t>(n_steps * batch * 2));
    Random random(5);
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = static_cast<uint32_t>(random.next()) & (i % 2 == 0 ? 0xFFFFFFFF : 0xFF);
    const Buffer spikes_in =
        buffer_of_bytes(context_, SYNFIRE_DTYPE_BITS, words.size(), words.data(), words.size() * 4);
    const Buffer x = numbers(hidden), grad_spikes = numbers(hidden), grad_x = numbers(hidden),
                 grad_out = numbers(outputs), grad_y = numbers(outputs);
    const Buffer spikes = make_frame(context_, static_cast<uint64_t>(n_steps * batch * 2), between, SYNFIRE_DTYPE_BITS);
    const Buffer result =
        make_frame(context_, static_cast<uint64_t>(n_steps * batch), SYNFIRE_MEMORY_DEVICE, SYNFIRE_DTYPE_BITS);
    const Buffer grad_tau = make_buffer(context_, SYNFIRE_DTYPE_F32, 1);
    const Graph graph = make_graph(context_);
    // The product of the first layer is an operation of its own, that of the second part of its forward.
    synfire_synapse_forward_desc product = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
    product.n_steps = n_steps, product.batch = batch, product.input = spikes_in, product.output = x;
    EXPECT_OK(synfire_graph_record_synapse_forward(graph, first, &product));
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x, forward.spikes = spikes;
    EXPECT_OK(synfire_graph_record_forward(graph, hidden_layer, &forward));
    forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.synapse = second, forward.synapse_input = spikes, forward.spikes = result;
    EXPECT_OK(synfire_graph_record_forward(graph, output_layer, &forward));
    record_fill(graph, grad_out, 0.25);
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = grad_out, backward.grad_x_seq = grad_y, backward.grad_synapse_input = grad_spikes;
    EXPECT_OK(synfire_graph_record_backward(graph, output_layer, &backward));
    backward = SYNFIRE_BACKWARD_DESC_INIT;
    const synfire_parameter_gradient asked = {"tau", grad_tau};
    backward.grad_spike_seq = grad_spikes, backward.grad_x_seq = grad_x;
    backward.parameter_gradients = &asked, backward.n_parameter_gradients = 1;
    EXPECT_OK(synfire_graph_record_backward(graph, hidden_layer, &backward));
    synfire_synapse_backward_desc gradient = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    gradient.n_steps = n_steps, gradient.batch = batch, gradient.input = spikes_in, gradient.grad_output = grad_x;
    EXPECT_OK(synfire_graph_record_synapse_backward(graph, first, &gradient));
    EXPECT_OK(synfire_graph_instantiate(graph));
    for (int replay = 0; replay < 2; ++replay) wait(graph, launch(graph));
    std::vector<uint32_t> found = download<uint32_t>(result, static_cast<size_t>(n_steps * batch));
    const auto add = [&](synfire_synapse of, const char* name, int64_t count) {
      std::vector<uint32_t> values(static_cast<size_t>(count));
      EXPECT_OK(synfire_synapse_read(of, name, values.data(), values.size() * 4));
      found.insert(found.end(), values.begin(), values.end());
    };
    add(first, "weight_gradient", inputs * hidden);
    add(second, "weight_gradient", hidden * outputs);
    found.push_back(download<uint32_t>(grad_tau, 1)[0]);
    return found;
  };
  const std::vector<uint32_t> expected = step(SYNFIRE_MEMORY_DEVICE);
  EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [](uint32_t word) { return word != 0; }));
  EXPECT_EQ(step(SYNFIRE_MEMORY_TRANSIENT), expected);
}

}  // namespace
}  // namespace synfire_test
