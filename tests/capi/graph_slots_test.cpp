// Slots: each replay in flight has its own frames, the host is told which memory it may touch, and misuse is refused.
// Tests that need replays held in flight are in tests/fault.
#include "graph_support.hpp"

#include <set>

namespace synfire_test {
namespace {

// A pinned window into a frame: part of the frame's memory, with a handle of its own.
Buffer pinned_window(synfire_context context, float* data, uint64_t n_elements,
                     int32_t memory = SYNFIRE_MEMORY_PINNED) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory;
  desc.n_elements = n_elements;
  desc.data = data;
  synfire_buffer handle = nullptr;
  EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
  return Buffer(handle);
}

class Slots : public testing::Test {
 protected:
  static constexpr uint64_t n = 96;  // T = 3, N = 32
  Context context = make_context();
  Layer layer = make_layer(context, describe(Shape{3, 1, 32}, SYNFIRE_DTYPE_F32));
  Buffer x = make_frame(context, n), v_seq = make_frame(context, n);

  Graph record(uint32_t n_slots) {
    Graph graph = make_slotted_graph(context, n_slots);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.v_seq = v_seq;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  }
};

TEST_F(Slots, ReplaysReadAndWriteTheirOwn) {
  // The same layer without slots, one frame after the other.
  const Layer twin = make_layer(context, describe(Shape{3, 1, 32}, SYNFIRE_DTYPE_F32));
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  const Buffer twin_x = make_frame(context, n), twin_v = make_frame(context, n);
  forward.x = twin_x;
  forward.v_seq = twin_v;
  const Graph graph = record(3);
  Random random(1);
  for (int frame = 0; frame < 10; ++frame) {
    const std::vector<float> input = random.values<float>(n, -1, 2);
    std::memcpy(data_of(twin_x), input.data(), n * sizeof(float));
    EXPECT_OK(synfire_layer_forward(twin, &forward, nullptr));
    EXPECT_OK(synfire_context_synchronize(context));
    float* const next = slot_of(graph, 0, x);
    ASSERT_NE(next, nullptr);
    std::memcpy(next, input.data(), n * sizeof(float));
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    EXPECT_EQ(slot_of(graph, ticket, x), next);
    EXPECT_EQ(std::memcmp(slot_of(graph, ticket, v_seq), data_of(twin_v), n * sizeof(float)), 0) << "frame " << frame;
  }
}

TEST_F(Slots, TicketsTakeTheSlotsInTurn) {
  const Graph graph = record(3);
  std::set<float*> places;
  for (uint64_t ticket = 1; ticket <= 3; ++ticket) {
    float* const next = slot_of(graph, 0, x);
    EXPECT_TRUE(places.insert(next).second);
    EXPECT_EQ(launch(graph), ticket);
    wait(graph, ticket);
    EXPECT_EQ(slot_of(graph, ticket, x), next);
  }
  EXPECT_EQ(places.count(data_of(x)), 1u) << "the first slot is the buffer's own memory";
  EXPECT_EQ(slot_of(graph, 0, x), slot_of(graph, 1, x));
  EXPECT_EQ(slot_of(graph, 1, x), data_of(x));
  wait(graph, launch(graph));  // uses the slot of ticket 1
  void* data = this;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket", "1", "4"),
               synfire_graph_get_slot(graph, 1, x, &data, nullptr));
  EXPECT_NE(slot_of(graph, 2, x), nullptr);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket", "5"),
               synfire_graph_get_slot(graph, 5, x, &data, nullptr));
}

// The contents of a buffer at instantiation are in every slot, so constants need to be written only once.
TEST_F(Slots, BeginWithWhatTheBufferHolds) {
  for (uint64_t i = 0; i < n; ++i) data_of(x)[i] = static_cast<float>(i);
  const Graph graph = record(4);
  for (int frame = 0; frame < 4; ++frame) {
    EXPECT_EQ(slot_of(graph, 0, x)[17], 17.0f);
    wait(graph, launch(graph));
  }
}

TEST_F(Slots, OverlappingBuffersStayOverlapping) {
  const Buffer window = pinned_window(context, data_of(x) + 32, 32);
  const Buffer out = make_frame(context, 32);
  const Graph graph = make_slotted_graph(context, 2);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.v_seq = v_seq;
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  record_copy(graph, window, out);
  EXPECT_OK(synfire_graph_instantiate(graph));
  wait(graph, launch(graph));
  EXPECT_EQ(slot_of(graph, 0, window), slot_of(graph, 0, x) + 32);
  slot_of(graph, 0, x)[33] = 7;
  const uint64_t ticket = launch(graph);
  wait(graph, ticket);
  EXPECT_EQ(slot_of(graph, ticket, out)[1], 7.0f);
}

