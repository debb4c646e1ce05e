// Inspecting a graph: its DOT text, its statistics, and replays without a graph of the backend.
#include "recording_support.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

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

// ---- The DOT text ---------------------------------------------------------------------------------------------------

TEST_F(Inside, TheDotTextNamesOperationsAndWhatTheyDependOn) {
  record(graph);
  std::string text = dot(graph);
  EXPECT_EQ(text.rfind("digraph", 0), 0u) << text;
  for (const char* part :
       {"0: forward, lif layer 0", "1: backward, lif layer 0", "2: copy", "f32 [4, 1, 40]", "n0 -> n1;", "n0 -> n2;"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  EXPECT_EQ(text.find("n1 -> n2"), std::string::npos) << "the copy does not depend on the backward:\n" << text;
  EXPECT_EQ(text.find("dashed"), std::string::npos);
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_OK(synfire_graph_set_enabled(graph, 1, 0));
  text = dot(graph);
  EXPECT_NE(text.find("dashed"), std::string::npos);
}

// An operation reads what it adds to, but not what it only overwrites. Sums inside a backward are internal to it.
TEST_F(Inside, TheDotTextTellsReadingFromOverwriting) {
  record_fill(graph, rig.grad_x_seq, 1);                          // 0
  record_scale_add(graph, rig.grad_v_seq, rig.grad_x_seq, 2, 1);  // 1 adds to it
  record_copy(graph, rig.v_seq, rig.grad_x_seq);                  // 2 overwrites it
  const synfire_forward_desc forward = rig.forward_desc({.v_init = false});
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));  // 3 writes the v_seq that 2 read
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));  // 4 continues its state
  synfire_backward_desc backward = rig.backward_desc();
  const Buffer sum = make_buffer(context, SYNFIRE_DTYPE_F32, 1), other = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  synfire_parameter_gradient gradient = {"tau", sum};
  backward.grad_v_init = nullptr;
  backward.n_parameter_gradients = 1;
  backward.parameter_gradients = &gradient;
  EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));  // 5 overwrites what 2 wrote
  gradient.gradient = other;
  EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));  // 6 and 5 share memory for sums
  const std::string text = dot(graph);
  for (const char* part : {"n0 -> n1;", "n1 -> n2 [style=dotted];", "n0 -> n2 [style=dotted];",
                           "n2 -> n3 [style=dotted];", "n3 -> n4;", "n4 -> n5;", "n5 -> n6 [style=dotted];"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

// Two layers have two numbers. A native node has the name that it was given, whatever characters are in it. Every
// operation has a label.
TEST_F(Inside, TheDotTextNamesEveryKindOfOperation) {
  const Layer second = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  synfire_forward_desc forward = rig.forward_desc({.v_init = false});
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
  forward.x = rig.spikes;
  forward.spikes = rig.v_seq;
  forward.v_seq = nullptr;
  forward.h_seq = nullptr;
  forward.v_final = nullptr;
  EXPECT_OK(synfire_graph_record_forward(graph, second, &forward));
  const Buffer number = make_buffer(context, SYNFIRE_DTYPE_F32, 1),
               bytes = make_buffer(context, SYNFIRE_DTYPE_U8, 4096);
  record_update(graph, second, "tau", number, 1);
  record_fill(graph, rig.grad_x_seq, 0);
  record_scale_add(graph, rig.h_seq, rig.grad_x_seq, 1, 1);
  const synfire_state_desc all = rows_desc(0, 0), snapshot = rows_desc(0, 0, bytes);
  EXPECT_OK(synfire_graph_record_reset_rows(graph, second, &all));
  EXPECT_OK(synfire_graph_record_snapshot(graph, rig.layer, &snapshot));
  EXPECT_OK(synfire_graph_record_restore(graph, second, &snapshot));
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = [](void*, const synfire_native_call*) -> synfire_status { return SYNFIRE_OK; };
  native.name = "the \"camera\" \\ \n of mine";
  EXPECT_OK(synfire_graph_record_native(graph, &native));
  const std::string text = dot(graph);
  for (const char* part : {"0: forward, lif layer 0", "1: forward, lif layer 1", "n0 -> n1;", "2: ", "3: fill",
                           "4: ", "5: reset", "6: ", "7: ", "8: ", "the \\\"camera\\\" \\\\ \\\\x0a of mine"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  // On each line, unescaped quotes come in pairs.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    int quotes = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\')
        ++i;
      else if (line[i] == '"')
        ++quotes;
    }
    EXPECT_EQ(quotes % 2, 0) << line;
  }
}

// Every pair of operations of which one writes what the other one uses, and no other pair.
TEST_F(Inside, TheDotTextHasEveryConflict) {
  struct Step {
    uint64_t source, destination, length;
  };
  Random random(5);
  const auto meet = [](uint64_t a, uint64_t a_length, uint64_t b, uint64_t b_length) {
    return a < b + b_length && b < a + a_length;
  };
  const uint64_t n_elements = 200;
  const Buffer memory = make_buffer(context, SYNFIRE_DTYPE_F32, n_elements);
  std::vector<Step> steps;
  std::vector<Buffer> windows;
  for (int i = 0; i < 120; ++i) {
    const auto length = static_cast<uint64_t>(random.whole(1, i % 10 == 0 ? 60 : 8));
    const auto place = [&] {
      return static_cast<uint64_t>(random.whole(0, static_cast<int64_t>(n_elements - length)));
    };
    Step step = {place(), place(), length};
    while (meet(step.source, length, step.destination, length)) step.destination = place();
    windows.push_back(make_window(context, memory, SYNFIRE_DTYPE_F32, 4 * step.source, length));
    windows.push_back(make_window(context, memory, SYNFIRE_DTYPE_F32, 4 * step.destination, length));
    record_scale_add(graph, windows[windows.size() - 2], windows.back(), 2, 1);
    steps.push_back(step);
  }
  std::string expected;
  for (size_t later = 0; later < steps.size(); ++later)
    for (size_t earlier = later; earlier-- > 0;) {
      const Step &a = steps[earlier], &b = steps[later];
      // It reads what it adds to.
      const bool reads =
          meet(a.destination, a.length, b.source, b.length) || meet(a.destination, a.length, b.destination, b.length);
      if (!reads && !meet(a.source, a.length, b.destination, b.length)) continue;
      expected += "  n" + std::to_string(earlier) + " -> n" + std::to_string(later);
      expected += reads ? ";\n" : " [style=dotted];\n";
    }
  const std::string text = dot(graph);
  const size_t last_node = text.find("  n119 [label");
  ASSERT_NE(last_node, std::string::npos);
  EXPECT_EQ(text.substr(text.find('\n', last_node) + 1), expected + "}\n");
}

TEST_F(Inside, TheDotTextNeedsItsSpace) {
  record(graph);
  uint64_t bytes = 10;
  char small[10] = "untouched";
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes", "10"), synfire_graph_write_dot(graph, small, &bytes));
  EXPECT_STREQ(small, "untouched");
  EXPECT_EQ(bytes, 10u) << "a failed call changes nothing";
  EXPECT_OK(synfire_graph_write_dot(graph, nullptr, &bytes));
  EXPECT_EQ(bytes, dot(graph).size() + 1);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes"), synfire_graph_write_dot(graph, nullptr, nullptr));
}

// Exactly the reported number of bytes, in memory of that size or larger.
TEST_F(Inside, TheDotTextEndsWithItsNull) {
  record(graph);
  const std::string text = dot(graph);
  for (const uint64_t spare : {uint64_t{0}, uint64_t{1}, uint64_t{100}}) {
    SCOPED_TRACE(spare);
    std::string memory(text.size() + 1 + spare + 16, '#');
    uint64_t bytes = text.size() + 1 + spare;
    EXPECT_OK(synfire_graph_write_dot(graph, memory.data(), &bytes));
    EXPECT_EQ(bytes, text.size() + 1);
    EXPECT_EQ(memory, text + '\0' + std::string(spare + 16, '#'));
  }
  std::string memory(text.size() + 16, '#');
  uint64_t bytes = text.size();  // one too few
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TEXT-SIZE", "bytes"),
               synfire_graph_write_dot(graph, memory.data(), &bytes));
  EXPECT_EQ(memory, std::string(text.size() + 16, '#'));
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
    wait(graph, ticket);  // only the first wait counts
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
  ASSERT_TRUE(set_environment("SYNFIRE_GRAPH", "0"));
  const Graph eager = make_graph(context);
  record(eager);
  EXPECT_OK(synfire_graph_instantiate(eager));
  ASSERT_TRUE(set_environment("SYNFIRE_GRAPH", nullptr));
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

// Every kind of operation in one list, with and without a graph: all outputs have the same bits.
TEST_F(Inside, EveryOperationGivesTheSameBitsWithoutAGraph) {
  rig.load(random_inputs<float>(shape, 9));
  const Layer twin = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  const uint64_t words = shape.words();
  const Buffer bits = make_frame(context, words, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_BITS);
  const Buffer dense = make_frame(context, shape.sequence()),
               counts = make_frame(context, shape.row(), SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U32);
  const Buffer sum = make_frame(context, shape.sequence()), filled = make_frame(context, 8),
               grad_tau = make_frame(context, 1);
  const Buffer mask = make_frame(context, 1, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U8),
               row = make_frame(context, shape.row());
  const Buffer bytes = make_frame(context, 4096, SYNFIRE_MEMORY_DEVICE, SYNFIRE_DTYPE_U8);
  std::vector<std::vector<float>> seen[2];
  for (const bool eager : {false, true}) {
    EXPECT_OK(synfire_layer_reset_state(rig.layer, nullptr));
    EXPECT_OK(synfire_layer_reset_state(twin, nullptr));
    set_parameter(rig.layer, "tau", {2});
    for (const Buffer* buffer : {&dense, &sum, &filled, &row}) EXPECT_OK(synfire_buffer_fill(*buffer, -3));
    EXPECT_OK(synfire_buffer_fill(counts, 0));
    const Graph list = make_graph(context);
    const synfire_forward_desc forward = rig.forward_desc({.v_init = false});
    synfire_backward_desc backward = rig.backward_desc();
    const synfire_parameter_gradient gradient = {"tau", grad_tau};
    backward.parameter_gradients = &gradient;
    backward.n_parameter_gradients = 1;
    EXPECT_OK(synfire_graph_record_forward(list, rig.layer, &forward));
    EXPECT_OK(synfire_graph_record_backward(list, rig.layer, &backward));
    record_update(list, rig.layer, "tau", grad_tau, 0.01);
    synfire_convert_spikes_desc convert = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
    convert.n_steps = shape.n_steps;
    convert.n_neurons = shape.n_neurons;
    convert.source = rig.spikes;
    convert.destination = bits;
    EXPECT_OK(synfire_graph_record_convert_spikes(list, &convert));
    convert.source = bits;
    convert.destination = dense;
    EXPECT_OK(synfire_graph_record_convert_spikes(list, &convert));
    synfire_count_spikes_desc count = SYNFIRE_COUNT_SPIKES_DESC_INIT;
    count.n_steps = shape.n_steps;
    count.n_neurons = shape.n_neurons;
    count.spikes = bits;
    count.counts = counts;
    EXPECT_OK(synfire_graph_record_count_spikes(list, &count));
    const int32_t fill = record_fill(list, filled, 2);
    record_scale_add(list, rig.grad_x_seq, sum, 0.3, 0.9);
    const synfire_state_desc snapshot = rows_desc(0, 0, bytes), read = rows_desc(0, 0, row),
                             masked = rows_desc(0, 0, mask);
    EXPECT_OK(synfire_graph_record_snapshot(list, rig.layer, &snapshot));
    EXPECT_OK(synfire_graph_record_restore(list, twin, &snapshot));
    EXPECT_OK(synfire_graph_record_read_rows(list, twin, &read));
    EXPECT_OK(synfire_graph_record_write_rows(list, twin, &read));
    synfire_copy_rows_desc copy = SYNFIRE_COPY_ROWS_DESC_INIT;
    copy.source = twin;
    EXPECT_OK(synfire_graph_record_copy_rows(list, rig.layer, &copy));
    EXPECT_OK(synfire_graph_record_reset_rows(list, rig.layer, &masked));
    ASSERT_TRUE(set_environment("SYNFIRE_GRAPH", eager ? "0" : ""));
    EXPECT_OK(synfire_graph_instantiate(list));
    ASSERT_TRUE(set_environment("SYNFIRE_GRAPH", nullptr));
    for (int step = 0; step < 4; ++step) {
      EXPECT_OK(synfire_buffer_fill(mask, step == 2 ? 1 : 0));
      EXPECT_OK(synfire_graph_set_value(list, fill, "value", step + 0.5));
      replay(list);
      const std::vector<uint32_t> counted = download<uint32_t>(counts, shape.row());
      seen[eager].push_back(std::vector<float>(counted.begin(), counted.end()));
      for (const Buffer* buffer : {&dense, &sum}) seen[eager].push_back(download<float>(*buffer, shape.sequence()));
      seen[eager].push_back(download<float>(filled, 8));
      seen[eager].push_back(download<float>(row, shape.row()));
      seen[eager].push_back(read_state<float>(rig.layer, shape.row()));
      seen[eager].push_back({static_cast<float>(get_parameter(rig.layer, "tau")[0])});
      EXPECT_GT(std::count(seen[eager].end()[-6].begin(), seen[eager].end()[-6].end(), 1.0f), 0) << "nothing fires";
    }
  }
  ASSERT_EQ(seen[0].size(), seen[1].size());
  for (size_t i = 0; i < seen[0].size(); ++i) EXPECT_TRUE(same_bits(seen[0][i], seen[1][i])) << i;
  EXPECT_FALSE(same_bits(seen[0][6], seen[0][13])) << "the parameter learns";
}

}  // namespace
}  // namespace synfire_test
