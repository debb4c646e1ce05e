// Tapes and the graphs that leave and read them: forwards that replace one another, replays that fail half-way, graphs
// of a backward alone. Which writes make a tape stale: writes_to_x_test.cpp. Tapes of eager calls: tape_test.cpp.
#include "recording_support.hpp"

namespace synfire_test {
namespace {

const Shape shape{40, 2, 9};

class GraphTape : public testing::Test {
 protected:
  Context context = make_context();
  Rig<float> rig{context, describe(shape, SYNFIRE_DTYPE_F32)};
  Inputs<float> inputs = random_inputs<float>(shape, 1);
  Graph graph = make_graph(context);

  void SetUp() override { rig.load(inputs); }

  int32_t record_forward() const {
    const synfire_forward_desc desc = rig.forward_desc();
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
    return last_operation(graph);
  }
  int32_t record_backward() const {
    const synfire_backward_desc desc = rig.backward_desc();
    EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &desc));
    return last_operation(graph);
  }
  // The result of a backward for an X, computed on another layer.
  BackwardOutputs<float> reference(const std::vector<float>& x) const {
    Rig<float> fresh(context, describe(shape, SYNFIRE_DTYPE_F32));
    Inputs<float> of = inputs;
    of.x = x;
    fresh.load(of);
    EXPECT_OK(fresh.run_forward());
    return fresh.backward();
  }
  std::vector<float> another_x() const { return random_inputs<float>(shape, 2).x; }
};

// ---- forwards that are disabled -------------------------------------------------------------------------------------

// If its forward is disabled, a backward reads the tape of that forward's last replay, whatever ran in between.
TEST_F(GraphTape, ATapeOfBeforeIsRead) {
  record_forward();
  const int32_t second = record_forward();
  record_backward();
  EXPECT_OK(synfire_graph_instantiate(graph));
  const BackwardOutputs<float> expected = reference(inputs.x);
  for (const int32_t enabled : {1, 0, 1}) {
    EXPECT_OK(synfire_graph_set_enabled(graph, second, enabled));
    rig.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(rig.backward_outputs(), expected));
  }
}

// But not if X was written since: the tape then belongs to values that are gone.
TEST_F(GraphTape, ATapeOfBeforeIsNotReadWithAnotherX) {
  const Buffer next = make_buffer_of(context, another_x());
  record_forward();
  record_copy(graph, next, rig.x);
  const int32_t second = record_forward();
  record_backward();
  EXPECT_OK(synfire_graph_instantiate(graph));
  rig.poison();
  replay(graph);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(another_x())));
  EXPECT_OK(synfire_graph_set_enabled(graph, second, 0));
  upload(rig.x, inputs.x);
  rig.poison();
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN"), synfire_graph_launch(graph, nullptr, nullptr));
  EXPECT_TRUE(rig.untouched());
  EXPECT_TRUE(same_bits(download<float>(rig.x, shape.sequence()), inputs.x)) << "nothing ran";
  EXPECT_OK(synfire_graph_set_enabled(graph, second, 1));
  replay(graph);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(another_x())));
}

// A forward of another X, or one with another tape mode, has a tape of its own and leaves this one alone.
TEST_F(GraphTape, AForwardOfAnotherXOrModeHasATapeOfItsOwn) {
  const Buffer other = make_buffer_of(context, another_x());
  for (const bool mode : {false, true}) {
    SCOPED_TRACE(mode);
    graph = make_graph(context);
    synfire_forward_desc first = rig.forward_desc();
    if (mode)
      first.tape = SYNFIRE_TAPE_STORE;
    else
      first.x = other;
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &first));
    const int32_t second = record_forward();
    record_backward();
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    EXPECT_OK(synfire_graph_set_enabled(graph, second, 0));
    rig.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(inputs.x)));
  }
}

// ---- replays that fail ----------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL answer_of(void* user, const synfire_native_call*) {
  return *static_cast<const synfire_status*>(user);
}

