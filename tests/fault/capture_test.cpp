// Captures: native nodes that follow CUDA's rules and those that do not, graphs and eager calls on a stream that the
// caller captures, captures of other threads, several devices. A failing CUDA call must neither leak nor break
// anything.
#include "../capi/graph_support.hpp"
#include "fake_cuda.hpp"

#include <atomic>
#include <functional>
#include <thread>

namespace synfire_test {
namespace {

using Callback = std::function<synfire_status(const synfire_native_call&)>;

synfire_status SYNFIRE_CALL call_function(void* user, const synfire_native_call* call) {
  return (*static_cast<Callback*>(user))(*call);
}

class Captures : public testing::Test {
 protected:
  static constexpr uint64_t n = 64;
  Context context;
  Buffer x, out;
  cudaStream_t stream = nullptr, side = nullptr;
  fake::Live before = {};

  void SetUp() override {
    fake::install();
    context = make_context();
    x = make_frame(context, n);
    out = make_frame(context, n);
    stream = fake::make_stream();
    side = fake::make_stream();
    before = fake::live();
  }
  void TearDown() override {
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
    EXPECT_EQ(fake::live(), before) << "a graph, an executable or memory is left";
    fake::destroy_stream(stream);
    fake::destroy_stream(side);
  }

  synfire_native_desc native(Callback& callback, const char* name) {
    synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
    desc.callback = call_function;
    desc.user = &callback;
    desc.name = name;
    return desc;
  }
  // x -> native node 1 "mine" -> out. The native node adds 1.
  Graph record(Callback& callback, uint32_t n_slots = 0) {
    Graph graph = make_slotted_graph(context, n_slots);
    reads_ = x;
    writes_ = out;
    record_copy(graph, x, out);
    synfire_native_desc desc = native(callback, "mine");
    desc.reads = &reads_;
    desc.n_reads = 1;
    desc.writes = &writes_;
    desc.n_writes = 1;
    EXPECT_OK(synfire_graph_record_native(graph, &desc));
    return graph;
  }
  static synfire_status add_one(const synfire_native_call& call) {
    float* const data = static_cast<float*>(call.writes[0].data);
    return fake::launch(call.stream, [data] { data[5] += 1; }) == cudaSuccess ? SYNFIRE_OK : -1;
  }
  // A broken callback: instantiating names the node. The graph is unchanged and can be instantiated later.
  void expect_blamed(Callback broken, std::initializer_list<std::string_view> words) {
    Callback callback = std::move(broken);
    {
      const Graph graph = record(callback);
      for (int time = 0; time < 2; ++time) {
        EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, words, synfire_graph_instantiate(graph));
        const std::string text = last_error_text();
        EXPECT_NE(text.find("native node 1 \"mine\""), std::string::npos) << text;
        EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("instantiated"), synfire_graph_launch(graph, nullptr, nullptr));
      }
      callback = add_one;
      EXPECT_OK(synfire_graph_instantiate(graph));
      data_of(x)[5] = 3;
      wait(graph, launch(graph));
      EXPECT_EQ(data_of(out)[5], 4);
    }
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
    EXPECT_EQ(fake::live(), before);
  }

 private:
  synfire_buffer reads_ = nullptr, writes_ = nullptr;
};

// ---- Native nodes ---------------------------------------------------------------------------------------------------

TEST_F(Captures, ANativeNodeIsCalledOnceForEachSlot) {
  int n_calls = 0;
  Callback callback = [&](const synfire_native_call& call) {
    EXPECT_NE(call.stream, nullptr);
    EXPECT_EQ(call.slot, static_cast<uint32_t>(n_calls));
    EXPECT_EQ(call.writes[0].bytes, n * sizeof(float));
    ++n_calls;
    return add_one(call);
  };
  const Graph graph = record(callback, 3);
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_EQ(n_calls, 3);
  for (int i = 1; i <= 7; ++i) {
    slot_of(graph, 0, x)[5] = static_cast<float>(i);
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    EXPECT_EQ(slot_of(graph, ticket, out)[5], static_cast<float>(i + 1));
  }
  EXPECT_EQ(n_calls, 3);
  // It can be disabled and enabled like any other operation.
  EXPECT_OK(synfire_graph_set_enabled(graph, 1, 0));
  slot_of(graph, 0, x)[5] = 10;
  const uint64_t ticket = launch(graph);
  wait(graph, ticket);
  EXPECT_EQ(slot_of(graph, ticket, out)[5], 10);
}

