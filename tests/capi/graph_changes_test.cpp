// Changes between replays without recording again: which operations run, and which buffers they use. Tests
// that need replays in flight are in tests/fault; parameters are in graph_test.cpp.
#include "recording_support.hpp"

#include <cmath>

namespace synfire_test {
namespace {

// x -> copy -> middle -> copy -> out, and a separate copy from x to side.
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
  // Two changes before one launch.
  EXPECT_OK(synfire_graph_set_enabled(graph, 2, 1));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  run(3);
  EXPECT_EQ(data_of(out)[5], 2) << "the middle still holds the previous frame";
  EXPECT_EQ(data_of(side)[5], 3);
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 1));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 1));  // repeated: no change
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
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("operation", "3"),
                 synfire_graph_set_enabled(graph, operation, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("enabled", "2"), synfire_graph_set_enabled(graph, 0, 2));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_set_enabled(nullptr, 0, 1));
}

// Forward and backward of one layer with gradients of a parameter: several entries in the list, one operation.
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
  // The forward now has older parameters, or another x.
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
  // Bind back, with an operation disabled: it stays disabled.
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

// Buffers, layers and masks that a graph is bound to may be destroyed before it and between its replays: it keeps what
// it needs.
TEST_F(Changes, EverythingThatIsBoundMayBeDestroyed) {
  Layer layer = make_layer(context, describe(Shape{2, 1, 32}, SYNFIRE_DTYPE_F32));
  Layer twin = make_layer(context, describe(Shape{2, 1, 32}, SYNFIRE_DTYPE_F32));
  Buffer mask = make_frame(context, 1, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U8), row = make_frame(context, 32);
  Buffer bytes = make_frame(context, 4096, SYNFIRE_MEMORY_DEVICE, SYNFIRE_DTYPE_U8), number = make_frame(context, 1);
  EXPECT_OK(synfire_buffer_fill(mask, 0));
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.v_final = row;
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  record_update(graph, layer, "v_rest", number, 1);
  const synfire_state_desc masked = rows_desc(0, 0, mask), snapshot = rows_desc(0, 0, bytes),
                           read = rows_desc(0, 0, row);
  EXPECT_OK(synfire_graph_record_reset_rows(graph, layer, &masked));
  EXPECT_OK(synfire_graph_record_snapshot(graph, layer, &snapshot));
  EXPECT_OK(synfire_graph_record_restore(graph, twin, &snapshot));
  EXPECT_OK(synfire_graph_record_read_rows(graph, twin, &read));
  for (Buffer* buffer : {&mask, &bytes, &number, &middle, &side}) buffer->reset();
  EXPECT_OK(synfire_context_reclaim(context, nullptr));
  EXPECT_OK(synfire_graph_instantiate(graph));
  run(0.5);
  const float first = data_of(row)[5];
  EXPECT_EQ(first, 0.125f) << "through the snapshot";
  for (Layer* handle : {&layer, &twin}) handle->reset();
  x.reset();
  EXPECT_OK(synfire_context_reclaim(context, nullptr));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  wait(graph, launch(graph));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 1));
  wait(graph, launch(graph));
  EXPECT_NE(data_of(row)[5], first) << "the state goes on";
  EXPECT_EQ(data_of(out)[5], 0.5f);
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
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("new_buffer", "old_buffer", "65", "64"),
               synfire_graph_rebind(graph, x, longer));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("device", "pinned"), synfire_graph_rebind(graph, x, device));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("u32", "f32"), synfire_graph_rebind(graph, x, whole));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("f64", "f32"), synfire_graph_rebind(graph, x, doubles));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("row_pitch", "8"), synfire_graph_rebind(graph, x, pitched));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("old_buffer"), synfire_graph_rebind(graph, stranger, x));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("new_buffer", "overlaps"), synfire_graph_rebind(graph, x, side));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("new_buffer"), synfire_graph_rebind(graph, x, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("old_buffer"), synfire_graph_rebind(graph, nullptr, x));
  const Context elsewhere = make_context();
  const Buffer foreign = make_frame(elsewhere, n);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("new_buffer", "context"), synfire_graph_rebind(graph, x, foreign));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("old_buffer", "context"), synfire_graph_rebind(graph, foreign, x));
  Buffer gone = make_frame(context, n);
  const synfire_buffer stale = gone;
  gone.reset();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("new_buffer"), synfire_graph_rebind(graph, x, stale));
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
  // The tape belongs to the new x, and a backward outside the graph reads that one.
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

