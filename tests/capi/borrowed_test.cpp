// Borrowed memory: what keeps it alive, when its release function is called, and that it is called once. Every lender
// here overwrites and frees its memory on release, so that a later read gives wrong numbers or is caught by a
// sanitizer. For work of a GPU in flight see tests/fault/borrowed_test.cpp.
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>

#include "graph_support.hpp"

namespace synfire_test {
namespace {

const Shape shape{20, 2, 37};

// Device memory that a buffer borrows.
class Lender {
 public:
  Lender(synfire_context context, const std::vector<float>& values) : owner_(make_buffer_of(context, values)) {
    void* data = nullptr;
    EXPECT_OK(synfire_buffer_get_data(owner_, &data, nullptr));
    desc_.n_elements = values.size();
    desc_.data = data;
    desc_.release = [](void* user) { static_cast<Lender*>(user)->take_back(); };
    desc_.release_user = this;
  }
  const synfire_buffer_desc& desc() const { return desc_; }
  Buffer lend(synfire_context context) const {
    synfire_buffer buffer = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &desc_, &buffer));
    return Buffer(buffer);
  }
  int n_releases() const { return n_releases_; }

 private:
  // Calls the library from within one of its own calls.
  void take_back() {
    EXPECT_OK(synfire_buffer_fill(owner_, std::numeric_limits<double>::quiet_NaN()));
    owner_.reset();
    ++n_releases_;
  }

  Buffer owner_;
  synfire_buffer_desc desc_ = SYNFIRE_BUFFER_DESC_INIT;
  std::atomic<int> n_releases_ = 0;
};

class Borrowed : public testing::Test {
 protected:
  Context context = make_context();
  Rig<float> rig{context, describe(shape, SYNFIRE_DTYPE_F32)};
  Inputs<float> inputs = random_inputs<float>(shape, 1);
  std::unique_ptr<Lender> lender = std::make_unique<Lender>(context, inputs.x);
  Buffer x = lender->lend(context);

  void SetUp() override { rig.load(random_inputs<float>(shape, 2)); }
  void TearDown() override {
    x.reset();
    rig.layer.reset();
    still_queued();
    EXPECT_EQ(lender->n_releases(), 1);
  }

  synfire_forward_desc forward_of(synfire_buffer input, int32_t tape = SYNFIRE_TAPE_RECOMPUTE) const {
    synfire_forward_desc desc = rig.forward_desc({.tape = tape});
    desc.x = input;
    return desc;
  }
  Graph graph_of_forward(synfire_buffer input, int32_t tape = SYNFIRE_TAPE_RECOMPUTE) const {
    Graph graph = make_graph(context);
    const synfire_forward_desc desc = forward_of(input, tape);
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  }
  Graph graph_of_backward() const {
    Graph graph = make_graph(context);
    const synfire_backward_desc desc = rig.backward_desc();
    EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  }
  void run_forward(synfire_buffer input, int32_t tape = SYNFIRE_TAPE_RECOMPUTE) const {
    const synfire_forward_desc desc = forward_of(input, tape);
    EXPECT_OK(synfire_layer_forward(rig.layer, &desc, nullptr));
  }
  BackwardOutputs<float> expected() {
    run_forward(x);
    BackwardOutputs<float> outputs = rig.backward();
    run_forward(rig.x);
    return outputs;
  }
};

// ---- What keeps it alive --------------------------------------------------------------------------------------------

TEST_F(Borrowed, IsGivenBackWhenTheBufferIsGone) {
  EXPECT_EQ(still_queued(), 0u);
  EXPECT_EQ(lender->n_releases(), 0);
  x.reset();
  EXPECT_EQ(lender->n_releases(), 0) << "destroying only queues";
  EXPECT_EQ(still_queued(), 0u);
  EXPECT_EQ(lender->n_releases(), 1);
  EXPECT_EQ(still_queued(), 0u);
  EXPECT_EQ(lender->n_releases(), 1);
}

