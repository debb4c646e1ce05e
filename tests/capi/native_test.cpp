// Native nodes on the host: called in each replay with the memory of their buffers, and named by number and name if
// they fail. Misuse is refused on either backend. Callbacks that enqueue CUDA work are in tests/fault and tests/gpu.
#include "recording_support.hpp"

#include <atomic>
#include <thread>

namespace synfire_test {
namespace {

struct Counted {
  int n_calls = 0;
  synfire_status answer = SYNFIRE_OK;
  std::vector<uint32_t> slots;
};

// Doubles what it reads.
synfire_status SYNFIRE_CALL doubled(void* user, const synfire_native_call* call) {
  auto& counted = *static_cast<Counted*>(user);
  ++counted.n_calls;
  counted.slots.push_back(call->slot);
  if (counted.answer < 0) return counted.answer;
  if (call->n_reads == 1 && call->n_writes == 1 && call->stream == nullptr) {
    const auto* const from = static_cast<const float*>(call->reads[0].data);
    auto* const to = static_cast<float*>(call->writes[0].data);
    for (uint64_t i = 0; i < call->writes[0].bytes / sizeof(float); ++i) to[i] = 2 * from[i];
  }
  return counted.answer;
}

class Native : public testing::Test {
 protected:
  static constexpr uint64_t n = 16;
  Context context = make_context();
  Buffer x = make_frame(context, n), middle = make_frame(context, n, SYNFIRE_MEMORY_DEVICE),
         out = make_frame(context, n);
  Counted counted;
  synfire_buffer reads[1] = {x}, writes[1] = {middle};

  synfire_native_desc desc(const char* name = nullptr) {
    synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
    native.callback = doubled;
    native.user = &counted;
    native.name = name;
    native.reads = reads;
    native.n_reads = 1;
    native.writes = writes;
    native.n_writes = 1;
    return native;
  }
  Graph record(uint32_t n_slots = 0) {
    Graph graph = make_slotted_graph(context, n_slots);
    const synfire_native_desc native = desc("doubling");
    EXPECT_OK(synfire_graph_record_native(graph, &native));
    record_copy(graph, middle, out);
    return graph;
  }
};

TEST_F(Native, RunsInItsPlaceAtEachReplay) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  const Graph graph = record();
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_EQ(counted.n_calls, 0);
  for (int i = 1; i <= 3; ++i) {
    data_of(x)[3] = static_cast<float>(i);
    wait(graph, launch(graph));
    EXPECT_EQ(counted.n_calls, i);
    EXPECT_EQ(data_of(out)[3], 2.0f * static_cast<float>(i));
  }
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  wait(graph, launch(graph));
  EXPECT_EQ(counted.n_calls, 3);
}

TEST_F(Native, IsGivenTheMemoryOfItsSlotAndOfTheReboundBuffer) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  const Graph graph = record(2);
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (int i = 1; i <= 4; ++i) {
    slot_of(graph, 0, x)[3] = static_cast<float>(i);
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    EXPECT_EQ(slot_of(graph, ticket, out)[3], 2.0f * static_cast<float>(i));
  }
  EXPECT_EQ(counted.slots, (std::vector<uint32_t>{0, 1, 0, 1}));
  const Buffer new_x = make_frame(context, n);
  EXPECT_OK(synfire_graph_rebind(graph, x, new_x));
  slot_of(graph, 0, new_x)[3] = 50;
  const uint64_t ticket = launch(graph);
  wait(graph, ticket);
  EXPECT_EQ(slot_of(graph, ticket, out)[3], 100);
}

TEST_F(Native, AFailingCallbackIsNamedAndTheGraphStaysUsable) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  const Graph graph = record();
  EXPECT_OK(synfire_graph_instantiate(graph));
  counted.answer = -7;
  uint64_t ticket = 77;
  EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("native", "0", "doubling", "7"),
               synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_EQ(ticket, 77u) << "a failed launch hands out no ticket";
  counted = {};
  data_of(x)[3] = 4;
  EXPECT_EQ(launch(graph), 1u);
  EXPECT_EQ(data_of(out)[3], 8);
}

