// Stages that are described by names, and arrays that are given to stages: the bits of the short forms; and networks
// that branch, with several heads.
#include "described_stages.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

StagePlan plan_of_all() {
  StagePlan plan;
  plan.dropout = 0.25;
  plan.rate_strength = 0.5;
  plan.smoothing = 0.125;
  plan.lengths = plan.sample_weights = true;
  return plan;
}

Network make_empty(synfire_context context, const StagePlan& plan) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = plan.n_steps;
  desc.batch = plan.batch;
  desc.seed = plan.seed;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  return Network(made);
}

// make_stages() of plan_of_all(), by names. With `named`, each stage names the one that it reads.
Network make_described(synfire_context context, const StagePlan& plan, bool named) {
  Network network = make_empty(context, plan);
  const auto before = [&](const char* stage, const char* port = nullptr) {
    return named ? StageInputs{reads(stage, port)} : StageInputs{};
  };
  require_ok(add_stage(network, "input", "input", {number("n_features", 20), text("kind", "rates")}));
  require_ok(add_stage(network, "dropout", "drop", {number("probability", 0.25)}, before("input")));
  require_ok(add_stage(network, "synapse", "s0", {number("seed", 100), number("gain", 2), number("n_outputs", 15)},
                       before("drop")));
  require_ok(add_stage(network, "neurons", "n0",
                       {number("rate_strength", 0.5), text("model", "lif"), number("rate_target", 0.2)}, before("s0")));
  require_ok(add_stage(network, "synapse", "s1", {number("n_outputs", 4), number("gain", 2), number("seed", 101)},
                       before("n0", "spikes")));
  require_ok(add_stage(network, "neurons", "n1", {number("model", SYNFIRE_MODEL_LI)}, before("s1")));
  require_ok(add_stage(network, "readout", "readout", {text("reduction", "mean")}, before("n1", "v")));
  require_ok(add_stage(network, "loss", "loss", {number("label_smoothing", 0.125), text("kind", "cross_entropy")},
                       before("readout")));
  require_ok(add_stage(network, "optimizer", "optimizer", {text("kind", "adam"), number("learning_rate", 0.01)},
                       before("loss")));
  return network;
}

StageArrays arrays_of(const Data& data, const char* input, const char* loss) {
  return {array_of(nullptr, SYNFIRE_ARRAY_LENGTHS, data.lengths), array_of(loss, SYNFIRE_ARRAY_LABELS, data.labels),
          array_of(nullptr, SYNFIRE_ARRAY_SAMPLE_WEIGHTS, data.sample_weights),
          array_of(input, SYNFIRE_ARRAY_INPUTS, data.inputs)};
}

double value_of_stage(synfire_network network, const char* stage, const char* name) {
  double value = 0;
  EXPECT_OK(synfire_network_get_value(network, stage, name, &value));
  return value;
}

synfire_network_result evaluated(synfire_network network, std::vector<synfire_stage_result>& losses) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_OK(synfire_network_evaluate_stages(network, losses.data(), losses.size(), &result));
  return result;
}

