// What may change between replays without recording again: which operations run, and which buffers they use. What needs
// replays in flight is in tests/fault; parameters are in graph_test.cpp.
#include "graph_support.hpp"

namespace synfire_test {
namespace {

// x -> copy -> middle -> copy -> out, and a copy of its own from x to side.
class Changes : public testing::Test {
 protected:
  static constexpr uint64_t n = 64;
  Context context = make_context();
  Buffer x = make_frame(context, n), middle = make_frame(context, n, SYNFIRE_MEMORY_DEVICE);
  Buffer out = make_frame(context, n), side = make_frame(context, n);
  Graph graph = make_graph(context);

  void SetUp() override {
    record_copy(graph, x, middle);
    record_copy(graph, middle, out);
    record_copy(graph, x, side);
  }
  void run(float value) {
    data_of(x)[5] = value;
    wait(graph, launch(graph));
  }
};

// ---- Enabling -------------------------------------------------------------------------------------------------------

TEST_F(Changes, ADisabledOperationIsLeftOutFromTheNextLaunchOn) {
  EXPECT_OK(synfire_graph_instantiate(graph));
  run(1);
  EXPECT_EQ(data_of(out)[5], 1);
  EXPECT_EQ(data_of(side)[5], 1);
  EXPECT_OK(synfire_graph_set_enabled(graph, 2, 0));
  run(2);
  EXPECT_EQ(data_of(out)[5], 2);
  EXPECT_EQ(data_of(side)[5], 1) << "it keeps what it held";
  // Two changes, one boundary.
  EXPECT_OK(synfire_graph_set_enabled(graph, 2, 1));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  run(3);
  EXPECT_EQ(data_of(out)[5], 2) << "the middle still holds the frame before";
  EXPECT_EQ(data_of(side)[5], 3);
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 1));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 1));  // again: no change
  run(4);
  EXPECT_EQ(data_of(out)[5], 4);
}

TEST_F(Changes, BeforeInstantiatingToo) {
  EXPECT_OK(synfire_graph_set_enabled(graph, 2, 0));
  EXPECT_OK(synfire_graph_instantiate(graph));
  run(1);
  EXPECT_EQ(data_of(out)[5], 1);
  EXPECT_EQ(data_of(side)[5], 0);
  EXPECT_OK(synfire_graph_set_enabled(graph, 2, 1));
  run(2);
  EXPECT_EQ(data_of(side)[5], 2);
}

TEST_F(Changes, OperationsThatAreNotThereAreRefused) {
  for (const int32_t operation : {-1, 3, 1000})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("operation", "3"), synfire_graph_set_enabled(graph, operation, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("enabled", "2"), synfire_graph_set_enabled(graph, 0, 2));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_set_enabled(nullptr, 0, 1));
}

// Forward and backward of one layer with gradients of a parameter: several entries of the list, one operation.
class ChangesOfTapes : public testing::Test {
 protected:
  Context context = make_context();
  Shape shape{5, 2, 33};
  Rig<float> rig{context, describe(shape, SYNFIRE_DTYPE_F32)};
  Buffer grad_tau = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  Graph graph = make_graph(context);

  void SetUp() override {
    rig.load(random_inputs<float>(shape, 3));
    const synfire_forward_desc forward = rig.forward_desc({});
    synfire_backward_desc backward = rig.backward_desc();
    synfire_parameter_gradient gradient = {"tau", grad_tau};
    backward.parameter_gradients = &gradient;
    backward.n_parameter_gradients = 1;
    ASSERT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
    ASSERT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
    ASSERT_OK(synfire_graph_instantiate(graph));
  }
};

TEST_F(ChangesOfTapes, ABackwardIsOneOperationWithItsSums) {
  replay(graph);
  const std::vector<float> gradient = download<float>(grad_tau, 1);
  EXPECT_NE(gradient[0], 0);
  EXPECT_OK(synfire_graph_set_enabled(graph, 1, 0));
  EXPECT_OK(synfire_buffer_fill(grad_tau, 99));
  rig.poison();
  replay(graph);
  EXPECT_EQ(download<float>(grad_tau, 1)[0], 99);
  EXPECT_TRUE(all_are(rig.backward_outputs().grad_x_seq, std::numeric_limits<float>::quiet_NaN()));
  EXPECT_OK(synfire_graph_set_enabled(graph, 1, 1));
  replay(graph);
  EXPECT_TRUE(same_bits(download<float>(grad_tau, 1), gradient));
}

TEST_F(ChangesOfTapes, ABackwardWithoutItsForwardReadsTheTapeOfAnEarlierReplay) {
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  uint64_t ticket = 77;
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("tape"), synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 1));
  replay(graph);
  const BackwardOutputs<float> expected = rig.backward_outputs();
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  rig.poison();
  replay(graph);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), expected));
  // Its forward is of older parameters now, or of another x.
  set_parameter(rig.layer, "tau", {3});
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("parameter"), synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 1));
  replay(graph);
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  EXPECT_OK(synfire_buffer_mark_written(rig.x));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("x"), synfire_graph_launch(graph, nullptr, &ticket));
}

// ---- Re-binding -----------------------------------------------------------------------------------------------------

