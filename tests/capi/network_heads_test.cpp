// Networks with several inputs and several heads: weights of losses, inputs of one step, counts, outputs of one array,
// shared weights, and what the summary and the picture show of branches.
#include "described_stages.hpp"
#include "graph_support.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

constexpr int64_t n_steps = 6, batch = 4, n_rows = 10, n_inputs = 20, n_classes = 3;

Network make_empty(synfire_context context) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.seed = 5;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  return Network(made);
}

void add_head(synfire_network network, const std::string& name, double weight, double gain = 3) {
  require_ok(add_stage(network, "synapse", ("s." + name).c_str(),
                       {number("n_outputs", n_classes), number("gain", gain)}, {reads("hidden")}));
  require_ok(add_stage(network, "neurons", ("v." + name).c_str(), {text("model", "li")}));
  require_ok(add_stage(network, "readout", name.c_str(), {text("reduction", "mean")}));
  require_ok(
      add_stage(network, "loss", ("loss." + name).c_str(), {text("kind", "cross_entropy"), number("weight", weight)}));
}

// A body, and a head for each name with its weight.
Network make_heads(synfire_context context, const std::vector<std::pair<const char*, double>>& heads, double gain = 3) {
  Network network = make_empty(context);
  require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", n_inputs)}));
  require_ok(add_stage(network, "synapse", "s0", {number("n_outputs", 15), number("gain", 3)}));
  require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
  for (const auto& [name, weight] : heads) add_head(network, name, weight, weight == 0 ? gain : 3);
  require_ok(add_stage(network, "optimizer", "adam", {text("kind", "adam"), number("learning_rate", 0.01)}));
  require_ok(synfire_network_build(network));
  return network;
}

struct Rows {
  Buffer inputs, labels;
};
Rows make_rows(synfire_context context) {
  Random random(3);
  std::vector<uint32_t> labels;
  for (int64_t row = 0; row < n_rows; ++row) labels.push_back(static_cast<uint32_t>(random.whole(0, n_classes - 1)));
  return {make_buffer_of(context, random.values<float>(static_cast<size_t>(n_rows * n_steps * n_inputs), -1, 2)),
          buffer_of_bytes(context, SYNFIRE_DTYPE_U32, labels.size(), labels.data(), labels.size() * 4)};
}
void give(synfire_network network, const Rows& rows, const std::vector<std::pair<const char*, double>>& heads) {
  StageArrays arrays = {array_of("in", SYNFIRE_ARRAY_INPUTS, rows.inputs)};
  std::vector<std::string> names;
  for (const auto& [name, weight] : heads) names.push_back(std::string("loss.") + name);
  for (const std::string& name : names) arrays.push_back(array_of(name.c_str(), SYNFIRE_ARRAY_LABELS, rows.labels));
  require_ok(set_arrays(network, SYNFIRE_DATA_TRAINING, n_rows, arrays));
}

std::vector<float> weights_of(synfire_network network, const char* stage, size_t count) {
  synfire_synapse found = nullptr;
  require_ok(synfire_network_get_synapse(network, stage, &found));
  const Synapse synapse(found);
  std::vector<float> weights(count);
  require_ok(synfire_synapse_read(synapse, "weight", weights.data(), count * sizeof(float)));
  return weights;
}
std::vector<float> body_of(synfire_network network) {
  return weights_of(network, "s0", static_cast<size_t>(n_inputs * 15));
}

std::string summary_of(synfire_network network) {
  uint64_t bytes = 0;
  require_ok(synfire_network_write_summary(network, nullptr, &bytes));
  std::string all(bytes, '\0');
  require_ok(synfire_network_write_summary(network, all.data(), &bytes));
  return all;
}

class SeveralHeads : public testing::Test {
 protected:
  Context context = make_context();
  Rows rows = make_rows(context);
};

// A head whose loss has weight 0 has no part in the body, even if its predictions are not finite; its result is its
// own.
TEST_F(SeveralHeads, OfWeight0AreAbsentFromTheBody) {
  const std::vector<std::pair<const char*, double>> both = {{"idle", 0}, {"live", 1}}, alone = {{"live", 1}};
  for (const double gain : {3.0, 1e30}) {
    const Network with = make_heads(context, both, gain), without = make_heads(context, alone);
    give(with, rows, both);
    give(without, rows, alone);
    synfire_stage_result losses[] = {{"loss.live", 0, 0, 0}, {"loss.idle", 0, 0, 0}};
    synfire_network_result of_both = SYNFIRE_NETWORK_RESULT_INIT;
    ASSERT_OK(synfire_network_train_stages(with, 6, losses, 2, &of_both));
    const synfire_network_result of_one = trained(without, 6);
    EXPECT_TRUE(same_bits(body_of(with), body_of(without))) << gain;
    EXPECT_EQ(bits_of(of_both.loss), bits_of(of_one.loss));
    EXPECT_EQ(bits_of(losses[0].loss), bits_of(of_one.loss));
    EXPECT_EQ(losses[0].n_correct, of_one.n_correct);
    EXPECT_EQ(losses[1].n_counted, losses[0].n_counted);
    EXPECT_NE(losses[1].loss, 0);
    EXPECT_EQ(of_both.n_skipped, 0U);
  }
}