// However windows overlap or end within a frame, a slot copies the whole frame.
TEST_F(Slots, WindowsInsideAFrameLeaveItWhole) {
  for (uint64_t i = 0; i < n; ++i) data_of(x)[i] = static_cast<float>(i);
  const Buffer front = pinned_window(context, data_of(x), 8), inner = pinned_window(context, data_of(x) + 16, 8),
               innermost = pinned_window(context, data_of(x) + 18, 2),
               back = pinned_window(context, data_of(x) + 64, 32);
  const Buffer out = make_frame(context, n), out_back = make_frame(context, 32), out_small = make_frame(context, 8),
               out_tiny = make_frame(context, 2);
  const Graph graph = make_slotted_graph(context, 3);
  record_copy(graph, inner, out_small);
  record_copy(graph, x, out);
  record_copy(graph, innermost, out_tiny);
  record_copy(graph, back, out_back);
  record_copy(graph, front, out_small);
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (uint64_t launched = 1; launched <= 6; ++launched) {
    SCOPED_TRACE(launched);
    float* const own = slot_of(graph, 0, x);
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(slot_of(graph, 0, front), own);
    EXPECT_EQ(slot_of(graph, 0, inner), own + 16);
    EXPECT_EQ(slot_of(graph, 0, innermost), own + 18);
    EXPECT_EQ(slot_of(graph, 0, back), own + 64);
    for (uint64_t i = 0; i < n && launched <= 3; ++i)
      EXPECT_EQ(own[i], static_cast<float>(i)) << "not copied when instantiated";
    for (uint64_t i = 0; i < n; ++i) own[i] = static_cast<float>(1000 * launched + i);
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    for (uint64_t i = 0; i < n; ++i)
      EXPECT_EQ(slot_of(graph, ticket, out)[i], static_cast<float>(1000 * launched + i)) << i;
    EXPECT_EQ(slot_of(graph, ticket, out_back)[31], static_cast<float>(1000 * launched + 95));
    EXPECT_EQ(slot_of(graph, ticket, out_tiny)[1], static_cast<float>(1000 * launched + 19));
  }
}

// Windows that partly overlap form one range of memory, in every slot.
TEST_F(Slots, WindowsThatOverlapInPartStayTogether) {
  const Buffer all = make_frame(context, 128), out = make_frame(context, 64);
  for (uint64_t i = 0; i < 128; ++i) data_of(all)[i] = static_cast<float>(i);
  const Buffer first = pinned_window(context, data_of(all), 64), second = pinned_window(context, data_of(all) + 48, 64),
               third = pinned_window(context, data_of(all) + 100, 28);
  const Graph graph = make_slotted_graph(context, 2);
  record_copy(graph, second, out);
  for (const Buffer* window : {&third, &first}) {
    synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
    desc.source = *window;
    desc.destination = out;
    desc.bytes = 4;
    EXPECT_OK(synfire_graph_record_copy(graph, &desc));
  }
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (int launched = 1; launched <= 4; ++launched) {
    SCOPED_TRACE(launched);
    float* const begin = slot_of(graph, 0, first);
    EXPECT_EQ(slot_of(graph, 0, second), begin + 48);
    EXPECT_EQ(slot_of(graph, 0, third), begin + 100);
    begin[50] = static_cast<float>(-launched);  // written through the first, read through the second
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    EXPECT_EQ(slot_of(graph, ticket, out)[2], static_cast<float>(-launched));
    EXPECT_EQ(slot_of(graph, ticket, out)[63], 111.0f);
  }
}

// Memory that starts where a pinned buffer ends does not belong to it.
TEST_F(Slots, NeighboursInMemoryHaveSlotsOfTheirOwn) {
  const Buffer both = make_frame(context, 128);
  for (uint64_t i = 0; i < 128; ++i) data_of(both)[i] = static_cast<float>(i);
  const Buffer first = pinned_window(context, data_of(both), 64),
               second = pinned_window(context, data_of(both) + 64, 64);
  const Buffer out = make_frame(context, 64);
  const Graph graph = make_slotted_graph(context, 2);
  record_copy(graph, first, out);
  record_copy(graph, second, out);
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (uint64_t launched = 1; launched <= 4; ++launched) {
    SCOPED_TRACE(launched);
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    EXPECT_EQ(slot_of(graph, ticket, out)[0], 64.0f);
    EXPECT_EQ(slot_of(graph, ticket, out)[63], 127.0f);
    EXPECT_EQ(slot_of(graph, ticket, second)[0], 64.0f);
    EXPECT_EQ(slot_of(graph, ticket, first)[63], 63.0f);
  }
}

