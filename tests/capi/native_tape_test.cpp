// Native nodes that interfere with a layer during a replay: gradients belong to one forward, or are refused.
#include "recording_support.hpp"

#include <functional>

namespace synfire_test {
namespace {

synfire_status SYNFIRE_CALL call_function(void* user, const synfire_native_call*) {
  (*static_cast<std::function<void()>*>(user))();
  return SYNFIRE_OK;
}

class CallbackBetween : public testing::Test {
 protected:
  void SetUp() override {
    if (!on_host()) GTEST_SKIP() << "on CUDA callbacks run when the graph is instantiated";
  }

  static constexpr Shape shape{5, 1, 40};
  Context context = make_context();
  Rig<float> rig{context, describe(shape, SYNFIRE_DTYPE_F32)};
  Inputs<float> inputs = random_inputs<float>(shape, 1);
  Buffer other_x = make_buffer_of(context, random_inputs<float>(shape, 2).x);
  std::function<void()> callback = [] {};

  void record_forward(synfire_graph graph, int32_t tape = SYNFIRE_TAPE_RECOMPUTE) {
    const synfire_forward_desc desc = rig.forward_desc({.tape = tape});
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
  }
  void record_backward(synfire_graph graph) {
    const synfire_backward_desc desc = rig.backward_desc();
    EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &desc));
  }
  void record_callback(synfire_graph graph) {
    synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
    desc.callback = call_function;
    desc.user = &callback;
    EXPECT_OK(synfire_graph_record_native(graph, &desc));
  }
  // A forward, a callback and an optional backward.
  Graph record(bool with_backward, int32_t tape = SYNFIRE_TAPE_RECOMPUTE) {
    rig.load(inputs);
    Graph graph = make_graph(context);
    record_forward(graph, tape);
    record_callback(graph);
    if (with_backward) record_backward(graph);
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  }
  void run_other_forward() {
    synfire_forward_desc desc = rig.forward_desc();
    desc.x = other_x;
    EXPECT_OK(synfire_layer_forward(rig.layer, &desc, nullptr));
  }
  // The gradients without interference.
  BackwardOutputs<float> undisturbed() {
    const std::function<void()> disturbing = std::exchange(callback, [] {});
    const Graph graph = record(true);
    replay(graph);
    callback = disturbing;
    return rig.backward_outputs();
  }
};

TEST_F(CallbackBetween, ThatSetsAParameterMakesTheTapeStale) {
  const BackwardOutputs<float> wanted = undisturbed();
  const Graph graph = record(true);
  callback = [&] { set_parameter(rig.layer, "tau", {3.5}); };
  rig.poison();
  replay(graph);
  // Parameters that are set during a replay take effect in the next one.
  EXPECT_TRUE(same_bits(rig.backward_outputs(), wanted));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("parameter"), rig.run_backward());
}

TEST_F(CallbackBetween, ThatSetsAParameterAheadOfTheForwardDoesSoToo) {
  rig.load(inputs);
  const Graph graph = make_graph(context);
  record_callback(graph);
  record_forward(graph);
  EXPECT_OK(synfire_graph_instantiate(graph));
  callback = [&] { set_parameter(rig.layer, "tau", {3.5}); };
  replay(graph);
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("parameter"), rig.run_backward());
  callback = [] {};
  replay(graph);  // with the new value
  EXPECT_OK(rig.run_backward());
}

// The eager call applies the new value to the layer while the replay is between its two passes.
TEST_F(CallbackBetween, ThatBringsAParameterToTheLayerIsRefused) {
  const Graph graph = record(true);
  const Buffer row = make_buffer(context, SYNFIRE_DTYPE_F32, shape.row());
  const synfire_state_desc rows = rows_desc(0, 0, row);
  callback = [&] {
    set_parameter(rig.layer, "tau", {3.5});
    EXPECT_OK(synfire_layer_read_rows(rig.layer, &rows, nullptr));
  };
  rig.poison();
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-CALLBACK", "callback", "operation", "2"),
               synfire_graph_launch(graph, nullptr, nullptr));
  EXPECT_TRUE(all_are(rig.backward_outputs().grad_x_seq, std::numeric_limits<float>::quiet_NaN()));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("tape"), rig.run_backward());
  callback = [] {};
  EXPECT_OK(synfire_graph_launch(graph, nullptr, nullptr));
}

