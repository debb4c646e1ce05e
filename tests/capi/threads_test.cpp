// Several threads of the host backend: the same bits with any number of threads, and with concurrent launches.
#include "parallel_work.hpp"

#include <chrono>
#include <thread>

namespace synfire_test {
namespace {

// Runs f(i) on that many threads at the same time.
template <class F>
void at_once(size_t n, F f) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < n; ++i) threads.emplace_back([&, i] { f(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, AnyNumberGivesTheSameBits) {
  const Work::Results one = Work::run(make_context(1));
  for (const int32_t n_threads : {2, 3, 5, 16, 100}) Work::expect_same(one, Work::run(make_context(n_threads)));
}

TEST(Threads, SeveralContextsLaunchAtOnce) {
  const Work::Results one = Work::run(make_context(1));
  std::vector<Work::Results> results(4);
  at_once(results.size(), [&](size_t i) { results[i] = Work::run(make_context(2 + static_cast<int32_t>(i))); });
  for (const Work::Results& result : results) Work::expect_same(one, result);
}

TEST(Threads, SeveralThreadsLaunchOnOneContext) {
  const Work::Results one = Work::run(make_context(1));
  const Context context = make_context(3);
  std::vector<Work::Results> results(5);
  at_once(results.size(), [&](size_t i) { results[i] = Work::run(context, i % 2 == 0); });
  for (const Work::Results& result : results) Work::expect_same(one, result);
}

// A native node's callback that launches and makes eager calls, on the same context and on another one.
TEST(Threads, ALaunchInsideALaunch) {
  if (!on_host()) GTEST_SKIP() << "on CUDA a callback runs when the graph is instantiated";
  struct Inside {
    synfire_context contexts[2];
    Work::Results results[4];
  } inside = {};
  const Work::Results one = Work::run(make_context(1));
  const Context context = make_context(4), other = make_context(3);
  inside.contexts[0] = context;
  inside.contexts[1] = other;
  const Layer layer = make_layer(context, describe(Work::shape, SYNFIRE_DTYPE_F32));
  const Buffer x = make_buffer_of(context, random_inputs<float>(Work::shape, 7).x);
  const Buffer spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, Work::shape.words());
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.spikes = spikes;
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.user = &inside;
  native.callback = [](void* user, const synfire_native_call*) -> synfire_status {
    Inside& all = *static_cast<Inside*>(user);
    for (int i = 0; i < 4; ++i) all.results[i] = Work::run(all.contexts[i % 2], i < 2);
    return SYNFIRE_OK;
  };
  const Graph graph = make_graph(context);
  ASSERT_OK(synfire_graph_record_forward(graph, layer, &forward));
  ASSERT_OK(synfire_graph_record_native(graph, &native));
  ASSERT_OK(synfire_graph_record_forward(graph, layer, &forward));
  ASSERT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  for (const Work::Results& result : inside.results) Work::expect_same(one, result);
}

// A context whose threads are idle, asleep or busy when the next job arrives.
TEST(Threads, LaunchesAfterAnyPause) {
  const Context context = make_context(3);
  const Layer layer = make_layer(context, describe(Work::shape, SYNFIRE_DTYPE_F32));
  const Buffer x = make_buffer_of(context, random_inputs<float>(Work::shape, 7).x);
  const Buffer spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, Work::shape.words());
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.spikes = spikes;
  const Graph graph = make_graph(context);
  ASSERT_OK(synfire_graph_record_forward(graph, layer, &forward));
  ASSERT_OK(synfire_graph_instantiate(graph));
  std::vector<uint32_t> first;
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(synfire_layer_reset_state(layer, nullptr));
    replay(graph);
    const std::vector<uint32_t> now = download<uint32_t>(spikes, Work::shape.words());
    if (first.empty()) first = now;
    ASSERT_EQ(first, now) << "replay " << i;
    std::this_thread::sleep_for(std::chrono::microseconds(i * 3 % 130));
  }
}

}  // namespace
}  // namespace synfire_test