// Memory that is not pinned is never copied, wherever it is: here after a pinned buffer and before one.
TEST_F(Slots, NeighboursInMemoryThatAreNotPinnedStay) {
  if (!on_host()) GTEST_SKIP() << "pinned and other memory are never neighbours there";
  const Buffer all = make_frame(context, 192);
  const Buffer before = pinned_window(context, data_of(all), 64, SYNFIRE_MEMORY_DEVICE),
               pinned = pinned_window(context, data_of(all) + 64, 64),
               behind = pinned_window(context, data_of(all) + 128, 64, SYNFIRE_MEMORY_HOST);
  const Graph graph = make_slotted_graph(context, 2);
  record_copy(graph, pinned, before);
  record_copy(graph, pinned, behind);
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (int launched = 1; launched <= 4; ++launched) {
    SCOPED_TRACE(launched);
    float* const next = slot_of(graph, 0, pinned);
    for (int i = 0; i < 64; ++i) next[i] = static_cast<float>(100 * launched + i);
    wait(graph, launch(graph));
    for (const int i : {0, 63}) {
      EXPECT_EQ(data_of(before)[i], static_cast<float>(100 * launched + i));
      EXPECT_EQ(data_of(behind)[i], static_cast<float>(100 * launched + i));
    }
  }
}

TEST_F(Slots, WhatIsNotTheGraphsOrNotPinnedIsRefused) {
  const Graph graph = record(2);
  const Buffer stranger = make_frame(context, n), device = make_frame(context, n, SYNFIRE_MEMORY_DEVICE);
  void* data = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("buffer"),
               synfire_graph_get_slot(graph, 0, stranger, &data, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("device", "pinned"),
               synfire_graph_get_slot(graph, 0, device, &data, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("data"), synfire_graph_get_slot(graph, 0, x, nullptr, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"),
               synfire_graph_get_slot(graph, 0, nullptr, &data, nullptr));
  const Graph fresh = make_slotted_graph(context, 2);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("instantiated"), synfire_graph_get_slot(fresh, 0, x, &data, nullptr));
  uint64_t bytes = 0;
  EXPECT_OK(synfire_graph_get_slot(graph, 0, x, &data, &bytes));
  EXPECT_EQ(bytes, n * sizeof(float));
}

// The tape of a replay belongs to the x in its slot. A backward outside that graph would read another one.
TEST_F(Slots, TapesOverSlotsStayInTheirGraph) {
  const Buffer grad_spike = make_frame(context, n, SYNFIRE_MEMORY_DEVICE),
               grad_x = make_frame(context, n, SYNFIRE_MEMORY_DEVICE);
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = grad_spike;
  backward.grad_x_seq = grad_x;
  const Graph graph = record(2);
  wait(graph, launch(graph));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("x"), synfire_layer_backward(layer, &backward, nullptr));
  const Graph other = make_slotted_graph(context, 2);
  EXPECT_OK(synfire_graph_record_backward(other, layer, &backward));
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("n_slots", "operation"), synfire_graph_instantiate(other));
  // Inside one graph both passes use the same slot.
  const Graph both = make_slotted_graph(context, 2);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.v_seq = v_seq;
  EXPECT_OK(synfire_graph_record_forward(both, layer, &forward));
  EXPECT_OK(synfire_graph_record_backward(both, layer, &backward));
  EXPECT_OK(synfire_graph_instantiate(both));
  for (int i = 0; i < 3; ++i) wait(both, launch(both));
}

// A pinned buffer over part of the memory that other buffers name as pageable or device memory: slots copy the pinned
// part only.
TEST_F(Slots, OnlyPinnedArraysMove) {
  if (!on_host()) GTEST_SKIP() << "a CUDA context has only one kind of memory";
  constexpr uint64_t n_pinned = 64, n_all = 128;
  alignas(64) float memory[n_all] = {};
  const auto lend = [&](int32_t kind, uint64_t n_elements) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.memory = kind;
    desc.n_elements = n_elements;
    desc.data = memory;
    synfire_buffer handle = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
    return Buffer(handle);
  };
  for (const int32_t kind : {SYNFIRE_MEMORY_HOST, SYNFIRE_MEMORY_DEVICE}) {
    const Buffer pinned = lend(SYNFIRE_MEMORY_PINNED, n_pinned), all = lend(kind, n_all);
    const Graph graph = make_slotted_graph(context, 2);
    synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
    fill.buffer = all;
    EXPECT_OK(synfire_graph_record_fill(graph, &fill));
    fill.buffer = pinned;
    fill.value = 100;
    EXPECT_OK(synfire_graph_record_fill(graph, &fill));
    EXPECT_OK(synfire_graph_instantiate(graph));
    for (int launches = 1; launches <= 4; ++launches) {
      EXPECT_OK(synfire_graph_set_value(graph, 0, "value", launches));
      const uint64_t ticket = launch(graph);
      wait(graph, ticket);
      const float* const slot = slot_of(graph, ticket, pinned);
      for (uint64_t i = 0; i < n_pinned; ++i) ASSERT_EQ(slot[i], 100.0f) << "launch " << launches << ", element " << i;
      // The first slot of the pinned buffer is this memory; the second is a copy.
      for (uint64_t i = 0; i < n_all; ++i)
        ASSERT_EQ(memory[i], slot == memory && i < n_pinned ? 100.0f : static_cast<float>(launches))
            << "launch " << launches << ", element " << i;
    }
  }
}

}  // namespace
}  // namespace synfire_test
