// Lifetimes: every order of destruction, handles that must stay invalid, and memory that must be freed. For destruction
// while other threads call see lifetime_threads_test.cpp.
#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <thread>

#include "heap.hpp"
#include "support.hpp"

namespace synfire_test {
namespace {

const Shape shape{6, 1, 40};

// ---- Orders ---------------------------------------------------------------------------------------------------------

// A context, a layer, the input and output of a forward, and an instantiated graph of it.
class Household {
 public:
  Household() {
    Context context = make_context();
    Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
    Buffer x = make_buffer_of(context, std::vector<float>(shape.sequence(), 1.5f));
    Buffer spikes = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
    Graph graph = make_graph(context);
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    desc.spikes = spikes;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    context_ = std::move(context);
    layer_ = std::move(layer);
    x_ = std::move(x);
    spikes_ = std::move(spikes);
    graph_ = std::move(graph);
  }

  static constexpr size_t n_members = 5;

  // 0 context, 1 layer, 2 x, 3 spikes, 4 graph
  void destroy_member(size_t member) {
    const auto end = [](auto& owner, auto& copy) {
      copy = owner.get();
      owner.reset();
    };
    switch (member) {
      case 0:
        return end(context_, dead_context_);
      case 1:
        return end(layer_, dead_layer_);
      case 2:
        return end(x_, dead_x_);
      case 3:
        return end(spikes_, dead_spikes_);
      default:
        return end(graph_, dead_graph_);
    }
  }

  // Live objects work, whatever else was destroyed; calls with destroyed ones return INVALID_HANDLE.
  void check() {
    double tau = 0;
    void* data = nullptr;
    synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
    if (context_.get() != nullptr) {
      EXPECT_OK(synfire_context_get_properties(context_, &properties));
      EXPECT_OK(synfire_context_synchronize(context_));
    } else if (dead_context_ != nullptr) {
      EXPECT_EQ(synfire_context_get_properties(dead_context_, &properties), SYNFIRE_ERROR_INVALID_HANDLE);
    }
    if (layer_.get() != nullptr) {
      EXPECT_OK(synfire_layer_get_parameter(layer_, "tau", &tau, 1));
      EXPECT_OK(synfire_layer_reset_state(layer_, nullptr));
    } else if (dead_layer_ != nullptr) {
      EXPECT_EQ(synfire_layer_get_parameter(dead_layer_, "tau", &tau, 1), SYNFIRE_ERROR_INVALID_HANDLE);
    }
    if (x_.get() != nullptr) {
      EXPECT_EQ(download<float>(x_, 1)[0], 1.5f);
    } else if (dead_x_ != nullptr) {
      EXPECT_EQ(synfire_buffer_get_data(dead_x_, &data, nullptr), SYNFIRE_ERROR_INVALID_HANDLE);
    }
    if (spikes_.get() != nullptr) {
      EXPECT_OK(synfire_buffer_fill(spikes_, 7));
    } else if (dead_spikes_ != nullptr) {
      EXPECT_EQ(synfire_buffer_get_data(dead_spikes_, &data, nullptr), SYNFIRE_ERROR_INVALID_HANDLE);
    }
    if (graph_.get() != nullptr) {
      replay(graph_);
      if (spikes_.get() != nullptr) {  // X = 1.5 takes a LIF neuron with tau 2 over its threshold within 6 steps
        const std::vector<float> spikes = download<float>(spikes_, shape.sequence());
        EXPECT_EQ(std::count(spikes.begin(), spikes.end(), 7.0f), 0);
        EXPECT_GT(std::count(spikes.begin(), spikes.end(), 1.0f), 0);
      }
    } else if (dead_graph_ != nullptr) {
      EXPECT_EQ(synfire_graph_launch(dead_graph_, nullptr, nullptr), SYNFIRE_ERROR_INVALID_HANDLE);
    }
  }

