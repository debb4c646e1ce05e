// The C++ wrapper with a real library: ownership, errors, sizes and types, parameters, state, passes. Time-outs and
// notes, which a host context never returns, are in answers_test.cpp; allocations are counted in allocation_test.cpp.
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support.hpp"

namespace synfire_test {
namespace {

using synfire::Buffer;
using synfire::Context;
using synfire::Graph;
using synfire::Layer;

constexpr int n_steps = 6, n_neurons = 40, n_words = 2;

// Does the library still know this handle?
bool lives(synfire_buffer handle) {
  return synfire_buffer_get_data(handle, nullptr, nullptr) == SYNFIRE_OK;
}
bool lives(synfire_context handle) {
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  return synfire_context_get_properties(handle, &properties) == SYNFIRE_OK;
}

Layer make_layer(const Context& context, int32_t model = SYNFIRE_MODEL_LIF) {
  return Layer(context, synfire::layer_desc(model, synfire::steps{n_steps}, synfire::neurons{n_neurons}));
}

Buffer make_pinned(const Context& context, std::size_t n_elements) {
  return Buffer(context, synfire::buffer_desc<float>(n_elements, SYNFIRE_MEMORY_PINNED));
}

// ---- Ownership ------------------------------------------------------------------------------------------------------

TEST(Ownership, NothingIsLeftBehind) {
  synfire_buffer x_handle = nullptr;
  {
    const Context context = make_context();
    Layer layer = make_layer(context);
    const Buffer x = make_pinned(context, n_steps * n_neurons);
    Graph graph(context);
    graph.record_forward(layer, synfire::forward_desc(x));
    graph.instantiate();
    graph.wait(graph.launch());
    x_handle = x.get();
    EXPECT_TRUE(lives(x_handle));
    EXPECT_EQ(context.reclaim(), 0u);
  }
  EXPECT_FALSE(lives(x_handle));
  // A leaked child would hold its context, and contexts are counted.
  EXPECT_EQ(synfire::reclaim(), 0u);
}

TEST(Ownership, WhatADestroyedObjectIsNeededForIsCounted) {
  const Context context = make_context();
  Buffer x = make_pinned(context, n_steps * n_neurons);
  Graph graph(context);
  {
    const Layer layer = make_layer(context);
    graph.record_forward(layer, synfire::forward_desc(x));
  }
  x.reset();
  EXPECT_FALSE(x);
  EXPECT_EQ(context.reclaim(), 2u);
  EXPECT_EQ(synfire::reclaim(), 2u);
  graph.instantiate();
  graph.wait(graph.launch());
  graph.reset();
  EXPECT_EQ(context.reclaim(), 0u);
}

TEST(Ownership, ParentsMayGoFirst) {
  Context context = make_context();
  Buffer buffer = make_pinned(context, 3);
  context.reset();
  EXPECT_EQ(synfire::reclaim(), 1u);
  buffer.fill(2);
  EXPECT_EQ(buffer.download<float>(), std::vector<float>(3, 2.0f));
  std::thread([&] { buffer.reset(); }).join();
  EXPECT_EQ(synfire::reclaim(), 0u);
}

TEST(Ownership, MovingTakesTheHandleAndLeavesNull) {
  Context context = make_context();
  const synfire_context handle = context.get();
  Context moved = std::move(context);
  EXPECT_EQ(moved.get(), handle);
  EXPECT_FALSE(context);  // NOLINT: tests the moved-from object on purpose
  EXPECT_EQ(context.get(), nullptr);
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "context", [&] { context.properties(); }));

  Buffer first = make_pinned(moved, 2), second = make_pinned(moved, 3);
  const synfire_buffer first_handle = first.get(), second_handle = second.get();
  first = std::move(second);  // destroys its previous object
  EXPECT_FALSE(lives(first_handle));
  EXPECT_TRUE(lives(second_handle));
  EXPECT_EQ(first.get(), second_handle);
  EXPECT_EQ(first.size(), 3u);
  EXPECT_FALSE(second);
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "buffer", [&] { second.data<float>(); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "buffer", [&] { second.upload<float>({1}); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "buffer", [&] { second.download<double>(); }));

  Buffer& same = first;
  first = std::move(same);
  EXPECT_EQ(first.get(), second_handle);
  EXPECT_TRUE(lives(second_handle));

  std::vector<Buffer> buffers;
  for (std::size_t i = 1; i <= 20; ++i) buffers.push_back(make_pinned(moved, i));
  for (std::size_t i = 1; i <= 20; ++i) EXPECT_EQ(buffers[i - 1].size(), i);
  buffers.clear();
  EXPECT_EQ(moved.reclaim(), 0u);

  Layer layer = make_layer(moved), other_layer;
  other_layer = std::move(layer);
  EXPECT_FALSE(layer);  // NOLINT
  EXPECT_EQ(other_layer.state_size(), std::size_t{n_neurons});
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "layer", [&] { layer.parameters(); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "layer", [&] { layer.read_state<float>(); }));

  Graph graph(moved);
  std::swap(graph, *std::make_unique<Graph>());
  EXPECT_FALSE(graph);
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "graph", [&] { graph.launch(); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "graph", [&] { (void)graph.poll(1); }));
}