// A replay that fails half-way counts as having written all its outputs.
TEST_F(GraphTape, AFailedReplayHasWrittenX) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  const Buffer next = make_buffer_of(context, another_x());
  synfire_status answer = SYNFIRE_OK;
  for (const bool before : {false, true}) {
    SCOPED_TRACE(testing::Message() << "the node that fails is in front of the copy: " << before);
    graph = make_graph(context);
    if (!before) record_copy(graph, next, rig.x);
    synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
    native.callback = answer_of;
    native.user = &answer;
    EXPECT_OK(synfire_graph_record_native(graph, &native));
    if (before) record_copy(graph, next, rig.x);
    EXPECT_OK(synfire_graph_instantiate(graph));
    // This holds for a first launch too.
    for (int time = 0; time < 2; ++time) {
      upload(rig.x, inputs.x);
      EXPECT_OK(rig.run_forward());
      EXPECT_OK(rig.run_backward());
      answer = -5;
      EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("SYN-GRAPH-NATIVE"), synfire_graph_launch(graph, nullptr, nullptr));
      EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN"), rig.run_backward());
      answer = SYNFIRE_OK;
      replay(graph);
      EXPECT_OK(rig.run_forward());
      rig.poison();
      EXPECT_OK(rig.run_backward());
      EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(another_x())));
    }
  }
}

// ---- graphs of a backward alone -------------------------------------------------------------------------------------

TEST_F(GraphTape, ABackwardAloneKeepsItsX) {
  EXPECT_OK(rig.run_forward());
  const BackwardOutputs<float> expected = reference(inputs.x);
  record_backward();
  const synfire_buffer x = rig.x.get();
  uint64_t kept = 0, without = 0;
  EXPECT_OK(synfire_context_reclaim(context, &without));
  // From here on the layer's own tape belongs to another X; only the graph needs this one.
  const Buffer other = make_buffer_of(context, another_x());
  synfire_forward_desc forward = rig.forward_desc();
  forward.x = other;
  EXPECT_OK(synfire_layer_forward(rig.layer, &forward, nullptr));
  rig.x.reset();
  EXPECT_OK(synfire_context_reclaim(context, &kept));
  EXPECT_EQ(kept, without + 1) << "x was freed although a recorded backward reads it";
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-INPUT"), synfire_graph_launch(graph, nullptr, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("SYN-HANDLE-STALE", "old_buffer"),
               synfire_graph_rebind(graph, x, other));
  graph.reset();
  EXPECT_OK(synfire_context_reclaim(context, &kept));
  EXPECT_EQ(kept, without);
}

// X is one of the buffers of such a graph and may be rebound. The backward then belongs to forwards of the new X.
TEST_F(GraphTape, ABackwardAloneTakesAReboundX) {
  const Buffer other = make_buffer_of(context, another_x());
  synfire_forward_desc of_other = rig.forward_desc();
  of_other.x = other;
  for (const bool instantiated : {false, true}) {
    SCOPED_TRACE(testing::Message() << "instantiated before it is rebound: " << instantiated);
    EXPECT_OK(rig.run_forward());
    graph = make_graph(context);
    record_backward();
    if (instantiated) {
      EXPECT_OK(synfire_graph_instantiate(graph));
      replay(graph);
    }
    EXPECT_OK(synfire_graph_rebind(graph, rig.x, other));
    if (!instantiated) {
      EXPECT_OK(synfire_graph_instantiate(graph));
    }
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-INPUT", "x"), synfire_graph_launch(graph, nullptr, nullptr));
    EXPECT_OK(synfire_layer_forward(rig.layer, &of_other, nullptr));
    rig.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(rig.backward_outputs(), reference(another_x())));
    // Writes to the new one count, writes to the old one do not.
    EXPECT_OK(synfire_buffer_mark_written(rig.x));
    replay(graph);
    EXPECT_OK(synfire_buffer_mark_written(other));
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN", "x"),
                 synfire_graph_launch(graph, nullptr, nullptr));
  }
}