 private:
  Context context_;
  Layer layer_;
  Buffer x_, spikes_;
  Graph graph_;
  synfire_context dead_context_ = nullptr;
  synfire_layer dead_layer_ = nullptr;
  synfire_buffer dead_x_ = nullptr, dead_spikes_ = nullptr;
  synfire_graph dead_graph_ = nullptr;
};

// All 120 orders. `between` runs after each destruction.
void destroy_in_every_order(void (*between)(Household&)) {
  std::array<size_t, Household::n_members> order;
  std::iota(order.begin(), order.end(), size_t{0});
  int n_orders = 0;
  do {
    SCOPED_TRACE(testing::PrintToString(order));
    Household household;
    for (const size_t member : order) {
      household.destroy_member(member);
      between(household);
    }
    EXPECT_EQ(still_queued(), 0u);
    ++n_orders;
  } while (std::next_permutation(order.begin(), order.end()) && !testing::Test::HasFailure());
  EXPECT_TRUE(n_orders == 120 || testing::Test::HasFailure());
}

TEST(Lifetime, AnyOrderOfDestruction) {
  destroy_in_every_order([](Household& household) { household.check(); });
}

TEST(Lifetime, AnyOrderOfDestructionReclaimedInBetween) {
  destroy_in_every_order([](Household& household) {
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
    household.check();
  });
}

TEST(Lifetime, AnyOrderOfDestructionFromOtherThreads) {
  std::array<size_t, Household::n_members> order;
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    Household household;
    std::vector<std::thread> threads;
    for (const size_t member : order) threads.emplace_back([&, member] { household.destroy_member(member); });
    for (std::thread& thread : threads) thread.join();
    household.check();
    ASSERT_EQ(still_queued(), 0u);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Lifetime, ALayerKeepsItsContext) {
  Context context = make_context();
  Rig<float> rig(context, describe(shape, SYNFIRE_DTYPE_F32));
  const Inputs<float> inputs = random_inputs<float>(shape, 1);
  rig.load(inputs);
  const ForwardOutputs<float> before = rig.forward();
  context.reset();
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  rig.load(inputs);
  EXPECT_TRUE(same_bits(rig.forward(), before));
  EXPECT_OK(rig.run_backward());
}

TEST(Lifetime, ADestroyedContextCreatesNothing) {
  Context context = make_context();
  const Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));  // keeps the device alive
  const synfire_context dead = context;
  context.reset();
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.n_elements = 1;
  synfire_buffer buffer = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_buffer_create(dead, &desc, &buffer));
}

// ---- Twice, never, and null -----------------------------------------------------------------------------------------

TEST(Lifetime, DestroyingNullOrStaleDoesNothing) {
  Context context = make_context();
  Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_F32, 4);
  Graph graph = make_graph(context);
  for (int time = 0; time < 3; ++time) {
    synfire_context_destroy(nullptr);
    synfire_layer_destroy(nullptr);
    synfire_buffer_destroy(nullptr);
    synfire_graph_destroy(nullptr);
  }
  // The wrong destroy function, and values that were never handles.
  synfire_layer_destroy(reinterpret_cast<synfire_layer>(context.get()));
  synfire_context_destroy(reinterpret_cast<synfire_context>(layer.get()));
  synfire_graph_destroy(reinterpret_cast<synfire_graph>(buffer.get()));
  synfire_buffer_destroy(reinterpret_cast<synfire_buffer>(graph.get()));
  for (const uintptr_t value :
       {uintptr_t{1}, ~uintptr_t{0}, uintptr_t{0x5000000000000000}, uintptr_t{0x51FFFFFF00000001},
        uintptr_t{0x52FFFFFF00000001}, uintptr_t{0x53FFFFFF00000001}}) {
    synfire_context_destroy(reinterpret_cast<synfire_context>(value));
    synfire_layer_destroy(reinterpret_cast<synfire_layer>(value));
    synfire_buffer_destroy(reinterpret_cast<synfire_buffer>(value));
    synfire_graph_destroy(reinterpret_cast<synfire_graph>(value));
  }
  EXPECT_OK(synfire_context_synchronize(context));
  EXPECT_OK(synfire_layer_reset_state(layer, nullptr));
  EXPECT_OK(synfire_buffer_fill(buffer, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));

  const synfire_context old_context = context;
  const synfire_layer old_layer = layer;
  const synfire_buffer old_buffer = buffer;
  const synfire_graph old_graph = graph;
  for (int time = 0; time < 3; ++time) {
    synfire_graph_destroy(old_graph);
    synfire_layer_destroy(old_layer);
    synfire_buffer_destroy(old_buffer);
    synfire_context_destroy(old_context);
    EXPECT_EQ(still_queued(), 0u);
  }
}