TEST_F(Captures, ForkedWorkThatIsJoinedIsWelcome) {
  Callback callback = [&](const synfire_native_call& call) {
    fake::fork(call.stream, side);
    float* const data = static_cast<float*>(call.writes[0].data);
    fake::launch(side, [data] { data[5] += 10; });
    const synfire_status status = add_one(call);
    fake::join(call.stream, side);
    return status;
  };
  const Graph graph = record(callback);
  EXPECT_OK(synfire_graph_instantiate(graph));
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(out)[5], 11);
}

// However many operations a graph has, instantiating it asks CUDA for each node a few times only.
TEST_F(Captures, ALongGraphIsCapturedInProportionToItsLength) {
  const auto nodes_of = [&](int n_operations) {
    const Graph graph = make_graph(context);
    for (int i = 0; i < n_operations; ++i) i % 2 == 0 ? record_copy(graph, x, out) : record_copy(graph, out, x);
    fake::reset_calls();
    EXPECT_OK(synfire_graph_instantiate(graph));
    return fake::nodes_returned();
  };
  const uint64_t few = nodes_of(100), many = nodes_of(800);
  EXPECT_GT(few, 0u);
  EXPECT_LE(many, 8 * few);
}

TEST_F(Captures, ManyForksThatAreJoinedAreWelcome) {
  constexpr int n_sides = 60;
  std::vector<cudaStream_t> sides;
  for (int i = 0; i < n_sides; ++i) sides.push_back(fake::make_stream());
  Callback callback = [&](const synfire_native_call& call) {
    float* const data = static_cast<float*>(call.writes[0].data);
    for (const cudaStream_t each : sides) {
      fake::fork(call.stream, each);
      fake::launch(each, [data] { data[5] += 1; });
    }
    const synfire_status status = add_one(call);
    for (const cudaStream_t each : sides) fake::join(call.stream, each);
    return status;
  };
  {
    const Graph graph = record(callback);
    EXPECT_OK(synfire_graph_instantiate(graph));
    wait(graph, launch(graph));
    EXPECT_EQ(data_of(out)[5], n_sides + 1);
  }
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  for (const cudaStream_t each : sides) fake::destroy_stream(each);
}

TEST_F(Captures, ACallbackThatFailsIsNamed) {
  expect_blamed([](const synfire_native_call&) { return -5; }, {"5"});
  expect_blamed([](const synfire_native_call& call) { return add_one(call) == SYNFIRE_OK ? -6 : 0; }, {"6"});
  expect_blamed([](const synfire_native_call&) -> synfire_status { throw std::runtime_error("out of luck"); },
                {"luck"});
  expect_blamed([](const synfire_native_call&) -> synfire_status { throw 5; }, {"threw"});
}

TEST_F(Captures, ACallbackThatBreaksTheCaptureIsNamed) {
  expect_blamed(
      [](const synfire_native_call& call) {
        add_one(call);
        cudaGraph_t graph = nullptr;
        fake::end_capture(call.stream, &graph);
        if (graph) fake::destroy_graph(graph);
        return SYNFIRE_OK;
      },
      {"capture"});
  expect_blamed(
      [](const synfire_native_call& call) {
        cudaGraph_t graph = nullptr;
        fake::end_capture(call.stream, &graph);
        if (graph) fake::destroy_graph(graph);
        fake::begin_capture(call.stream, cudaStreamCaptureModeRelaxed);
        return add_one(call);
      },
      {"capture"});
  expect_blamed(
      [](const synfire_native_call& call) {
        add_one(call);
        fake::synchronize(call.stream);
        return SYNFIRE_OK;
      },
      {"capture", "synchronised"});
}