TEST(Ownership, AReleasedHandleIsTheCallers) {
  Context context = make_context();
  Buffer buffer = make_pinned(context, 4);
  Layer layer = make_layer(context);
  Graph graph(context);
  const synfire_layer_desc layer_desc = layer.desc();
  const synfire_context context_handle = context.release();
  const synfire_buffer buffer_handle = buffer.release();
  const synfire_layer layer_handle = layer.release();
  const synfire_graph graph_handle = graph.release();
  EXPECT_FALSE(context || buffer || layer || graph);
  EXPECT_TRUE(lives(context_handle));
  EXPECT_TRUE(lives(buffer_handle));

  {
    const Context context_again(context_handle);
    const Buffer buffer_again(context_again, buffer_handle, synfire::buffer_desc<float>(4, SYNFIRE_MEMORY_PINNED));
    const Layer layer_again(layer_handle, layer_desc);
    const Graph graph_again(graph_handle);
    EXPECT_EQ(buffer_again.data<float>().size(), 4u);
    EXPECT_EQ(layer_again.read_state<float>(), std::vector<float>(n_neurons, 0.0f));
  }
  EXPECT_FALSE(lives(context_handle));
  EXPECT_FALSE(lives(buffer_handle));
  EXPECT_EQ(synfire::reclaim(), 0u);
}

TEST(Ownership, NullIsALegalOwner) {
  Context context(nullptr);
  EXPECT_FALSE(context);
  context.reset();
  Buffer buffer;
  Layer layer;
  Graph graph;
  EXPECT_FALSE(buffer || layer || graph);
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "context", [&] { make_layer(context); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "context", [&] { Graph refused(context); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "context", [&] { make_pinned(context, 1); }));
}

TEST(Ownership, WhatIsRefusedLeavesNothing) {
  const Context context = make_context();
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-EMPTY", "n_elements", [&] { make_pinned(context, 0); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-LAYER-STEPS", "n_steps", [&] {
    Layer(context, synfire::layer_desc(SYNFIRE_MODEL_IF, synfire::steps{0}, synfire::neurons{1}));
  }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-CONTEXT-BACKEND", "backend",
                     [] { Context(synfire::context_desc(99)); }));
  EXPECT_EQ(synfire::reclaim(), 0u);
}

// ---- Errors ---------------------------------------------------------------------------------------------------------

TEST(Errors, CarryWhatTheLibrarySays) {
  const Context context = make_context();
  Layer layer = make_layer(context);
  try {
    layer.set_parameter("tau", -1);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& caught) {
    const auto& error = dynamic_cast<const synfire::error&>(caught);
    std::string text(2000, '\0');
    text.resize(synfire_last_error(text.data(), text.size(), nullptr) - 1);
    EXPECT_EQ(error.what(), text);
    EXPECT_EQ(error.status(), SYNFIRE_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(error.status_name(), "SYNFIRE_ERROR_INVALID_ARGUMENT");
    EXPECT_EQ(error.cuda_error(), 0);
    EXPECT_EQ(error.rule(), "SYN-PARAMETER-RANGE");
    const synfire::error copy = error;
    EXPECT_EQ(copy.rule(), error.rule());
    EXPECT_EQ(copy.status(), error.status());
  }
  EXPECT_EQ(layer.get_parameter("tau"), 2);  // unchanged
}

TEST(Errors, OfTheirThread) {
  const Context context = make_context();
  Layer layer = make_layer(context);
  std::thread([&] {
    EXPECT_TRUE(
        throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-PARAMETER-NAME", "tua", [&] { layer.set_parameter("tua", 3); }));
  }).join();
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-PARAMETER-RANGE", "tau", [&] { layer.set_parameter("tau", 0); }));
}

TEST(Errors, ARuleIsWhatStandsInBrackets) {
  EXPECT_EQ(synfire::error(SYNFIRE_ERROR_CUDA, "[SYN-CUDA] x: [y]", 700).rule(), "SYN-CUDA");
  EXPECT_EQ(synfire::error(SYNFIRE_ERROR_CUDA, "[SYN-CUDA] x: [y]", 700).cuda_error(), 700);
  for (const char* text : {"", "no rule", "[unfinished", "late [SYN-CUDA]"})
    EXPECT_EQ(synfire::error(SYNFIRE_ERROR_CUDA, text).rule(), "") << text;
}

TEST(Errors, ChecksOfCallsThatAreNotWrapped) {
  EXPECT_EQ(synfire::check(SYNFIRE_OK), SYNFIRE_OK);
  EXPECT_EQ(synfire::check(SYNFIRE_HOST_FALLBACK), SYNFIRE_HOST_FALLBACK);
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "graph",
                     [] { synfire::check(synfire_graph_instantiate(nullptr)); }));
}

// ---- Buffers --------------------------------------------------------------------------------------------------------

TEST(Buffers, UploadAndDownload) {
  const Context context = make_context();
  Buffer buffer(context, synfire::buffer_desc<double>(5));
  EXPECT_EQ(buffer.dtype(), SYNFIRE_DTYPE_F64);
  EXPECT_EQ(buffer.size(), 5u);
  buffer.upload(std::vector<double>{1, 2, 3, 4, 5});
  const double two[] = {20, 30};
  buffer.upload(two, 2, 1);
  EXPECT_EQ(buffer.download<double>(), (std::vector<double>{1, 20, 30, 4, 5}));
  double last[2] = {};
  buffer.download(last, 2, 3);
  EXPECT_EQ(last[0], 4);
  EXPECT_EQ(last[1], 5);
  std::vector<double> all(5);
  buffer.download(all);
  EXPECT_EQ(all[2], 30);
  buffer.fill(0.5);
  EXPECT_EQ(buffer.download<double>(), std::vector<double>(5, 0.5));
  buffer.upload(two, 0, 5);  // nothing, at the end
}