// Every way to run the two passes, and every order in which the users of X are destroyed before the backward.
TEST_F(Borrowed, StaysForTheBackwardOfItsForward) {
  const BackwardOutputs<float> reference = expected();
  x.reset();
  EXPECT_EQ(still_queued(), 0u);
  for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE})
    for (const bool forward_replayed : {false, true})
      for (const int backward_by : {0, 1, 2})  // eagerly; by a graph recorded before X is destroyed, or after it
        for (const bool handle_first : {false, true})
          for (const bool reclaimed : {false, true}) {
            SCOPED_TRACE(testing::Message() << "tape " << tape << ", forward " << forward_replayed << ", backward "
                                            << backward_by << ", " << handle_first << reclaimed);
            Lender own(context, inputs.x);
            Buffer input = own.lend(context);
            Graph forward, backward;
            if (forward_replayed) {
              forward = graph_of_forward(input, tape);
              replay(forward);
            } else {
              run_forward(input, tape);
            }
            if (backward_by == 1) backward = graph_of_backward();
            if (handle_first) input.reset();
            if (reclaimed) still_queued();
            forward.reset();
            input.reset();
            still_queued();
            EXPECT_EQ(own.n_releases(), 0);
            if (backward_by == 2) backward = graph_of_backward();
            rig.poison();
            if (backward_by == 0)
              EXPECT_OK(rig.run_backward());
            else
              replay(backward);
            EXPECT_TRUE(same_bits(rig.backward_outputs(), reference));
            still_queued();
            EXPECT_EQ(own.n_releases(), 0) << "the layer's tape belongs to it";
            run_forward(rig.x);
            still_queued();
            EXPECT_EQ(own.n_releases(), backward_by == 0 ? 1 : 0) << "the graph of the backward reads it";
            backward.reset();
            EXPECT_EQ(still_queued(), 0u);
            EXPECT_EQ(own.n_releases(), 1);
          }
}

TEST_F(Borrowed, StaysAfterARebindForTheTapeOfBefore) {
  const BackwardOutputs<float> reference = expected();
  const Graph forward = graph_of_forward(x);
  replay(forward);
  EXPECT_OK(synfire_graph_rebind(forward, x, rig.x));
  x.reset();
  still_queued();
  EXPECT_EQ(lender->n_releases(), 0);
  EXPECT_TRUE(same_bits(rig.backward(), reference));
  replay(forward);
  still_queued();
  EXPECT_EQ(lender->n_releases(), 1) << "the tape belongs to the new buffer";
  EXPECT_OK(rig.run_backward());
}

TEST_F(Borrowed, ARebindToItIsKept) {
  const BackwardOutputs<float> reference = expected();
  Graph forward = graph_of_forward(rig.x);
  EXPECT_OK(synfire_graph_rebind(forward, rig.x, x));
  replay(forward);
  forward.reset();
  x.reset();
  still_queued();
  EXPECT_EQ(lender->n_releases(), 0);
  EXPECT_TRUE(same_bits(rig.backward(), reference));
}

TEST_F(Borrowed, TheTapeLetsGoOfIt) {
  enum Way { inference, inference_replayed, another, another_replayed, layer_gone };
  for (const Way way : {inference, inference_replayed, another, another_replayed, layer_gone}) {
    SCOPED_TRACE(way);
    const Lender own(context, inputs.x);
    Buffer input = own.lend(context);
    run_forward(input);
    input.reset();
    still_queued();
    EXPECT_EQ(own.n_releases(), 0);
    const bool replayed = way == inference_replayed || way == another_replayed;
    const int32_t tape = way == inference || way == inference_replayed ? SYNFIRE_TAPE_NONE : SYNFIRE_TAPE_RECOMPUTE;
    if (way == layer_gone)
      rig.layer.reset();
    else if (replayed)
      replay(graph_of_forward(rig.x, tape));
    else
      run_forward(rig.x, tape);
    still_queued();
    EXPECT_EQ(own.n_releases(), 1);
  }
}

