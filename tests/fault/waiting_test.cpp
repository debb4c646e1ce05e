// Waiting for replays that are held in flight: what each policy costs in CUDA calls, how soon a lost device is
// detected, slots in flight, and changes that replays in flight must not see.
#include "../capi/graph_support.hpp"
#include "../times.hpp"
#include "fake_cuda.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace synfire_test {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;
constexpr int32_t policies[] = {SYNFIRE_WAIT_SPIN, SYNFIRE_WAIT_YIELD, SYNFIRE_WAIT_BLOCK};

class InFlight : public testing::Test {
 protected:
  static constexpr uint64_t n = 64;
  Context context;
  Buffer x, out;
  Graph graph;

  void SetUp() override {
    fake::install();
    context = make_context();
    x = make_frame(context, n);
    out = make_frame(context, n);
    graph = record(0);
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));  // first, because freeing waits for the device
  }
  void TearDown() override { fake::release(); }

  Graph record(uint32_t n_slots) {
    Graph made = make_slotted_graph(context, n_slots);
    record_copy(made, x, out);
    EXPECT_OK(synfire_graph_instantiate(made));
    return made;
  }
  // Waits on this thread while another one releases the device, or loses it, after some time.
  template <class Then>
  synfire_status wait_while(int32_t policy, int64_t timeout_ns, microseconds after, Then then) {
    const uint64_t ticket = launch(graph);
    std::atomic<bool> ready{false}, waiting{false};
    std::thread device([&] {
      ready.store(true);
      while (!waiting.load()) std::this_thread::yield();
      const auto start = steady_clock::now();
      while (steady_clock::now() - start < after) std::this_thread::yield();
      then();
    });
    while (!ready.load()) std::this_thread::yield();
    const auto start = steady_clock::now();
    waiting.store(true);
    const synfire_status status = synfire_graph_wait(graph, ticket, policy, timeout_ns);
    waited = steady_clock::now() - start;
    device.join();
    return status;
  }
  steady_clock::duration waited{};  // duration of the latest wait_while()
};

TEST_F(InFlight, SpinningMakesNoCudaCallBeforeOneMillisecond) {
  fake::hold();
  fake::reset_calls();
  const uint64_t ticket = launch(graph);
  const uint64_t of_the_launch = fake::calls();
  EXPECT_EQ(fake::calls("cuGraphLaunch"), 1u);
  const auto start = steady_clock::now();
  EXPECT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, 900'000), SYNFIRE_PENDING);
  const auto took = steady_clock::now() - start;
  EXPECT_GE(took, microseconds(900));
  // One query after the time-out, to tell late from lost; the capture mode is set before it and restored. A thread that
  // was suspended may find that a millisecond has passed, and ask once more.
  const uint64_t n_queries = fake::calls("cudaStreamQuery");
  EXPECT_GE(n_queries, 1u);
  EXPECT_LE(n_queries, took < microseconds(1000) ? 1u : 2u);
  EXPECT_EQ(fake::calls() - of_the_launch, 3 * n_queries);
  fake::release();
  const uint64_t before = fake::calls();
  wait(graph, ticket);
  EXPECT_EQ(fake::calls(), before) << "a replay that is done needs no CUDA call";
}

TEST_F(InFlight, AReplayThatEndsInTimeNeedsNoCudaCall) {
  for (const int32_t policy : policies) {
    // The first query of the device is documented to come after 1 ms, or 0.7 ms if the wait does not spin.
    const microseconds in_time(policy == SYNFIRE_WAIT_SPIN ? 900 : 600);
    bool ended_in_time = false;
    const auto enough = steady_clock::now() + std::chrono::seconds(10);
    while (!ended_in_time && steady_clock::now() < enough) {
      fake::hold();
      fake::reset_calls();
      EXPECT_OK(wait_while(policy, -1, microseconds(100), [] { fake::release(); }));
      ended_in_time = waited <= in_time;  // otherwise this machine was busy: try again
      if (ended_in_time) {
        EXPECT_EQ(fake::calls("cudaStreamQuery"), 0u) << "policy " << policy;
      }
    }
    if (!ended_in_time)
      GTEST_SKIP() << "policy " << policy << ": in 10 s no wait ended within " << in_time.count() << " us";
  }
}