TEST(Buffers, RefuseWrongSizes) {
  const Context context = make_context();
  Buffer buffer(context, synfire::buffer_desc<float>(4));
  const auto size = [](auto call) { return throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-SIZE", "has 4", call); };
  const auto range = [](auto call) {
    return throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-RANGE", "has 4", call);
  };
  std::vector<float> five(5, 7.0f), three(3, 7.0f), none;
  EXPECT_TRUE(size([&] { buffer.upload(five); }));
  EXPECT_TRUE(size([&] { buffer.upload(three); }));
  EXPECT_TRUE(size([&] { buffer.upload(none); }));
  EXPECT_TRUE(size([&] { buffer.download(five); }));
  EXPECT_TRUE(size([&] { buffer.download(three); }));
  EXPECT_TRUE(range([&] { buffer.upload(five.data(), 5); }));
  EXPECT_TRUE(range([&] { buffer.upload(five.data(), 1, 4); }));
  EXPECT_TRUE(range([&] { buffer.upload(five.data(), 2, SIZE_MAX); }));
  EXPECT_TRUE(range([&] { buffer.upload(five.data(), SIZE_MAX, 2); }));
  EXPECT_TRUE(range([&] { buffer.download(five.data(), 3, 2); }));
  // 2^62 floats are 2^64 bytes, which is 0.
  EXPECT_TRUE(range([&] { buffer.download(five.data(), std::size_t{1} << 62); }));
  EXPECT_EQ(five, std::vector<float>(5, 7.0f));
  EXPECT_EQ(buffer.download<float>(), std::vector<float>(4, 0.0f));
}

TEST(Buffers, RefuseWrongTypes) {
  const Context context = make_context();
  Buffer floats = make_pinned(context, 4), bits(context, synfire::buffer_desc<uint32_t>(4, SYNFIRE_MEMORY_PINNED));
  const auto type = [](auto call) { return throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-TYPE", "float", call); };
  EXPECT_TRUE(type([&] { floats.upload(std::vector<double>(4)); }));
  EXPECT_TRUE(type([&] { floats.upload(std::vector<uint32_t>(4)); }));
  EXPECT_TRUE(type([&] { bits.upload(std::vector<float>(4)); }));
  EXPECT_TRUE(type([&] { floats.download<double>(); }));
  EXPECT_TRUE(type([&] { bits.download<float>(); }));
  EXPECT_TRUE(type([&] { floats.data<double>(); }));
  EXPECT_TRUE(type([&] { floats.data<uint32_t>(); }));
  EXPECT_TRUE(type([&] { bits.data<float>(); }));
}

TEST(Buffers, ViewsAreTheMemoryItself) {
  const Context context = make_context();
  Buffer buffer = make_pinned(context, 4);
  EXPECT_TRUE(buffer.host_visible());
  const synfire::View<float> view = buffer.data<float>();
  ASSERT_EQ(view.size(), 4u);
  EXPECT_FALSE(view.empty());
  float next = 1;
  for (float& value : view) value = next++;
  view[2] = 30;
  EXPECT_EQ(buffer.download<float>(), (std::vector<float>{1, 2, 30, 4}));
  const Buffer& constant = buffer;
  const synfire::View<const float> same = constant.data<float>();
  EXPECT_EQ(same.data(), view.data());
  EXPECT_EQ(same.end() - same.begin(), 4);
  EXPECT_TRUE(synfire::View<float>().empty());
#if defined(__cpp_lib_span) && defined(__cpp_lib_ranges)
  const std::span<float> span = buffer.data<float>();
  EXPECT_EQ(span.data(), view.data());
  EXPECT_EQ(span.size(), 4u);
#endif
}

TEST(Buffers, BorrowMemory) {
  const Context context = make_context();
  std::vector<float> memory{1, 2, 3};
  Buffer buffer(context, synfire::borrowed_desc(memory.data(), memory.size(), SYNFIRE_MEMORY_HOST));
  EXPECT_EQ(buffer.data<float>().data(), memory.data());
  buffer.fill(4);
  EXPECT_EQ(memory, std::vector<float>(3, 4.0f));
}

// On a GPU, only what needs no layer is tested, since there is no ordinary device memory to borrow.
TEST(Buffers, KeepTheOwnerOfBorrowedMemory) {
  const Context context = make_context();
  const auto owner = std::make_shared<std::vector<float>>(64, 1.5f);
  const auto lend = [&] {
    return Buffer(context, synfire::borrowed_desc(owner->data(), owner->size(), SYNFIRE_MEMORY_HOST), owner);
  };
  Buffer x = lend();
  EXPECT_EQ(owner.use_count(), 2);
  x.reset();
  EXPECT_EQ(owner.use_count(), 2) << "destroying only queues";
  synfire::reclaim();
  EXPECT_EQ(owner.use_count(), 1);
  // A buffer that could not be created keeps nothing.
  synfire_buffer_desc wrong = synfire::borrowed_desc(owner->data(), 0, SYNFIRE_MEMORY_HOST);
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-EMPTY", "n_elements", [&] { Buffer(context, wrong, owner); }));
  EXPECT_EQ(owner.use_count(), 1);
  if (context.properties().backend != SYNFIRE_BACKEND_HOST) return;
  Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, synfire::steps{4}, synfire::neurons{16}));
  Buffer grad(context, synfire::buffer_desc<float>(64)), grad_x(context, synfire::buffer_desc<float>(64));
  grad.fill(1);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = grad;
  backward.grad_x_seq = grad_x;
  x = lend();
  forward.x = x;
  layer.forward(forward);
  x.reset();
  synfire::reclaim();
  EXPECT_EQ(owner.use_count(), 2) << "the layer's tape was made from it";
  layer.backward(backward);
  layer.reset();
  synfire::reclaim();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(Buffers, KeepAVectorThatIsMovedIn) {
  const Context context = make_context();
  std::vector<float> values{1, 2, 3};
  const float* const data = values.data();
  Buffer x(context, synfire::borrowed_desc(values.data(), values.size(), SYNFIRE_MEMORY_HOST), std::move(values));
  EXPECT_EQ(x.data<float>().data(), data);
  EXPECT_EQ(x.download<float>(), (std::vector<float>{1, 2, 3}));
}

TEST(Buffers, CallBackWithBorrowedMemory) {
  const Context context = make_context();
  std::vector<float> memory(3);
  int n_calls = 0;
  const synfire_buffer_desc desc = synfire::borrowed_desc(memory.data(), memory.size(), SYNFIRE_MEMORY_HOST);
  {
    const Buffer first(context, desc, [&] {
      ++n_calls;
      Buffer inside(context, synfire::buffer_desc<float>(1));  // calls the library from within
      synfire::reclaim();
      throw std::runtime_error("nobody hears of it");
    });
    synfire_buffer_desc wrong = desc;
    wrong.memory = 9;
    EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-MEMORY", "9",
                       [&] { Buffer(context, wrong, [&] { n_calls += 100; }); }));
    synfire::reclaim();
    EXPECT_EQ(n_calls, 0);
  }
  EXPECT_EQ(n_calls, 0);
  EXPECT_EQ(synfire::reclaim(), 0u);
  EXPECT_EQ(n_calls, 1);
}