// A forward that was recorded but never ran leaves no tape.
TEST_F(Borrowed, ARecordedForwardKeepsItInItsGraphOnly) {
  Graph forward = graph_of_forward(x);
  x.reset();
  still_queued();
  EXPECT_EQ(lender->n_releases(), 0);
  Graph backward = graph_of_backward();
  forward.reset();
  still_queued();
  EXPECT_EQ(lender->n_releases(), 0);
  backward.reset();
  still_queued();
  EXPECT_EQ(lender->n_releases(), 1);
  const Graph late = make_graph(context);
  const synfire_backward_desc desc = rig.backward_desc();
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-NONE"), synfire_graph_record_backward(late, rig.layer, &desc));
}

TEST_F(Borrowed, EveryOperationOfAGraphKeepsIt) {
  const Buffer other = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
  const auto record = [&](synfire_graph graph, int operation, synfire_buffer lent) {
    synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
    copy.source = operation == 0 ? lent : other.get();
    copy.destination = operation == 0 ? other.get() : lent;
    if (operation < 2) {
      EXPECT_OK(synfire_graph_record_copy(graph, &copy));
      return;
    }
    synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
    fill.buffer = lent;
    if (operation == 2) {
      EXPECT_OK(synfire_graph_record_fill(graph, &fill));
      return;
    }
    synfire_scale_add_desc sum = SYNFIRE_SCALE_ADD_DESC_INIT;
    sum.source = operation == 3 ? lent : other.get();
    sum.destination = operation == 3 ? other.get() : lent;
    EXPECT_OK(synfire_graph_record_scale_add(graph, &sum));
  };
  for (int operation = 0; operation < 5; ++operation) {
    SCOPED_TRACE(operation);
    const Lender own(context, inputs.x);
    Buffer lent = own.lend(context);
    Graph graph = make_graph(context);
    record(graph, operation, lent);
    EXPECT_OK(synfire_graph_instantiate(graph));
    lent.reset();
    still_queued();
    replay(graph);
    EXPECT_EQ(own.n_releases(), 0);
    graph.reset();
    still_queued();
    EXPECT_EQ(own.n_releases(), 1);
  }
}

TEST_F(Borrowed, TheLastContextNeedNotLive) {
  run_forward(x);
  Graph forward = graph_of_forward(x);
  replay(forward);
  forward.reset();
  x.reset();
  rig = Rig<float>(make_context(), describe(shape, SYNFIRE_DTYPE_F32));
  context.reset();
  still_queued();
  EXPECT_EQ(lender->n_releases(), 1);
}

TEST_F(Borrowed, TwoBuffersOverOneMemoryAreReleasedEach) {
  static std::atomic<int> n_releases;
  n_releases = 0;
  synfire_buffer_desc desc = lender->desc();
  desc.release = [](void*) { ++n_releases; };
  synfire_buffer first = nullptr, second = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &desc, &first));
  ASSERT_OK(synfire_buffer_create(context, &desc, &second));
  synfire_buffer_destroy(first);
  synfire_buffer_destroy(first);
  still_queued();
  EXPECT_EQ(n_releases, 1);
  synfire_buffer_destroy(second);
  still_queued();
  EXPECT_EQ(n_releases, 2);
}

// ---- When it is never called ----------------------------------------------------------------------------------------

TEST_F(Borrowed, WhatWasNotCreatedIsNotGivenBack) {
  const Lender own(context, inputs.x);
  const auto expect_refused = [&](synfire_context on, auto change) {
    synfire_buffer_desc desc = own.desc();
    change(desc);
    synfire_buffer buffer = nullptr;
    EXPECT_LT(synfire_buffer_create(on, &desc, &buffer), 0);
    EXPECT_EQ(buffer, nullptr);
    still_queued();
    EXPECT_EQ(own.n_releases(), 0);
  };
  expect_refused(nullptr, [](synfire_buffer_desc&) {});
  expect_refused(context, [](synfire_buffer_desc& desc) { desc.memory = 9; });
  expect_refused(context, [](synfire_buffer_desc& desc) { desc.dtype = 99; });
  expect_refused(context, [](synfire_buffer_desc& desc) { desc.n_elements = 0; });
  expect_refused(context, [](synfire_buffer_desc& desc) { desc.n_elements = UINT64_MAX; });
  expect_refused(context, [](synfire_buffer_desc& desc) { desc.row_pitch = UINT64_MAX; });
  expect_refused(context, [](synfire_buffer_desc& desc) { desc.reserved = 1; });
  expect_refused(context, [](synfire_buffer_desc& desc) { desc.struct_size = 4; });
  expect_refused(context, [](synfire_buffer_desc& desc) { desc.data = static_cast<char*>(desc.data) + 1; });
}