// Set before the network is built or after, and a factor beside "gradient_scale", which does not count in the result.
TEST_F(SeveralHeads, HaveAWeightThatCanChange) {
  const std::vector<std::pair<const char*, double>> heads = {{"a", 0.5}, {"b", 2}}, others = {{"a", 1}, {"b", 1}};
  const Network first = make_heads(context, heads), later = make_heads(context, others);
  give(first, rows, heads);
  trained(first, 1);
  ASSERT_OK(synfire_network_set_value(later, "loss.a", "weight", 0.5));
  give(later, rows, heads);
  ASSERT_OK(synfire_network_set_value(later, "loss.b", "weight", 2));
  trained(later, 1);
  EXPECT_TRUE(same_bits(body_of(first), body_of(later)));
  // A weight of 2 is a gradient scale of 2, but for the result.
  const Network scaled = make_heads(context, {{"a", 0.5}, {"b", 1}});
  ASSERT_OK(synfire_network_set_value(scaled, "loss.b", "gradient_scale", 2));
  give(scaled, rows, heads);
  trained(scaled, 1);
  EXPECT_TRUE(same_bits(body_of(first), body_of(scaled)));
  const synfire_network_result of_weight = trained(first, 1), of_scale = trained(scaled, 1);
  EXPECT_GT(of_weight.loss, of_scale.loss);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-VALUE", "product"),
               synfire_network_set_value(scaled, "loss.b", "weight", 1e308));
  // From file to file.
  const File file = saved(first);
  const Network made = created(context, file);
  give(made, rows, heads);
  trained(made, 2);
  trained(first, 2);
  EXPECT_TRUE(saved(made) == saved(first));
}

// A file with more heads goes into a network without them only where these are training alone.
TEST_F(SeveralHeads, ThatAreRemovedAreNamed) {
  const std::vector<std::pair<const char*, double>> both = {{"a", 1}, {"b", 1}};
  const Network whole = make_heads(context, both), fewer = make_heads(context, {{"a", 1}});
  give(whole, rows, both);
  trained(whole, 2);
  const File file = saved(whole);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-OTHER", "no stage \"s.b\" of kind synapse"),
               load(fewer, file));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-OTHER", "the file has no stage \"s.b\""),
               load(whole, saved(fewer)));
  const Network inference = created(context, file, 0, 0, true);
  const Buffer outputs[] = {make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(n_rows * n_classes)),
                            make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(n_rows * n_classes))};
  for (int i = 0; i < 2; ++i)
    ASSERT_OK(infer_arrays(
        i == 0 ? whole : inference, n_rows,
        {array_of("in", SYNFIRE_ARRAY_INPUTS, rows.inputs), array_of("b", SYNFIRE_ARRAY_OUTPUTS, outputs[i])}));
  EXPECT_TRUE(
      same_bits(download<float>(outputs[0], n_rows * n_classes), download<float>(outputs[1], n_rows * n_classes)));
}

// The number of steps of the network may change between a file and a network, that of an input of one step does not.
TEST_F(SeveralHeads, FilesOfInputsOfOneStepFitAnyNumberOfSteps) {
  const auto make = [&](int64_t steps, bool one_step) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = steps;
    desc.batch = batch;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    Network network(made);
    StageValues values = {text("kind", "values"), number("n_features", n_inputs)};
    if (one_step) values.push_back(number("n_steps", 1));
    require_ok(add_stage(network, "input", "in", values));
    require_ok(add_stage(network, "synapse", "s0", {number("n_outputs", 15)}));
    require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
    require_ok(add_stage(network, "readout", "sum", {text("reduction", "sum")}));
    require_ok(synfire_network_build(network));
    return network;
  };
  for (const int64_t from : {1, 4})
    for (const int64_t to : {1, 2, 4}) {
      const File file = saved(make(from, true));
      EXPECT_OK(synfire_network_load_from_memory(make(to, true), file.data(), file.size()));
      synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
      desc.n_steps = to;
      synfire_network made = nullptr;
      ASSERT_OK(synfire_network_create_from_memory(context, file.data(), file.size(), &desc, &made));
      const Network again(made);
      EXPECT_OK(synfire_network_load_from_memory(again, file.data(), file.size()));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("\"in\"", "number of steps", "that of the network"),
                   synfire_network_load_from_memory(make(to, false), file.data(), file.size()));
    }
}

