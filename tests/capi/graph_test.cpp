// Graphs: replays against eager calls, several layers and copies in one list, changes between replays, tickets and
// waiting, and two threads using one graph. Tapes across graphs: graph_tape_test.cpp.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "oracle.hpp"

namespace synfire_test {
namespace {

template <typename Scalar>
class Graphs : public testing::Test {
 protected:
  const Context context_ = make_context();

  // Forward and backward of a rig in one graph.
  Graph record(const Rig<Scalar>& rig, const ForwardChoice& choice = {}) const {
    Graph graph = make_graph(context_);
    const synfire_forward_desc forward = rig.forward_desc(choice);
    const synfire_backward_desc backward = rig.backward_desc();
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
    EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  }
  static void record_copy(synfire_graph graph, synfire_buffer source, synfire_buffer destination,
                          uint64_t source_offset = 0, uint64_t destination_offset = 0, uint64_t bytes = 0) {
    synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
    desc.source = source;
    desc.destination = destination;
    desc.source_offset = source_offset;
    desc.destination_offset = destination_offset;
    desc.bytes = bytes;
    EXPECT_OK(synfire_graph_record_copy(graph, &desc));
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Graphs, Scalars);

// ---- A replay equals the eager call ---------------------------------------------------------------------------------

TYPED_TEST(Graphs, ReplayEqualsEagerBitForBit) {
  Random random(1);
  for (const int32_t model : {SYNFIRE_MODEL_IF, SYNFIRE_MODEL_LIF}) {
    for (const int32_t reset : {SYNFIRE_RESET_HARD, SYNFIRE_RESET_SOFT}) {
      for (const int32_t surrogate : {SYNFIRE_SURROGATE_SIGMOID, SYNFIRE_SURROGATE_ATAN}) {
        for (const Spikes spikes : {Spikes::none, Spikes::dense, Spikes::bits}) {
          const Neuron neuron{model, reset, surrogate, random.whole(0, 1) == 1, false};
          const Shape shape{random.whole(1, 70), random.whole(1, 3), random.whole(1, 80)};
          SCOPED_TRACE(testing::Message() << shape << ", model " << model << ", reset " << reset);
          Rig<TypeParam> rig(this->context_, describe(neuron, shape, dtype_of<TypeParam>));
          if (model == SYNFIRE_MODEL_LIF)
            set_parameter(rig.layer, "tau", random.values<double>(static_cast<size_t>(shape.n_neurons), 1.5, 5));
          rig.load(random_inputs<TypeParam>(shape, random.next()));
          const ForwardOutputs<TypeParam> forward = rig.forward({.spikes = spikes});
          const BackwardOutputs<TypeParam> backward = rig.backward();
          const Graph graph = this->record(rig, {.spikes = spikes});
          for (int time = 0; time < 3; ++time) {
            rig.poison();
            replay(graph);
            EXPECT_TRUE(same_bits(rig.forward_outputs(), forward));
            EXPECT_TRUE(same_bits(rig.backward_outputs(), backward));
          }
          if (this->HasFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(Graphs, TheStateContinuesFromReplayToReplay) {
  const Shape shape{9, 2, 35};
  Rig<TypeParam> eager(this->context_, describe(shape, dtype_of<TypeParam>));
  Rig<TypeParam> replayed(this->context_, describe(shape, dtype_of<TypeParam>));
  const Graph graph = this->record(replayed, {.v_init = false});
  std::vector<TypeParam> previous(shape.row(), 0);
  for (uint64_t frame = 0; frame < 6; ++frame) {
    SCOPED_TRACE(frame);
    const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 10 + frame);  // new input, same buffers
    eager.load(inputs);
    replayed.load(inputs);
    const ForwardOutputs<TypeParam> forward = eager.forward({.v_init = false});
    const BackwardOutputs<TypeParam> backward = eager.backward();
    replayed.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(replayed.forward_outputs(), forward));
    EXPECT_TRUE(same_bits(replayed.backward_outputs(), backward));
    EXPECT_TRUE(same_bits(read_state<TypeParam>(replayed.layer, shape.row()), forward.v_final));
    EXPECT_FALSE(same_bits(forward.v_final, previous)) << "the state does not change";
    previous = forward.v_final;
  }
  // The next replay sees an eager call, a reset and a written state in between.
  EXPECT_OK(eager.run_forward({.v_init = false}));
  EXPECT_OK(replayed.run_forward({.v_init = false}));
  const ForwardOutputs<TypeParam> after_call = eager.forward({.v_init = false});
  replay(graph);
  EXPECT_TRUE(same_bits(download<TypeParam>(replayed.v_seq, shape.sequence()), after_call.v_seq));
  EXPECT_OK(synfire_layer_reset_state(eager.layer, nullptr));
  EXPECT_OK(synfire_layer_reset_state(replayed.layer, nullptr));
  const ForwardOutputs<TypeParam> after_reset = eager.forward({.v_init = false});
  replay(graph);
  EXPECT_TRUE(same_bits(download<TypeParam>(replayed.v_seq, shape.sequence()), after_reset.v_seq));
  EXPECT_FALSE(same_bits(after_reset.v_seq, after_call.v_seq));
}

// ---- What may change between replays --------------------------------------------------------------------------------

TYPED_TEST(Graphs, ParametersChangeBetweenReplaysWithoutRecording) {
  const Shape shape{33, 2, 5};
  Rig<TypeParam> rig(this->context_, describe(shape, dtype_of<TypeParam>));
  const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 20);
  rig.load(inputs);
  const Graph graph = this->record(rig);
  Rig<TypeParam> eager(this->context_, describe(shape, dtype_of<TypeParam>));
  eager.load(inputs);
  ForwardOutputs<TypeParam> previous;
  const std::vector<std::pair<const char*, std::vector<double>>> changes = {
      {"tau", {3.5}},       {"v_threshold", {0.75}}, {"tau", {2, 3, 4, 5, 6}}, {"alpha", {1.5}},
      {"v_rest", {-0.125}}, {"v_reset", {0.1}},      {"tau", {2.5}},           {"v_reset", {0, 0.1, 0.2, -0.1, -0.2}}};
  for (const auto& [name, values] : changes) {
    SCOPED_TRACE(testing::Message() << name << " = " << testing::PrintToString(values));
    set_parameter(rig.layer, name, values);
    set_parameter(eager.layer, name, values);
    const ForwardOutputs<TypeParam> forward = eager.forward();
    const BackwardOutputs<TypeParam> backward = eager.backward();
    rig.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(rig.forward_outputs(), forward));
    EXPECT_TRUE(same_bits(rig.backward_outputs(), backward));
    if (std::string_view(name) != "alpha") {
      EXPECT_FALSE(same_bits(forward, previous)) << "the change had no effect";
    }
    previous = forward;
  }
}

// ---- More than one operation ----------------------------------------------------------------------------------------

TYPED_TEST(Graphs, TwoLayersCopiesAndBothDirections) {
  const Shape shape{34, 2, 21};
  const Neuron first_neuron{SYNFIRE_MODEL_IF, SYNFIRE_RESET_SOFT, SYNFIRE_SURROGATE_ATAN, false, false};
  const Neuron second_neuron{SYNFIRE_MODEL_LIF, SYNFIRE_RESET_HARD, SYNFIRE_SURROGATE_SIGMOID, true, true};
  const auto make = [&](const Neuron& neuron) {
    return Rig<TypeParam>(this->context_, describe(neuron, shape, dtype_of<TypeParam>));
  };
  const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 30), deeper = random_inputs<TypeParam>(shape, 31);

  // Done by hand: S of the first layer is X of the second, dL/dX of the second is dL/dS of the first.
  Rig<TypeParam> first = make(first_neuron), second = make(second_neuron);
  first.load(inputs);
  const ForwardOutputs<TypeParam> first_forward = first.forward();
  second.load(deeper);
  upload(second.x, first_forward.spikes);
  const ForwardOutputs<TypeParam> second_forward = second.forward();
  const BackwardOutputs<TypeParam> second_backward = second.backward();
  upload(first.grad_spike_seq, second_backward.grad_x_seq);
  const BackwardOutputs<TypeParam> first_backward = first.backward();
  EXPECT_NE(first_forward.spikes, std::vector<TypeParam>(shape.sequence(), 0));
  EXPECT_NE(second_forward.spikes, std::vector<TypeParam>(shape.sequence(), 0));

  Rig<TypeParam> a = make(first_neuron), b = make(second_neuron);
  a.load(inputs);
  b.load(deeper);
  EXPECT_OK(synfire_buffer_fill(b.x, 99));
  EXPECT_OK(synfire_buffer_fill(a.grad_spike_seq, 99));
  const Graph graph = make_graph(this->context_);
  const synfire_forward_desc a_forward = a.forward_desc(), b_forward = b.forward_desc();
  const synfire_backward_desc a_backward = a.backward_desc(), b_backward = b.backward_desc();
  EXPECT_OK(synfire_graph_record_forward(graph, a.layer, &a_forward));
  this->record_copy(graph, a.spikes, b.x);
  EXPECT_OK(synfire_graph_record_forward(graph, b.layer, &b_forward));
  EXPECT_OK(synfire_graph_record_backward(graph, b.layer, &b_backward));
  this->record_copy(graph, b.grad_x_seq, a.grad_spike_seq);
  EXPECT_OK(synfire_graph_record_backward(graph, a.layer, &a_backward));
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (int time = 0; time < 2; ++time) {
    a.poison();
    b.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(a.forward_outputs(), first_forward));
    EXPECT_TRUE(same_bits(b.forward_outputs(), second_forward));
    EXPECT_TRUE(same_bits(b.backward_outputs(), second_backward));
    EXPECT_TRUE(same_bits(a.backward_outputs(), first_backward));
  }
}

TYPED_TEST(Graphs, ABufferPassedOnWithoutACopy) {
  const Shape shape{8, 1, 33};
  Rig<TypeParam> a(this->context_, describe(shape, dtype_of<TypeParam>)),
      b(this->context_, describe(shape, dtype_of<TypeParam>));
  a.load(random_inputs<TypeParam>(shape, 32));
  const ForwardOutputs<TypeParam> first = a.forward();
  upload(b.x, first.spikes);
  EXPECT_OK(synfire_buffer_fill(b.v_init, 0.5));
  const ForwardOutputs<TypeParam> second = b.forward();
  const Graph graph = make_graph(this->context_);
  const synfire_forward_desc a_forward = a.forward_desc();
  synfire_forward_desc b_forward = b.forward_desc();
  b_forward.x = a.spikes;
  EXPECT_OK(synfire_graph_record_forward(graph, a.layer, &a_forward));
  EXPECT_OK(synfire_graph_record_forward(graph, b.layer, &b_forward));
  EXPECT_OK(synfire_graph_instantiate(graph));
  a.poison();
  b.poison();
  replay(graph);
  EXPECT_TRUE(same_bits(b.forward_outputs(), second));
}

// The same layer twice: both forwards update its state, and each backward belongs to the last forward recorded before
// it.
TYPED_TEST(Graphs, OneLayerTwiceInOneGraph) {
  const Shape shape{5, 1, 33};
  Rig<TypeParam> eager(this->context_, describe(shape, dtype_of<TypeParam>));
  Rig<TypeParam> rig(this->context_, describe(shape, dtype_of<TypeParam>));
  const Inputs<TypeParam> first = random_inputs<TypeParam>(shape, 33), second = random_inputs<TypeParam>(shape, 34);
  eager.load(first);
  EXPECT_OK(eager.run_forward({.v_init = false}));
  const BackwardOutputs<TypeParam> first_backward = eager.backward();
  upload(eager.x, second.x);
  const ForwardOutputs<TypeParam> second_forward = eager.forward({.v_init = false});
  const BackwardOutputs<TypeParam> second_backward = eager.backward();

  rig.load(first);
  const Buffer second_x = make_buffer_of(this->context_, second.x);
  const Buffer early_grad_x = make_buffer(this->context_, dtype_of<TypeParam>, shape.sequence());
  const Graph graph = make_graph(this->context_);
  synfire_forward_desc forward = rig.forward_desc({.v_init = false});
  synfire_backward_desc backward = rig.backward_desc();
  backward.grad_x_seq = early_grad_x;
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
  EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
  forward.x = second_x;
  backward.grad_x_seq = rig.grad_x_seq;
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
  EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
  EXPECT_OK(synfire_graph_instantiate(graph));
  rig.poison();
  replay(graph);
  EXPECT_TRUE(same_bits(download<TypeParam>(early_grad_x, shape.sequence()), first_backward.grad_x_seq));
  EXPECT_TRUE(same_bits(rig.forward_outputs(), second_forward));
  EXPECT_TRUE(same_bits(rig.backward_outputs(), second_backward));
}

TYPED_TEST(Graphs, TwoGraphsShareALayer) {
  const Shape shape{4, 1, 19};
  Rig<TypeParam> eager(this->context_, describe(shape, dtype_of<TypeParam>));
  Rig<TypeParam> rig(this->context_, describe(shape, dtype_of<TypeParam>));
  const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 35);
  eager.load(inputs);
  rig.load(inputs);
  const Graph one = this->record(rig, {.v_init = false}), other = this->record(rig, {.v_init = false});
  for (int time = 0; time < 4; ++time) {
    const ForwardOutputs<TypeParam> expected = eager.forward({.v_init = false});
    rig.poison();
    replay(time % 2 == 0 ? one : other);
    EXPECT_TRUE(same_bits(rig.forward_outputs(), expected));
  }
}

TYPED_TEST(Graphs, CopiesMoveExactlyTheBytesAskedFor) {
  std::vector<TypeParam> numbers(20);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<TypeParam>(i);
  const Buffer source = make_buffer_of(this->context_, numbers);
  const Buffer destination = make_buffer(this->context_, dtype_of<TypeParam>, 30);
  EXPECT_OK(synfire_buffer_fill(destination, -1));
  constexpr uint64_t element = sizeof(TypeParam);
  const Graph graph = make_graph(this->context_);
  this->record_copy(graph, source, destination, 3 * element, 1 * element, 2 * element);
  this->record_copy(graph, source, destination, 17 * element, 10 * element);  // to the end of the source
  this->record_copy(graph, source, source, 0, 10 * element, 4 * element);     // beside itself
  this->record_copy(graph, source, destination, 12 * element, 29 * element,
                    element);  // reads what the previous copy wrote
  EXPECT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  std::vector<TypeParam> expected(30, -1);
  expected[1] = 3;
  expected[2] = 4;
  expected[10] = 17;
  expected[11] = 18;
  expected[12] = 19;
  expected[29] = 2;
  EXPECT_TRUE(same_bits(download<TypeParam>(destination, 30), expected));
  numbers[10] = 0;
  numbers[11] = 1;
  numbers[12] = 2;
  numbers[13] = 3;
  EXPECT_TRUE(same_bits(download<TypeParam>(source, 20), numbers));
}

// ---- Tickets and waiting --------------------------------------------------------------------------------------------

class Waiting : public testing::Test {
 protected:
  Context context = make_context();
  Rig<float> rig{context, describe(Shape{16, 1, 64}, SYNFIRE_DTYPE_F32)};
  Graph graph = make_graph(context);