TEST_F(Captures, ACallbackThatLeavesForkedWorkIsNamed) {
  expect_blamed(
      [&](const synfire_native_call& call) {
        fake::fork(call.stream, side);
        fake::launch(side, [] {});
        return add_one(call);
      },
      {"join"});
}

TEST_F(Captures, ACallbackThatAddsWhatAReplayMayNotHaveIsNamed) {
  for (const cudaGraphNodeType type :
       {cudaGraphNodeTypeHost, cudaGraphNodeTypeMemAlloc, cudaGraphNodeTypeMemFree, cudaGraphNodeTypeGraph})
    expect_blamed(
        [type](const synfire_native_call& call) {
          return fake::add_node(call.stream, type) == cudaSuccess ? SYNFIRE_OK : -1;
        },
        {"type", "kernels"});
  expect_blamed([](const synfire_native_call&) { return SYNFIRE_OK; }, {"nothing"});
  expect_blamed([&](const synfire_native_call&) { return fake::launch(side, [] {}) == cudaSuccess ? SYNFIRE_OK : -1; },
                {"nothing"});
}

TEST_F(Captures, ACallbackMayNotInstantiateAnotherGraph) {
  const Graph inner = make_graph(context);
  record_copy(inner, x, out);
  Callback callback = [&](const synfire_native_call& call) {
    EXPECT_FAILS(SYNFIRE_ERROR_CAPTURING, WORDS("callback"), synfire_graph_instantiate(inner));
    return add_one(call);
  };
  const Graph graph = record(callback);
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_OK(synfire_graph_instantiate(inner));
  wait(graph, launch(graph));
}

// Library calls from the callback may allocate or load. Eager calls of this library become part of the node.
TEST_F(Captures, ACallbackMayUseThisLibraryToo) {
  const Layer layer = make_layer(context, describe(Shape{2, 1, 32}, SYNFIRE_DTYPE_F32));
  const Buffer v = make_frame(context, n);
  {
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.v_seq = v;
    forward.tape = SYNFIRE_TAPE_NONE;
    Callback callback = [&](const synfire_native_call& call) {
      EXPECT_EQ(synfire_layer_forward(layer, &forward, call.stream), SYNFIRE_CAPTURED) << last_error_text();
      return add_one(call);
    };
    const Graph graph = record(callback);
    EXPECT_OK(synfire_graph_instantiate(graph));
    data_of(x)[0] = 0.5f;
    wait(graph, launch(graph));
    EXPECT_EQ(data_of(v)[0], 0.25f);
  }
}

TEST_F(Captures, WithoutAGraphTheCallbackIsCalledByEachLaunch) {
  int n_calls = 0;
  Callback callback = [&](const synfire_native_call& call) {
    ++n_calls;
    return add_one(call);
  };
  setenv("SYNFIRE_GRAPH", "0", 1);
  const Graph graph = record(callback);
  EXPECT_OK(synfire_graph_instantiate(graph));
  unsetenv("SYNFIRE_GRAPH");
  EXPECT_EQ(fake::live().graphs, 0);
  EXPECT_EQ(n_calls, 0);
  for (int i = 1; i <= 3; ++i) {
    data_of(x)[5] = static_cast<float>(i);
    wait(graph, launch(graph));
    EXPECT_EQ(data_of(out)[5], static_cast<float>(i + 1));
    EXPECT_EQ(n_calls, i);
  }
  // The environment at instantiation counts, even when the graph is rebound.
  const Buffer fresh = make_frame(context, n);
  EXPECT_OK(synfire_graph_rebind(graph, x, fresh));
  EXPECT_EQ(fake::live().graphs, 0);
  data_of(fresh)[5] = 70;
  fake::reset_calls();
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(out)[5], 71);
  EXPECT_EQ(fake::calls("cuGraphLaunch"), 0u);
}