TEST(Buffers, OfTheDeviceAreVisibleOnAHostContextOnly) {
  const Context context = make_context();
  Buffer buffer(context, synfire::buffer_desc<float>(2));
  if (context.properties().backend == SYNFIRE_BACKEND_HOST) {
    EXPECT_EQ(buffer.data<float>().size(), 2u);
  } else {
    EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-KIND", "DEVICE", [&] { buffer.data<float>(); }));
  }
}

// ---- Layers ---------------------------------------------------------------------------------------------------------

TEST(Layers, Parameters) {
  const Context context = make_context();
  Layer layer = make_layer(context);
  std::vector<std::string> names;
  for (const synfire_parameter_info& info : layer.parameters()) {
    names.emplace_back(info.name);
    EXPECT_EQ(info.length, 1u);
    EXPECT_EQ(layer.get_parameter(info.name), info.default_value) << info.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"tau", "v_rest", "v_threshold", "v_reset", "alpha"}));

  layer.set_parameter("tau", 20);
  EXPECT_EQ(layer.get_parameter("tau"), 20);
  EXPECT_EQ(layer.get_parameter_values("tau"), std::vector<double>(n_neurons, 20.0));

  std::vector<double> each(n_neurons);
  for (std::size_t i = 0; i < each.size(); ++i) each[i] = 2.0 + static_cast<double>(i);
  layer.set_parameter("tau", each);
  EXPECT_EQ(layer.get_parameter_values("tau"), each);
  EXPECT_EQ(layer.parameters()[0].length, std::uint64_t{n_neurons});
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-PARAMETER-COUNT", "40", [&] { layer.get_parameter("tau"); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-PARAMETER-COUNT", "40",
                     [&] { layer.set_parameter("tau", std::vector<double>(3, 2.0)); }));
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-PARAMETER-NAME", "tau2", [&] { layer.get_parameter("tau2"); }));
  EXPECT_EQ(layer.get_parameter_values("tau"), each);
}

TEST(Layers, State) {
  const Context context = make_context();
  Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_IF, synfire::steps{n_steps}, synfire::neurons{3}, 2));
  EXPECT_EQ(layer.state_size(), 6u);
  const std::vector<float> v{0.5f, 0.25f, 0, -1, -2, -3};
  layer.write_state("v", v);
  EXPECT_EQ(layer.read_state<float>(), v);
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-STATE-SIZE", "bytes",
                     [&] { layer.write_state("v", std::vector<float>(5)); }));
  // Three doubles have as many bytes as six floats.
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-STATE-SIZE", "double",
                     [&] { layer.write_state("v", std::vector<double>(3)); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-STATE-SIZE", "double", [&] { layer.read_state<double>(); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-STATE-NAME", "x", [&] { layer.read_state<float>("x"); }));
  EXPECT_EQ(layer.read_state<float>("v"), v);
  layer.reset_state();
  context.synchronize();
  EXPECT_EQ(layer.read_state<float>(), std::vector<float>(6, 0.0f));
}

// Models with a current and with an adaptive threshold, and the rules of firing, against numbers that were worked out
// in fractions. X of neuron n at step t is (5t + 3n) mod 8, halved.
TEST(Layers, ModelsAndRules) {
  struct State {
    const char* name;
    std::vector<float> values;
  };
  struct Parameter {
    const char* name;
    std::vector<double> values;
  };
  const Context context = make_context();
  std::vector<float> values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>((5 * (i / 4) + 3 * (i % 4)) % 8) / 2);
  Buffer x = make_pinned(context, 24);
  x.upload(values);
  const auto check = [&](const synfire_layer_desc& desc, const std::vector<Parameter>& parameters,
                         const std::string& fired, const std::vector<State>& states) {
    SCOPED_TRACE(fired);
    Layer layer(context, desc);
    for (const Parameter& one : parameters) layer.set_parameter(one.name, one.values);
    const Buffer spikes = make_pinned(context, 24);
    synfire_forward_desc forward = synfire::forward_desc(x);
    forward.spikes = spikes;
    layer.forward(forward);
    std::string text;
    for (const float spike : spikes.download<float>()) text += spike == 1 ? '1' : '0';
    EXPECT_EQ(text, fired);
    for (const State& one : states) EXPECT_EQ(layer.read_state<float>(one.name), one.values) << one.name;
  };
  const auto desc = [](int32_t model, int32_t reset) {
    synfire_layer_desc made = synfire::layer_desc(model, synfire::steps{6}, synfire::neurons{4});
    made.reset = reset;
    return made;
  };
  check(desc(SYNFIRE_MODEL_ALIF, SYNFIRE_RESET_SOFT), {{"tau", {2}}, {"rho", {0.5}}, {"beta_a", {1}}},
        "001010010100101001010010",
        {{"v", {0.953125f, 1.4296875f, 0.8125f, 0.6953125f}}, {"a", {0.15625f, 0.3125f, 0.640625f, 0.28125f}}});
  check(desc(SYNFIRE_MODEL_CUBA_LIF, SYNFIRE_RESET_HARD),
        {{"tau", {4}}, {"tau_syn", {2}}, {"gain", {2}}, {"input_gain", {1}}}, "000000101101101011010110",
        {{"v", {0.6640625f, 0, 0, 0.66015625f}}, {"current", {1.328125f, 2.1796875f, 2.40625f, 1.3203125f}}});
  check(desc(SYNFIRE_MODEL_LIF, SYNFIRE_RESET_SOFT_DELAYED), {{"tau", {2}}}, "001010010100101001010010",
        {{"v", {0.703125f, 0.9296875f, 1.84375f, 0.1953125f}}, {"countdown", {0, 0, 1, 0}}});
  // Two channels, each with a threshold of its own. At step 4 a neuron is at its threshold and does not fire.
  synfire_layer_desc refractory = desc(SYNFIRE_MODEL_IF, SYNFIRE_RESET_HARD);
  refractory.strict_threshold = 1;
  refractory.refractory_steps = 2;
  check(refractory, {{"v_threshold", {1, 2.5}}}, "001010010100001010000001",
        {{"v", {0, 2, 0, 0}}, {"countdown", {2, 0, 1, 3}}});
}