// Rebinding may make X of a forward a buffer that a later operation writes.
TEST_F(GraphTape, IsStaleWhenXIsReboundToWhatALaterOperationWrites) {
  const Buffer other = make_buffer_of(context, another_x());
  for (const bool instantiated : {false, true}) {
    SCOPED_TRACE(testing::Message() << "instantiated before it is rebound: " << instantiated);
    graph = make_graph(context);
    record_forward();
    synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
    fill.buffer = other;
    EXPECT_OK(synfire_graph_record_fill(graph, &fill));
    if (instantiated) {
      EXPECT_OK(synfire_graph_instantiate(graph));
      replay(graph);
    }
    EXPECT_OK(synfire_graph_rebind(graph, rig.x, other));
    if (!instantiated) {
      EXPECT_OK(synfire_graph_instantiate(graph));
    }
    replay(graph);
    const synfire_backward_desc backward = rig.backward_desc();
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN", "x"),
                 synfire_layer_backward(rig.layer, &backward, nullptr));
    EXPECT_OK(synfire_graph_rebind(graph, other, rig.x));
    // Both are one buffer from then on, for the fill too.
    replay(graph);
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN", "x"),
                 synfire_layer_backward(rig.layer, &backward, nullptr));
    rig.load(inputs);
  }
}

// The same with a backward in the graph, which would compute with what was written in between.
TEST_F(GraphTape, ABackwardInTheGraphIsRefusedWhenItsXIsReboundToWhatIsWrittenBeforeIt) {
  const BackwardOutputs<float> expected = reference(another_x());
  for (const bool instantiated : {false, true}) {
    SCOPED_TRACE(testing::Message() << "instantiated before it is rebound: " << instantiated);
    const Buffer other = make_buffer_of(context, another_x()), third = make_buffer_of(context, another_x());
    graph = make_graph(context);
    record_forward();
    synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
    fill.buffer = other;
    EXPECT_OK(synfire_graph_record_fill(graph, &fill));
    const int32_t writer = last_operation(graph);
    record_backward();
    if (instantiated) {
      EXPECT_OK(synfire_graph_instantiate(graph));
      replay(graph);
    }
    EXPECT_OK(synfire_graph_rebind(graph, rig.x, other));
    if (!instantiated) {
      EXPECT_OK(synfire_graph_instantiate(graph));
    }
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN", "x"),
                 synfire_graph_launch(graph, nullptr, nullptr));
    // It is not written while that operation is disabled.
    EXPECT_OK(synfire_graph_set_enabled(graph, writer, 0));
    EXPECT_OK(synfire_graph_rebind(graph, other, third));
    rig.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(rig.backward_outputs(), expected));
    EXPECT_OK(synfire_graph_set_enabled(graph, writer, 1));
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN", "x"),
                 synfire_graph_launch(graph, nullptr, nullptr));
  }
}

// A destroyed graph may have been rebound to another X for its next forward. The tape stays as it was left: backwards
// that use it run and can be recorded while the layer keeps its X.
TEST_F(GraphTape, ATapeOutlivesTheXThatItsGraphWasBoundToLast) {
  const BackwardOutputs<float> expected = reference(inputs.x);
  {
    Buffer later = make_buffer_of(context, another_x()), x = make_buffer_of(context, inputs.x);
    synfire_forward_desc desc = rig.forward_desc();
    desc.x = later;
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
    EXPECT_OK(synfire_graph_rebind(graph, later, x));
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    EXPECT_OK(synfire_graph_rebind(graph, x, later));
  }
  graph = make_graph(context);
  EXPECT_OK(synfire_context_reclaim(context, nullptr));
  EXPECT_TRUE(same_bits(rig.backward(), expected));
  record_backward();
  EXPECT_OK(synfire_graph_instantiate(graph));
  rig.poison();
  replay(graph);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), expected));
}

}  // namespace
}  // namespace synfire_test