// One head with labels and one with targets: each loss takes its own from the arrays of the data set.
TEST_F(SeveralHeads, LabelsAndTargetsOfOneDataSet) {
  const Network network = make_empty(context);
  require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", n_inputs)}));
  require_ok(add_stage(network, "synapse", "s0", {number("n_outputs", n_classes)}));
  require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
  require_ok(add_stage(network, "readout", "sum", {text("reduction", "sum")}, {reads("hidden")}));
  require_ok(add_stage(network, "loss", "what", {text("kind", "cross_entropy")}));
  require_ok(add_stage(network, "readout", "last", {text("reduction", "last")}, {reads("hidden")}));
  require_ok(add_stage(network, "loss", "where", {text("kind", "mean_squared_error")}));
  require_ok(add_stage(network, "optimizer", "adam", {text("kind", "adam"), number("learning_rate", 0.01)}));
  require_ok(synfire_network_build(network));
  const Buffer inputs = make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(n_rows * n_steps * n_inputs)),
               labels = make_buffer(context, SYNFIRE_DTYPE_U32, static_cast<uint64_t>(n_rows)),
               targets = make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(n_rows * n_classes));
  const auto set = [&](synfire_buffer some_labels, synfire_buffer some_targets) {
    return synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, n_rows, inputs, some_labels, some_targets, nullptr,
                                    nullptr);
  };
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-DATA", "targets null", "\"where\" needs targets"),
               set(labels, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-DATA", "labels are null", "\"what\" needs labels"),
               set(nullptr, targets));
  EXPECT_OK(set(labels, targets));
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_OK(synfire_network_train(network, 2, &result));
}

// An optimiser that leaves a loss out would train it all the same.
TEST_F(SeveralHeads, AnOptimizerReadsEveryLoss) {
  for (const bool names : {false, true}) {
    const Network network = make_empty(context);
    require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", n_inputs)}));
    require_ok(add_stage(network, "synapse", "s0", {number("n_outputs", n_classes)}));
    require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
    require_ok(add_stage(network, "readout", "sum", {text("reduction", "sum")}, {reads("hidden")}));
    require_ok(add_stage(network, "loss", "one", {text("kind", "cross_entropy")}));
    if (!names) require_ok(add_stage(network, "optimizer", "adam", {text("kind", "adam")}));
    require_ok(add_stage(network, "readout", "last", {text("reduction", "last")}, {reads("hidden")}));
    require_ok(add_stage(network, "loss", "two", {text("kind", "cross_entropy")}));
    if (names) require_ok(add_stage(network, "optimizer", "adam", {text("kind", "adam")}, {reads("one")}));
    EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-INCOMPLETE", "\"adam\"", "\"two\""),
                 synfire_network_build(network));
  }
}

// One step that every step takes has the bits of T equal steps.
TEST_F(SeveralHeads, InputsOfOneStepAreThatOfEveryStep) {
  const auto make = [&](bool one_step) {
    Network network = make_empty(context);
    StageValues values = {text("kind", "values"), number("n_features", n_inputs)};
    if (one_step) values.push_back(number("n_steps", 1));
    require_ok(add_stage(network, "input", "in", values));
    require_ok(add_stage(network, "synapse", "s0", {number("n_outputs", 15), number("gain", 3)}));
    require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
    require_ok(add_stage(network, "readout", "sum", {text("reduction", "sum"), number("of_spikes", 1)}));
    require_ok(synfire_network_build(network));
    return network;
  };
  Random random(8);
  const std::vector<float> still = random.values<float>(static_cast<size_t>(n_rows * n_inputs), -1, 3);
  std::vector<float> moving;
  for (int64_t row = 0; row < n_rows; ++row)
    for (int64_t t = 0; t < n_steps; ++t)
      moving.insert(moving.end(), still.begin() + row * n_inputs, still.begin() + (row + 1) * n_inputs);
  const auto outputs_of = [&](const Network& network, const std::vector<float>& inputs) {
    const Buffer from = make_buffer_of(context, inputs),
                 to = make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(n_rows * 15));
    EXPECT_OK(synfire_network_infer(network, from, n_rows, to));
    return download<float>(to, n_rows * 15);
  };
  const std::vector<float> expected = outputs_of(make(false), moving);
  EXPECT_TRUE(same_bits(outputs_of(make(true), still), expected));
  EXPECT_FALSE(all_are(expected, 0.0F));
}