  void SetUp() override {
    const synfire_forward_desc desc = rig.forward_desc({.v_init = false});
    ASSERT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
    ASSERT_OK(synfire_graph_instantiate(graph));
  }
};

TEST_F(Waiting, TicketsCountFromOne) {
  for (uint64_t expected = 1; expected <= 10; ++expected) {
    uint64_t ticket = 0;
    EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
    EXPECT_EQ(ticket, expected);
  }
  EXPECT_OK(synfire_graph_launch(graph, nullptr, nullptr));
  uint64_t ticket = 0;
  EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_EQ(ticket, 12u) << "a launch without a ticket counts too";
  EXPECT_OK(synfire_graph_wait(graph, 12, SYNFIRE_WAIT_YIELD, -1));
  for (uint64_t done = 1; done <= 12; ++done) EXPECT_OK(synfire_graph_poll(graph, done));
}

TEST_F(Waiting, TicketsBelongToTheirGraph) {
  const Graph other = make_graph(context);
  const synfire_forward_desc desc = rig.forward_desc();
  ASSERT_OK(synfire_graph_record_forward(other, rig.layer, &desc));
  ASSERT_OK(synfire_graph_instantiate(other));
  replay(graph);
  replay(graph);
  uint64_t ticket = 0;
  EXPECT_OK(synfire_graph_launch(other, nullptr, &ticket));
  EXPECT_EQ(ticket, 1u);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket"), synfire_graph_poll(other, 2));
  EXPECT_OK(synfire_graph_wait(other, 1, SYNFIRE_WAIT_YIELD, -1));
}

TEST_F(Waiting, EveryPolicyAndTimeOut) {
  for (const int32_t policy : {SYNFIRE_WAIT_SPIN, SYNFIRE_WAIT_YIELD, SYNFIRE_WAIT_BLOCK}) {
    for (const int64_t timeout_ns : {int64_t{-1}, int64_t{-1000000}, std::numeric_limits<int64_t>::min(),
                                     int64_t{60000000000}, std::numeric_limits<int64_t>::max()}) {
      SCOPED_TRACE(testing::Message() << "policy " << policy << ", time-out " << timeout_ns);
      uint64_t ticket = 0;
      ASSERT_OK(synfire_graph_launch(graph, nullptr, &ticket));
      EXPECT_OK(synfire_graph_wait(graph, ticket, policy, timeout_ns));
      EXPECT_OK(synfire_graph_wait(graph, ticket, policy, timeout_ns)) << "a ticket can be waited for again";
      EXPECT_OK(synfire_graph_poll(graph, ticket));
    }
    uint64_t ticket = 0;
    ASSERT_OK(synfire_graph_launch(graph, nullptr, &ticket));
    const synfire_status polled = synfire_graph_poll(graph, ticket);
    const synfire_status looked = synfire_graph_wait(graph, ticket, policy, 0);
    const synfire_status brief = synfire_graph_wait(graph, ticket, policy, 1);
    if (on_host()) {  // the replay is over when launch returns
      EXPECT_OK(polled);
      EXPECT_OK(looked);
      EXPECT_OK(brief);
    } else {
      for (const synfire_status status : {polled, looked, brief})
        EXPECT_TRUE(status == SYNFIRE_OK || status == SYNFIRE_PENDING) << synfire_status_name(status);
    }
    EXPECT_OK(synfire_graph_wait(graph, ticket, policy, -1));
  }
}

// On a GPU a long replay is still running when launch returns: polling gives PENDING, and a wait respects its
// time-out.
TEST(LongReplays, APendingReplayIsNotAnError) {
  if (on_host()) GTEST_SKIP() << "on the host the replay is over when launch returns";
  const Context context = make_context();
  Rig<float> rig(context, describe(Shape{2000, 1, 4096}, SYNFIRE_DTYPE_F32));
  const Graph graph = make_graph(context);
  const synfire_forward_desc desc =
      rig.forward_desc({.spikes = Spikes::none, .v_init = false, .v_seq = false, .h_seq = false});
  ASSERT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
  ASSERT_OK(synfire_graph_instantiate(graph));
  // Again where this thread was suspended until all were done.
  uint64_t ticket = 0;
  synfire_status polled = SYNFIRE_OK, waited = SYNFIRE_OK;
  for (int attempt = 0; attempt < 100 && waited == SYNFIRE_OK; ++attempt) {
    for (int time = 0; time < 200; ++time) ASSERT_OK(synfire_graph_launch(graph, nullptr, &ticket));
    polled = synfire_graph_poll(graph, ticket);
    const auto start = std::chrono::steady_clock::now();
    waited = synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, 100000);
    if (waited == SYNFIRE_PENDING) {
      EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::microseconds(100));
    }
    EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
  }
  EXPECT_EQ(waited, SYNFIRE_PENDING);
  EXPECT_EQ(polled, SYNFIRE_PENDING) << "it was not done later either";
}