TEST_F(InFlight, TimeoutsAreKeptByEachPolicy) {
  fake::hold();
  const uint64_t ticket = launch(graph);
  for (const int32_t policy : policies) {
    for (const int64_t timeout : {int64_t{1}, int64_t{50'000}, int64_t{3'000'000}}) {
      const auto start = steady_clock::now();
      EXPECT_EQ(synfire_graph_wait(graph, ticket, policy, timeout), SYNFIRE_PENDING);
      EXPECT_GE((steady_clock::now() - start).count(), timeout);
    }
    EXPECT_EQ(synfire_graph_wait(graph, ticket, policy, 0), SYNFIRE_PENDING);
  }
  EXPECT_EQ(synfire_graph_poll(graph, ticket), SYNFIRE_PENDING);
  synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
  EXPECT_OK(synfire_graph_get_statistics(graph, &statistics));
  EXPECT_EQ(statistics.n_late_waits, 9u) << "polling is not waiting";
  EXPECT_EQ(statistics.n_seen, 0u);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket", "2", "1"),
               synfire_graph_wait(graph, 2, SYNFIRE_WAIT_SPIN, 0));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket", "0"),
               synfire_graph_wait(graph, 0, SYNFIRE_WAIT_SPIN, -1));
  fake::release();
  EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, 0));
}

// A negative time-out waits for ever, that is, until the replay is done.
TEST_F(InFlight, ANegativeTimeoutWaitsUntilItIsDone) {
  for (const int32_t policy : policies) {
    fake::hold();
    std::atomic<bool> released{false};
    EXPECT_OK(wait_while(policy, -1, microseconds(4000), [&] {
      released.store(true);
      fake::release();
    }));
    EXPECT_TRUE(released.load());
  }
}

TEST_F(InFlight, PollingNeverBlocksAndFindsALostDevice) {
  fake::hold();
  const uint64_t ticket = launch(graph);
  fake::reset_calls();
  const auto start = steady_clock::now();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(synfire_graph_poll(graph, ticket), SYNFIRE_PENDING);
  if (steady_clock::now() - start < microseconds(900)) {
    EXPECT_EQ(fake::calls(), 0u);
  }
  fake::lose(cudaErrorIllegalAddress);
  std::this_thread::sleep_for(microseconds(1100));
  EXPECT_FAILS(SYNFIRE_ERROR_DEVICE_LOST, WORDS("cudaErrorIllegalAddress"), synfire_graph_poll(graph, ticket));
}

// By the next query, and where times are judged within a millisecond.
TEST_F(InFlight, ALostDeviceIsFoundWithinAMillisecondAndNeverCalledLate) {
  const auto patience = std::chrono::seconds(judges_times() ? 8 : 0);  // a busy machine suspends the waiting thread
  for (const int32_t policy : policies) {
    for (const microseconds after : {microseconds(0), microseconds(300), microseconds(2700)}) {
      std::chrono::nanoseconds best = std::chrono::hours(1);
      // Spinning queries after exactly 1 ms, so a device that is lost immediately is detected only then.
      const microseconds allowed(policy == SYNFIRE_WAIT_SPIN && after.count() == 0 ? 1020 : 1000);
      const auto begin = steady_clock::now();
      do {
        SetUp();
        fake::hold();
        steady_clock::time_point died;
        uint64_t n_queries = 0;
        EXPECT_EQ(wait_while(policy, -1, after,
                             [&] {
                               died = steady_clock::now();
                               fake::lose(cudaErrorLaunchFailure);
                               n_queries = fake::calls("cudaStreamQuery");
                             }),
                  SYNFIRE_ERROR_DEVICE_LOST);
        const auto took = steady_clock::now() - died;
        EXPECT_LE(fake::calls("cudaStreamQuery"), n_queries + 1);
        best = std::min<std::chrono::nanoseconds>(best, took);
        EXPECT_FAILS(SYNFIRE_ERROR_DEVICE_LOST, WORDS("destroyed|lost"), synfire_graph_launch(graph, nullptr, nullptr));
        EXPECT_EQ(synfire_graph_wait(graph, 1, policy, 1000), SYNFIRE_ERROR_DEVICE_LOST);
      } while (best > allowed && steady_clock::now() - begin < patience);
      if (judges_times()) {
        EXPECT_LE(best.count(), std::chrono::nanoseconds(allowed).count())
            << "policy " << policy << ", lost after " << after.count() << " us";
      }
    }
  }
}

// After its time-out a wait queries the device first: lost is not late.
TEST_F(InFlight, AShortWaitForALostDeviceIsNotATimeout) {
  fake::hold();
  const uint64_t ticket = launch(graph);
  fake::lose(cudaErrorIllegalAddress);
  EXPECT_FAILS(SYNFIRE_ERROR_DEVICE_LOST, WORDS("cudaErrorIllegalAddress"),
               synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, 1000));
}