TEST(NetworkStages, HaveTheBitsOfTheShortForms) {
  const Context context = make_context();
  const StagePlan plan = plan_of_all();
  const Data data = make_data(context, plan, plan.n_rows, 1);
  const Network expected = make_stages(context, plan);
  require_ok(synfire_network_build(expected));
  set_data(expected, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
  trained(expected, 5);
  const File file = saved(expected);
  for (const bool named : {false, true}) {
    const Network network = make_described(context, plan, named);
    ASSERT_OK(synfire_network_build(network));
    ASSERT_OK(set_arrays(network, SYNFIRE_DATA_TRAINING, plan.n_rows,
                         named ? arrays_of(data, "input", "loss") : arrays_of(data, nullptr, nullptr)));
    trained(network, 5);
    EXPECT_TRUE(saved(network) == file);
  }
}

TEST(NetworkStages, ConstantsHaveNamesAndNumbers) {
  const Context context = make_context();
  const Network network = make_empty(context, StagePlan());
  ASSERT_OK(
      add_stage(network, "input", "in",
                {text("kind", "spikes"), number("n_features", 3), text("dtype", "time_bits"), number("pinned", 1)}));
  ASSERT_OK(add_stage(network, "synapse", "s",
                      {number("n_outputs", 2), text("initialization", "normal"), number("seed", 9007199254740992.0)}));
  ASSERT_OK(add_stage(network, "neurons", "n",
                      {number("tau", 5), number("alpha", 3), text("surrogate", "sigmoid"),
                       text("reset", "soft_delayed"), number("strict_threshold", 1), number("refractory_steps", 2),
                       text("model", "lif"), text("tape", "store"), text("dtype", "f16")}));
  ASSERT_OK(add_stage(network, "readout", "r", {number("of_spikes", 1), text("reduction", "last")}));
  ASSERT_OK(add_stage(network, "loss", "l", {text("kind", "mean_squared_error")}));
  ASSERT_OK(add_stage(network, "optimizer", "o", {text("kind", "adamw")}));
  EXPECT_EQ(value_of_stage(network, "in", "dtype"), SYNFIRE_DTYPE_TIME_BITS);
  EXPECT_EQ(value_of_stage(network, "in", "pinned"), 1);
  EXPECT_EQ(value_of_stage(network, "s", "initialization"), SYNFIRE_INITIALIZATION_NORMAL);
  EXPECT_EQ(value_of_stage(network, "s", "seed"), 9007199254740992.0);
  EXPECT_EQ(value_of_stage(network, "n", "tau"), 5);
  EXPECT_EQ(value_of_stage(network, "n", "alpha"), 3);
  EXPECT_EQ(value_of_stage(network, "n", "surrogate"), SYNFIRE_SURROGATE_SIGMOID);
  EXPECT_EQ(value_of_stage(network, "n", "reset"), SYNFIRE_RESET_SOFT_DELAYED);
  EXPECT_EQ(value_of_stage(network, "n", "strict_threshold"), 1);
  EXPECT_EQ(value_of_stage(network, "n", "refractory_steps"), 2);
  EXPECT_EQ(value_of_stage(network, "n", "tape"), SYNFIRE_TAPE_STORE);
  EXPECT_EQ(value_of_stage(network, "n", "dtype"), SYNFIRE_DTYPE_F16);
  EXPECT_EQ(value_of_stage(network, "l", "targets"), 1) << "the default of squared errors";
  EXPECT_EQ(value_of_stage(network, "o", "weight_decay"), 1e-2) << "the default of AdamW";
  EXPECT_EQ(value_of_stage(network, "o", "learning_rate"), 1e-3);
  EXPECT_OK(synfire_network_build(network));
}

TEST(NetworkStages, ArraysAreTakenAllOrNone) {
  const Context context = make_context();
  const StagePlan plan = plan_of_all();
  const Data data = make_data(context, plan, plan.n_rows, 1), other = make_data(context, plan, plan.n_rows, 2);
  const Network network = make_stages(context, plan), same = make_stages(context, plan);
  for (const synfire_network one : {network.get(), same.get()}) {
    ASSERT_OK(synfire_network_build(one));
    ASSERT_OK(set_arrays(one, SYNFIRE_DATA_TRAINING, plan.n_rows, arrays_of(data, "input", "loss")));
  }
  std::vector<float> weights(static_cast<size_t>(plan.n_rows), 1);
  weights.back() = std::numeric_limits<float>::infinity();
  const Buffer infinite = make_buffer_of(context, weights);
  StageArrays wrong = arrays_of(other, "input", "loss");
  wrong[2].buffer = infinite;
  for (const int64_t n_rows : {plan.n_rows, plan.n_rows - 1}) {
    StageArrays one = wrong;
    if (n_rows < plan.n_rows) one[2].buffer = one[1].buffer;  // of another type
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("sample_weights"),
                 set_arrays(network, SYNFIRE_DATA_TRAINING, n_rows, one));
  }
  trained(network, 4);
  trained(same, 4);
  EXPECT_TRUE(saved(network) == saved(same));
}

