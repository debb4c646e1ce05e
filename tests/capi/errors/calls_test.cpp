// Calls at the wrong time or with wrong numbers: passes and streams, the order of graph calls, tickets and policies.
#include <limits>

#include "errors.hpp"

namespace synfire_test {
namespace {

// ---- Passes and streams ---------------------------------------------------------------------------------------------

TEST_F(BadBuffers, UnknownTape) {
  for (const int32_t bad : {-1, 4, std::numeric_limits<int32_t>::min()}) {
    synfire_forward_desc desc = rig.forward_desc({.v_init = false});
    desc.tape = bad;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("tape"), synfire_layer_forward(rig.layer, &desc, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("tape"), synfire_graph_record_forward(graph, rig.layer, &desc));
  }
}

TEST_F(BadBuffers, AStreamOnTheHost) {
  if (!on_host()) GTEST_SKIP() << "a GPU uses streams";
  const auto stream = as<synfire_stream>(uintptr_t{1});
  const synfire_forward_desc forward = rig.forward_desc({.v_init = false});
  const synfire_backward_desc backward = rig.backward_desc();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream"), synfire_layer_forward(rig.layer, &forward, stream));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream"), synfire_layer_backward(rig.layer, &backward, stream));
  const Graph other = make_graph(context);
  EXPECT_OK(synfire_graph_record_forward(other, rig.layer, &forward));
  EXPECT_OK(synfire_graph_instantiate(other));
  uint64_t ticket = 77;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream"), synfire_graph_launch(other, stream, &ticket));
  EXPECT_EQ(ticket, 77u);
  const Layer fresh = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream"), synfire_layer_reset_state(fresh, stream));
}

// ---- Order of graph calls -------------------------------------------------------------------------------------------

TEST_F(Errors, AnEmptyGraphIsNotInstantiated) {
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));
  expect_usable();
}

TEST_F(Errors, NothingRunsBeforeInstantiate) {
  uint64_t ticket = 77;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_launch(graph, nullptr, &ticket));
  const synfire_forward_desc desc = rig.forward_desc();
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
  rig.poison();
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_wait(graph, 1, SYNFIRE_WAIT_SPIN, 0));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_poll(graph, 1));
  EXPECT_EQ(ticket, 77u);
  EXPECT_TRUE(rig.untouched());
  expect_usable();
}

TEST_F(Errors, NothingIsRecordedAfterInstantiate) {
  expect_usable();
  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = rig.x;
  copy.destination = rig.spikes;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_forward(graph, rig.layer, &forward));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_backward(graph, rig.layer, &backward));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_copy(graph, &copy));
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  fill.buffer = rig.spikes;
  synfire_scale_add_desc add = SYNFIRE_SCALE_ADD_DESC_INIT;
  add.source = rig.x;
  add.destination = rig.spikes;
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = [](void*, const synfire_native_call*) -> synfire_status { return SYNFIRE_OK; };
  const Buffer rows = make_buffer(context, SYNFIRE_DTYPE_F32, shape.row()),
               bytes = make_buffer(context, SYNFIRE_DTYPE_U8, 4096);
  synfire_state_desc state = SYNFIRE_STATE_DESC_INIT, snapshot = SYNFIRE_STATE_DESC_INIT;
  state.buffer = rows;
  snapshot.buffer = bytes;
  const synfire_state_desc all = SYNFIRE_STATE_DESC_INIT;
  synfire_copy_rows_desc copy_rows = SYNFIRE_COPY_ROWS_DESC_INIT;
  const Layer other = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  copy_rows.source = other;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_fill(graph, &fill));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_scale_add(graph, &add));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_native(graph, &native));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_reset_rows(graph, rig.layer, &all));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_read_rows(graph, rig.layer, &state));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_write_rows(graph, rig.layer, &state));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_copy_rows(graph, rig.layer, &copy_rows));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_snapshot(graph, rig.layer, &snapshot));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_restore(graph, rig.layer, &snapshot));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));
  rig.poison();
  replay(graph);  // the old list, unchanged: spikes are not a copy of x
  EXPECT_FALSE(same_bits(download<float>(rig.spikes, shape.sequence()), download<float>(rig.x, shape.sequence())));
  EXPECT_FALSE(rig.untouched());
}

TEST_F(Errors, TicketsAndPolicies) {
  const synfire_forward_desc desc = rig.forward_desc();
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (const uint64_t unknown : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket"), synfire_graph_poll(graph, unknown));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket"),
                 synfire_graph_wait(graph, unknown, SYNFIRE_WAIT_YIELD, -1));
  }
  uint64_t ticket = 0;
  EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_EQ(ticket, 1u);
  for (const uint64_t unknown : {uint64_t{0}, uint64_t{2}, ~uint64_t{0}}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket"), synfire_graph_poll(graph, unknown));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket"),
                 synfire_graph_wait(graph, unknown, SYNFIRE_WAIT_BLOCK, -1));
  }
  for (const int32_t bad : {-1, 3, std::numeric_limits<int32_t>::max()})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("policy"), synfire_graph_wait(graph, 1, bad, -1));
  EXPECT_OK(synfire_graph_wait(graph, 1, SYNFIRE_WAIT_BLOCK, -1));
}

}  // namespace
}  // namespace synfire_test