TEST_F(Borrowed, OnlyBorrowedMemoryHasARelease) {
  synfire_buffer_desc desc = lender->desc();
  desc.data = nullptr;
  synfire_buffer buffer = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-RELEASE", "desc.release", "desc.data"),
               synfire_buffer_create(context, &desc, &buffer));
  EXPECT_EQ(buffer, nullptr);
  still_queued();
  EXPECT_EQ(lender->n_releases(), 0);
}

// ---- What the release function may do -------------------------------------------------------------------------------

// Each release destroys the next buffer, whose release is queued from within a release function.
struct Chain {
  synfire_context context;
  std::vector<float> memory = std::vector<float>(4);
  std::vector<synfire_buffer> buffers = {};
  size_t n_releases = 0;
};

TEST_F(Borrowed, AReleaseMayCallTheLibrary) {
  Chain chain{context};
  constexpr size_t n_links = 20000;  // far more calls than fit on a stack
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_HOST;
  desc.n_elements = chain.memory.size();
  desc.data = chain.memory.data();
  desc.release_user = &chain;
  desc.release = [](void* user) {
    Chain& own = *static_cast<Chain*>(user);
    ++own.n_releases;
    synfire_buffer_desc another = SYNFIRE_BUFFER_DESC_INIT;
    another.n_elements = 1;
    synfire_buffer made = nullptr;
    EXPECT_OK(synfire_buffer_create(own.context, &another, &made));
    synfire_buffer_destroy(made);
    const size_t left = own.buffers.size() - own.n_releases;
    if (left > 0) synfire_buffer_destroy(own.buffers[left - 1]);
    EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  };
  for (size_t i = 0; i < n_links; ++i) {
    synfire_buffer buffer = nullptr;
    ASSERT_OK(synfire_buffer_create(context, &desc, &buffer));
    chain.buffers.push_back(buffer);
  }
  synfire_buffer_destroy(chain.buffers.back());
  EXPECT_EQ(still_queued(), 0u);
  EXPECT_EQ(chain.n_releases, n_links);
}

TEST_F(Borrowed, AReleaseMayDestroyEverything) {
  struct Last {
    Context context;
    Buffer twin;
    std::vector<float> memory = std::vector<float>(4);
    int n_releases = 0;
  } last{make_context(), {}};
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_HOST;
  desc.n_elements = 4;
  desc.data = last.memory.data();
  desc.release_user = &last;
  desc.release = [](void* user) {
    Last& own = *static_cast<Last*>(user);
    ++own.n_releases;
    own.twin.reset();
    own.context.reset();
  };
  synfire_buffer first = nullptr, second = nullptr;
  ASSERT_OK(synfire_buffer_create(last.context, &desc, &first));
  ASSERT_OK(synfire_buffer_create(last.context, &desc, &second));
  last.twin = Buffer(second);
  synfire_buffer_destroy(first);
  EXPECT_EQ(still_queued(), 0u);
  EXPECT_EQ(last.n_releases, 2);
}

// Calls compute in the IEEE environment; a release function runs in the program's.
TEST_F(Borrowed, AReleaseHasTheCallersFloatEnvironment) {
  std::vector<float> memory(4);
  int rounding = -1;
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_HOST;
  desc.n_elements = 4;
  desc.data = memory.data();
  desc.release_user = &rounding;
  desc.release = [](void* user) { *static_cast<int*>(user) = std::fegetround(); };
  synfire_buffer buffer = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &desc, &buffer));
  synfire_buffer_destroy(buffer);
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const synfire_status status = synfire_context_reclaim(nullptr, nullptr);
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_OK(status);
  EXPECT_EQ(rounding, FE_UPWARD);
  EXPECT_EQ(after, FE_UPWARD);
}