TEST(Layers, MemoryIsKnownBefore) {
  synfire_layer_desc desc{};  // struct_size is filled in
  desc.n_steps = 64;
  desc.n_neurons = 128;
  const synfire_layer_memory memory = synfire::layer_memory(desc);
  EXPECT_EQ(memory.state_bytes, 512u);
  EXPECT_EQ(memory.tape_bytes, 64u / memory.checkpoint_interval * 512u);
  const Context context = make_context();
  EXPECT_EQ(Layer(context, desc).desc().struct_size, sizeof desc);
  EXPECT_EQ(Layer(context, desc).state_size(), 128u);
}

// ---- Passes ---------------------------------------------------------------------------------------------------------

TEST(Passes, EagerAndReplayedAreTheSame) {
  const Context context = make_context();
  Layer eager = make_layer(context), replayed = make_layer(context);
  Buffer x = make_pinned(context, n_steps * n_neurons), grad_spikes = make_pinned(context, n_steps * n_neurons);
  Buffer bits(context, synfire::buffer_desc<uint32_t>(n_steps * n_words, SYNFIRE_MEMORY_PINNED));
  Buffer copied(context, synfire::buffer_desc<uint32_t>(n_steps * n_words));
  Buffer grad_x = make_pinned(context, n_steps * n_neurons);
  for (std::size_t i = 0; i < x.size(); ++i) x.data<float>()[i] = 0.1f * static_cast<float>(i % 37);
  grad_spikes.fill(1);

  eager.forward(synfire::forward_desc(x, bits));
  eager.backward(synfire::backward_desc(grad_spikes, grad_x));
  context.synchronize();
  const std::vector<uint32_t> spikes = bits.download<uint32_t>();
  const std::vector<float> gradient = grad_x.download<float>();
  EXPECT_NE(spikes, std::vector<uint32_t>(spikes.size(), 0));
  EXPECT_NE(gradient, std::vector<float>(gradient.size(), 0));
  bits.fill(0);
  grad_x.fill(0);

  Graph graph(context);
  graph.record_forward(replayed, synfire::forward_desc(x, bits));
  graph.record_backward(replayed, synfire::backward_desc(grad_spikes, grad_x));
  graph.record_copy(synfire::copy_desc(bits, copied));
  graph.instantiate();
  const synfire::Ticket ticket = graph.launch();
  EXPECT_EQ(ticket, 1u);
  graph.wait(ticket, synfire::WaitPolicy::yield);
  EXPECT_EQ(graph.poll(ticket), synfire::Waited::done);
  EXPECT_EQ(graph.wait(ticket, std::chrono::seconds(-1)), synfire::Waited::done);
  EXPECT_EQ(bits.download<uint32_t>(), spikes);
  EXPECT_EQ(copied.download<uint32_t>(), spikes);
  EXPECT_EQ(grad_x.download<float>(), gradient);
  EXPECT_EQ(replayed.read_state<float>(), eager.read_state<float>());
  EXPECT_EQ(graph.launch(), 2u);
}

synfire_status SYNFIRE_CALL add_one(void* user, const synfire_native_call* call) {
  ++*static_cast<int*>(user);
  if (call->stream) return -1;  // on CUDA this test has nothing to enqueue
  static_cast<float*>(call->writes[0].data)[3] += 1;
  return SYNFIRE_OK;
}

TEST(Graphs, ChangeBetweenReplaysAndTellAboutThemselves) {
  const Context context = make_context();
  Buffer x = make_pinned(context, 8), out = make_pinned(context, 8), other = make_pinned(context, 8);
  synfire_graph_desc desc = SYNFIRE_GRAPH_DESC_INIT;
  desc.n_slots = 2;
  Graph graph(context, desc);
  graph.record_copy(synfire::copy_desc(x, out));
  int n_calls = 0;
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  const synfire_buffer written = out;
  native.callback = add_one;
  native.user = &n_calls;
  native.name = "adds one";
  native.writes = &written;
  native.n_writes = 1;
  graph.record_native(native);
  EXPECT_EQ(graph.last_operation(), 1);
  EXPECT_NE(graph.dot().find("adds one"), std::string::npos);
  if (context.properties().backend != SYNFIRE_BACKEND_HOST) {
    EXPECT_THROW(graph.instantiate(), synfire::error);
    return;
  }
  graph.instantiate();
  const auto replay = [&](float value) {
    static_cast<float*>(graph.slot(0, x).data)[3] = value;
    const synfire::Ticket ticket = graph.launch();
    graph.wait(ticket);
    const synfire_memory memory = graph.slot(ticket, out);
    EXPECT_EQ(memory.bytes, 8 * sizeof(float));
    return static_cast<const float*>(memory.data)[3];
  };
  EXPECT_EQ(replay(5), 6);
  graph.set_enabled(1, false);
  EXPECT_EQ(replay(7), 7);
  graph.set_enabled(1, true);
  graph.rebind(x, other);
  x = std::move(other);
  EXPECT_EQ(replay(9), 10);
  EXPECT_EQ(n_calls, 2);
  EXPECT_EQ(graph.statistics().n_replays, 3u);
  graph.reset_statistics();
  EXPECT_EQ(graph.statistics().n_replays, 0u);
  EXPECT_THROW(graph.slot(99, out), synfire::error);
  EXPECT_THROW(graph.set_enabled(2, true), synfire::error);
}