// A replay on the caller's stream is lost in the same way as one on the context's own.
TEST_F(InFlight, AReplayOnTheCallersStreamIsLostToo) {
  for (const int32_t policy : policies) {
    SetUp();
    const cudaStream_t stream = fake::make_stream();
    fake::hold();
    uint64_t ticket = 0;
    EXPECT_OK(synfire_graph_launch(graph, reinterpret_cast<synfire_stream>(stream), &ticket));
    EXPECT_EQ(synfire_graph_wait(graph, ticket, policy, 0), SYNFIRE_PENDING);
    fake::lose(cudaErrorMisalignedAddress);
    EXPECT_FAILS(SYNFIRE_ERROR_DEVICE_LOST, WORDS("cudaErrorMisalignedAddress"),
                 synfire_graph_wait(graph, ticket, policy, -1));
    fake::destroy_stream(stream);
  }
}

// ---- Slots ----------------------------------------------------------------------------------------------------------

TEST_F(InFlight, LaunchingWithEverySlotInFlightIsBusy) {
  const Graph slotted = record(2);
  fake::hold();
  const Buffer keeper = make_frame(context, 1);
  slot_of(slotted, 0, x)[5] = 1;
  EXPECT_EQ(launch(slotted), 1u);
  slot_of(slotted, 0, x)[5] = 2;
  EXPECT_EQ(launch(slotted), 2u);
  uint64_t ticket = 77;
  EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("slot", "n_slots: 2", "ticket", "1"),
               synfire_graph_launch(slotted, nullptr, &ticket));
  EXPECT_EQ(ticket, 77u);
  void* data = this;
  EXPECT_EQ(synfire_graph_get_slot(slotted, 0, x, &data, nullptr), SYNFIRE_PENDING);
  EXPECT_EQ(data, nullptr);
  // After a wait that timed out, the replay still owns the slot.
  EXPECT_EQ(synfire_graph_wait(slotted, 1, SYNFIRE_WAIT_SPIN, 10'000), SYNFIRE_PENDING);
  EXPECT_EQ(synfire_graph_get_slot(slotted, 1, out, &data, nullptr), SYNFIRE_PENDING);
  EXPECT_EQ(synfire_graph_launch(slotted, nullptr, &ticket), SYNFIRE_ERROR_BUSY);
  fake::run_one();
  EXPECT_EQ(slot_of(slotted, 1, out)[5], 1);
  EXPECT_EQ(synfire_graph_get_slot(slotted, 2, out, &data, nullptr), SYNFIRE_PENDING);
  slot_of(slotted, 0, x)[5] = 3;
  EXPECT_EQ(launch(slotted), 3u);
  fake::release();
  EXPECT_EQ(slot_of(slotted, 2, out)[5], 2);
  EXPECT_EQ(slot_of(slotted, 3, out)[5], 3);
}

TEST_F(InFlight, OneSlotIsGuardedUnlessItIsShared) {
  const Graph one = record(1), usual = record(0), shared = record(SYNFIRE_SLOTS_SHARED);
  const Buffer from = make_frame(context, n, SYNFIRE_MEMORY_DEVICE), to = make_frame(context, n, SYNFIRE_MEMORY_DEVICE);
  const Graph inside = make_graph(context);
  record_copy(inside, from, to);
  EXPECT_OK(synfire_graph_instantiate(inside));
  fake::hold();
  for (const Graph* guarded : {&one, &usual}) {
    EXPECT_EQ(launch(*guarded), 1u);
    EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("slot", "n_slots: 1", "ticket 1"),
                 synfire_graph_launch(*guarded, nullptr, nullptr));
  }
  EXPECT_EQ(launch(shared), 1u);
  EXPECT_EQ(launch(shared), 2u);
  EXPECT_EQ(launch(inside), 1u);
  EXPECT_EQ(launch(inside), 2u) << "no frame that a launch could use";
  // The host may not use unguarded memory either while a replay is in flight.
  for (const Graph* each : {&one, &usual, &shared}) {
    void* data = this;
    uint64_t bytes = 0;
    EXPECT_EQ(synfire_graph_get_slot(*each, 0, x, &data, &bytes), SYNFIRE_PENDING);
    EXPECT_EQ(data, nullptr);
    EXPECT_EQ(bytes, n * sizeof(float));
  }
  void* data = this;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket", "1", "2"),
               synfire_graph_get_slot(shared, 1, x, &data, nullptr));
  fake::release();
  EXPECT_EQ(slot_of(shared, 0, x), data_of(x));
  EXPECT_EQ(slot_of(shared, 2, x), data_of(x));
  EXPECT_EQ(launch(one), 2u);
  EXPECT_EQ(launch(usual), 2u);
}