TEST(NetworkStages, ListsGiveWhatSingleArraysGive) {
  const Context context = make_context();
  const StagePlan plan = plan_of_all();
  const Data data = make_data(context, plan, plan.n_rows, 1);
  const Network network = make_stages(context, plan);
  require_ok(synfire_network_build(network));
  set_data(network, SYNFIRE_DATA_EVALUATION, plan.n_rows, data);
  const auto n_scores = static_cast<size_t>(plan.n_rows * plan.sizes.back());
  const Buffer expected = make_buffer(context, SYNFIRE_DTYPE_F32, n_scores);
  const Buffer outputs = make_buffer(context, SYNFIRE_DTYPE_F32, n_scores);
  ASSERT_OK(synfire_network_infer(network, data.inputs, plan.n_rows, expected));
  ASSERT_OK(infer_arrays(
      network, plan.n_rows,
      {array_of("readout", SYNFIRE_ARRAY_OUTPUTS, outputs), array_of(nullptr, SYNFIRE_ARRAY_INPUTS, data.inputs)}));
  EXPECT_EQ(download<float>(outputs, n_scores), download<float>(expected, n_scores));

  synfire_network_result whole = SYNFIRE_NETWORK_RESULT_INIT;
  ASSERT_OK(synfire_network_evaluate(network, &whole));
  std::vector<synfire_stage_result> losses = {{"loss", -1, 99, 99}};
  const synfire_network_result result = evaluated(network, losses);
  EXPECT_EQ(bits_of(result.loss), bits_of(whole.loss));
  EXPECT_EQ(bits_of(losses[0].loss + whole.rate_loss), bits_of(whole.loss));
  EXPECT_EQ(losses[0].n_counted, whole.n_counted);
  EXPECT_EQ(losses[0].n_correct, whole.n_correct);
}

// ---- networks that branch -------------------------------------------------------------------------------------------

constexpr int64_t n_shared = 12, n_upper = 4, n_rows_of_heads = 10;

// Shared neurons, read by a readout of their V and by a second pair; each has a loss.
Network make_heads(synfire_context context, const StagePlan& plan) {
  Network network = make_empty(context, plan);
  require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", 20)}));
  require_ok(add_stage(network, "synapse", "s.shared", {number("n_outputs", n_shared), number("gain", 2)}));
  require_ok(add_stage(network, "neurons", "shared", {text("model", "lif")}));
  require_ok(add_stage(network, "synapse", "s.upper", {number("n_outputs", n_upper), number("gain", 2)}));
  require_ok(add_stage(network, "neurons", "upper", {text("model", "lif")}));
  require_ok(add_stage(network, "readout", "low", {text("reduction", "mean")}, {reads("shared")}));
  require_ok(add_stage(network, "readout", "high", {text("reduction", "sum")}, {reads("upper", "spikes")}));
  require_ok(add_stage(network, "loss", "loss.low", {text("kind", "cross_entropy")}, {reads("low")}));
  require_ok(add_stage(network, "loss", "loss.high", {text("kind", "cross_entropy")}, {reads("high")}));
  require_ok(add_stage(network, "optimizer", "adam", {text("kind", "adam"), number("learning_rate", 0.01)},
                       {reads("loss.low"), reads("loss.high")}));
  require_ok(synfire_network_build(network));
  return network;
}

StagePlan plan_of_heads() {
  StagePlan plan;
  plan.input = SYNFIRE_NETWORK_INPUT_VALUES;
  return plan;
}

class Heads : public testing::Test {
 protected:
  Buffer labels(int64_t n_classes, uint64_t seed) const {
    Random random(seed);
    std::vector<uint32_t> numbers(static_cast<size_t>(n_rows_of_heads));
    for (uint32_t& one : numbers) one = static_cast<uint32_t>(random.whole(0, n_classes - 1));
    return buffer_of_bytes(context, SYNFIRE_DTYPE_U32, numbers.size(), numbers.data(), numbers.size() * 4);
  }
  std::vector<uint32_t> weights(synfire_network network, const char* stage, int64_t count) const {
    synfire_synapse made = nullptr;
    EXPECT_OK(synfire_network_get_synapse(network, stage, &made));
    const Synapse synapse(made);
    std::vector<uint32_t> words(static_cast<size_t>(count));
    EXPECT_OK(synfire_synapse_read(synapse, "weight", words.data(), words.size() * 4));
    return words;
  }
  std::vector<uint32_t> all_weights(synfire_network network) const {
    std::vector<uint32_t> words = weights(network, "s.shared", n_shared * 20);
    const std::vector<uint32_t> upper = weights(network, "s.upper", n_upper * n_shared);
    words.insert(words.end(), upper.begin(), upper.end());
    return words;
  }
  StageArrays arrays(synfire_buffer low, synfire_buffer high) const {
    return {array_of("in", SYNFIRE_ARRAY_INPUTS, data.inputs), array_of("loss.low", SYNFIRE_ARRAY_LABELS, low),
            array_of("loss.high", SYNFIRE_ARRAY_LABELS, high)};
  }