TEST(Lifetime, AReusedSlotDoesNotReviveAStaleHandle) {
  const Context context = make_context();
  std::set<synfire_buffer> seen;
  std::vector<synfire_buffer> stale;
  for (int round = 0; round < 3000; ++round) {
    Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_F32, 4);
    EXPECT_TRUE(seen.insert(buffer.get()).second) << "round " << round << ": a handle came back";
    if (round % 100 == 0) {
      EXPECT_OK(synfire_buffer_fill(buffer, 5));
      for (const synfire_buffer old : stale) {
        EXPECT_EQ(synfire_buffer_fill(old, 1), SYNFIRE_ERROR_INVALID_HANDLE);
        synfire_buffer_destroy(old);
      }
      EXPECT_EQ(download<float>(buffer, 4), std::vector<float>(4, 5.0f)) << "a stale handle reached a live buffer";
      stale.push_back(buffer.get());
    }
  }
}

TEST(Lifetime, HandlesAreNeverNullOrAllOnesNorOfTwoTypes) {
  const Context context = make_context();
  const Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  const Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_F32, 4);
  const Graph graph = make_graph(context);
  std::set<uintptr_t> values;
  for (const uintptr_t value : {reinterpret_cast<uintptr_t>(context.get()), reinterpret_cast<uintptr_t>(layer.get()),
                                reinterpret_cast<uintptr_t>(buffer.get()), reinterpret_cast<uintptr_t>(graph.get())}) {
    EXPECT_NE(value, 0u);
    EXPECT_NE(value, ~uintptr_t{0});
    values.insert(value);
  }
  EXPECT_EQ(values.size(), 4u);
}

// ---- Many objects, and the memory that is freed ---------------------------------------------------------------------

TEST(Lifetime, AThousandHandles) {
  EXPECT_EQ(still_queued(), 0u);
  {
    const Context context = make_context();
    std::vector<Layer> layers;
    std::vector<Buffer> buffers;
    std::vector<Graph> graphs;
    std::set<uintptr_t> values;
    for (int i = 0; i < 1000; ++i) {
      layers.push_back(make_layer(context, describe(Shape{2, 1, 3}, SYNFIRE_DTYPE_F32)));
      buffers.push_back(make_buffer(context, SYNFIRE_DTYPE_F32, 6));
      graphs.push_back(make_graph(context));
      values.insert({reinterpret_cast<uintptr_t>(layers.back().get()),
                     reinterpret_cast<uintptr_t>(buffers.back().get()),
                     reinterpret_cast<uintptr_t>(graphs.back().get())});
      set_parameter(layers.back(), "tau", {1.0 + i});
      EXPECT_OK(synfire_buffer_fill(buffers.back(), i));
    }
    EXPECT_EQ(values.size(), 3000u);
    for (size_t i = 0; i < 1000; i += 2) {
      layers[i].reset();
      buffers[i].reset();
      graphs[i].reset();
    }
    EXPECT_EQ(still_queued(context), 0u);
    for (size_t i = 1; i < 1000; i += 2) {
      double tau = 0;
      EXPECT_OK(synfire_layer_get_parameter(layers[i], "tau", &tau, 1));
      EXPECT_EQ(tau, 1.0 + static_cast<double>(i));
      EXPECT_EQ(download<float>(buffers[i], 6)[5], static_cast<float>(i));
      synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
      copy.source = buffers[i];
      copy.destination = buffers[i == 999 ? 1 : i + 2];
      EXPECT_OK(synfire_graph_record_copy(graphs[i], &copy));
    }
  }
  EXPECT_EQ(still_queued(), 0u);
}