// ---- The caller's captures ------------------------------------------------------------------------------------------

TEST_F(Captures, AGraphBecomesAChildOfTheCallersCapture) {
  Callback callback = add_one;
  const Graph graph = record(callback);
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (const cudaStreamCaptureMode mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    const uint64_t first = launch(graph);
    wait(graph, first);
    float seen = -1;
    ASSERT_EQ(fake::begin_capture(stream, mode), cudaSuccess);
    EXPECT_EQ(fake::launch(stream, [&] { data_of(x)[5] = 20; }), cudaSuccess);
    uint64_t ticket = 77;
    EXPECT_EQ(synfire_graph_launch(graph, stream, &ticket), SYNFIRE_CAPTURED) << last_error_text();
    EXPECT_EQ(ticket, 0u);
    EXPECT_EQ(fake::launch(stream, [&] { seen = data_of(out)[5]; }), cudaSuccess);
    EXPECT_TRUE(fake::capture_is_valid(stream));
    cudaGraph_t captured = nullptr;
    ASSERT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
    EXPECT_EQ(fake::count_nodes(captured), 3u) << "one node is the child";
    EXPECT_EQ(seen, -1) << "nothing has run yet";
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
      EXPECT_EQ(seen, 21);
      seen = -1;
    }
    // Its runs are not replays of our graph: tickets do not advance.
    EXPECT_EQ(launch(graph), first + 1);
    EXPECT_OK(synfire_graph_wait(graph, first + 1, SYNFIRE_WAIT_SPIN, 0));
    fake::destroy_graph(captured);
  }
}

TEST_F(Captures, ADisabledOperationIsNotInTheChild) {
  Callback callback = add_one;
  const Graph graph = record(callback);
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_OK(synfire_graph_set_enabled(graph, 1, 0));
  ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(synfire_graph_launch(graph, stream, nullptr), SYNFIRE_CAPTURED);
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
  data_of(x)[5] = 30;
  EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
  EXPECT_EQ(data_of(out)[5], 30);
  fake::destroy_graph(captured);
}

// Without a graph of ours, the operations themselves are captured, and a native node's callback is called once more.
TEST_F(Captures, WithoutAGraphTheOperationsBecomeNodes) {
  int n_calls = 0;
  Callback callback = [&](const synfire_native_call& call) {
    ++n_calls;
    return add_one(call);
  };
  setenv("SYNFIRE_GRAPH", "0", 1);
  const Graph graph = record(callback);
  EXPECT_OK(synfire_graph_instantiate(graph));
  unsetenv("SYNFIRE_GRAPH");
  ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  uint64_t ticket = 77;
  EXPECT_EQ(synfire_graph_launch(graph, stream, &ticket), SYNFIRE_CAPTURED) << last_error_text();
  EXPECT_EQ(ticket, 0u);
  EXPECT_EQ(n_calls, 1);
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
  EXPECT_EQ(fake::count_nodes(captured), 2u);
  for (int i = 0; i < 2; ++i) {
    data_of(x)[5] = static_cast<float>(60 + i);
    EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
    EXPECT_EQ(data_of(out)[5], static_cast<float>(61 + i));
  }
  EXPECT_EQ(n_calls, 1);
  EXPECT_EQ(launch(graph), 1u) << "its runs have no tickets";
  fake::destroy_graph(captured);
}