// ---- Together -------------------------------------------------------------------------------------------------------

// Everything that may change, between launches without waiting: each replay has its own values. With replays held in
// flight: tests/fault/updates_test.cpp.
TEST(ChangesTogether, BelongToOneLaunch) {
  const Context context = make_context();
  constexpr uint64_t n_launches = 4;
  const Shape shape{1, 2, 32};
  const uint64_t n = shape.sequence();
  const Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  const Buffer x = make_frame(context, n), v_init = make_frame(context, n), h = make_frame(context, n),
               grad_s = make_frame(context, n);
  const Buffer grad_x = make_frame(context, n), slope = make_frame(context, 1), filled = make_frame(context, 4);
  const Buffer from = make_frame(context, 4), to = make_frame(context, 4);
  EXPECT_OK(synfire_buffer_fill(x, 1));
  EXPECT_OK(synfire_buffer_fill(grad_s, 1));
  EXPECT_OK(synfire_buffer_fill(slope, -1));
  EXPECT_OK(synfire_buffer_fill(from, 5));
  for (const Buffer* buffer : {&h, &grad_x, &to}) EXPECT_OK(synfire_buffer_fill(*buffer, -99));
  const Graph graph = make_slotted_graph(context, n_launches);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.v_init = v_init;
  forward.h_seq = h;
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = grad_s;
  backward.grad_x_seq = grad_x;
  EXPECT_OK(synfire_graph_record_backward(graph, layer, &backward));
  const int32_t update = record_update(graph, layer, "v_rest", slope, 0), fill = record_fill(graph, filled, 0);
  record_copy(graph, from, to);
  const int32_t copy = last_operation(graph);
  EXPECT_OK(synfire_graph_instantiate(graph));
  const double taus[n_launches] = {2, 4, 8, 2.5}, alphas[n_launches] = {4, 1, 2, 3},
               rates[n_launches] = {0.5, 0, 0.25, 0};
  const int64_t active[n_launches] = {2, 1, 2, 0};
  double rest = 0, rests[n_launches];
  for (uint64_t i = 0; i < n_launches; ++i) {
    const std::vector<double> tau(32, taus[i]);
    const synfire_parameter_values list[] = {{"tau", tau.data(), i % 2 == 0 ? uint64_t{1} : uint64_t{32}},
                                             {"alpha", &alphas[i], 1}};
    EXPECT_OK(synfire_layer_set_parameters(layer, list, 2));
    EXPECT_OK(synfire_layer_set_n_active(layer, active[i]));
    EXPECT_OK(synfire_graph_set_value(graph, update, "learning_rate", rates[i]));
    EXPECT_OK(synfire_graph_set_value(graph, fill, "value", static_cast<double>(10 * i)));
    EXPECT_OK(synfire_graph_set_enabled(graph, copy, i % 2));
    EXPECT_EQ(launch(graph), i + 1);
    rests[i] = rest;
    rest += rates[i];
  }
  wait(graph, n_launches);
  for (uint64_t i = 0; i < n_launches; ++i) {
    SCOPED_TRACE(testing::Message() << "ticket " << i + 1);
    for (const int64_t row : {0, 1}) {
      const auto at = static_cast<size_t>(32 * row + 7);
      const double potential = (1 + rests[i]) / taus[i], s = 1 / (1 + std::exp(-alphas[i] * (potential - 1)));
      const bool runs = row < active[i];
      EXPECT_FLOAT_EQ(slot_of(graph, i + 1, h)[at], runs ? static_cast<float>(potential) : -99);
      EXPECT_NEAR(slot_of(graph, i + 1, grad_x)[at], runs ? alphas[i] * s * (1 - s) / taus[i] : -99, 1e-5);
    }
    EXPECT_EQ(slot_of(graph, i + 1, filled)[3], static_cast<float>(10 * i));
    EXPECT_EQ(slot_of(graph, i + 1, to)[3], i % 2 == 1 ? 5 : -99);
  }
  EXPECT_EQ(get_parameter(layer, "v_rest")[0], rest);
}