TEST(Graphs, StepsBetweenPasses) {
  const Context context = make_context();
  const synfire_layer_desc layer_desc =
      synfire::layer_desc(SYNFIRE_MODEL_LIF, synfire::steps{1}, synfire::neurons{4}, 2);
  Layer layer(context, layer_desc), other(context, layer_desc);
  Buffer x(context, synfire::buffer_desc<float>(8)), sum(context, synfire::buffer_desc<float>(8)),
      gradient(context, synfire::buffer_desc<float>(1)), row(context, synfire::buffer_desc<float>(4)),
      mask(context, synfire::buffer_desc<std::uint8_t>(2)),
      kept(context, synfire::buffer_desc<std::uint8_t>(layer.snapshot().size()));
  gradient.fill(2);
  mask.upload(std::vector<std::uint8_t>{0, 1});
  layer.write_state("v", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  const double tau = layer.get_parameter("tau");
  Graph graph(context);
  graph.record_fill(synfire::fill_desc(x, 3));
  graph.record_scale_add(synfire::scale_add_desc(x, sum, 2, 0));
  graph.record_update_parameter(layer, synfire::update_parameter_desc("tau", gradient, -0.25));
  graph.record_snapshot(layer, synfire::state_desc(0, 0, nullptr, kept));
  graph.record_read_rows(layer, synfire::state_desc(1, 1, "v", row));
  graph.record_write_rows(layer, synfire::state_desc(0, 1, "v", row));
  graph.record_copy_rows(other, synfire::copy_rows_desc(layer));
  graph.record_reset_rows(layer, synfire::state_desc(0, 0, nullptr, mask));
  graph.instantiate();
  graph.set_value(0, "value", 5);
  graph.wait(graph.launch());
  EXPECT_EQ(sum.download<float>(), std::vector<float>(8, 10));
  EXPECT_EQ(layer.get_parameter("tau"), tau + 0.5);
  EXPECT_EQ(other.read_state<float>(), (std::vector<float>{5, 6, 7, 8, 5, 6, 7, 8}));
  EXPECT_EQ(layer.read_state<float>(), (std::vector<float>{5, 6, 7, 8, 0, 0, 0, 0}));
  Graph back(context);
  back.record_restore(layer, synfire::state_desc(0, 0, nullptr, kept));
  back.instantiate();
  back.wait(back.launch());
  EXPECT_EQ(layer.read_state<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));

  // The same eagerly.
  const std::vector<unsigned char> snapshot = layer.snapshot(synfire::state_desc(1, 1));
  layer.reset_rows(synfire::state_desc(1, 1));
  layer.read_rows(synfire::state_desc(0, 1, "v", row));
  EXPECT_EQ(row.download<float>(), (std::vector<float>{1, 2, 3, 4}));
  layer.write_rows(synfire::state_desc(1, 1, "v", row));
  other.copy_rows(synfire::copy_rows_desc(layer, 0, 1, 1));
  EXPECT_EQ(other.read_state<float>(), (std::vector<float>{5, 6, 7, 8, 1, 2, 3, 4}));
  other.restore(snapshot, synfire::state_desc(0, 1));
  EXPECT_EQ(other.read_state<float>(), (std::vector<float>{5, 6, 7, 8, 1, 2, 3, 4}));
  synfire::scale_add(context, synfire::scale_add_desc(x, sum, 1, 2));
  EXPECT_EQ(sum.download<float>(), std::vector<float>(8, 25));
  const double taus[] = {3, 4, 5, 6}, threshold = 2;
  other.set_parameters({{"tau", taus, 4}, {"v_threshold", &threshold, 1}});
  EXPECT_EQ(other.get_parameter_values("tau"), std::vector<double>(taus, taus + 4));
  EXPECT_EQ(other.get_parameter("v_threshold"), 2);
  other.set_n_active(2);
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-LAYER-ACTIVE", "n_rows", [&] { other.set_n_active(3); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-SNAPSHOT-LAYOUT", "rows", [&] { other.restore(snapshot); }));
}

TEST(Branches, CombinedAtOnceAndInAGraph) {
  const Context context = make_context();
  Buffer a(context, synfire::buffer_desc<float>(3)), b(context, synfire::buffer_desc<float>(3)),
      sum(context, synfire::buffer_desc<float>(3)), part(context, synfire::buffer_desc<float>(2)),
      mean(context, synfire::buffer_desc<float>(1));
  a.upload(std::vector<float>{1, 2, 3});
  b.upload(std::vector<float>{10, 20, 30});
  const synfire_buffer sources[] = {a, b};
  const synfire_combine_desc desc = synfire::combine_desc(sources, 2, sum, synfire::steps{1}, synfire::neurons{3});
  synfire::combine(context, desc);
  EXPECT_EQ(sum.download<float>(), (std::vector<float>{11, 22, 33}));
  Graph graph(context);
  graph.record_combine(desc);
  synfire_combine_backward_desc backward = synfire::combine_backward_desc(
      sum, part, synfire::steps{1}, synfire::neurons{3}, SYNFIRE_COMBINE_CONCATENATE, 1, 1);
  const std::int64_t channels[] = {1, 2};
  backward.channels = channels;
  backward.n_channels = 2;
  graph.record_combine_backward(backward);
  graph.record_group_mean(synfire::group_mean_desc(sum, mean, synfire::steps{1}, 1, 3));
  graph.instantiate();
  graph.wait(graph.launch());
  EXPECT_EQ(part.download<float>(), (std::vector<float>{22, 33}));
  EXPECT_EQ(mean.download<float>(), (std::vector<float>{22}));
}