// Operations before a failing callback have taken effect: the tape of an earlier forward is gone, and the parameter
// has been updated.
TEST_F(Native, ALaunchThatFailsInItsMiddleLeavesNoTapeAndTellsWhatItUpdated) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  const Shape shape{2, 1, 32};
  Rig<float> rig(context, describe(shape, SYNFIRE_DTYPE_F32));
  rig.load(random_inputs<float>(shape, 5));
  const Buffer other_x = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
               slope = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  EXPECT_OK(synfire_buffer_fill(other_x, 3));
  EXPECT_OK(synfire_buffer_fill(slope, -1));
  for (const bool updates : {false, true}) {
    SCOPED_TRACE(updates);
    const Graph graph = make_graph(context);
    synfire_forward_desc forward = rig.forward_desc();
    forward.x = other_x;
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
    if (updates) record_update(graph, rig.layer, "tau", slope, 0.5);
    const synfire_native_desc native = desc("doubling");
    EXPECT_OK(synfire_graph_record_native(graph, &native));
    EXPECT_OK(synfire_graph_instantiate(graph));
    EXPECT_OK(rig.run_forward());
    EXPECT_OK(rig.run_backward());
    counted.answer = -7;
    EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("doubling"), synfire_graph_launch(graph, nullptr, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("tape"), rig.run_backward());
    EXPECT_EQ(get_parameter(rig.layer, "tau")[0], updates ? 2.5 : 2);
    counted.answer = SYNFIRE_OK;
    EXPECT_OK(synfire_graph_launch(graph, nullptr, nullptr));
    if (!updates) {
      EXPECT_OK(rig.run_backward());
    }
    EXPECT_EQ(get_parameter(rig.layer, "tau")[0], updates ? 3 : 2);
  }
}

synfire_status SYNFIRE_CALL reenters(void* user, const synfire_native_call*) {
  return synfire_graph_launch(static_cast<synfire_graph>(user), nullptr, nullptr) == SYNFIRE_ERROR_BUSY ? SYNFIRE_OK
                                                                                                        : -1;
}

TEST_F(Native, ACallbackFindsItsGraphBusy) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  const Graph graph = make_graph(context);
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = reenters;
  native.user = graph.get();
  EXPECT_OK(synfire_graph_record_native(graph, &native));
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_EQ(launch(graph), 1u);
}

// ---- Two threads ----------------------------------------------------------------------------------------------------

// A callback that another thread can observe and release.
struct Gate {
  std::atomic<bool> inside{false}, leave{false};

  void wait_inside() const {
    while (!inside.load()) std::this_thread::yield();
  }
};
synfire_status SYNFIRE_CALL pass(void* user, const synfire_native_call*) {
  auto& gate = *static_cast<Gate*>(user);
  gate.inside.store(true);
  while (!gate.leave.load()) std::this_thread::yield();
  return SYNFIRE_OK;
}
synfire_native_desc at(Gate& gate) {
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = pass;
  native.user = &gate;
  return native;
}

// A launch pins no handle while it runs, so it is the launch that keeps its graph alive.
TEST_F(Native, AGraphDestroyedDuringItsLaunchIsFreedAfterIt) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  ASSERT_EQ(still_queued(), 0u);
  Gate gate;
  Graph graph = record();
  const synfire_native_desc native = at(gate);
  EXPECT_OK(synfire_graph_record_native(graph, &native));
  record_copy(graph, middle, out);
  EXPECT_OK(synfire_graph_instantiate(graph));
  data_of(x)[3] = 4;
  std::thread other([handle = graph.get()] {
    uint64_t ticket = 0;
    EXPECT_OK(synfire_graph_launch(handle, nullptr, &ticket));
    EXPECT_EQ(ticket, 1u);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_wait(handle, ticket, 0, -1));
  });
  gate.wait_inside();
  graph.reset();
  EXPECT_EQ(still_queued(), 1u);
  EXPECT_EQ(still_queued(), 1u) << "it stays queued";
  data_of(out)[3] = 0;
  gate.leave.store(true);
  other.join();
  EXPECT_EQ(data_of(out)[3], 8) << "the rest of the replay runs";
  EXPECT_EQ(still_queued(), 0u);
}

