// Learning with replays in flight: a training step inside the caller's capture, graphs of two streams of which one
// writes a synapse or an optimiser, values of one launch, and everything destroyed while a step is in flight.
#include "stream_fixture.hpp"

#include <stdexcept>
#include <string>

namespace {

void require(synfire_status status, const char* what) {
  if (status < 0) throw std::runtime_error(std::string(what) + ": " + synfire_test::last_error_text());
}

}  // namespace

#include "../learning_graph.h"

namespace synfire_test {
namespace {

constexpr learning_sizes sizes = {11, 3, 4, 20, 12, 3};

class Learning : public WithStream {
 protected:
  void SetUp() override {
    WithStream::SetUp();
    l_ = make_learning(context, sizes, SYNFIRE_SLOTS_SHARED);
  }
  void TearDown() override {
    fake::release();
    destroy_learning(&l_);
    EXPECT_OK(synfire_context_synchronize(context));
    WithStream::TearDown();
  }
  static std::vector<float> weights_of(const learning& l) {
    std::vector<float> all(static_cast<size_t>(sizes.inputs * sizes.neurons));
    EXPECT_OK(synfire_synapse_read(l.first, "weight", all.data(), all.size() * sizeof(float)));
    std::vector<float> second(static_cast<size_t>(sizes.neurons * sizes.classes));
    EXPECT_OK(synfire_synapse_read(l.second, "weight", second.data(), second.size() * sizeof(float)));
    const double tau = get_parameter(l.hidden, "tau")[0];
    return joined(joined(all, second), {static_cast<float>(tau)});
  }