// Buffers that a replay in flight reads and writes are destroyed: it completes with what it was launched with.
TEST_F(InFlight, BuffersAndLayersThatAreDestroyedLastUntilTheReplaysAreDone) {
  Layer layer = make_layer(context, describe(Shape{1, 1, 64}, SYNFIRE_DTYPE_F32));
  Buffer h = make_frame(context, n);
  Graph slotted = make_slotted_graph(context, 2);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.h_seq = h;
  EXPECT_OK(synfire_graph_record_forward(slotted, layer, &forward));
  record_copy(slotted, h, out);
  EXPECT_OK(synfire_graph_instantiate(slotted));
  fake::hold();
  slot_of(slotted, 0, x)[5] = 0.5f;
  EXPECT_EQ(launch(slotted), 1u);
  x.reset();
  h.reset();
  layer.reset();
  EXPECT_OK(synfire_context_reclaim(context, nullptr));
  EXPECT_EQ(synfire_graph_poll(slotted, 1), SYNFIRE_PENDING);
  EXPECT_EQ(launch(slotted), 2u) << "the graph keeps what it is bound to";
  fake::release();
  EXPECT_EQ(slot_of(slotted, 1, out)[5], 0.25f);
  EXPECT_OK(synfire_graph_wait(slotted, 2, SYNFIRE_WAIT_SPIN, -1));
  // The graph itself is destroyed after its replay has completed.
  fake::hold();
  EXPECT_EQ(launch(slotted), 3u);
  slotted.reset();
  EXPECT_OK(synfire_context_reclaim(context, nullptr));
  fake::release();
}

// ---- Changes --------------------------------------------------------------------------------------------------------

TEST_F(InFlight, ReplaysInFlightDoNotSeeAnOperationDisabled) {
  const Graph shared = record(SYNFIRE_SLOTS_SHARED);
  fake::hold();
  data_of(x)[5] = 1;
  launch(shared);
  EXPECT_OK(synfire_graph_set_enabled(shared, 0, 0));
  launch(shared);
  EXPECT_OK(synfire_graph_set_enabled(shared, 0, 1));
  launch(shared);
  fake::run_one();
  EXPECT_EQ(data_of(out)[5], 1) << "it was enabled at this launch";
  data_of(x)[5] = 2;
  fake::run_one();
  EXPECT_EQ(data_of(out)[5], 1) << "not at this one";
  fake::run_one();
  EXPECT_EQ(data_of(out)[5], 2) << "and again at this one";
}

// A parameter, a value and an operation are changed between two launches. The second one sees all three changes, the
// first one none, and a third one restores them for itself. V also shows the order, since it continues from replay to
// replay.
TEST_F(InFlight, WhatIsChangedTogetherIsSeenTogether) {
  const Layer layer = make_layer(context, describe(Shape{1, 1, 32}, SYNFIRE_DTYPE_F32));
  const Buffer in = make_frame(context, 32), v = make_frame(context, 32), filled = make_frame(context, 8);
  const Graph slotted = make_slotted_graph(context, 3);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = in;
  forward.v_seq = v;
  EXPECT_OK(synfire_graph_record_forward(slotted, layer, &forward));
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  fill.buffer = filled;
  fill.value = 10;
  EXPECT_OK(synfire_graph_record_fill(slotted, &fill));
  record_copy(slotted, x, out);
  EXPECT_OK(synfire_graph_instantiate(slotted));
  const auto launch_with = [&](float number) {
    slot_of(slotted, 0, in)[0] = 0.5f;
    slot_of(slotted, 0, x)[7] = number;
    slot_of(slotted, 0, out)[7] = -1;
    return launch(slotted);
  };
  fake::hold();
  launch_with(1);
  const double slow = 4, fast = 2;
  EXPECT_OK(synfire_layer_set_parameter(layer, "tau", &slow, 1));
  EXPECT_OK(synfire_graph_set_value(slotted, 1, "value", 20));
  EXPECT_OK(synfire_graph_set_enabled(slotted, 2, 0));
  launch_with(2);
  EXPECT_OK(synfire_layer_set_parameter(layer, "tau", &fast, 1));
  EXPECT_OK(synfire_graph_set_value(slotted, 1, "value", 30));
  EXPECT_OK(synfire_graph_set_enabled(slotted, 2, 1));
  const uint64_t last = launch_with(3);
  EXPECT_EQ(synfire_graph_poll(slotted, 1), SYNFIRE_PENDING);
  fake::release();
  wait(slotted, last);
  const float v_expected[] = {0.25f, 0.3125f, 0.40625f}, filled_expected[] = {10, 20, 30}, out_expected[] = {1, -1, 3};
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(slot_of(slotted, i + 1, v)[0], v_expected[i]) << i;
    EXPECT_EQ(slot_of(slotted, i + 1, filled)[3], filled_expected[i]) << i;
    EXPECT_EQ(slot_of(slotted, i + 1, out)[7], out_expected[i]) << i;
  }
}