// A reclaim that frees other objects meanwhile frees the graph too: it looks again when it has freed them.
TEST_F(Native, AGraphWhoseLaunchEndsDuringAReclaimIsFreedByIt) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  struct Lent {
    Gate gate;
    std::thread launches;
    std::vector<float> values = std::vector<float>(16);
  } lent;
  Graph graph = make_graph(context);
  const synfire_native_desc native = at(lent.gate);
  EXPECT_OK(synfire_graph_record_native(graph, &native));
  EXPECT_OK(synfire_graph_instantiate(graph));
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.n_elements = lent.values.size();
  desc.data = lent.values.data();
  desc.release = [](void* user) {
    auto& ends = *static_cast<Lent*>(user);
    ends.gate.leave.store(true);
    ends.launches.join();
  };
  desc.release_user = &lent;
  synfire_buffer buffer = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &desc, &buffer));
  ASSERT_EQ(still_queued(), 0u);
  lent.launches = std::thread([handle = graph.get()] { EXPECT_OK(synfire_graph_launch(handle, nullptr, nullptr)); });
  lent.gate.wait_inside();
  synfire_buffer_destroy(buffer);
  graph.reset();
  EXPECT_EQ(still_queued(), 0u);
}

// The same when the callback itself destroys the graph, and the last reference to the context with it.
TEST_F(Native, ACallbackMayDestroyItsGraph) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  for (const bool fails : {false, true}) {
    struct Destroys {
      synfire_graph graph;
      bool fails;
      uint64_t n_queued;
    };
    Context own = make_context();
    Graph graph = make_graph(own);
    Destroys destroys = {graph.get(), fails, 0};
    synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
    native.callback = [](void* user, const synfire_native_call*) -> synfire_status {
      auto& own_graph = *static_cast<Destroys*>(user);
      synfire_graph_destroy(own_graph.graph);
      own_graph.n_queued = still_queued();
      return own_graph.fails ? -7 : SYNFIRE_OK;
    };
    native.user = &destroys;
    EXPECT_OK(synfire_graph_record_native(graph, &native));
    EXPECT_OK(synfire_graph_instantiate(graph));
    const synfire_graph handle = graph.release();
    own.reset();
    EXPECT_EQ(synfire_graph_launch(handle, nullptr, nullptr), fails ? SYNFIRE_ERROR_CALLBACK : SYNFIRE_OK);
    EXPECT_EQ(destroys.n_queued, 2u) << "the graph and its context";
    EXPECT_EQ(still_queued(), 0u);
    EXPECT_EQ(synfire_graph_launch(handle, nullptr, nullptr), SYNFIRE_ERROR_INVALID_HANDLE);
  }
}