  const Context context = make_context();
  const StagePlan plan = plan_of_heads();
  const Data data = make_data(context, plan, n_rows_of_heads, 1);
};

TEST_F(Heads, HaveLabelsOfTheirOwn) {
  const Buffer shared = labels(n_upper, 3), low = labels(n_shared, 4);
  // The short form gives all losses the same labels.
  const Network expected = make_heads(context, plan), network = make_heads(context, plan);
  ASSERT_OK(synfire_network_set_data(expected, SYNFIRE_DATA_TRAINING, n_rows_of_heads, data.inputs, shared, nullptr,
                                     nullptr, nullptr));
  ASSERT_OK(set_arrays(network, SYNFIRE_DATA_TRAINING, n_rows_of_heads, arrays(shared, shared)));
  trained(expected, 3);
  trained(network, 3);
  EXPECT_EQ(all_weights(network), all_weights(expected));
  // Labels of its own change what the shared neurons learn.
  const Network other = make_heads(context, plan);
  ASSERT_OK(set_arrays(other, SYNFIRE_DATA_TRAINING, n_rows_of_heads, arrays(low, shared)));
  trained(other, 3);
  EXPECT_NE(all_weights(other), all_weights(network));
  // A label that the other head would take is refused, with the head.
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-LABEL", "loss.high", "0 to 3"),
               set_arrays(other, SYNFIRE_DATA_TRAINING, n_rows_of_heads, arrays(low, low)));
}

TEST_F(Heads, HaveResultsAndOutputsOfTheirOwn) {
  const Network network = make_heads(context, plan);
  const Buffer low = labels(n_shared, 4), high = labels(n_upper, 3);
  ASSERT_OK(set_arrays(network, SYNFIRE_DATA_EVALUATION, n_rows_of_heads, arrays(low, high)));
  std::vector<synfire_stage_result> losses = {{"loss.high", 0, 0, 0}, {"loss.low", 0, 0, 0}};
  const synfire_network_result result = evaluated(network, losses);
  EXPECT_EQ(bits_of(result.loss), bits_of(losses[1].loss + losses[0].loss));
  EXPECT_EQ(result.n_counted, 2 * static_cast<uint64_t>(n_rows_of_heads));
  EXPECT_EQ(result.n_correct, losses[0].n_correct + losses[1].n_correct);
  // The mean cross-entropy of the scores that inference gives.
  const auto n_rows = static_cast<size_t>(n_rows_of_heads);
  const Buffer of_low = make_buffer(context, SYNFIRE_DTYPE_F32, n_rows * n_shared),
               of_high = make_buffer(context, SYNFIRE_DTYPE_F32, n_rows * n_upper);
  ASSERT_OK(
      infer_arrays(network, n_rows_of_heads,
                   {array_of("low", SYNFIRE_ARRAY_OUTPUTS, of_low), array_of("in", SYNFIRE_ARRAY_INPUTS, data.inputs),
                    array_of("high", SYNFIRE_ARRAY_OUTPUTS, of_high)}));
  const auto mean = [&](const Buffer& scores, const Buffer& right, size_t n_classes) {
    const std::vector<float> all = download<float>(scores, n_rows * n_classes);
    const std::vector<uint32_t> expected = download<uint32_t>(right, n_rows);
    double sum = 0;
    for (size_t row = 0; row < n_rows; ++row) {
      double total = 0;
      for (size_t c = 0; c < n_classes; ++c) total += std::exp(static_cast<double>(all[row * n_classes + c]));
      sum += std::log(total) - static_cast<double>(all[row * n_classes + expected[row]]);
    }
    return sum / static_cast<double>(n_rows);
  };
  EXPECT_NEAR(mean(of_low, low, n_shared), losses[1].loss, 1e-6);
  EXPECT_NEAR(mean(of_high, high, n_upper), losses[0].loss, 1e-5);
  // One of the outputs alone has the same bits.
  const Buffer alone = make_buffer(context, SYNFIRE_DTYPE_F32, n_rows * n_upper);
  ASSERT_OK(infer_arrays(
      network, n_rows_of_heads,
      {array_of(nullptr, SYNFIRE_ARRAY_INPUTS, data.inputs), array_of("high", SYNFIRE_ARRAY_OUTPUTS, alone)}));
  EXPECT_EQ(download<float>(alone, n_rows * n_upper), download<float>(of_high, n_rows * n_upper));
}