// The tape is that of the replay's forward.
TEST_F(CallbackBetween, ThatRunsTheLayerTakesNothingAway) {
  const BackwardOutputs<float> wanted = undisturbed();
  const Graph graph = record(true);
  callback = [&] { run_other_forward(); };
  rig.poison();
  replay(graph);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), wanted));
}

// A replay without a backward succeeds; a later backward reads the tape of the last forward.
TEST_F(CallbackBetween, ThatRunsTheLayerLeavesItsOwnTape) {
  const Graph graph = record(false);
  callback = [&] { run_other_forward(); };
  replay(graph);
  const BackwardOutputs<float> after = rig.backward();
  Rig<float> twin(context, describe(shape, SYNFIRE_DTYPE_F32));
  Inputs<float> other = inputs;
  other.x = download<float>(other_x, shape.sequence());
  twin.load(other);
  EXPECT_OK(twin.run_forward());
  EXPECT_TRUE(same_bits(after, twin.backward()));
}

TEST_F(CallbackBetween, ThatLaunchesAnotherGraphOfTheLayerTakesNothingAway) {
  const BackwardOutputs<float> wanted = undisturbed();
  const Graph graph = record(true), inner = make_graph(context);
  synfire_forward_desc desc = rig.forward_desc();
  desc.x = other_x;
  EXPECT_OK(synfire_graph_record_forward(inner, rig.layer, &desc));
  EXPECT_OK(synfire_graph_instantiate(inner));
  callback = [&] { replay(inner); };
  rig.poison();
  replay(graph);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), wanted));
}

TEST_F(CallbackBetween, ThatWritesXIsRefusedWhereXIsReadAgain) {
  const std::vector<float> other = download<float>(other_x, shape.sequence());
  for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE}) {
    const BackwardOutputs<float> wanted = undisturbed();
    const Graph graph = record(true, tape);
    callback = [&] { upload(rig.x, other); };
    if (tape == SYNFIRE_TAPE_RECOMPUTE) {
      EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("callback", "x"), synfire_graph_launch(graph, nullptr, nullptr));
    } else {
      replay(graph);
      EXPECT_TRUE(same_bits(rig.backward_outputs(), wanted));
    }
    const Graph forward_only = record(false, tape);
    replay(forward_only);
    if (tape == SYNFIRE_TAPE_RECOMPUTE)
      EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("x"), rig.run_backward());
    else
      EXPECT_OK(rig.run_backward());
  }
}

// The tape is older than the replay, and the callback overwrites it before the backward.
TEST_F(CallbackBetween, ThatSpoilsATapeFromBeforeTheReplayIsRefused) {
  rig.load(inputs);
  EXPECT_OK(rig.run_forward());
  const Graph graph = make_graph(context);
  record_callback(graph);
  record_backward(graph);
  EXPECT_OK(synfire_graph_instantiate(graph));
  callback = [&] { run_other_forward(); };
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("callback"), synfire_graph_launch(graph, nullptr, nullptr));
}

// An update inside the replay increments its own count and is not interference.
TEST_F(CallbackBetween, ThatDoesNothingToTheLayerIsFine) {
  rig.load(inputs);
  const Graph graph = make_graph(context);
  const Buffer gradient = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  record_update(graph, rig.layer, "tau", gradient, 0.0);
  record_forward(graph);
  record_callback(graph);
  record_backward(graph);
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (int i = 0; i < 3; ++i) replay(graph);
  EXPECT_OK(rig.run_backward());
}

}  // namespace
}  // namespace synfire_test