  learning l_ = {};
};

TEST_F(Learning, AStepBecomesAChildOfTheCallersCapture) {
  learning captured_from = make_learning(context, sizes, 1);
  ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(synfire_graph_launch(captured_from.graph, callers(), nullptr), SYNFIRE_CAPTURED) << last_error_text();
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
  EXPECT_EQ(fake::count_nodes(captured), 1u) << "the child";
  const std::vector<float> before = weights_of(captured_from);
  for (int i = 0; i < 4; ++i) {
    replay(l_.graph);
    EXPECT_EQ(fake::launch_graph(captured, stream), cudaSuccess);
  }
  const std::vector<float> after = weights_of(captured_from);
  EXPECT_FALSE(same_bits(before, after));
  EXPECT_TRUE(same_bits(after, weights_of(l_))) << "each run draws the next batch, as each replay does";
  replay(l_.graph);
  replay(captured_from.graph);
  EXPECT_TRUE(same_bits(weights_of(captured_from), weights_of(l_))) << "and so does a replay after them";
  fake::destroy_graph(captured);
  destroy_learning(&captured_from);
}

// While a step is in flight on the caller's stream, nothing on another stream may read or write what it writes.
TEST_F(Learning, OtherStreamsWait) {
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  const Graph stepping = make_graph(context), reading = make_graph(context), passing = make_graph(context);
  EXPECT_OK(synfire_graph_record_optimizer_step(stepping, l_.optimizer, &step));
  const Buffer spikes = make_frame(context, static_cast<uint64_t>(sizes.steps * sizes.batch), SYNFIRE_MEMORY_DEVICE,
                                   SYNFIRE_DTYPE_BITS),
               y = make_frame(context, static_cast<uint64_t>(sizes.steps * sizes.batch * sizes.classes),
                              SYNFIRE_MEMORY_DEVICE);
  synfire_synapse_forward_desc product = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  product.n_steps = sizes.steps;
  product.batch = sizes.batch;
  product.input = spikes;
  product.output = y;
  EXPECT_OK(synfire_graph_record_synapse_forward(reading, l_.second, &product));
  synfire_layer_desc described = SYNFIRE_LAYER_DESC_INIT;
  described.n_steps = sizes.steps;
  described.batch = sizes.batch;
  described.n_neurons = sizes.classes;
  const Layer other = make_layer(context, described);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.synapse = l_.second;
  forward.synapse_input = spikes;
  EXPECT_OK(synfire_graph_record_forward(passing, other, &forward));
  for (const synfire_graph graph : {stepping.get(), reading.get(), passing.get()})
    EXPECT_OK(synfire_graph_instantiate(graph));
  const std::vector<float> before = weights_of(l_);
  constexpr auto wrong = SYNFIRE_ERROR_WRONG_ORDER;

  fake::hold();
  EXPECT_OK(synfire_graph_launch(l_.graph, callers(), nullptr));
  EXPECT_FAILS(wrong, WORDS("SYN-LAYER-SHARED", "stream"), synfire_graph_launch(stepping, nullptr, nullptr));
  EXPECT_FAILS(wrong, WORDS("SYN-SYNAPSE-SHARED", "stream"), synfire_graph_launch(reading, nullptr, nullptr));
  EXPECT_FAILS(wrong, WORDS("SYN-SYNAPSE-SHARED", "stream"), synfire_graph_launch(passing, nullptr, nullptr));
  EXPECT_FAILS(wrong, WORDS("SYN-SYNAPSE-SHARED", "stream"), synfire_synapse_forward(l_.second, &product, nullptr));
  EXPECT_FAILS(wrong, WORDS("SYN-SYNAPSE-SHARED", "stream"), synfire_layer_forward(other, &forward, nullptr));
  EXPECT_FAILS(wrong, WORDS("stream"), synfire_optimizer_step(l_.optimizer, &step, nullptr));
  // On its own stream they come after it.
  for (const synfire_graph graph : {stepping.get(), reading.get(), passing.get()})
    EXPECT_OK(synfire_graph_launch(graph, callers(), nullptr));
  fake::release();
  EXPECT_OK(synfire_context_synchronize(context));
  EXPECT_FALSE(same_bits(weights_of(l_), before));
  uint64_t steps = 0;
  EXPECT_OK(synfire_optimizer_read(l_.optimizer, -1, "step_count", &steps, sizeof steps));
  EXPECT_EQ(steps, 2u) << "what was refused took none";

  // Readers may be in flight beside each other, but no step beside a reader.
  fake::hold();
  EXPECT_OK(synfire_graph_launch(reading, callers(), nullptr));
  EXPECT_FAILS(wrong, WORDS("SYN-SYNAPSE-SHARED", "stream"), synfire_graph_launch(stepping, nullptr, nullptr));
  EXPECT_FAILS(wrong, WORDS("SYN-SYNAPSE-SHARED", "stream"), synfire_graph_launch(l_.graph, nullptr, nullptr));
  EXPECT_OK(synfire_graph_launch(passing, nullptr, nullptr));
  fake::release();
}

// An optimiser of parameters only.
TEST_F(Learning, TwoOptimisersStepsOfTwoStreams) {
  const Layer layer = make_layer(context, describe(Shape{1, 1, 4}, SYNFIRE_DTYPE_F32));
  const Buffer gradient = make_frame(context, 1);
  synfire_optimizer_desc described = SYNFIRE_OPTIMIZER_DESC_INIT;
  described.learning_rate = 1;
  synfire_optimizer made = nullptr;
  ASSERT_OK(synfire_optimizer_create(context, &described, &made));
  const Optimizer optimizer(made);
  EXPECT_OK(synfire_optimizer_add_parameter(optimizer, layer, "tau", gradient, 1, 0, -HUGE_VAL, HUGE_VAL));
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  const Graph one = make_slotted_graph(context, SYNFIRE_SLOTS_SHARED), two = make_graph(context);
  for (const synfire_graph graph : {one.get(), two.get()}) {
    EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &step));
    EXPECT_OK(synfire_graph_instantiate(graph));
  }
  *data_of(gradient) = -1;
  fake::hold();
  // The rate belongs to its launch.
  for (const double rate : {1.0, 2.0, 4.0}) {
    EXPECT_OK(synfire_graph_set_value(one, 0, "learning_rate", rate));
    EXPECT_OK(synfire_graph_launch(one, callers(), nullptr));
  }
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-LAYER-SHARED", "stream"),
               synfire_graph_launch(two, nullptr, nullptr));
  fake::release();
  EXPECT_EQ(get_parameter(layer, "tau")[0], 2 + 1 + 2 + 4);
}

TEST_F(Learning, EverythingIsDestroyedWhileAStepIsInFlight) {
  const fake::Live before = fake::live();
  learning doomed = make_learning(context, sizes, SYNFIRE_SLOTS_SHARED);
  fake::hold();
  for (int i = 0; i < 3; ++i) EXPECT_OK(synfire_graph_launch(doomed.graph, callers(), nullptr));
  destroy_learning(&doomed);
  for (int i = 0; i < 10; ++i) fake::run_one();  // some of the work
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  fake::release();
  EXPECT_OK(synfire_context_synchronize(context));
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  EXPECT_EQ(fake::live(), before);
}

}  // namespace
}  // namespace synfire_test
