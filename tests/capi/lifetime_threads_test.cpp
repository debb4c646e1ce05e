// Lifetimes across threads: one destroys, or frees, while others call, create and destroy.
#include "support.hpp"

#include <array>
#include <atomic>
#include <thread>

namespace synfire_test {
namespace {

const Shape shape{6, 1, 40};

// One thread calls in a loop while another destroys. Every call either succeeds or finds the handle invalid for good.
template <typename Make, typename Call>
void destroy_while_called(Make make, Call call) {
  const Context context = make_context();
  int n_succeeded = 0;
  for (int round = 0; round < 60; ++round) {
    auto object = make(context);
    const auto handle = object.get();
    std::atomic<bool> started = false;
    std::atomic<int> n_ok = 0;
    synfire_status end = SYNFIRE_OK;
    std::thread caller([&] {
      do {
        end = call(handle);
        if (end == SYNFIRE_OK) n_ok.fetch_add(1);
        started = true;
      } while (end == SYNFIRE_OK);
    });
    while (!started) std::this_thread::yield();
    if (round % 2 == 0) std::this_thread::yield();
    object.reset();
    if (round % 3 == 0) {
      EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));  // the call may still be running
    }
    caller.join();
    EXPECT_EQ(end, SYNFIRE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(call(handle), SYNFIRE_ERROR_INVALID_HANDLE);
    n_succeeded += n_ok;
  }
  EXPECT_GT(n_succeeded, 0);
  EXPECT_EQ(still_queued(context), 0u);
}

TEST(Lifetime, DestroyWhileABufferIsFilled) {
  destroy_while_called([](synfire_context context) { return make_buffer(context, SYNFIRE_DTYPE_F32, 1000); },
                       [](synfire_buffer buffer) { return synfire_buffer_fill(buffer, 1); });
}

TEST(Lifetime, DestroyWhileAParameterIsRead) {
  destroy_while_called([](synfire_context context) { return make_layer(context, describe(shape, SYNFIRE_DTYPE_F32)); },
                       [](synfire_layer layer) {
                         double tau = 0;
                         return synfire_layer_get_parameter(layer, "tau", &tau, 1);
                       });
}

TEST(Lifetime, DestroyWhileALayerRuns) {
  synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
  Buffer x;
  destroy_while_called(
      [&](synfire_context owner) {
        x = make_buffer(owner, SYNFIRE_DTYPE_F32, shape.sequence());
        desc.x = x;
        return make_layer(owner, describe(shape, SYNFIRE_DTYPE_F32));
      },
      [&](synfire_layer layer) { return synfire_layer_forward(layer, &desc, nullptr); });
}

TEST(Lifetime, DestroyWhileAGraphIsReplayed) {
  destroy_while_called(
      [](synfire_context owner) {
        const Layer layer = make_layer(owner, describe(shape, SYNFIRE_DTYPE_F32));
        const Buffer x = make_buffer(owner, SYNFIRE_DTYPE_F32, shape.sequence());
        synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
        desc.x = x;
        Graph graph = make_graph(owner);
        EXPECT_OK(synfire_graph_record_forward(graph, layer, &desc));
        EXPECT_OK(synfire_graph_instantiate(graph));
        return graph;
      },
      [](synfire_graph graph) {
        uint64_t ticket = 0;
        const synfire_status status = synfire_graph_launch(graph, nullptr, &ticket);
        return status == SYNFIRE_OK ? synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1) : status;
      });
}

// Threads that create, use and destroy, and pass half of their objects to another thread for destruction, as
// finalizers do.
TEST(Lifetime, CreateAndDestroyOnManyThreads) {
  EXPECT_EQ(still_queued(), 0u);
  {
    const Context context = make_context();
    constexpr int n_threads = 4, n_rounds = 150;
    std::vector<std::vector<synfire_layer>> left_over(n_threads);
    std::vector<std::thread> threads;
    std::atomic<int> n_wrong = 0;
    for (int t = 0; t < n_threads; ++t) {
      threads.emplace_back([&, t] {
        for (int round = 0; round < n_rounds; ++round) {
          Layer layer = make_layer(context, describe(Shape{2, 1, 3}, SYNFIRE_DTYPE_F32));
          const Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_F32, 6);
          const double tau = 2.0 + t + round;
          double back = 0;
          if (synfire_layer_set_parameter(layer, "tau", &tau, 1) != SYNFIRE_OK ||
              synfire_layer_get_parameter(layer, "tau", &back, 1) != SYNFIRE_OK || back != tau ||
              synfire_buffer_fill(buffer, tau) != SYNFIRE_OK)
            n_wrong.fetch_add(1);
          if (round % 2 == 0) left_over[static_cast<size_t>(t)].push_back(layer.release());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    EXPECT_EQ(n_wrong, 0);
    for (size_t t = 0; t < n_threads; ++t)
      threads.emplace_back([&, t] {
        for (const synfire_layer layer : left_over[(t + 1) % n_threads]) synfire_layer_destroy(layer);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(still_queued(context), 0u);
  }
  EXPECT_EQ(still_queued(), 0u);
}

// Several threads destroy the same handles: exactly one of them takes effect.
TEST(Lifetime, DoubleDestroyFromTwoThreads) {
  const Context context = make_context();
  for (int round = 0; round < 100; ++round) {
    Buffer kept = make_buffer(context, SYNFIRE_DTYPE_F32, 4);
    EXPECT_OK(synfire_buffer_fill(kept, 5));
    const synfire_buffer twice = kept.release();
    std::array<std::thread, 3> threads;
    for (std::thread& thread : threads) thread = std::thread([twice] { synfire_buffer_destroy(twice); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(synfire_buffer_fill(twice, 1), SYNFIRE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(still_queued(context), 0u);
  }
}

}  // namespace
}  // namespace synfire_test