TEST_F(Heads, AreDrawnAndRefusedWhereOneIsNeeded) {
  const Network network = make_heads(context, plan);
  uint64_t bytes = 0;
  ASSERT_OK(synfire_network_write_dot(network, nullptr, &bytes));
  std::string dot(bytes, '\0');
  ASSERT_OK(synfire_network_write_dot(network, dot.data(), &bytes));
  for (const char* const edge : {"s2 -> s3;", "s2 -> s5 [label=\"v\"];", "s4 -> s6", "s7 -> s9;", "s8 -> s9;"})
    EXPECT_NE(dot.find(edge), std::string::npos) << edge;
  const Buffer outputs = make_buffer(context, SYNFIRE_DTYPE_F32, 1000);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-ARRAY", "2 outputs", "synfire_network_infer_arrays"),
               synfire_network_infer(network, data.inputs, n_rows_of_heads, outputs));
  // A chain has no place for the second head.
  const Network chain = make_stages(context, plan);
  require_ok(synfire_network_build(chain));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-OTHER"), load(chain, saved(network)));
}

// ---- Weights of few bits, dropout of channels -----------------------------------------------------------------------

int32_t weight_bits_of(synfire_network network, const char* stage) {
  synfire_synapse found = nullptr;
  require_ok(synfire_network_get_synapse(network, stage, &found));
  const Synapse synapse(found);
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  require_ok(synfire_synapse_get_info(synapse, &info));
  return info.weight_bits;
}

TEST(NetworkStages, WeightsOfFewBitsAreSaved) {
  const Context context = make_context();
  const StagePlan plan = plan_of_all();
  const auto make = [&](double first, double second) {
    Network network = make_described(context, plan, false);
    require_ok(synfire_network_set_value(network, "s0", "weight_bits", first));
    require_ok(synfire_network_set_value(network, "s1", "weight_bits", second));
    require_ok(synfire_network_build(network));
    return network;
  };
  const Network network = make(8, 24), plain = make(0, 0);
  EXPECT_EQ(weight_bits_of(network, "s0"), 8);
  EXPECT_EQ(weight_bits_of(network, "s1"), 24);
  const Data data = make_data(context, plan, plan.n_rows, 1);
  set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
  trained(network, 3);
  const File file = saved(network);
  const Network loaded = created(context, file);
  EXPECT_EQ(weight_bits_of(loaded, "s0"), 8);
  EXPECT_EQ(saved(loaded), file);
  set_data(loaded, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
  trained(network, 3);
  trained(loaded, 3);
  EXPECT_EQ(saved(loaded), saved(network));
  // A default stands for 24, and a file without the value has 24.
  EXPECT_EQ(FileParts(saved(plain)).header.find("weight_bits"), std::string::npos);
  EXPECT_OK(load(make(24, 24), saved(plain)));
  EXPECT_OK(load(make(8, 0), file));
  for (const Network& other : {make(16, 0), make(0, 0)})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-OTHER", "s0", "weight_bits"), load(other, file));
  uint64_t bytes = 0;
  require_ok(synfire_network_write_summary(network, nullptr, &bytes));
  std::string summary(bytes, ' ');
  require_ok(synfire_network_write_summary(network, summary.data(), &bytes));
  EXPECT_NE(summary.find("8 bits"), std::string::npos) << summary;
}

TEST(NetworkStages, WeightBitsThatThereAreNot) {
  const Context context = make_context();
  StagePlan plan = plan_of_all();
  const Network network = make_empty(context, plan);
  require_ok(add_stage(network, "input", "in", {text("kind", "spikes"), number("n_features", 5)}));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-WEIGHT-BITS", "\"s\"", "12"),
               add_stage(network, "synapse", "s", {number("n_outputs", 3), number("weight_bits", 12)}));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-VALUE", "weight_bits"),
               add_stage(network, "synapse", "s", {number("n_outputs", 3), number("weight_bits", 32)}));
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = desc.batch = 1;
  desc.dtype = SYNFIRE_DTYPE_F64;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  const Network wide(made);
  require_ok(add_stage(wide, "input", "in", {text("kind", "spikes"), number("n_features", 5)}));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-WEIGHT-BITS", "f64"),
               add_stage(wide, "synapse", "s", {number("n_outputs", 3), number("weight_bits", 8)}));
}