TEST(Spikes, ConvertedAndCountedAtOnceAndInAGraph) {
  const Context context = make_context();
  Buffer dense(context, synfire::buffer_desc<float>(2 * 35)), bits(context, synfire::buffer_desc<uint32_t>(2 * 2));
  Buffer by_time(context, synfire::time_bits_desc(35)), bytes(context, synfire::buffer_desc<std::uint8_t>(2 * 35));
  Buffer per_neuron(context, synfire::counts_desc(35)), total(context, synfire::buffer_desc<std::uint64_t>(1));
  std::vector<float> spikes(2 * 35, 0);
  spikes[0] = spikes[33] = spikes[35] = 1;
  dense.upload(spikes);
  const auto check = [&] {
    EXPECT_EQ(bits.download<uint32_t>(), (std::vector<uint32_t>{1, 2, 1, 0}));
    std::vector<uint32_t> trains(35, 0);
    trains[0] = 3;
    trains[33] = 1;
    EXPECT_EQ(by_time.download<uint32_t>(), trains);
    EXPECT_EQ(bytes.download<std::uint8_t>(), std::vector<std::uint8_t>(spikes.begin(), spikes.end()));
    std::vector<uint32_t> counts(35, 0);
    counts[0] = 2;
    counts[33] = 1;
    EXPECT_EQ(per_neuron.download<uint32_t>(), counts);
    EXPECT_EQ(total.download<std::uint64_t>(), std::vector<std::uint64_t>{3});
    for (Buffer* written : {&bits, &by_time, &bytes, &per_neuron, &total}) written->fill(9);
  };
  const auto pack = synfire::convert_spikes_desc(dense, bits, synfire::steps{2}, synfire::neurons{35}),
             transpose = synfire::convert_spikes_desc(bits, by_time, synfire::steps{2}, synfire::neurons{35}),
             unpack = synfire::convert_spikes_desc(by_time, bytes, synfire::steps{2}, synfire::neurons{35});
  const auto neurons = synfire::count_spikes_desc(bytes, per_neuron, synfire::steps{2}, synfire::neurons{35}),
             all =
                 synfire::count_spikes_desc(bits, total, synfire::steps{2}, synfire::neurons{35}, SYNFIRE_COUNT_TOTAL);
  for (const auto& desc : {pack, transpose, unpack}) synfire::convert_spikes(context, desc);
  for (const auto& desc : {neurons, all}) synfire::count_spikes(context, desc);
  check();
  Graph graph(context);
  for (const auto& desc : {pack, transpose, unpack}) graph.record_convert_spikes(desc);
  for (const auto& desc : {neurons, all}) graph.record_count_spikes(desc);
  graph.instantiate();
  graph.wait(graph.launch());
  check();
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-TYPE", "desc.counts", [&] {
    synfire::count_spikes(
        context, synfire::count_spikes_desc(bytes, bits, synfire::steps{2}, synfire::neurons{35}, SYNFIRE_COUNT_TOTAL));
  }));
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-INSTANTIATED", "graph", [&] { graph.record_convert_spikes(pack); }));
}

TEST(Spikes, EncodedAtOnceAndInAGraph) {
  const Context context = make_context();
  Buffer rates(context, synfire::buffer_desc<float>(2 * 35)),
      bytes(context, synfire::buffer_desc<std::uint8_t>(6 * 70));
  std::vector<float> values(2 * 35, 0.5F);
  values[3] = 0;
  values[4] = 1;
  rates.upload(values);
  synfire::encode_bernoulli(
      context, synfire::encode_bernoulli_desc(rates, bytes, synfire::steps{6}, synfire::neurons{35}, 2, 7, 100));
  const std::vector<std::uint8_t> all = bytes.download<std::uint8_t>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_LE(all[i], i % 70 == 3 ? 0 : 1);
    EXPECT_GE(all[i], i % 70 == 4 ? 1 : 0);
  }
  // Replays of two steps each continue where the previous one ended, until the offset is set.
  const auto part = [&](std::size_t first) {
    return std::vector<std::uint8_t>(all.begin() + static_cast<std::ptrdiff_t>(first * 70),
                                     all.begin() + static_cast<std::ptrdiff_t>((first + 2) * 70));
  };
  Buffer two(context, synfire::buffer_desc<std::uint8_t>(2 * 70));
  Graph graph(context);
  graph.record_encode_bernoulli(
      synfire::encode_bernoulli_desc(rates, two, synfire::steps{2}, synfire::neurons{35}, 2, 7, 100));
  const auto operation = graph.last_operation();
  graph.instantiate();
  for (const std::size_t first : {0U, 2U, 4U}) {
    graph.wait(graph.launch());
    EXPECT_EQ(two.download<std::uint8_t>(), part(first));
  }
  graph.set_value(operation, "offset", 101);
  graph.wait(graph.launch());
  EXPECT_EQ(two.download<std::uint8_t>(), part(1));
  auto wrong = synfire::encode_bernoulli_desc(rates, two, synfire::steps{2}, synfire::neurons{35}, 2);
  wrong.rates_per_step = 1;
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-SIZE", "desc.rates",
                     [&] { synfire::encode_bernoulli(context, wrong); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-INSTANTIATED", "graph",
                     [&] { graph.record_encode_bernoulli(wrong); }));
}