// In a buffer, elements above the bound count as the bound; data sets refuse them.
TEST_F(SeveralHeads, CountsHaveABound) {
  const Network network = make_empty(context);
  require_ok(add_stage(network, "input", "in", {text("kind", "counts"), number("n_features", 4), number("bound", 3)}));
  require_ok(add_stage(network, "flatten", "flat"));
  require_ok(add_stage(network, "readout", "sum", {text("reduction", "sum")}));
  require_ok(add_stage(network, "loss", "loss", {text("kind", "mean_squared_error")}));
  require_ok(synfire_network_build(network));
  std::vector<uint8_t> counts(static_cast<size_t>(batch * n_steps * 4));
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<uint8_t>(i % 7);
  const Buffer from = buffer_of_bytes(context, SYNFIRE_DTYPE_U8, counts.size(), counts.data(), counts.size()),
               to = make_buffer(context, SYNFIRE_DTYPE_F32, batch * 4),
               targets = make_buffer_of(context, std::vector<float>(batch * 4));
  ASSERT_OK(synfire_network_infer(network, from, batch, to));
  std::vector<float> expected(static_cast<size_t>(batch * 4));
  for (size_t i = 0; i < counts.size(); ++i)
    expected[i / (n_steps * 4) * 4 + i % 4] += static_cast<float>(std::min<int>(counts[i], 3));
  EXPECT_EQ(download<float>(to, expected.size()), expected);
  const StageArrays arrays = {array_of("in", SYNFIRE_ARRAY_INPUTS, from),
                              array_of("loss", SYNFIRE_ARRAY_TARGETS, targets)};
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-COUNT", "4", "0 to 3"),
               set_arrays(network, SYNFIRE_DATA_EVALUATION, batch, arrays));
  ASSERT_OK(synfire_network_set_value(network, "in", "any_number", 1));
  EXPECT_OK(set_arrays(network, SYNFIRE_DATA_EVALUATION, batch, arrays));
}

// Two readouts of every step of the same neurons.
TEST_F(SeveralHeads, MayHaveOneArray) {
  const Network network = make_empty(context);
  require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", n_inputs)}));
  require_ok(add_stage(network, "synapse", "s0", {number("n_outputs", 5), number("gain", 3)}));
  require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
  require_ok(add_stage(network, "readout", "one", {text("reduction", "steps")}));
  require_ok(add_stage(network, "readout", "other", {text("reduction", "steps")}, {reads("hidden")}));
  require_ok(synfire_network_build(network));
  const uint64_t n = n_rows * n_steps * 5;
  const Buffer one = make_buffer(context, SYNFIRE_DTYPE_F32, n), other = make_buffer(context, SYNFIRE_DTYPE_F32, n);
  ASSERT_OK(
      infer_arrays(network, n_rows,
                   {array_of("in", SYNFIRE_ARRAY_INPUTS, rows.inputs), array_of("one", SYNFIRE_ARRAY_OUTPUTS, one),
                    array_of("other", SYNFIRE_ARRAY_OUTPUTS, other)}));
  EXPECT_TRUE(same_bits(download<float>(one, n), download<float>(other, n)));
  EXPECT_FALSE(all_are(download<float>(one, n), 0.0F));
}

TEST_F(SeveralHeads, MayShareWeights) {
  const Network network = make_empty(context);
  require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", n_inputs)}));
  require_ok(add_stage(network, "synapse", "s0", {number("n_outputs", n_inputs)}));
  require_ok(add_stage(network, "neurons", "n0", {text("model", "li")}));
  require_ok(add_stage(network, "synapse", "s1", {text("weights_of", "s0")}, {reads("n0", "v")}));
  require_ok(add_stage(network, "neurons", "n1", {text("model", "li")}));
  require_ok(synfire_network_build(network));
  EXPECT_EQ(weights_of(network, "s1", n_inputs * n_inputs), weights_of(network, "s0", n_inputs * n_inputs));
  const FileParts file(saved(network));
  EXPECT_NE(file.header.find("weights_of=s0"), std::string::npos);
  EXPECT_EQ(file.header.find("\"s1.weights\""), std::string::npos);
  const std::string summary = summary_of(network);
  EXPECT_NE(summary.find("weights of s0"), std::string::npos) << summary;
  EXPECT_NE(summary.find("420 parameters"), std::string::npos) << summary;
}

TEST_F(SeveralHeads, AreShownWithWhatTheyRead) {
  const Network network = make_heads(context, {{"a", 1}, {"b", 1}});
  const std::string summary = summary_of(network);
  for (const char* const words : {"reads", "s.b                    synapse", "hidden", "v.b.v", "loss.a, loss.b"})
    EXPECT_NE(summary.find(words), std::string::npos) << words << "\n" << summary;
  uint64_t bytes = 0;
  require_ok(synfire_network_write_dot(network, nullptr, &bytes));
  std::string dot(bytes, '\0');
  require_ok(synfire_network_write_dot(network, dot.data(), &bytes));
  for (const char* const words : {"s2 -> s3;", "s2 -> s7;", "s4 -> s5 [label=\"v\"];", "s6 -> s11;", "s10 -> s11;"})
    EXPECT_NE(dot.find(words), std::string::npos) << words << "\n" << dot;
}

}  // namespace
}  // namespace synfire_test