// ---- Two threads ----------------------------------------------------------------------------------------------------

// Threads launch one graph as fast as they can. Each launch either runs and gets its own ticket, or returns BUSY.
TEST_F(Waiting, TwoThreadsAtOneGraph) {
  constexpr int n_threads = 3, n_rounds = 300;
  std::vector<std::vector<uint64_t>> tickets(n_threads);
  std::atomic<int> n_busy = 0, n_wrong = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < n_threads; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < n_rounds; ++round) {
        uint64_t ticket = 0;
        const synfire_status status = synfire_graph_launch(graph, nullptr, &ticket);
        if (status == SYNFIRE_OK) {
          tickets[t].push_back(ticket);
          if (synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1) != SYNFIRE_OK) n_wrong.fetch_add(1);
        } else if (status == SYNFIRE_ERROR_BUSY && ticket == 0 &&
                   last_error_text().find("graph") != std::string::npos) {
          n_busy.fetch_add(1);
        } else {
          n_wrong.fetch_add(1);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_wrong, 0);
  std::vector<uint64_t> all;
  for (const std::vector<uint64_t>& of_thread : tickets) all.insert(all.end(), of_thread.begin(), of_thread.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.size() + static_cast<size_t>(n_busy), static_cast<size_t>(n_threads * n_rounds));
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i + 1) << "tickets are 1, 2, 3 ... without gaps";
  uint64_t ticket = 0;
  EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket)) << "not busy forever";
  EXPECT_EQ(ticket, all.size() + 1);
}