// Values per neuron that are set between launches without waiting, more often than there can be replays in flight.
// Each replay has the bits of an eager call with its values. Also with gradients.
TEST(ChangesTogether, ValuesPerNeuronOfManyLaunches) {
  const Context context = make_context();
  const Shape shape{3, 1, 701};
  const uint64_t n = shape.sequence(), n_neurons = 701;
  constexpr uint64_t n_slots = 24;
  const Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32)),
              twin = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  const auto frames = [&] {
    std::vector<Buffer> made;
    for (int i = 0; i < 5; ++i) made.push_back(make_frame(context, i == 4 ? n_neurons : n));
    return made;
  };
  const std::vector<Buffer> ours = frames(), theirs = frames();  // x, h, grad_s, grad_x, grad_tau
  const auto describe_passes = [](const std::vector<Buffer>& of, synfire_forward_desc& forward,
                                  synfire_backward_desc& backward, synfire_parameter_gradient& gradient) {
    gradient = {"tau", of[4]};
    forward.x = of[0];
    forward.h_seq = of[1];
    backward.grad_spike_seq = of[2];
    backward.grad_x_seq = of[3];
    backward.parameter_gradients = &gradient;
    backward.n_parameter_gradients = 1;
  };
  Random random(7);
  const std::vector<float> x = random.values<float>(n, -1, 4), grad_s = random.values<float>(n, -1, 1);
  for (const std::vector<Buffer>* of : {&ours, &theirs}) {
    std::memcpy(data_of((*of)[0]), x.data(), n * sizeof(float));
    std::memcpy(data_of((*of)[2]), grad_s.data(), n * sizeof(float));
  }
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT, twin_forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT, twin_backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_parameter_gradient gradient, twin_gradient;
  describe_passes(ours, forward, backward, gradient);
  describe_passes(theirs, twin_forward, twin_backward, twin_gradient);
  const Graph graph = make_slotted_graph(context, n_slots);
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  EXPECT_OK(synfire_graph_record_backward(graph, layer, &backward));
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (uint64_t round = 0; round < 3; ++round) {
    std::vector<std::vector<double>> taus, thresholds;
    for (uint64_t i = 0; i < n_slots; ++i) {
      taus.push_back(random.values<double>(n_neurons, 1, 9));
      thresholds.push_back(random.values<double>(n_neurons, 0.1, 2));
      const synfire_parameter_values list[] = {{"tau", taus[i].data(), n_neurons},
                                               {"v_threshold", thresholds[i].data(), i % 3 == 1 ? 1 : n_neurons}};
      EXPECT_OK(synfire_layer_set_parameters(layer, list, 2));
      EXPECT_EQ(launch(graph), round * n_slots + i + 1);
    }
    wait(graph, (round + 1) * n_slots);
    for (uint64_t i = 0; i < n_slots; ++i) {
      SCOPED_TRACE(testing::Message() << "launch " << round * n_slots + i + 1);
      const synfire_parameter_values list[] = {{"tau", taus[i].data(), n_neurons},
                                               {"v_threshold", thresholds[i].data(), i % 3 == 1 ? 1 : n_neurons}};
      EXPECT_OK(synfire_layer_set_parameters(twin, list, 2));
      EXPECT_OK(synfire_layer_forward(twin, &twin_forward, nullptr));
      EXPECT_OK(synfire_layer_backward(twin, &twin_backward, nullptr));
      EXPECT_OK(synfire_context_synchronize(context));
      for (const size_t which : {size_t{1}, size_t{3}, size_t{4}})
        EXPECT_EQ(std::memcmp(slot_of(graph, round * n_slots + i + 1, ours[which]), data_of(theirs[which]),
                              (which == 4 ? n_neurons : n) * sizeof(float)),
                  0)
            << "array " << which;
    }
  }
}

}  // namespace
}  // namespace synfire_test