// A launch captured before a rebind still uses the old buffer: the graph keeps its executable.
TEST_F(Captures, ARebindLeavesWhatWasCaptured) {
  Callback callback = add_one;
  const Graph graph = record(callback);
  EXPECT_OK(synfire_graph_instantiate(graph));
  ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(synfire_graph_launch(graph, stream, nullptr), SYNFIRE_CAPTURED);
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
  const Buffer fresh = make_frame(context, n);
  EXPECT_OK(synfire_graph_rebind(graph, x, fresh));
  data_of(x)[5] = 40;
  data_of(fresh)[5] = 50;
  EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
  EXPECT_EQ(data_of(out)[5], 41);
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(out)[5], 51);
  fake::destroy_graph(captured);
}

TEST_F(Captures, AnInvalidCaptureIsLeftToItsOwner) {
  Callback callback = add_one;
  const Graph graph = record(callback);
  EXPECT_OK(synfire_graph_instantiate(graph));
  ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_NE(fake::synchronize(stream), cudaSuccess);
  EXPECT_FAILS(SYNFIRE_ERROR_CAPTURING, WORDS("stream"), synfire_graph_launch(graph, stream, nullptr));
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(fake::end_capture(stream, &captured), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(launch(graph), 1u);
}

// If a CUDA call fails while the child is being added, the caller's capture stays valid and nothing is left behind.
TEST_F(Captures, AFailureWhileAddingTheChildLeavesTheCaptureAlone) {
  Callback callback = add_one;
  const Graph graph = record(callback);
  EXPECT_OK(synfire_graph_instantiate(graph));
  const fake::Live alive = fake::live();
  for (const char* call : {"cudaGraphClone", "cudaGraphNodeFindInClone", "cudaGraphDestroyNode",
                           "cudaGraphAddChildGraphNode", "cudaStreamGetCaptureInfo"}) {
    ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(fake::launch(stream, [] {}), cudaSuccess);
    fake::fail(call, cudaErrorInvalidValue);
    EXPECT_LT(synfire_graph_launch(graph, stream, nullptr), 0) << call;
    EXPECT_TRUE(fake::capture_is_valid(stream)) << call;
    cudaGraph_t captured = nullptr;
    ASSERT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
    EXPECT_EQ(fake::count_nodes(captured), 1u);
    fake::destroy_graph(captured);
    EXPECT_EQ(fake::live(), alive) << call;
  }
}

TEST_F(Captures, EagerCallsBecomePartOfTheCallersCapture) {
  Rig<float> rig(context, describe(Shape{4, 1, 32}, SYNFIRE_DTYPE_F32)),
      twin(context, describe(Shape{4, 1, 32}, SYNFIRE_DTYPE_F32));
  const Inputs<float> inputs = random_inputs<float>(rig.shape, 4);
  rig.load(inputs);
  twin.load(inputs);
  set_parameter(rig.layer, "tau", {3});
  set_parameter(twin.layer, "tau", {3});
  EXPECT_OK(twin.run_forward());
  const ForwardOutputs<float> forward = twin.forward({.v_init = false});
  const BackwardOutputs<float> backward = twin.backward();
  const synfire_forward_desc first = rig.forward_desc(), second = rig.forward_desc({.v_init = false});
  const synfire_backward_desc back = rig.backward_desc();
  ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(synfire_layer_reset_state(rig.layer, stream), SYNFIRE_CAPTURED) << last_error_text();
  EXPECT_EQ(synfire_layer_forward(rig.layer, &first, stream), SYNFIRE_CAPTURED) << last_error_text();
  EXPECT_EQ(synfire_layer_forward(rig.layer, &second, stream), SYNFIRE_CAPTURED) << last_error_text();
  EXPECT_EQ(synfire_layer_backward(rig.layer, &back, stream), SYNFIRE_CAPTURED) << last_error_text();
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
  EXPECT_EQ(fake::count_nodes(captured), 4u);
  rig.poison();
  EXPECT_TRUE(rig.untouched());
  for (int i = 0; i < 2; ++i) {
    rig.poison();
    EXPECT_OK(synfire_layer_reset_state(twin.layer, nullptr));
    EXPECT_OK(twin.run_forward());
    const ForwardOutputs<float> expected = twin.forward({.v_init = false});
    EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
    EXPECT_TRUE(same_bits(rig.forward_outputs(), expected));
    EXPECT_TRUE(same_bits(rig.backward_outputs(), backward));
  }
  fake::destroy_graph(captured);
}

// ---- Other threads, other devices -----------------------------------------------------------------------------------

// Other threads make every call that may block or load while this thread captures in the strictest mode, and while a
// graph of ours is captured.
TEST_F(Captures, OtherThreadsNeverBreakACapture) {
  Callback callback = [&](const synfire_native_call& call) {
    std::thread other([&] {
      const Context another = make_context();
      const Buffer made = make_frame(another, 100, SYNFIRE_MEMORY_DEVICE);
      const Layer layer = make_layer(another, describe(Shape{2, 1, 32}, SYNFIRE_DTYPE_F32));
      EXPECT_OK(synfire_buffer_fill(made, 1));
      EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
    });
    other.join();
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
    return add_one(call);
  };
  Graph graph = record(callback);
  ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_OK(synfire_graph_instantiate(graph));
  wait(graph, launch(graph));
  std::thread([&] {
    graph.reset();
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  }).join();
  EXPECT_TRUE(fake::capture_is_valid(stream));
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
  fake::destroy_graph(captured);
}

TEST_F(Captures, TwoDevicesFromThreadsThatAreOnTheOther) {
  fake::install(2);
  const auto make = [](int32_t device) {
    synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
    desc.backend = SYNFIRE_BACKEND_CUDA;
    desc.device = device;
    synfire_context handle = nullptr;
    EXPECT_OK(synfire_context_create(&desc, &handle));
    return Context(handle);
  };
  const Context contexts[2] = {make(0), make(1)};
  for (int device = 0; device < 2; ++device) {
    std::thread([&, device] {
      fake::set_device(1 - device);
      const Buffer from = make_frame(contexts[device], n), to = make_frame(contexts[device], n, SYNFIRE_MEMORY_DEVICE);
      const Graph graph = make_graph(contexts[device]);
      record_copy(graph, from, to);
      EXPECT_OK(synfire_graph_instantiate(graph));
      wait(graph, launch(graph));
      EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
      EXPECT_EQ(fake::current_device(), 1 - device);
      void* data = nullptr;
      EXPECT_OK(synfire_buffer_get_data(to, &data, nullptr));
      synfire_buffer_desc borrowed = SYNFIRE_BUFFER_DESC_INIT;
      borrowed.n_elements = n;
      borrowed.data = data;
      synfire_buffer buffer = nullptr;
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("data", "device"),
                   synfire_buffer_create(contexts[1 - device], &borrowed, &buffer));
      const Graph other = make_graph(contexts[1 - device]);
      synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
      copy.source = from;
      copy.destination = to;
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("source", "context"), synfire_graph_record_copy(other, &copy));
      // A stream of the other device would run our kernels on that device.
      const cudaStream_t elsewhere = fake::make_stream();
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream", "device"),
                   synfire_graph_launch(graph, elsewhere, nullptr));
      const Layer layer = make_layer(contexts[device], describe(Shape{2, 1, 8}, SYNFIRE_DTYPE_F32));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream", "device"),
                   synfire_layer_reset_state(layer, elsewhere));
      EXPECT_EQ(fake::begin_capture(elsewhere, cudaStreamCaptureModeGlobal), cudaSuccess);
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream", "device"),
                   synfire_graph_launch(graph, elsewhere, nullptr));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream", "device"),
                   synfire_layer_reset_state(layer, elsewhere));
      EXPECT_TRUE(fake::capture_is_valid(elsewhere));
      cudaGraph_t captured = nullptr;
      EXPECT_EQ(fake::end_capture(elsewhere, &captured), cudaSuccess);
      EXPECT_EQ(fake::count_nodes(captured), 0u);
      fake::destroy_graph(captured);
      fake::destroy_stream(elsewhere);
      wait(graph, launch(graph));
    }).join();
  }
}