// A staged copy that several operations read is needed as long as any of them is enabled.
TEST_F(InFlight, CopiesIntoTheArenaFollowTheirReaders) {
  const Layer a = make_layer(context, describe(Shape{2, 1, 32}, SYNFIRE_DTYPE_F32));
  const Layer b = make_layer(context, describe(Shape{2, 1, 32}, SYNFIRE_DTYPE_F32));
  const Buffer va = make_frame(context, n), vb = make_frame(context, n);
  const Graph both = make_graph(context);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.v_seq = va;
  EXPECT_OK(synfire_graph_record_forward(both, a, &forward));
  forward.v_seq = vb;
  EXPECT_OK(synfire_graph_record_forward(both, b, &forward));
  EXPECT_OK(synfire_graph_instantiate(both));
  EXPECT_OK(synfire_graph_set_enabled(both, 0, 0));
  data_of(x)[0] = 0.5f;
  wait(both, launch(both));
  EXPECT_EQ(data_of(va)[0], 0);
  EXPECT_EQ(data_of(vb)[0], 0.25f) << "tau is 2";
  EXPECT_OK(synfire_graph_set_enabled(both, 1, 0));
  fake::reset_calls();
  data_of(x)[0] = 0.9f;
  wait(both, launch(both));
  EXPECT_OK(synfire_graph_set_enabled(both, 0, 1));
  wait(both, launch(both));
  EXPECT_EQ(data_of(va)[0], 0.45f);
  EXPECT_EQ(data_of(vb)[0], 0.25f);
}

TEST_F(InFlight, ReplaysInFlightFinishWithTheBufferTheyWereLaunchedWith) {
  const Buffer other = make_frame(context, n);
  data_of(x)[5] = 1;
  data_of(other)[5] = 2;
  fake::hold();
  const uint64_t ticket = launch(graph);
  std::thread device([] {
    std::this_thread::sleep_for(microseconds(3000));
    fake::run_one();
  });
  // Rebinding blocks until the replay in flight is done. Its own upload runs afterwards on the same stream.
  EXPECT_OK(synfire_graph_rebind(graph, x, other));
  device.join();
  EXPECT_OK(synfire_graph_poll(graph, ticket));
  EXPECT_EQ(data_of(out)[5], 1);
  fake::release();
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(out)[5], 2);
}

TEST_F(InFlight, AGraphInUseOnAnotherThreadIsBusy) {
  // The graph is held while instantiation runs the callback of a native node.
  struct Gate {
    std::atomic<bool> inside{false}, leave{false};
  } gate;
  const auto callback = [](void* user, const synfire_native_call* call) -> synfire_status {
    auto& g = *static_cast<Gate*>(user);
    g.inside.store(true);
    while (!g.leave.load()) std::this_thread::yield();
    return fake::launch(call->stream, [] {}) == cudaSuccess ? SYNFIRE_OK : -1;
  };
  const Graph slow = make_graph(context);
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = callback;
  native.user = &gate;
  EXPECT_OK(synfire_graph_record_native(slow, &native));
  std::thread other([&] { EXPECT_OK(synfire_graph_instantiate(slow)); });
  while (!gate.inside.load()) std::this_thread::yield();
  EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("thread"), synfire_graph_instantiate(slow));
  EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("thread"), synfire_graph_launch(slow, nullptr, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("thread"), synfire_graph_set_enabled(slow, 0, 0));
  EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("thread"), synfire_graph_rebind(slow, x, out));
  EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("thread"), synfire_graph_record_native(slow, &native));
  gate.leave.store(true);
  other.join();
  EXPECT_EQ(launch(slow), 1u);
}

}  // namespace
}  // namespace synfire_test