// While another thread launches a graph (on the host) or instantiates it (on CUDA, where a replay does not hold it),
// every call is refused except polling.
TEST_F(Native, EveryCallOnAGraphInUseOnAnotherThreadIsBusy) {
  Rig<float> rig(context, describe(Shape{2, 1, 32}, SYNFIRE_DTYPE_F32));
  EXPECT_OK(rig.run_forward());
  Gate gate;
  const Graph graph = make_graph(context);
  const synfire_native_desc native = at(gate);
  EXPECT_OK(synfire_graph_record_native(graph, &native));
  if (on_host()) {
    EXPECT_OK(synfire_graph_instantiate(graph));
  }
  std::thread other([&] {
    if (on_host()) {
      EXPECT_OK(synfire_graph_launch(graph, nullptr, nullptr));
    } else {
      EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("nothing"), synfire_graph_instantiate(graph));
    }
  });
  gate.wait_inside();

  const auto busy = [](synfire_status status) {
    EXPECT_TRUE(fails_with(status, SYNFIRE_ERROR_BUSY, WORDS("graph", "thread")));
  };
  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = x;
  copy.destination = out;
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  fill.buffer = out;
  const synfire_scale_add_desc add = scale_add_desc(x, out, 1, 1);
  const Buffer number = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  const synfire_update_parameter_desc update = update_desc("tau", number, 1);
  synfire_convert_spikes_desc convert = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
  const Buffer words = make_buffer(context, SYNFIRE_DTYPE_BITS, 2), counts = make_buffer(context, SYNFIRE_DTYPE_U64, 1);
  convert.source = rig.spikes;
  convert.destination = words;
  convert.n_steps = 2;
  convert.n_neurons = 32;
  synfire_count_spikes_desc count = SYNFIRE_COUNT_SPIKES_DESC_INIT;
  count.spikes = rig.spikes;
  count.counts = counts;
  count.n_steps = 2;
  count.n_neurons = 32;
  count.kind = SYNFIRE_COUNT_TOTAL;
  synfire_encode_bernoulli_desc encode = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
  encode.rates = rig.x;
  encode.spikes = words;
  encode.n_steps = 2;
  encode.n_neurons = 32;
  const Buffer row = make_buffer(context, SYNFIRE_DTYPE_F32, 32), bytes = make_buffer(context, SYNFIRE_DTYPE_U8, 4096);
  const synfire_state_desc all = rows_desc(0, 0), values = rows_desc(0, 0, row), snapshot = rows_desc(0, 0, bytes);
  const Layer twin = make_layer(context, describe(Shape{2, 1, 32}, SYNFIRE_DTYPE_F32));
  synfire_copy_rows_desc copy_rows = SYNFIRE_COPY_ROWS_DESC_INIT;
  copy_rows.source = twin;
  uint64_t ticket = 77, size = 0;
  int32_t operation = 77;
  busy(synfire_graph_record_forward(graph, rig.layer, &forward));
  busy(synfire_graph_record_backward(graph, rig.layer, &backward));
  busy(synfire_graph_record_copy(graph, &copy));
  busy(synfire_graph_record_fill(graph, &fill));
  busy(synfire_graph_record_scale_add(graph, &add));
  busy(synfire_graph_record_update_parameter(graph, rig.layer, &update));
  busy(synfire_graph_record_convert_spikes(graph, &convert));
  busy(synfire_graph_record_count_spikes(graph, &count));
  busy(synfire_graph_record_encode_bernoulli(graph, &encode));
  busy(synfire_graph_record_reset_rows(graph, rig.layer, &all));
  busy(synfire_graph_record_read_rows(graph, rig.layer, &values));
  busy(synfire_graph_record_write_rows(graph, rig.layer, &values));
  busy(synfire_graph_record_copy_rows(graph, rig.layer, &copy_rows));
  busy(synfire_graph_record_snapshot(graph, rig.layer, &snapshot));
  busy(synfire_graph_record_restore(graph, rig.layer, &snapshot));
  busy(synfire_graph_record_native(graph, &native));
  busy(synfire_graph_get_last_operation(graph, &operation));
  busy(synfire_graph_instantiate(graph));
  busy(synfire_graph_set_enabled(graph, 0, 0));
  busy(synfire_graph_set_value(graph, 0, "value", 1));
  busy(synfire_graph_rebind(graph, x, out));
  busy(synfire_graph_launch(graph, nullptr, &ticket));
  busy(synfire_graph_write_dot(graph, nullptr, &size));
  EXPECT_EQ(ticket, 77u);
  EXPECT_EQ(operation, 77);
  // Polling is never refused.
  synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
  EXPECT_OK(synfire_graph_get_statistics(graph, &statistics));
  EXPECT_OK(synfire_graph_reset_statistics(graph));
  EXPECT_FAILS(on_host() ? SYNFIRE_ERROR_INVALID_ARGUMENT : SYNFIRE_ERROR_WRONG_ORDER, WORDS("ticket|instantiated"),
               synfire_graph_poll(graph, 1));
  gate.leave.store(true);
  other.join();
  EXPECT_OK(synfire_graph_get_last_operation(graph, &operation));
  EXPECT_EQ(operation, 0) << "nothing was recorded";
}