// ---- Calls that fail ------------------------------------------------------------------------------------------------

// Whichever call of an instantiation or a rebind fails: an error is returned, nothing leaks, and the graph is
// unchanged.
TEST_F(Captures, EveryCallThatFailsWhileInstantiatingLeavesNothing) {
  const char* const calls[] = {"cudaMalloc",
                               "cudaHostAlloc",
                               "cudaMemsetAsync",
                               "cudaStreamSynchronize",
                               "cudaFuncGetAttributes",
                               "cudaLaunchKernel",
                               "cudaStreamGetPriority",
                               "cudaStreamCreateWithPriority",
                               "cudaStreamBeginCapture",
                               "cudaStreamEndCapture",
                               "cudaStreamGetCaptureInfo",
                               "cudaGraphGetNodes",
                               "cudaGraphNodeGetType",
                               "cudaGraphInstantiateWithParams",
                               "cudaLaunchKernelExC",
                               "cudaGraphExecKernelNodeSetParams"};
  const Layer layer = make_layer(context, describe(Shape{4, 1, 16}, SYNFIRE_DTYPE_F32));
  const Buffer other = make_frame(context, n);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.v_seq = out;
  forward.tape = SYNFIRE_TAPE_NONE;
  const fake::Live empty = fake::live();
  const auto record_forward = [&] {
    Graph graph = make_slotted_graph(context, 2);
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    record_copy(graph, x, other);
    EXPECT_OK(synfire_graph_set_enabled(graph, 1, 0));
    return graph;
  };
  int n_failures = 0;
  for (const char* call : calls) {
    for (int nth = 1; nth <= 40; ++nth) {
      SCOPED_TRACE(testing::Message() << call << ", number " << nth);
      Graph graph = record_forward();
      fake::fail(call, cudaErrorMemoryAllocation, nth);
      const synfire_status status = synfire_graph_instantiate(graph);
      if (status == SYNFIRE_OK) {
        fake::fail(call, cudaSuccess, 1 << 30);
        break;
      }
      ++n_failures;
      EXPECT_EQ(status, SYNFIRE_ERROR_OUT_OF_MEMORY) << last_error_text();
      EXPECT_EQ(fake::live(), empty);
      EXPECT_OK(synfire_graph_instantiate(graph));
      wait(graph, launch(graph));
      // The same while rebinding: the old buffers stay bound.
      const fake::Live alive = fake::live();
      const Buffer fresh = make_frame(context, n);
      fake::fail(call, cudaErrorMemoryAllocation, nth);
      const synfire_status rebound = synfire_graph_rebind(graph, x, fresh);
      fake::fail(call, cudaSuccess, 1 << 30);
      if (rebound != SYNFIRE_OK) {
        void* data = nullptr;
        EXPECT_OK(synfire_graph_get_slot(graph, 0, x, &data, nullptr));
        EXPECT_EQ(fake::live().allocations, alive.allocations + 1);
        EXPECT_EQ(fake::live().executables, alive.executables);
        EXPECT_EQ(fake::live().graphs, alive.graphs);
      }
      wait(graph, launch(graph));
      graph.reset();
      EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
    }
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  }
  EXPECT_GT(n_failures, 40);
}

TEST_F(Captures, ALaunchThatFailsHandsOutNoTicket) {
  Callback callback = add_one;
  const Graph graph = record(callback);
  EXPECT_OK(synfire_graph_instantiate(graph));
  fake::fail("cuGraphLaunch", cudaErrorLaunchOutOfResources);
  uint64_t ticket = 77;
  EXPECT_FAILS(SYNFIRE_ERROR_CUDA, WORDS("cuGraphLaunch"), synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_EQ(ticket, 77u);
  EXPECT_EQ(launch(graph), 1u);
  wait(graph, 1);
}

}  // namespace
}  // namespace synfire_test