TEST_F(Changes, ReboundBuffersAreReadAndWrittenFromTheNextLaunchOn) {
  EXPECT_OK(synfire_graph_instantiate(graph));
  run(1);
  const Buffer new_x = make_frame(context, n), new_side = make_frame(context, n);
  EXPECT_OK(synfire_graph_rebind(graph, x, new_x));
  EXPECT_OK(synfire_graph_rebind(graph, side, new_side));
  data_of(new_x)[5] = 2;
  const uint64_t ticket = launch(graph);
  EXPECT_EQ(ticket, 2u) << "tickets go on";
  wait(graph, ticket);
  EXPECT_EQ(data_of(out)[5], 2);
  EXPECT_EQ(data_of(new_side)[5], 2);
  EXPECT_EQ(data_of(side)[5], 1) << "the old buffer is left alone";
  EXPECT_OK(synfire_graph_poll(graph, 1));
  // And back, with an operation disabled: it stays so.
  EXPECT_OK(synfire_graph_set_enabled(graph, 1, 0));
  EXPECT_OK(synfire_graph_rebind(graph, new_x, x));
  run(3);
  EXPECT_EQ(data_of(out)[5], 2);
  EXPECT_EQ(data_of(new_side)[5], 3);
}

TEST_F(Changes, BeforeInstantiatingTheNewBufferIsRecorded) {
  const Buffer new_x = make_frame(context, n);
  EXPECT_OK(synfire_graph_rebind(graph, x, new_x));
  EXPECT_OK(synfire_graph_instantiate(graph));
  data_of(new_x)[5] = 4;
  run(1);
  EXPECT_EQ(data_of(out)[5], 4);
}

TEST_F(Changes, TheOldBufferMayBeDestroyedAndTheNewOneToo) {
  EXPECT_OK(synfire_graph_instantiate(graph));
  Buffer new_x = make_frame(context, n);
  data_of(new_x)[5] = 8;
  EXPECT_OK(synfire_graph_rebind(graph, x, new_x));
  x.reset();
  new_x.reset();
  EXPECT_OK(synfire_context_reclaim(context, nullptr));
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(out)[5], 8);
}

TEST_F(Changes, OtherShapesAreRefusedAndNothingChanges) {
  EXPECT_OK(synfire_graph_instantiate(graph));
  const Buffer longer = make_frame(context, n + 1), device = make_frame(context, n, SYNFIRE_MEMORY_DEVICE);
  const Buffer whole = make_frame(context, n, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U32);
  const Buffer doubles = make_frame(context, n / 2, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_F64);
  const Buffer stranger = make_frame(context, n);
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.n_elements = n;
  desc.row_pitch = 8;
  synfire_buffer handle = nullptr;
  EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
  const Buffer pitched(handle);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("new_buffer", "old_buffer", "65", "64"), synfire_graph_rebind(graph, x, longer));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("device", "pinned"), synfire_graph_rebind(graph, x, device));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("u32", "f32"), synfire_graph_rebind(graph, x, whole));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("f64", "f32"), synfire_graph_rebind(graph, x, doubles));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("row_pitch", "8"), synfire_graph_rebind(graph, x, pitched));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("old_buffer"), synfire_graph_rebind(graph, stranger, x));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("new_buffer", "overlaps"), synfire_graph_rebind(graph, x, side));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("new_buffer"), synfire_graph_rebind(graph, x, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("old_buffer"), synfire_graph_rebind(graph, nullptr, x));
  EXPECT_OK(synfire_graph_rebind(graph, x, x));
  run(6);
  EXPECT_EQ(data_of(out)[5], 6);
}

TEST_F(ChangesOfTapes, AReboundXTakesItsTapeAlong) {
  replay(graph);
  const BackwardOutputs<float> expected = rig.backward_outputs();
  const Buffer other = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
  upload(other, download<float>(rig.x, shape.sequence()));
  EXPECT_OK(synfire_buffer_fill(rig.x, -50));
  EXPECT_OK(synfire_graph_rebind(graph, rig.x, other));
  for (int i = 0; i < 2; ++i) {
    rig.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(rig.backward_outputs(), expected));
  }
  // The tape is of the new x: a backward outside the graph reads that one.
  rig.poison();
  EXPECT_OK(rig.run_backward());
  EXPECT_TRUE(same_bits(rig.backward_outputs(), expected));
  EXPECT_OK(synfire_buffer_fill(other, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("x"), rig.run_backward());
}

TEST_F(Changes, SlotsKeepWhatTheyHoldOfOtherBuffers) {
  const Graph slotted = make_slotted_graph(context, 2);
  record_copy(slotted, x, out);
  EXPECT_OK(synfire_graph_instantiate(slotted));
  for (int i = 1; i <= 2; ++i) {
    slot_of(slotted, 0, x)[5] = static_cast<float>(i);
    wait(slotted, launch(slotted));
  }
  const Buffer new_x = make_frame(context, n);
  EXPECT_OK(synfire_graph_rebind(slotted, x, new_x));
  EXPECT_EQ(slot_of(slotted, 1, out)[5], 1);
  EXPECT_EQ(slot_of(slotted, 2, out)[5], 2);
  void* data = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("buffer"), synfire_graph_get_slot(slotted, 0, x, &data, nullptr));
  for (int i = 3; i <= 4; ++i) {
    slot_of(slotted, 0, new_x)[5] = static_cast<float>(i);
    const uint64_t ticket = launch(slotted);
    wait(slotted, ticket);
    EXPECT_EQ(slot_of(slotted, ticket, out)[5], static_cast<float>(i));
  }
}

}  // namespace
}  // namespace synfire_test