TEST(Names, FindModelsAndSurrogates) {
  EXPECT_EQ(synfire::model_id("izhikevich"), SYNFIRE_MODEL_IZHIKEVICH);
  EXPECT_EQ(synfire::surrogate_id("rect"), SYNFIRE_SURROGATE_RECT);
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-MODEL-NAME", "\"rect\"", [] { synfire::model_id("rect"); }));
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-SURROGATE-NAME", "\"if\"", [] { synfire::surrogate_id("if"); }));
}

struct InPlace {
  int n_enqueued = 0;
  void* enqueue(synfire_task task, void* argument, std::int32_t n_items, std::int32_t /*min_range*/) {
    ++n_enqueued;
    task(argument, 0, n_items / 2);
    left_ = {task, argument, n_items / 2, n_items};
    return &left_;
  }
  void finish(void* handle) {
    EXPECT_EQ(handle, &left_);
    left_.task(left_.argument, left_.first, left_.end);
  }

 private:
  struct Part {
    synfire_task task;
    void* argument;
    std::int32_t first, end;
  } left_ = {};
};

TEST(Contexts, UseAJobSystem) {
  constexpr int many = 60'000;  // work for several threads
  InPlace jobs;
  const Context context(synfire::context_desc_with_jobs(jobs, 2, SYNFIRE_BACKEND_HOST));
  EXPECT_EQ(context.properties().n_threads, 2);
  Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, synfire::steps{16}, synfire::neurons{many}));
  Buffer x = make_pinned(context, 16 * many);
  const Buffer spikes = make_pinned(context, 16 * many);
  x.fill(2);
  layer.forward(synfire::forward_desc(x, spikes));
  EXPECT_EQ(jobs.n_enqueued, 1);
  for (const float spike : spikes.data<float>()) ASSERT_EQ(spike, 1.0f);
}

// ---- the whole process ----------------------------------------------------------------------------------------------

// Counts, and throws when it is told to.
struct CountingHeap {
  std::uint64_t bytes = 0, n_requests = 0;
  bool throws = false;

  void* allocate(std::uint64_t size, std::uint64_t alignment, std::int32_t) {
    if (throws) throw std::bad_alloc();
    bytes += size;
    ++n_requests;
    return ::operator new (size, std::align_val_t{alignment});
  }
  void release(void* memory, std::uint64_t size, std::uint64_t alignment, std::int32_t) {
    bytes -= size;
    ::operator delete (memory, std::align_val_t{alignment});
  }
};

TEST(Process, HasAHeapOfTheProgram) {
  synfire::reclaim();
  CountingHeap heap;
  synfire::set_memory(heap);
  {
    const Context context = make_context();
    const Layer layer = make_layer(context);
    EXPECT_GT(heap.n_requests, 0u);
    EXPECT_EQ(synfire::memory_use().host_bytes, heap.bytes);
    EXPECT_GT(layer.memory_use().layer_bytes, 0u);
    EXPECT_GE(context.memory_use().layer_bytes, layer.memory_use().layer_bytes);
    EXPECT_TRUE(throws(SYNFIRE_ERROR_WRONG_ORDER, "SYN-MEMORY-IN-USE", "bytes", [] { synfire::reset_memory(); }));
    heap.throws = true;
    EXPECT_TRUE(throws(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-MEMORY-HOST", "memory", [&] { make_layer(context); }));
    heap.throws = false;
  }
  synfire::reset_memory();
  EXPECT_EQ(heap.bytes, 0u);
}

TEST(Process, TellsWhatWasChosen) {
  std::vector<std::string> heard;
  auto hear = [&](std::int32_t level, std::string_view text) {
    if (level == SYNFIRE_LOG_CHOICE) heard.emplace_back(text);
    throw std::runtime_error("a listener that fails");
  };
  synfire::set_log(hear);
  static_cast<void>(make_context());
  synfire::reset_log();
  static_cast<void>(make_context());
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].substr(0, 9), "context: ");
}

TEST(Buffers, LeaveAndComeAsTensors) {
  const Context context = make_context();
  const std::uint64_t before = context.reclaim();
  Buffer buffer(context, synfire::buffer_desc<float>(6, SYNFIRE_MEMORY_HOST));
  buffer.fill(3);
  void* const tensor = buffer.to_dlpack(true);
  buffer = Buffer();
  EXPECT_EQ(context.reclaim(), before + 1) << "the tensor keeps the memory";
  {
    const Buffer again = Buffer::from_dlpack(context, tensor, true);
    EXPECT_EQ(again.dtype(), SYNFIRE_DTYPE_F32);
    for (const float value : again.download<float>()) EXPECT_EQ(value, 3.0F);
    EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-ARGUMENT-NULL", "tensor",
                       [&] { static_cast<void>(Buffer::from_dlpack(context, nullptr)); }));
  }
  EXPECT_EQ(context.reclaim(), before);
}

TEST(Passes, RefuseTheWrongOrder) {
  const Context context = make_context();
  Layer layer = make_layer(context);
  const Buffer x = make_pinned(context, n_steps * n_neurons);
  Graph graph(context);
  EXPECT_TRUE(throws(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-NOT-INSTANTIATED", "graph", [&] { graph.launch(); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-EMPTY", "graph", [&] { graph.instantiate(); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-NONE", "forward",
                     [&] { graph.record_backward(layer, synfire::backward_desc(nullptr, x)); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "x",
                     [&] { graph.record_forward(layer, synfire::forward_desc(nullptr)); }));
  graph.record_forward(layer, synfire::forward_desc(x));
  graph.instantiate();
  EXPECT_TRUE(throws(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-INSTANTIATED", "graph", [&] { graph.instantiate(); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-GRAPH-TICKET", "ticket is 7", [&] { graph.wait(7); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-GRAPH-TICKET", "ticket is 1", [&] { (void)graph.poll(1); }));
}

}  // namespace
}  // namespace synfire_test