TEST(BorrowedFlag, IsSetWhenItIsGivenBack) {
  const Context context = make_context();
  std::vector<float> memory(4);
  uint32_t flag = 0;
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_HOST;
  desc.n_elements = 4;
  desc.data = memory.data();
  desc.release_flag = &flag;
  synfire_buffer buffer = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &desc, &buffer));
  still_queued();
  EXPECT_EQ(flag, 0u);
  synfire_buffer_destroy(buffer);
  EXPECT_EQ(flag, 0u);
  still_queued();
  EXPECT_EQ(flag, 1u);

  // With a release function as well, the flag is set after that has returned.
  flag = 0;
  desc.release_user = &flag;
  desc.release = [](void* user) {
    EXPECT_EQ(*static_cast<uint32_t*>(user), 0u);
    *static_cast<uint32_t*>(user) = 7;
  };
  ASSERT_OK(synfire_buffer_create(context, &desc, &buffer));
  synfire_buffer_destroy(buffer);
  still_queued();
  EXPECT_EQ(flag, 1u);

  flag = 0;
  desc.release = nullptr;
  desc.dtype = 99;
  EXPECT_LT(synfire_buffer_create(context, &desc, &buffer), 0);
  desc.dtype = SYNFIRE_DTYPE_F32;
  desc.data = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-RELEASE", "desc.release_flag", "desc.data"),
               synfire_buffer_create(context, &desc, &buffer));
  still_queued();
  EXPECT_EQ(flag, 0u);
}

// ---- Other threads --------------------------------------------------------------------------------------------------

TEST_F(Borrowed, OnceWhicheverThreadIsLast) {
  for (int round = 0; round < 30; ++round) {
    constexpr size_t n_lenders = 8;
    std::vector<std::unique_ptr<Lender>> lenders;
    std::vector<Buffer> buffers;
    std::vector<Graph> graphs;
    for (size_t i = 0; i < n_lenders; ++i) {
      lenders.push_back(std::make_unique<Lender>(context, inputs.x));
      buffers.push_back(lenders.back()->lend(context));
      graphs.push_back(graph_of_forward(buffers.back()));
    }
    replay(graphs.front());
    Layer& layer = rig.layer;
    std::vector<std::thread> threads;
    threads.emplace_back([&] { buffers.clear(); });
    threads.emplace_back([&] { graphs.clear(); });
    threads.emplace_back([&] { layer.reset(); });
    for (int i = 0; i < 2; ++i) threads.emplace_back([] { synfire_context_reclaim(nullptr, nullptr); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(still_queued(), 0u);
    for (const auto& own : lenders) EXPECT_EQ(own->n_releases(), 1);
    rig.layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  }
}

// Once nothing is queued, whatever a release function uses may be freed.
TEST_F(Borrowed, ReclaimCountsAReleaseThatHasNotReturned) {
  struct Gate {
    std::vector<float> memory = std::vector<float>(4);
    std::atomic<bool> entered = false, open = false;
  } gate;
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_HOST;
  desc.n_elements = 4;
  desc.data = gate.memory.data();
  desc.release_user = &gate;
  desc.release = [](void* user) {
    Gate& own = *static_cast<Gate*>(user);
    own.entered = true;
    while (!own.open) std::this_thread::yield();
  };
  EXPECT_EQ(still_queued(), 0u);
  synfire_buffer buffer = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &desc, &buffer));
  synfire_buffer_destroy(buffer);
  std::thread other([] { synfire_context_reclaim(nullptr, nullptr); });
  while (!gate.entered) std::this_thread::yield();
  EXPECT_EQ(still_queued(), 1u);
  uint64_t of_context = 0;
  EXPECT_OK(synfire_context_reclaim(context, &of_context));
  EXPECT_EQ(of_context, 1u);
  // A create does not wait for the release function.
  const Buffer meanwhile = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  gate.open = true;
  other.join();
  EXPECT_EQ(still_queued(), 0u);
}

}  // namespace
}  // namespace synfire_test