TEST(Lifetime, ReclaimCountsWhatIsStillInUse) {
  EXPECT_EQ(still_queued(), 0u);
  const Context context = make_context(), other = make_context();
  Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
         unused = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  Graph graph = make_graph(context);
  synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
  desc.x = x;
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_EQ(still_queued(context), 0u);
  unused.reset();
  EXPECT_EQ(still_queued(context), 0u) << "nothing holds it";
  x.reset();
  EXPECT_EQ(still_queued(context), 1u) << "the graph holds X";
  layer.reset();
  EXPECT_EQ(still_queued(context), 2u) << "the graph holds the layer";
  EXPECT_EQ(still_queued(other), 0u) << "objects of another context";
  EXPECT_EQ(still_queued(), 2u);
  replay(graph);
  graph.reset();
  EXPECT_EQ(still_queued(context), 0u);
  EXPECT_EQ(still_queued(), 0u);
}

#if defined(SYNFIRE_TEST_KNOWS_HEAP)
// A program that only launches and waits also gets memory back: in waits that may take any time.
TEST(Lifetime, OnlyABlockingWaitWithoutATimeOutFrees) {
  SYNFIRE_SKIP_WITHOUT_HEAP();
  const Context context = make_context();
  const Buffer from = make_buffer(context, SYNFIRE_DTYPE_F32, 8), to = make_buffer(context, SYNFIRE_DTYPE_F32, 8);
  const Graph graph = make_graph(context);
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = from;
  copy.destination = to;
  EXPECT_OK(synfire_graph_record_copy(graph, &copy));
  EXPECT_OK(synfire_graph_instantiate(graph));
  uint64_t ticket = 0;
  EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
  std::vector<Buffer> windows;
  windows.reserve(10000);
  const uint64_t before = heap_in_use();
  while (windows.size() < windows.capacity()) windows.push_back(make_window(context, from, SYNFIRE_DTYPE_F32, 0, 8));
  const uint64_t taken = heap_in_use() - before;  // by the objects themselves, which all borrow the same memory
  for (Buffer& window : windows) window.reset();
  EXPECT_OK(synfire_graph_poll(graph, ticket));
  for (const int32_t policy : {SYNFIRE_WAIT_SPIN, SYNFIRE_WAIT_YIELD, SYNFIRE_WAIT_BLOCK})
    for (const int64_t timeout : {int64_t{0}, int64_t{1000000}, int64_t{-1}})
      if (policy != SYNFIRE_WAIT_BLOCK || timeout >= 0) {
        EXPECT_OK(synfire_graph_wait(graph, ticket, policy, timeout));
      }
  EXPECT_GT(heap_in_use(), before + taken / 2) << "none of these calls may wait for the device";
  EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
  EXPECT_LT(heap_in_use(), before + taken / 2) << "what was destroyed was not freed";
}
#endif

TEST(Lifetime, BorrowedMemoryIsNeverFreed) {
  const Context context = make_context();
  const Buffer owner = make_buffer_of(context, std::vector<float>{1, 2, 3, 4});
  for (int round = 0; round < 100; ++round) {
    Buffer window = make_window(context, owner, SYNFIRE_DTYPE_F32, 4, 2);
    EXPECT_EQ(download<float>(window, 2), (std::vector<float>{2, 3}));
    window.reset();
    EXPECT_EQ(still_queued(), 0u);
  }
  EXPECT_EQ(download<float>(owner, 4), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Lifetime, OwnedMemoryIsZeroedAndAligned) {
  const Context context = make_context();
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED, SYNFIRE_MEMORY_HOST}) {
    for (const uint64_t n_elements : {1u, 7u, 1000u, 100000u}) {
      for (int round = 0; round < 2; ++round) {  // the second round may get the memory of the first
        synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
        desc.memory = memory;
        desc.n_elements = n_elements;
        synfire_buffer handle = nullptr;
        ASSERT_OK(synfire_buffer_create(context, &desc, &handle));
        const Buffer buffer(handle);
        void* data = nullptr;
        uint64_t bytes = 0;
        EXPECT_OK(synfire_buffer_get_data(buffer, &data, &bytes));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0u);
        EXPECT_EQ(bytes, n_elements * 4);
        EXPECT_TRUE(all_are(download<float>(buffer, n_elements), 0.0f));
        EXPECT_OK(synfire_buffer_fill(buffer, 3));
      }
    }
  }
}

}  // namespace
}  // namespace synfire_test