struct Nested {
  synfire_graph other = nullptr;
};
synfire_status SYNFIRE_CALL launches(void* user, const synfire_native_call*) {
  return synfire_graph_launch(static_cast<Nested*>(user)->other, nullptr, nullptr);
}

// On the host a launch is the replay. While one runs, another thread cannot launch with the same layer: no order is
// defined.
TEST_F(Native, TwoThreadsReplayingOneLayerNeedAnOrder) {
  if (!on_host()) GTEST_SKIP() << "on a GPU streams give the order: tests/fault";
  const Layer layer = make_layer(context, describe(Shape{1, 1, 16}, SYNFIRE_DTYPE_F32));
  const Layer stranger = make_layer(context, describe(Shape{1, 1, 16}, SYNFIRE_DTYPE_F32));
  const Buffer h = make_frame(context, n);
  EXPECT_OK(synfire_buffer_fill(x, 0.5));
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.h_seq = h;
  const auto record_forward = [&](const Graph& graph, synfire_layer which) {
    EXPECT_OK(synfire_graph_record_forward(graph, which, &forward));
  };
  Gate gate;
  const synfire_native_desc native = at(gate);
  const Graph slow = make_graph(context), plain = make_graph(context), free = make_graph(context),
              both = make_graph(context);
  record_forward(slow, layer);
  EXPECT_OK(synfire_graph_record_native(slow, &native));
  record_forward(plain, layer);
  record_forward(free, stranger);
  record_forward(both, stranger);
  record_forward(both, layer);
  for (const Graph* graph : {&slow, &plain, &free, &both}) EXPECT_OK(synfire_graph_instantiate(*graph));
  std::thread other([&] { EXPECT_OK(synfire_graph_launch(slow, nullptr, nullptr)); });
  gate.wait_inside();
  uint64_t ticket = 77;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("layer", "thread", "order"),
               synfire_graph_launch(plain, nullptr, &ticket));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("layer", "thread", "order"),
               synfire_graph_launch(both, nullptr, &ticket));
  EXPECT_EQ(ticket, 77u);
  EXPECT_EQ(read_state<float>(layer, 16)[3], 0.25f) << "one forward ran, and no more";
  EXPECT_EQ(launch(free), 1u) << "a refused call has released its other layer";
  gate.leave.store(true);
  other.join();
  EXPECT_EQ(launch(plain), 1u);
  EXPECT_EQ(launch(both), 1u);
  // A launch from within a callback has a defined order.
  const Graph outer = make_graph(context);
  Nested nested{plain};
  synfire_native_desc inner = SYNFIRE_NATIVE_DESC_INIT;
  inner.callback = launches;
  inner.user = &nested;
  record_forward(outer, layer);
  EXPECT_OK(synfire_graph_record_native(outer, &inner));
  EXPECT_OK(synfire_graph_instantiate(outer));
  EXPECT_EQ(launch(outer), 1u);
  std::thread([&] { EXPECT_EQ(launch(plain), 3u); }).join();
}

// ---- Bad input ------------------------------------------------------------------------------------------------------

TEST_F(Native, BadDescriptorsAreRefused) {
  const Graph graph = make_graph(context);
  synfire_native_desc bad = desc();
  bad.callback = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("callback"), synfire_graph_record_native(graph, &bad));
  bad = desc();
  bad.reserved = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("reserved"), synfire_graph_record_native(graph, &bad));
  bad = desc();
  bad.reads = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("reads"), synfire_graph_record_native(graph, &bad));
  bad = desc();
  bad.n_writes = 65;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("n_writes", "65", "64"), synfire_graph_record_native(graph, &bad));
  bad = desc();
  const synfire_buffer none[1] = {nullptr};
  bad.writes = none;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("writes"), synfire_graph_record_native(graph, &bad));
  bad = desc();
  bad.struct_size = 8;
  EXPECT_FAILS(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("struct_size", "8"), synfire_graph_record_native(graph, &bad));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("desc"), synfire_graph_record_native(graph, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("empty"), synfire_graph_instantiate(graph));
}

}  // namespace
}  // namespace synfire_test
