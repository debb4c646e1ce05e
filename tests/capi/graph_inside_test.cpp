// Looking into a graph: its picture, its statistics, and replays without a graph of the backend's own.
#include "graph_support.hpp"

#include <cstdlib>

namespace synfire_test {
namespace {

class Inside : public testing::Test {
 protected:
  Context context = make_context();
  Shape shape{4, 1, 40};
  Rig<float> rig{context, describe(shape, SYNFIRE_DTYPE_F32)};
  Graph graph = make_graph(context);

  void record(synfire_graph target) {
    const synfire_forward_desc forward = rig.forward_desc({.v_init = false});
    const synfire_backward_desc backward = rig.backward_desc();
    EXPECT_OK(synfire_graph_record_forward(target, rig.layer, &forward));
    EXPECT_OK(synfire_graph_record_backward(target, rig.layer, &backward));
    record_copy(target, rig.v_seq, rig.h_seq);
  }
  static std::string dot(synfire_graph graph) {
    uint64_t bytes = 0;
    EXPECT_OK(synfire_graph_write_dot(graph, nullptr, &bytes));
    std::string text(bytes, '?');
    EXPECT_OK(synfire_graph_write_dot(graph, text.data(), &bytes));
    EXPECT_EQ(bytes, text.size());
    EXPECT_EQ(text.back(), '\0');
    text.pop_back();
    EXPECT_EQ(text.find('\0'), std::string::npos);
    return text;
  }
};

// ---- The picture ----------------------------------------------------------------------------------------------------

TEST_F(Inside, TheDotTextNamesOperationsAndWhatTheyDependOn) {
  record(graph);
  std::string text = dot(graph);
  EXPECT_EQ(text.rfind("digraph", 0), 0u) << text;
  for (const char* part : {"0: forward, lif layer 0", "1: backward, lif layer 0", "2: copy", "f32 [4, 1, 40]", "n0 -> n1;",
                           "n0 -> n2;"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  EXPECT_EQ(text.find("n1 -> n2"), std::string::npos) << "the copy does not depend on the backward:\n" << text;
  EXPECT_EQ(text.find("dashed"), std::string::npos);
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_OK(synfire_graph_set_enabled(graph, 1, 0));
  text = dot(graph);
  EXPECT_NE(text.find("dashed"), std::string::npos);
}

TEST_F(Inside, TheDotTextNeedsItsSpace) {
  record(graph);
  uint64_t bytes = 10;
  char small[10] = "untouched";
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes", "10"), synfire_graph_write_dot(graph, small, &bytes));
  EXPECT_STREQ(small, "untouched");
  EXPECT_EQ(bytes, dot(graph).size() + 1);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes"), synfire_graph_write_dot(graph, nullptr, nullptr));
}

// ---- Statistics -----------------------------------------------------------------------------------------------------

TEST_F(Inside, StatisticsCountReplaysAndTimes) {
  record(graph);
  EXPECT_OK(synfire_graph_instantiate(graph));
  synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
  EXPECT_OK(synfire_graph_get_statistics(graph, &statistics));
  EXPECT_EQ(statistics.n_replays, 0u);
  EXPECT_EQ(statistics.p50_ns, 0u);
  EXPECT_EQ(statistics.max_ns, 0u);
  for (int i = 0; i < 100; ++i) {
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    wait(graph, ticket);  // the first wait counts
  }
  EXPECT_OK(synfire_graph_get_statistics(graph, &statistics));
  EXPECT_EQ(statistics.n_replays, 100u);
  EXPECT_EQ(statistics.n_seen, 100u);
  EXPECT_EQ(statistics.n_late_waits, 0u);
  EXPECT_GT(statistics.p50_ns, 0u);
  EXPECT_LE(statistics.p50_ns, statistics.p99_ns);
  EXPECT_LE(statistics.p99_ns, statistics.p999_ns);
  EXPECT_LE(statistics.p999_ns, statistics.max_ns);
  EXPECT_OK(synfire_graph_reset_statistics(graph));
  EXPECT_OK(synfire_graph_get_statistics(graph, &statistics));
  EXPECT_EQ(statistics.n_replays, 0u);
  EXPECT_EQ(statistics.n_seen, 0u);
  EXPECT_EQ(statistics.max_ns, 0u);
  statistics.struct_size = 4;
  EXPECT_FAILS(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("struct_size"), synfire_graph_get_statistics(graph, &statistics));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("statistics"), synfire_graph_get_statistics(graph, nullptr));
}

// ---- Without a graph ------------------------------------------------------------------------------------------------

TEST_F(Inside, WithoutAGraphTheBitsAreTheSame) {
  const Inputs<float> inputs = random_inputs<float>(shape, 8);
  rig.load(inputs);
  record(graph);
  EXPECT_OK(synfire_graph_instantiate(graph));
  std::vector<ForwardOutputs<float>> forward;
  std::vector<BackwardOutputs<float>> backward;
  for (int i = 0; i < 3; ++i) {
    rig.poison();
    replay(graph);
    forward.push_back(rig.forward_outputs());
    backward.push_back(rig.backward_outputs());
  }
  EXPECT_FALSE(same_bits(forward[0], forward[1])) << "the state goes on";
  EXPECT_OK(synfire_layer_reset_state(rig.layer, nullptr));
  ASSERT_EQ(setenv("SYNFIRE_GRAPH", "0", 1), 0);
  const Graph eager = make_graph(context);
  record(eager);
  EXPECT_OK(synfire_graph_instantiate(eager));
  ASSERT_EQ(unsetenv("SYNFIRE_GRAPH"), 0);
  for (size_t i = 0; i < 3; ++i) {
    rig.poison();
    replay(eager);
    EXPECT_TRUE(same_bits(rig.forward_outputs(), forward[i]));
    EXPECT_TRUE(same_bits(rig.backward_outputs(), backward[i]));
  }
  EXPECT_OK(synfire_graph_set_enabled(eager, 0, 0));
  EXPECT_OK(synfire_graph_set_enabled(eager, 2, 0));
  rig.poison();
  replay(eager);
  EXPECT_TRUE(same_bits(rig.backward_outputs(), backward[2]));
  EXPECT_TRUE(all_are(rig.forward_outputs().v_seq, std::numeric_limits<float>::quiet_NaN()));
}

}  // namespace
}  // namespace synfire_test
