// Native nodes on the host: called at each replay with the memory of their buffers, blamed by number and name. What is
// misused is refused on either backend; callbacks that enqueue CUDA work are in tests/fault and tests/gpu.
#include "graph_support.hpp"

#include <stdexcept>

namespace synfire_test {
namespace {

struct Counted {
  int n_calls = 0;
  synfire_status answer = SYNFIRE_OK;
  bool throws = false;
  std::vector<uint32_t> slots;
};

// Doubles what it reads.
synfire_status SYNFIRE_CALL doubled(void* user, const synfire_native_call* call) {
  auto& counted = *static_cast<Counted*>(user);
  ++counted.n_calls;
  counted.slots.push_back(call->slot);
  if (counted.throws) throw std::runtime_error("no such thing");
  if (counted.answer < 0) return counted.answer;
  if (call->n_reads == 1 && call->n_writes == 1 && call->stream == nullptr) {
    const auto* const from = static_cast<const float*>(call->reads[0].data);
    auto* const to = static_cast<float*>(call->writes[0].data);
    for (uint64_t i = 0; i < call->writes[0].bytes / sizeof(float); ++i) to[i] = 2 * from[i];
  }
  return counted.answer;
}

class Native : public testing::Test {
 protected:
  static constexpr uint64_t n = 16;
  Context context = make_context();
  Buffer x = make_frame(context, n), middle = make_frame(context, n, SYNFIRE_MEMORY_DEVICE), out = make_frame(context, n);
  Counted counted;
  synfire_buffer reads[1] = {x}, writes[1] = {middle};

  synfire_native_desc desc(const char* name = nullptr) {
    synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
    native.callback = doubled;
    native.user = &counted;
    native.name = name;
    native.reads = reads;
    native.n_reads = 1;
    native.writes = writes;
    native.n_writes = 1;
    return native;
  }
  Graph record(uint32_t n_slots = 0) {
    Graph graph = make_slotted_graph(context, n_slots);
    const synfire_native_desc native = desc("doubling");
    EXPECT_OK(synfire_graph_record_native(graph, &native));
    record_copy(graph, middle, out);
    return graph;
  }
};

TEST_F(Native, RunsInItsPlaceAtEachReplay) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  const Graph graph = record();
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_EQ(counted.n_calls, 0);
  for (int i = 1; i <= 3; ++i) {
    data_of(x)[3] = static_cast<float>(i);
    wait(graph, launch(graph));
    EXPECT_EQ(counted.n_calls, i);
    EXPECT_EQ(data_of(out)[3], 2.0f * static_cast<float>(i));
  }
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  wait(graph, launch(graph));
  EXPECT_EQ(counted.n_calls, 3);
}

TEST_F(Native, IsGivenTheMemoryOfItsSlotAndOfTheReboundBuffer) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  const Graph graph = record(2);
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (int i = 1; i <= 4; ++i) {
    slot_of(graph, 0, x)[3] = static_cast<float>(i);
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    EXPECT_EQ(slot_of(graph, ticket, out)[3], 2.0f * static_cast<float>(i));
  }
  EXPECT_EQ(counted.slots, (std::vector<uint32_t>{0, 1, 0, 1}));
  const Buffer new_x = make_frame(context, n);
  EXPECT_OK(synfire_graph_rebind(graph, x, new_x));
  slot_of(graph, 0, new_x)[3] = 50;
  const uint64_t ticket = launch(graph);
  wait(graph, ticket);
  EXPECT_EQ(slot_of(graph, ticket, out)[3], 100);
}

TEST_F(Native, AFailingCallbackIsNamedAndTheGraphStaysUsable) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  const Graph graph = record();
  EXPECT_OK(synfire_graph_instantiate(graph));
  counted.answer = -7;
  uint64_t ticket = 77;
  EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("native", "0", "doubling", "7"), synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_EQ(ticket, 77u) << "a failed launch hands out no ticket";
  counted.throws = true;
  EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("doubling", "such"), synfire_graph_launch(graph, nullptr, &ticket));
  counted = {};
  data_of(x)[3] = 4;
  EXPECT_EQ(launch(graph), 1u);
  EXPECT_EQ(data_of(out)[3], 8);
}

synfire_status SYNFIRE_CALL reenters(void* user, const synfire_native_call*) {
  return synfire_graph_launch(static_cast<synfire_graph>(user), nullptr, nullptr) == SYNFIRE_ERROR_BUSY ? SYNFIRE_OK : -1;
}

TEST_F(Native, ACallbackFindsItsGraphBusy) {
  if (!on_host()) GTEST_SKIP() << "this callback enqueues nothing";
  const Graph graph = make_graph(context);
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = reenters;
  native.user = graph.get();
  EXPECT_OK(synfire_graph_record_native(graph, &native));
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_EQ(launch(graph), 1u);
}

TEST_F(Native, BadDescriptorsAreRefused) {
  const Graph graph = make_graph(context);
  synfire_native_desc bad = desc();
  bad.callback = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("callback"), synfire_graph_record_native(graph, &bad));
  bad = desc();
  bad.reserved = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("reserved"), synfire_graph_record_native(graph, &bad));
  bad = desc();
  bad.reads = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("reads"), synfire_graph_record_native(graph, &bad));
  bad = desc();
  bad.n_writes = 65;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("n_writes", "65", "64"), synfire_graph_record_native(graph, &bad));
  bad = desc();
  const synfire_buffer none[1] = {nullptr};
  bad.writes = none;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("writes"), synfire_graph_record_native(graph, &bad));
  bad = desc();
  bad.struct_size = 8;
  EXPECT_FAILS(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("struct_size", "8"), synfire_graph_record_native(graph, &bad));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("desc"), synfire_graph_record_native(graph, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("empty"), synfire_graph_instantiate(graph));
}

}  // namespace
}  // namespace synfire_test
