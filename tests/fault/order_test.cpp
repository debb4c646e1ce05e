// Replays whose order is undefined: on two streams, from two threads, and during another graph's instantiation.
#include "stream_fixture.hpp"

#include <atomic>
#include <thread>

namespace synfire_test {
namespace {

using Order = WithLayer;

// With slots the replays use two executable graphs, which CUDA would run concurrently.
TEST_F(Order, AGraphIsInFlightOnOneStream) {
  for (const bool with_layer : {true, false}) {
    const Graph graph = with_layer ? forward(2, h) : copy();
    EXPECT_OK(synfire_graph_instantiate(graph));
    fake::hold();
    uint64_t ticket = 0;
    EXPECT_OK(synfire_graph_launch(graph, callers(), &ticket));
    EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("another stream", "ticket 1"),
                 synfire_graph_launch(graph, nullptr, &ticket));
    EXPECT_OK(synfire_graph_launch(graph, callers(), &ticket));
    EXPECT_EQ(ticket, 2u) << "a refused launch has no ticket";
    fake::release();
    wait(graph, ticket);
    wait(graph, launch(graph));
    EXPECT_OK(synfire_graph_launch(graph, callers(), &ticket));
    wait(graph, ticket);
  }
}

// One handle for as many streams as there are threads.
TEST_F(Order, DefaultStreamsOfTwoThreadsAreTwoStreams) {
  for (const bool with_layer : {true, false}) {
    const Graph graph = with_layer ? forward(2, h) : copy();
    EXPECT_OK(synfire_graph_instantiate(graph));
    fake::hold();
    uint64_t ticket = 0;
    EXPECT_OK(synfire_graph_launch(graph, cudaStreamPerThread, &ticket));
    std::thread([&] {
      for (const synfire_stream other : {cudaStreamPerThread, cudaStreamLegacy})
        EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("another stream", "ticket 1"),
                     synfire_graph_launch(graph, other, nullptr));
    }).join();
    EXPECT_OK(synfire_graph_launch(graph, cudaStreamPerThread, &ticket));
    fake::release();
    wait(graph, ticket);
    std::thread([&] {
      EXPECT_OK(synfire_graph_launch(graph, cudaStreamPerThread, &ticket));
      wait(graph, ticket);
    }).join();
    EXPECT_EQ(ticket, 3u);
  }
}

TEST_F(Order, InstantiatingLeavesTheParametersOfReplaysInFlight) {
  const Buffer other_h = make_frame(context, n);
  const Graph first = forward(SYNFIRE_SLOTS_SHARED, h), second = forward(SYNFIRE_SLOTS_SHARED, other_h),
              unchanged = forward(SYNFIRE_SLOTS_SHARED, other_h);
  EXPECT_OK(synfire_graph_instantiate(first));
  set_parameter(layer, "tau", {2});
  fake::hold();
  uint64_t ticket = 0;
  EXPECT_OK(synfire_graph_launch(first, callers(), &ticket));
  fake::run_one();  // the value set for the launch
  fake::reset_calls();
  EXPECT_OK(synfire_graph_instantiate(unchanged));
  const uint64_t n_calls = fake::calls();
  set_parameter(layer, "tau", {4});
  fake::reset_calls();
  EXPECT_OK(synfire_graph_instantiate(second));
  EXPECT_EQ(fake::calls(), n_calls) << "nothing is written for the change";
  fake::release();
  wait(first, ticket);
  EXPECT_EQ(data_of(h)[3], 0.5f);
  wait(second, launch(second));
  EXPECT_EQ(data_of(other_h)[3], 0.25f) << "its first launch brings the value";
}

// The second one is refused, even if both check at the same moment.
TEST_F(Order, TwoThreadsDoNotLaunchOneLayerOnTwoStreams) {
  const Graph graphs[] = {forward(SYNFIRE_SLOTS_SHARED, h), forward(SYNFIRE_SLOTS_SHARED, h)};
  for (const Graph& graph : graphs) EXPECT_OK(synfire_graph_instantiate(graph));
  cudaStream_t const other = fake::make_stream();
  const synfire_stream streams[] = {callers(), reinterpret_cast<synfire_stream>(other)};
  std::atomic<int> round{0}, returned{0};
  std::atomic<bool> stop{false};
  synfire_status answers[2] = {};
  uint64_t tickets[2] = {};
  const auto launching = [&](int k) {
    for (int seen = 0;; ++seen) {
      while (round.load() == seen) {
        if (stop) return;
        std::this_thread::yield();
      }
      answers[k] = synfire_graph_launch(graphs[k], streams[k], &tickets[k]);
      ++returned;
    }
  };
  std::thread threads[] = {std::thread(launching, 0), std::thread(launching, 1)};
  int n_both = 0, n_one = 0;
  for (int i = 0; i < 1000; ++i) {
    fake::hold();
    returned = 0;
    ++round;
    while (returned.load() < 2) std::this_thread::yield();
    n_both += answers[0] == SYNFIRE_OK && answers[1] == SYNFIRE_OK ? 1 : 0;
    for (int k = 0; k < 2; ++k) {
      if (answers[k] == SYNFIRE_OK)
        ++n_one;
      else
        EXPECT_EQ(answers[k], SYNFIRE_ERROR_WRONG_ORDER);
    }
    fake::release();
    for (int k = 0; k < 2; ++k)
      if (answers[k] == SYNFIRE_OK) wait(graphs[k], tickets[k]);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_both, 0);
  EXPECT_GT(n_one, 0);
  fake::destroy_stream(other);
}

// A single stream defines an order, whichever thread launches.
TEST_F(Order, TwoThreadsMayLaunchOneLayerOnOneStream) {
  const Graph graphs[] = {forward(SYNFIRE_SLOTS_SHARED, h), forward(SYNFIRE_SLOTS_SHARED, h)};
  for (const Graph& graph : graphs) EXPECT_OK(synfire_graph_instantiate(graph));
  for (int i = 0; i < 50; ++i) {
    // Both launches use the context's own stream.
    const uint64_t own = launch(graphs[0]);
    wait(graphs[0], own);
    std::atomic<int> n_ready{0};
    const auto launching = [&](int k) {
      ++n_ready;
      while (n_ready.load() < 2) {
      }
      uint64_t ticket = 0;
      for (int j = 0; j < 20; ++j) EXPECT_OK(synfire_graph_launch(graphs[k], callers(), &ticket));
      wait(graphs[k], ticket);
    };
    std::thread one(launching, 0), two(launching, 1);
    one.join();
    two.join();
  }
}

}  // namespace
}  // namespace synfire_test
