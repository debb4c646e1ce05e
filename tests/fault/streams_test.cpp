// A launch's assumptions about streams and threads, and its checks: the stream's device, and the current context.
// The order of replays on several streams is in order_test.cpp, captures are in capture_test.cpp.
#include "stream_fixture.hpp"

#include <thread>

namespace synfire_test {
namespace {

using Streams = WithLayer;

// A graph checks once that a stream belongs to its device. If another device's stream later has the same address,
// replays are still correct, because their nodes belong to a device. Work that would run on the stream's device is
// refused, and not lost.
TEST_F(Streams, AStreamIsAskedOnceForItsDevice) {
  const cudaStream_t one = fake::make_stream(), two = fake::make_stream();
  const Buffer filled = make_frame(context, n);
  const Graph graph = forward(SYNFIRE_SLOTS_SHARED, h);
  const int32_t fill = record_fill(graph, filled, 1);
  EXPECT_OK(synfire_graph_instantiate(graph));
  const auto expect = [&](cudaStream_t on, uint64_t questions, float h_now, float filled_now) {
    fake::reset_calls();
    uint64_t ticket = 0;
    ASSERT_OK(synfire_graph_launch(graph, on, &ticket));
    wait(graph, ticket);
    EXPECT_EQ(fake::calls("cuStreamGetCtx"), questions);
    EXPECT_EQ(data_of(h)[3], h_now);
    EXPECT_EQ(data_of(filled)[3], filled_now);
  };
  expect(one, 2, 0.5f, 1);  // for the launch, and for the parameters that it applies
  expect(one, 0, 0.5f, 1);
  expect(two, 1, 0.5f, 1);
  expect(one, 1, 0.5f, 1);
  expect(nullptr, 0, 0.5f, 1);
  expect(one, 1, 0.5f, 1);
  fake::recycle(one, 1);
  expect(one, 0, 0.5f, 1);
  const auto expect_refused = [&] {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream", "device 1"),
                 synfire_graph_launch(graph, one, nullptr));
  };
  set_parameter(layer, "tau", {4});
  expect_refused();
  expect_refused();
  expect(two, 2, 0.25f, 1);
  fake::recycle(one, 0);
  expect(one, 1, 0.25f, 1);
  fake::recycle(one, 1);
  EXPECT_OK(synfire_graph_set_value(graph, fill, "value", 2));
  expect_refused();
  expect(nullptr, 0, 0.25f, 2);
  expect_refused();
  fake::destroy_stream(one);
  fake::destroy_stream(two);
}

// A thread that has never used CUDA can launch, and has no context afterwards either.
TEST_F(Streams, LaunchesNeedNoContextOnTheThread) {
  for (const int driver : {12000, 13000}) {
    fake::install(1, 9, driver);
    const Context home = make_context();
    const Buffer from = make_frame(home, n), to = make_frame(home, n);
    const Graph graph = make_slotted_graph(home, 2);
    record_copy(graph, from, to);
    EXPECT_OK(synfire_graph_instantiate(graph));
    std::thread([&] {
      ASSERT_EQ(fake::current_device(), -1);
      for (const synfire_stream on : {synfire_stream{}, callers(), cudaStreamLegacy, cudaStreamPerThread}) {
        uint64_t ticket = 0;
        EXPECT_OK(synfire_graph_launch(graph, on, &ticket));
        wait(graph, ticket);
        EXPECT_EQ(fake::current_device(), -1);
        fake::fail("cuGraphLaunch", cudaErrorLaunchOutOfResources);
        EXPECT_FAILS(SYNFIRE_ERROR_CUDA, WORDS("cuGraphLaunch"), synfire_graph_launch(graph, on, &ticket));
        EXPECT_EQ(fake::current_device(), -1);
      }
    }).join();
  }
}

}  // namespace
}  // namespace synfire_test