// Which weights change in a step says which inputs were kept, where all inputs and gradients are 1 and weights begin at
// 0.
TEST(NetworkStages, DropoutOfChannelsDropsAllPlaces) {
  const Context context = make_context();
  constexpr size_t places = 6, channels = 5;
  for (const double by_channel : {1.0, 0.0}) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = desc.batch = 1;
    desc.own_loss = SYNFIRE_OWN_LOSS_STARTS;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    const Network network(made);
    require_ok(add_stage(network, "input", "in",
                         {text("kind", "values"), number("height", 2), number("width", 3), number("channels", 5)}));
    require_ok(add_stage(network, "dropout", "drop", {number("probability", 0.5), number("by_channel", by_channel)}));
    require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 1), text("initialization", "zero")}));
    require_ok(add_stage(network, "neurons", "n", {text("model", "li"), number("tau", 1)}));
    require_ok(add_stage(network, "readout", "r", {text("reduction", "steps")}));
    require_ok(add_stage(network, "optimizer", "sgd", {text("kind", "sgd"), number("learning_rate", 1)}));
    require_ok(synfire_network_build(network));
    const auto buffer = [&](const char* name) {
      synfire_buffer found = nullptr;
      require_ok(synfire_network_get_buffer(network, name, &found));
      return Buffer(found);
    };
    const Buffer input = buffer("input"), gradient = buffer("r.gradient");
    synfire_synapse of_s = nullptr;
    require_ok(synfire_network_get_synapse(network, "s", &of_s));
    const Synapse synapse(of_s);
    std::vector<float> before(places * channels);
    size_t n_kept = 0, n_whole = 0;
    for (int i = 0; i < 8; ++i) {
      upload(input, std::vector<float>(places * channels, 1));
      for (const int32_t kind : {SYNFIRE_NETWORK_GRAPH_FORWARD, SYNFIRE_NETWORK_GRAPH_BACKWARD}) {
        if (kind == SYNFIRE_NETWORK_GRAPH_BACKWARD) upload(gradient, std::vector<float>{1});
        synfire_graph found = nullptr;
        require_ok(synfire_network_get_graph(network, kind, &found));
        const Graph graph(found);
        replay(graph);
      }
      std::vector<float> now(places * channels);
      require_ok(synfire_synapse_read(synapse, "weight", now.data(), now.size() * sizeof(float)));
      for (size_t c = 0; c < channels; ++c) {
        size_t kept = 0;
        for (size_t place = 0; place < places; ++place) {
          const float change = now[place * channels + c] - before[place * channels + c];
          EXPECT_TRUE(change == 0 || change == -2);
          kept += change == 0 ? 0 : 1;
        }
        n_kept += kept;
        n_whole += kept == 0 || kept == places ? 1 : 0;
      }
      before = now;
    }
    EXPECT_GT(n_kept, 60u);
    EXPECT_LT(n_kept, 180u);
    if (by_channel == 1)
      EXPECT_EQ(n_whole, 8 * channels);
    else
      EXPECT_LT(n_whole, 10u);
    const File file = saved(network);
    EXPECT_EQ(FileParts(file).header.find("by_channel") != std::string::npos, by_channel == 1);
    EXPECT_EQ(saved(created(context, file)), file);
  }
}

}  // namespace
}  // namespace synfire_test