// While a replay of another thread runs, which a callback in it holds, a launch is refused and a poll is not.
TEST(LongReplays, AreBusyForOtherThreads) {
  if (!on_host()) GTEST_SKIP() << "on a GPU launch returns at once";
  const Context context = make_context();
  Rig<float> rig(context, describe(Shape{5, 1, 20}, SYNFIRE_DTYPE_F32));
  struct Gate {
    std::atomic<bool> closed{false}, inside{false};
  } gate;
  synfire_native_desc held = SYNFIRE_NATIVE_DESC_INIT;
  held.user = &gate;
  held.callback = [](void* user, const synfire_native_call*) -> synfire_status {
    auto& at = *static_cast<Gate*>(user);
    at.inside = at.closed.load();
    while (at.closed) std::this_thread::yield();
    return SYNFIRE_OK;
  };
  const Graph graph = make_graph(context);
  const synfire_forward_desc desc =
      rig.forward_desc({.spikes = Spikes::none, .v_init = false, .v_seq = false, .h_seq = false});
  ASSERT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
  ASSERT_OK(synfire_graph_record_native(graph, &held));
  ASSERT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  gate.closed = true;
  std::thread other([&] { EXPECT_OK(synfire_graph_launch(graph, nullptr, nullptr)); });
  while (!gate.inside) std::this_thread::yield();
  EXPECT_OK(synfire_graph_poll(graph, 1)) << "polling is never refused";
  EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("graph"), synfire_graph_launch(graph, nullptr, nullptr));
  gate.closed = false;
  other.join();
  replay(graph);
}

// Threads with graphs of their own do not disturb each other.
TEST(ManyGraphs, RunSideBySide) {
  const Context context = make_context();
  constexpr size_t n_threads = 4;
  const Shape shape{33, 1, 50};
  Rig<float> reference(context, describe(shape, SYNFIRE_DTYPE_F32));
  std::vector<ForwardOutputs<float>> expected;
  for (size_t t = 0; t < n_threads; ++t) {
    reference.load(random_inputs<float>(shape, t));
    expected.push_back(reference.forward());
  }
  std::vector<std::thread> threads;
  for (size_t t = 0; t < n_threads; ++t)
    threads.emplace_back([&, t] {
      Rig<float> rig(context, describe(shape, SYNFIRE_DTYPE_F32));
      rig.load(random_inputs<float>(shape, t));
      const Graph graph = make_graph(context);
      const synfire_forward_desc desc = rig.forward_desc();
      EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
      EXPECT_OK(synfire_graph_instantiate(graph));
      for (int round = 0; round < 30; ++round) {
        rig.poison();
        replay(graph);
        EXPECT_TRUE(same_bits(rig.forward_outputs(), expected[t]));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace synfire_test
