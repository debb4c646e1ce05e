// Data sets of networks: what cannot be meant is refused with its row and value, and changes nothing; steps beyond a
// row's length count for nothing, whatever they hold; numbers that are not finite are replaced and counted on request.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph_support.hpp"
#include "network_by_hand.hpp"
#include "network_file.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double nan_of_double = std::numeric_limits<double>::quiet_NaN();

struct Value {
  const char *stage, *name;
  double value;
};

// A network [T, B, K] to C classes, and the shape of its data of R rows.
struct Plan {
  int32_t input = SYNFIRE_NETWORK_INPUT_VALUES, dtype = SYNFIRE_DTYPE_F32, arithmetic = SYNFIRE_DTYPE_F32;
  int32_t loss = SYNFIRE_LOSS_CROSS_ENTROPY;
  bool rates_per_step = false, loss_per_step = false;
  int64_t n_steps = 4, width = 3, n_classes = 5, n_rows = 6, batch = 4;
  std::vector<Value> values = {};

  size_t rows() const { return static_cast<size_t>(n_rows); }
  size_t steps() const { return static_cast<size_t>(n_steps); }
  bool one_step() const { return input == SYNFIRE_NETWORK_INPUT_RATES && !rates_per_step; }
  // Elements of one row, packed spikes in words.
  size_t row() const {
    const size_t words = static_cast<size_t>(dtype == SYNFIRE_DTYPE_BITS ? (width + 31) / 32 : width);
    return (one_step() ? 1 : dtype == SYNFIRE_DTYPE_TIME_BITS ? (steps() + 31) / 32 : steps()) * words;
  }
  size_t loss_steps() const { return loss_per_step ? steps() : 1; }
  bool has_targets() const { return loss == SYNFIRE_LOSS_MEAN_SQUARED_ERROR; }
};

Network make_network(synfire_context context, const Plan& plan) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = plan.n_steps;
  desc.batch = plan.batch;
  desc.dtype = plan.arithmetic;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  require_ok(synfire_network_add_input(network, "in", plan.input, plan.width));
  require_ok(synfire_network_set_value(network, "in", "dtype", plan.dtype));
  if (plan.rates_per_step) require_ok(synfire_network_set_value(network, "in", "per_step", 1));
  require_ok(synfire_network_add_synapse(network, "s", plan.n_classes));
  require_ok(synfire_network_set_value(network, "s", "gain", 2));
  require_ok(synfire_network_add_neurons(network, "n", SYNFIRE_MODEL_LI));
  const int32_t readout = plan.loss_per_step ? SYNFIRE_READOUT_STEPS : SYNFIRE_READOUT_MEAN;
  require_ok(synfire_network_add_readout(network, "readout", readout, 0));
  require_ok(synfire_network_add_loss(network, "loss", plan.loss));
  if (plan.loss_per_step) require_ok(synfire_network_set_value(network, "loss", "per_step", 1));
  require_ok(synfire_network_add_optimizer(network, "optimizer", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01));
  for (const Value& one : plan.values) require_ok(synfire_network_set_value(network, one.stage, one.name, one.value));
  require_ok(synfire_network_build(network));
  return network;
}

// The program's arrays as numbers. They are right as they are made.
struct Arrays {
  std::vector<double> inputs, labels, targets, lengths, weights;

  explicit Arrays(const Plan& plan, uint64_t seed = 1) : inputs(plan.rows() * plan.row()) {
    Random random(seed);
    for (double& input : inputs) {
      const double drawn = random.uniform(0, 1);
      const bool packed = is_packed(plan.dtype), spikes = plan.input == SYNFIRE_NETWORK_INPUT_SPIKES;
      input = packed ? std::floor(drawn * 4294967296.0) : spikes ? (drawn < 0.4 ? 1 : 0) : drawn;
    }
    const size_t samples = plan.rows() * plan.loss_steps();
    if (plan.has_targets()) {
      targets = random.values<double>(samples * static_cast<size_t>(plan.n_classes), -1, 1);
    } else {
      labels.resize(samples);
      for (double& label : labels) label = static_cast<double>(random.whole(0, plan.n_classes - 1));
    }
  }
};

Buffer stored(synfire_context context, int32_t dtype, const std::vector<double>& values, int32_t memory) {
  if (values.empty()) return Buffer();
  Buffer made = make_frame(context, values.size(), memory, dtype);
  std::vector<unsigned char> bytes(values.size() * element_bytes(dtype));
  for (size_t i = 0; i < values.size(); ++i) store(bytes.data() + i * element_bytes(dtype), dtype, values[i]);
  EXPECT_OK(synfire_buffer_upload(made, 0, bytes.data(), bytes.size()));
  return made;
}

synfire_status give(synfire_context context, synfire_network network, const Plan& plan, const Arrays& arrays,
                    int32_t memory = SYNFIRE_MEMORY_HOST, int32_t set = SYNFIRE_DATA_TRAINING) {
  const Buffer inputs = stored(context, plan.dtype, arrays.inputs, memory),
               labels = stored(context, SYNFIRE_DTYPE_U32, arrays.labels, memory),
               targets = stored(context, plan.arithmetic, arrays.targets, memory),
               lengths = stored(context, SYNFIRE_DTYPE_U32, arrays.lengths, memory),
               weights = stored(context, SYNFIRE_DTYPE_F32, arrays.weights, memory);
  return synfire_network_set_data(network, set, plan.n_rows, inputs, labels, targets, lengths, weights);
}

synfire_network_result train(synfire_network network, int64_t n_batches = 0) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_OK(synfire_network_train(network, n_batches, &result));
  return result;
}
synfire_network_result evaluate(synfire_network network) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_OK(synfire_network_evaluate(network, &result));
  return result;
}

std::vector<uint32_t> weights_of(synfire_network network, const Plan& plan) {
  synfire_synapse made = nullptr;
  EXPECT_OK(synfire_network_get_synapse(network, "s", &made));
  const Synapse synapse(made);
  std::vector<uint32_t> weights(static_cast<size_t>(plan.n_classes * plan.width) * element_bytes(plan.arithmetic) / 4);
  EXPECT_OK(synfire_synapse_read(synapse, "weight", weights.data(), weights.size() * sizeof(uint32_t)));
  return weights;
}

class NetworkData : public testing::Test {
 protected:
  // The plan's data are taken; with one element changed they are refused with these words, from memory of every kind,
  // and the network goes on with the data that it has.
  template <class Change>
  void expect_refused(const Plan& plan, std::initializer_list<std::string_view> words, Change change) const {
    const Network network = make_network(context, plan), same = make_network(context, plan);
    const Arrays right(plan);
    Arrays wrong(plan);
    change(wrong);
    for (const synfire_network one : {network.get(), same.get()}) ASSERT_OK(give(context, one, plan, right));
    for (const int32_t memory : {SYNFIRE_MEMORY_HOST, SYNFIRE_MEMORY_PINNED, SYNFIRE_MEMORY_DEVICE})
      for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION})
        EXPECT_FAILS(refused, words, give(context, network, plan, wrong, memory, set)) << "memory " << memory;
    const synfire_network_result result = train(network), expected = train(same);
    EXPECT_EQ(bits_of(result.loss), bits_of(expected.loss));
    EXPECT_EQ(weights_of(network, plan), weights_of(same, plan));
    synfire_network_result none = SYNFIRE_NETWORK_RESULT_INIT;
    EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-NO-DATA"), synfire_network_evaluate(network, &none));
  }
  template <class Change>
  void expect_taken(const Plan& plan, Change change) const {
    const Network network = make_network(context, plan);
    Arrays arrays(plan);
    change(arrays);
    EXPECT_OK(give(context, network, plan, arrays));
  }

  const Context context = make_context();
};

// ---- Labels ---------------------------------------------------------------------------------------------------------

TEST_F(NetworkData, LabelsThatAreNoClassAreRefused) {
  const Plan plan;
  expect_refused(plan, WORDS("[SYN-NETWORK-LABEL]", "labels", "5", "row 3", "0 to 4"),
                 [](Arrays& a) { a.labels[3] = 5; });
  expect_refused(plan, WORDS("[SYN-NETWORK-LABEL]", "4294967295", "row 5"),
                 [](Arrays& a) { a.labels[5] = 4294967295.0; });
  // The first one is named.
  expect_refused(plan, WORDS("[SYN-NETWORK-LABEL]", "has 9 in row 0"),
                 [](Arrays& a) { a.labels[0] = a.labels[1] = 9; });
}

TEST_F(NetworkData, TheIgnoredLabelIsTaken) {
  Plan plan;
  plan.values = {{"loss", "ignores_label", 1}, {"loss", "ignored_label", 255}};
  expect_taken(plan, [](Arrays& a) { a.labels[2] = 255; });
  expect_refused(plan, WORDS("[SYN-NETWORK-LABEL]", "254", "row 2", "255, which is ignored"),
                 [](Arrays& a) { a.labels[2] = 254; });
  plan.values = {};
  expect_refused(plan, WORDS("[SYN-NETWORK-LABEL]", "255"), [](Arrays& a) { a.labels[2] = 255; });
}

TEST_F(NetworkData, LabelsOfStepsNameTheStep) {
  Plan plan;
  plan.loss_per_step = true;
  expect_refused(plan, WORDS("[SYN-NETWORK-LABEL]", "7", "row 2, step 3"), [](Arrays& a) { a.labels[2 * 4 + 3] = 7; });
  // Beyond a row's length there is none.
  expect_taken(plan, [](Arrays& a) {
    a.lengths = {4, 4, 3, 4, 4, 4};
    a.labels[2 * 4 + 3] = 7;
  });
  expect_refused(plan, WORDS("[SYN-NETWORK-LABEL]", "7", "row 2, step 2"), [](Arrays& a) {
    a.lengths = {4, 4, 3, 4, 4, 4};
    a.labels[2 * 4 + 2] = 7;
  });
}

// ---- Inputs ---------------------------------------------------------------------------------------------------------

TEST_F(NetworkData, DenseSpikesAreZeroOrOne) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
    SCOPED_TRACE(dtype);
    Plan plan;
    plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    plan.dtype = dtype;
    const auto with = [](double number) { return [=](Arrays& a) { a.inputs[12 * 3 + 3 * 2 + 1] = number; }; };
    const std::string_view place = "row 3, step 2, element 1", rule = "[SYN-NETWORK-SPIKE]";
    expect_refused(plan, {rule, place, "0.5"}, with(0.5));
    expect_refused(plan, {rule, place, "-1"}, with(-1));
    expect_refused(plan, {rule, place, "7"}, with(7));
    expect_refused(plan, {rule, place, "nan", "any_number", "\"in\""}, with(nan_of_double));
    expect_refused(plan, {rule, place, "inf"}, with(infinity_of_double));
    expect_taken(plan, with(-0.0));
    plan.values = {{"in", "any_number", 1}};
    for (const double number : {0.5, -1.0, 7.0, nan_of_double, infinity_of_double}) expect_taken(plan, with(number));
    plan.values = {{"in", "replace_nonfinite", 1}};
    expect_taken(plan, with(nan_of_double));
    expect_refused(plan, {rule, place, "0.5"}, with(0.5));
  }
  Plan bytes;
  bytes.input = SYNFIRE_NETWORK_INPUT_SPIKES;
  bytes.dtype = SYNFIRE_DTYPE_U8;
  expect_refused(bytes, WORDS("[SYN-NETWORK-SPIKE]", "2", "row 5, step 3, element 2"),
                 [](Arrays& a) { a.inputs.back() = 2; });
  bytes.values = {{"in", "any_number", 1}};
  expect_taken(bytes, [](Arrays& a) { a.inputs.back() = 255; });
  for (const int32_t dtype : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS}) {
    bytes.dtype = dtype;
    bytes.values = {};
    expect_taken(bytes, [](Arrays&) {});
  }
}

TEST_F(NetworkData, ValuesAreFinite) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16, SYNFIRE_DTYPE_F64}) {
    SCOPED_TRACE(dtype);
    Plan plan;
    plan.dtype = dtype;
    if (dtype == SYNFIRE_DTYPE_F64) plan.arithmetic = dtype;
    const auto with = [](double number) { return [=](Arrays& a) { a.inputs[12 + 3 * 1 + 2] = number; }; };
    const std::string_view place = "row 1, step 1, element 2", rule = "[SYN-NETWORK-INPUT]";
    expect_refused(plan, {rule, place, "nan", "any_number", "replace_nonfinite", "\"in\""}, with(nan_of_double));
    expect_refused(plan, {rule, place, "-inf"}, with(-infinity_of_double));
    for (const double number : {-1000.0, -0.0, 60000.0}) expect_taken(plan, with(number));
    for (const char* const name : {"any_number", "replace_nonfinite"}) {
      plan.values = {{"in", name, 1}};
      expect_taken(plan, with(nan_of_double));
      expect_taken(plan, with(infinity_of_double));
    }
  }
}

TEST_F(NetworkData, RatesAreFromZeroToOne) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    for (const bool per_step : {false, true}) {
      SCOPED_TRACE(dtype);
      Plan plan;
      plan.input = SYNFIRE_NETWORK_INPUT_RATES;
      plan.dtype = dtype;
      plan.rates_per_step = per_step;
      const auto with = [](double number) { return [=](Arrays& a) { a.inputs.back() = number; }; };
      const std::string_view place = per_step ? "row 5, step 3, element 2" : "row 5, element 2";
      const std::string_view rule = "[SYN-NETWORK-RATE]";
      for (const double number : {0.0, -0.0, 1.0}) expect_taken(plan, with(number));
      expect_refused(plan, {rule, place, "2"}, with(2));
      expect_refused(plan, {rule, place, "-0.25"}, with(-0.25));
      expect_refused(plan, {rule, place, "nan", "any_number", "\"in\""}, with(nan_of_double));
      plan.values = {{"in", "any_number", 1}};
      for (const double number : {2.0, -0.25, nan_of_double}) expect_taken(plan, with(number));
      plan.values = {{"in", "replace_nonfinite", 1}};
      expect_taken(plan, with(nan_of_double));
      expect_refused(plan, {rule, place, "2"}, with(2));
    }
}

TEST_F(NetworkData, TargetsAndSampleWeightsAreFinite) {
  for (const bool per_step : {false, true}) {
    Plan plan;
    plan.loss = SYNFIRE_LOSS_MEAN_SQUARED_ERROR;
    plan.loss_per_step = per_step;
    const auto with = [](double number) { return [=](Arrays& a) { a.targets.back() = number; }; };
    const std::string_view place = per_step ? "row 5, step 3, element 4" : "row 5, element 4";
    expect_refused(plan, {"[SYN-NETWORK-TARGET]", place, "nan", "any_number", "\"loss\""}, with(nan_of_double));
    expect_refused(plan, {"[SYN-NETWORK-TARGET]", place, "inf"}, with(infinity_of_double));
    plan.values = {{"loss", "any_number", 1}};
    expect_taken(plan, with(nan_of_double));
  }
  Plan plan;
  const auto weight = [](double number) {
    return [=](Arrays& a) {
      a.weights.assign(6, 1);
      a.weights[4] = number;
    };
  };
  expect_refused(plan, WORDS("[SYN-NETWORK-WEIGHT]", "sample_weights", "row 4", "nan"), weight(nan_of_double));
  for (const double number : {0.0, -1.0, 3.0}) expect_taken(plan, weight(number));
  plan.values = {{"loss", "any_number", 1}};
  expect_taken(plan, weight(nan_of_double));
}

// After a refusal the program can say what it means, without building the network again; and a file does not change it.
TEST_F(NetworkData, AnyNumberCanChangeLater) {
  const Plan plan;
  const Network network = make_network(context, plan);
  Arrays arrays(plan);
  arrays.inputs[0] = nan_of_double;
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-INPUT"), give(context, network, plan, arrays));
  EXPECT_OK(synfire_network_set_value(network, "in", "any_number", 1));
  EXPECT_OK(give(context, network, plan, arrays));
  const File file = saved(make_network(context, plan));
  EXPECT_OK(load(network, file));
  double value = 0;
  EXPECT_OK(synfire_network_get_value(network, "in", "any_number", &value));
  EXPECT_EQ(value, 1);
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-VALUE", "any_number"),
               synfire_network_set_value(network, "in", "any_number", 2));
}

// At the ends of the blocks in which a processor looks at elements, and far beyond them.
TEST_F(NetworkData, EveryElementOfLargeDataIsLookedAt) {
  Plan plan;
  plan.n_steps = 7;
  plan.width = 1001;
  plan.n_rows = 157;  // 4.2 MiB
  const Network network = make_network(context, plan);
  const Arrays right(plan);
  for (const int32_t memory : {SYNFIRE_MEMORY_HOST, SYNFIRE_MEMORY_DEVICE}) {
    EXPECT_OK(give(context, network, plan, right, memory));
    for (const size_t at :
         {size_t{1023}, size_t{1024}, (size_t{1} << 20) - 1, size_t{1} << 20, right.inputs.size() - 1}) {
      Arrays wrong = right;
      wrong.inputs[at] = nan_of_double;
      char place[64];
      std::snprintf(place, sizeof place, "row %zu, step %zu, element %zu;", at / plan.row(),
                    at % plan.row() / static_cast<size_t>(plan.width), at % static_cast<size_t>(plan.width));
      EXPECT_FAILS(refused, WORDS("SYN-NETWORK-INPUT", place), give(context, network, plan, wrong, memory));
      // The lengths leave it out.
      wrong.lengths.assign(plan.rows(), 7);
      const size_t n_whole_steps = at % plan.row() / static_cast<size_t>(plan.width);
      wrong.lengths[at / plan.row()] = static_cast<double>(n_whole_steps);
      EXPECT_OK(give(context, network, plan, wrong, memory));
    }
  }
}

// ---- Wherever the arrays lie ----------------------------------------------------------------------------------------

constexpr int32_t memories[] = {SYNFIRE_MEMORY_HOST, SYNFIRE_MEMORY_PINNED, SYNFIRE_MEMORY_DEVICE};

// Values in a type after `lead` elements of memory that hold all ones.
struct Placed {
  Buffer owner, window;

  Placed(synfire_context context, int32_t dtype, const std::vector<double>& values, int32_t memory, size_t lead) {
    if (values.empty()) return;
    const size_t element = element_bytes(dtype);
    std::vector<unsigned char> bytes((lead + values.size() + 16) * element, 0xFF);
    for (size_t i = 0; i < values.size(); ++i) store(&bytes[(lead + i) * element], dtype, values[i]);
    owner = make_frame(context, bytes.size(), memory, SYNFIRE_DTYPE_U8);
    EXPECT_OK(synfire_buffer_upload(owner, 0, bytes.data(), bytes.size()));
    void* data = nullptr;
    EXPECT_OK(synfire_buffer_get_data(owner, &data, nullptr));
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.memory = memory;
    desc.dtype = dtype;
    desc.n_elements = values.size();
    desc.data = static_cast<char*>(data) + lead * element;
    synfire_buffer made = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &desc, &made));
    window = Buffer(made);
  }
};

// Returns the library's error for these arrays, "" if it takes them.
std::string answer(synfire_context context, synfire_network network, const Plan& plan, const Arrays& arrays,
                   int32_t memory, int32_t memory_of_lengths, size_t lead) {
  const Placed inputs(context, plan.dtype, arrays.inputs, memory, lead),
      labels(context, SYNFIRE_DTYPE_U32, arrays.labels, memory, lead),
      targets(context, plan.arithmetic, arrays.targets, memory, lead),
      lengths(context, SYNFIRE_DTYPE_U32, arrays.lengths, memory_of_lengths, lead),
      weights(context, SYNFIRE_DTYPE_F32, arrays.weights, memory, lead);
  const synfire_status status = synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, inputs.window,
                                                         labels.window, targets.window, lengths.window, weights.window);
  EXPECT_TRUE(status == SYNFIRE_OK || status == SYNFIRE_ERROR_INVALID_ARGUMENT) << last_error_text();
  return status < 0 ? last_error_text() : std::string();
}

// Every array that can be refused, in every type: a value that is not allowed, which numbers of the array get.
struct Refusable {
  Plan plan;
  std::vector<double> Arrays::*array;
  double value;
};
std::vector<Refusable> refusables() {
  std::vector<Refusable> all;
  const auto add = [&](std::vector<double> Arrays::*array, double value) -> Plan& {
    Refusable& one = all.emplace_back(Refusable{{}, array, value});
    one.plan.n_steps = 3;
    one.plan.width = 7;
    one.plan.n_rows = 11;
    return one.plan;
  };
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16, SYNFIRE_DTYPE_F64}) {
    for (const double value : {nan_of_double, -infinity_of_double}) {
      Plan& plan = add(&Arrays::inputs, value);
      plan.dtype = dtype;
      if (dtype == SYNFIRE_DTYPE_F64) plan.arithmetic = dtype;
    }
    for (const double value : {0.5, -1.0, nan_of_double}) {
      Plan& plan = add(&Arrays::inputs, value);
      plan.dtype = dtype;
      plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    }
    if (dtype == SYNFIRE_DTYPE_F64) continue;
    for (const double value : {1.5, -0.25, infinity_of_double}) {
      Plan& plan = add(&Arrays::inputs, value);
      plan.dtype = dtype;
      plan.input = SYNFIRE_NETWORK_INPUT_RATES;
      plan.rates_per_step = value > 0;
      if (value == 1.5) plan.values = {{"in", "replace_nonfinite", 1}};
    }
  }
  Plan& bytes = add(&Arrays::inputs, 255);
  bytes.dtype = SYNFIRE_DTYPE_U8;
  bytes.input = SYNFIRE_NETWORK_INPUT_SPIKES;
  for (const bool per_step : {false, true}) {
    add(&Arrays::labels, 5).loss_per_step = per_step;
    Plan& ignores = add(&Arrays::labels, 7);
    ignores.loss_per_step = per_step;
    ignores.values = {{"loss", "ignores_label", 1}, {"loss", "ignored_label", 6}};
    for (const int32_t arithmetic : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64}) {
      Plan& targets = add(&Arrays::targets, nan_of_double);
      targets.loss = SYNFIRE_LOSS_MEAN_SQUARED_ERROR;
      targets.loss_per_step = per_step;
      targets.arithmetic = targets.dtype = arithmetic;
    }
  }
  add(&Arrays::weights, infinity_of_double);
  return all;
}

// The first of several elements that are not allowed is found, at any place of an array at any address, in memory of
// any kind, before the network has data and afterwards; and the text is that of a context on the host.
TEST_F(NetworkData, TheSameElementIsFoundWhereverTheArraysLie) {
  const Context host = make_context_on(SYNFIRE_BACKEND_HOST, 1);
  Random random(3);
  Sample sample;
  for (const Refusable& one : refusables()) {
    const Plan& plan = one.plan;
    SCOPED_TRACE(testing::Message() << "input " << plan.input << " dtype " << plan.dtype << " loss " << plan.loss
                                    << " arithmetic " << plan.arithmetic << " value " << one.value);
    if (!sample.next()) continue;
    Arrays right(plan);
    right.weights.assign(plan.rows(), 1);
    const Network reference = make_network(host, plan), network = make_network(context, plan);
    const auto n = static_cast<int64_t>((right.*one.array).size());
    const auto last = static_cast<size_t>(n - 1);
    const std::vector<std::vector<size_t>> places = {{0}, {last}, {last, last - 1}, {3, 5, last}, {8, 9}, {last / 2}};
    for (const bool has_data : {false, true}) {
      for (const std::vector<size_t>& wrong : places) {
        Arrays arrays = right;
        for (const size_t at : wrong) (arrays.*one.array)[at] = one.value;
        const size_t lead = static_cast<size_t>(random.whole(0, 17));
        const std::string expected =
            answer(host, reference, plan, arrays, SYNFIRE_MEMORY_HOST, SYNFIRE_MEMORY_HOST, lead);
        EXPECT_NE(expected.find(" in row "), std::string::npos) << expected;
        for (const int32_t memory : memories)
          EXPECT_EQ(answer(context, network, plan, arrays, memory, memory, lead), expected)
              << "memory " << memory << " lead " << lead << " first " << wrong[0] << " has data " << has_data;
      }
      for (const int32_t memory : memories)
        EXPECT_EQ(answer(context, network, plan, right, memory, memory, static_cast<size_t>(random.whole(0, 17))), "");
      EXPECT_EQ(answer(host, reference, plan, right, SYNFIRE_MEMORY_HOST, SYNFIRE_MEMORY_HOST, 0), "");
    }
  }
}

// Lengths of 0, of all steps and of more; and they need not lie where the arrays do.
TEST_F(NetworkData, StepsBeyondTheLengthAreLeftOutWhereverTheyLie) {
  const Context host = make_context_on(SYNFIRE_BACKEND_HOST, 1);
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_U8}) {
    Plan plan;
    plan.dtype = dtype;
    if (dtype == SYNFIRE_DTYPE_U8) plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    plan.n_steps = 5;
    plan.loss_per_step = true;
    const double wrong = dtype == SYNFIRE_DTYPE_U8 ? 2 : nan_of_double;
    Arrays noise(plan);
    noise.lengths = {0, 5, 1, 9, 4, 0};
    for (size_t r = 0; r < plan.rows(); ++r)
      for (size_t t = 0; t < plan.steps(); ++t) {
        if (static_cast<double>(t) < noise.lengths[r]) continue;
        noise.labels[r * 5 + t] = 77;
        for (size_t k = 0; k < 3; ++k) noise.inputs[(r * 5 + t) * 3 + k] = wrong;
      }
    Arrays refused_inputs = noise, refused_labels = noise;
    refused_inputs.inputs[(4 * 5 + 3) * 3 + 2] = refused_inputs.inputs[(4 * 5 + 3) * 3 + 1] = wrong;
    refused_labels.labels[4 * 5 + 3] = 77;
    const Network reference = make_network(host, plan);
    for (const Arrays* const arrays : {&noise, &refused_inputs, &refused_labels}) {
      const std::string expected = answer(host, reference, plan, *arrays, SYNFIRE_MEMORY_HOST, SYNFIRE_MEMORY_HOST, 0);
      EXPECT_EQ(expected.find("row 4, step 3") == std::string::npos, arrays == &noise) << expected;
      for (const int32_t memory : memories)
        for (const int32_t memory_of_lengths : memories) {
          const Network network = make_network(context, plan);
          for (int again = 0; again < 2; ++again)
            EXPECT_EQ(answer(context, network, plan, *arrays, memory, memory_of_lengths, 1), expected)
                << "memory " << memory << " lengths " << memory_of_lengths;
        }
    }
  }
}

// More than a GPU searches at once, of which only the elements that are not allowed are written.
TEST_F(NetworkData, ThePiecesOfASearchAreOne) {
  if (on_host()) GTEST_SKIP() << "a processor has no pieces";
  Plan plan;
  plan.dtype = SYNFIRE_DTYPE_U8;
  plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
  plan.n_steps = 1;
  plan.width = 4099;
  plan.n_rows = 65500;  // 256.05 MiB
  const Network network = make_network(context, plan);
  const Buffer inputs = make_buffer(context, plan.dtype, plan.rows() * plan.row()),
               labels = make_buffer(context, SYNFIRE_DTYPE_U32, plan.rows());
  const uint64_t piece = uint64_t{1} << 28;
  const auto put = [&](uint64_t at, unsigned char value) { EXPECT_OK(synfire_buffer_upload(inputs, at, &value, 1)); };
  const auto set_data = [&] {
    return synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, inputs, labels, nullptr, nullptr,
                                    nullptr);
  };
  const std::vector<uint64_t> places = {plan.rows() * plan.row() - 1, piece, piece - 1, 17};
  for (size_t i = 0; i < places.size(); ++i) {  // each before all others
    put(places[i], static_cast<unsigned char>(2 + i));
    char place[96];
    std::snprintf(place, sizeof place, "has %zu in row %llu, element %llu;", 2 + i,
                  static_cast<unsigned long long>(places[i] / 4099), static_cast<unsigned long long>(places[i] % 4099));
    EXPECT_FAILS(refused, WORDS("SYN-NETWORK-SPIKE", place), set_data());
  }
  for (const uint64_t at : places) put(at, 1);
  EXPECT_OK(set_data());
}

// The threads of a host context look at parts of an array at the same time.
TEST(NetworkDataOfThreads, TheFirstElementIsFound) {
  const Context context = make_context_on(SYNFIRE_BACKEND_HOST, 4);
  Plan plan;
  plan.dtype = SYNFIRE_DTYPE_U8;
  plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
  plan.n_steps = 5;
  plan.width = 1001;
  plan.n_rows = 256;  // 1.2 million elements
  const Network network = make_network(context, plan);
  std::vector<unsigned char> bytes(plan.rows() * plan.row());
  const Buffer inputs = make_frame(context, bytes.size(), SYNFIRE_MEMORY_HOST, plan.dtype),
               labels = make_buffer(context, SYNFIRE_DTYPE_U32, plan.rows());
  for (const size_t first : {bytes.size() - 1, bytes.size() / 2, size_t{400000}, size_t{3}}) {
    bytes[first] = 9;
    EXPECT_OK(synfire_buffer_upload(inputs, 0, bytes.data(), bytes.size()));
    char place[96];
    std::snprintf(place, sizeof place, "row %zu, step %zu, element %zu;", first / 5005, first % 5005 / 1001,
                  first % 1001);
    EXPECT_FAILS(refused, WORDS("SYN-NETWORK-SPIKE", place),
                 synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, inputs, labels, nullptr, nullptr,
                                          nullptr));
  }
}

// ---- Steps beyond the length ----------------------------------------------------------------------------------------

// Elements beyond the lengths change no bit, in training and in evaluation.
TEST_F(NetworkData, StepsBeyondTheLengthCountForNothing) {
  std::vector<Plan> plans;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
    plans.emplace_back().dtype = dtype;
    Plan& rates = plans.emplace_back();
    rates.input = SYNFIRE_NETWORK_INPUT_RATES;
    rates.dtype = dtype;
    rates.rates_per_step = true;
  }
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS}) {
    Plan& spikes = plans.emplace_back();
    spikes.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    spikes.dtype = dtype;
  }
  plans.emplace_back().loss_per_step = true;
  plans.back().loss = SYNFIRE_LOSS_MEAN_SQUARED_ERROR;
  plans.emplace_back().loss_per_step = true;
  for (Plan& plan : plans) {
    SCOPED_TRACE(testing::Message() << "input " << plan.input << " dtype " << plan.dtype << " loss " << plan.loss);
    plan.n_steps = 37;  // more than a word of time-packed spikes
    Arrays zeros(plan), noise(plan);
    zeros.lengths = noise.lengths = {37, 0, 1, 32, 33, 20};
    const bool in_time = plan.dtype == SYNFIRE_DTYPE_TIME_BITS;
    const size_t width = plan.row() / (in_time ? 2 : plan.steps());
    for (size_t r = 0; r < plan.rows(); ++r) {
      const auto length = static_cast<size_t>(noise.lengths[r]);
      for (size_t i = 0; i < plan.row(); ++i) {
        double &zero = zeros.inputs[r * plan.row() + i], &other = noise.inputs[r * plan.row() + i];
        const size_t step = i / width;
        if (in_time) {
          const size_t first = step * 32, kept = length <= first ? 0 : std::min<size_t>(length - first, 32);
          const uint64_t mask = (uint64_t{1} << kept) - 1;
          zero = static_cast<double>(static_cast<uint64_t>(zero) & mask);
          other = static_cast<double>(static_cast<uint64_t>(other) | (0xFFFFFFFF & ~mask));
        } else if (step >= length) {
          zero = 0;
          other = is_packed(plan.dtype) ? 4294967295.0 : plan.dtype == SYNFIRE_DTYPE_U8 ? 255 : nan_of_double;
        }
      }
      if (!plan.loss_per_step) continue;
      for (size_t t = length; t < plan.steps(); ++t) {
        if (!plan.has_targets()) {
          noise.labels[r * plan.steps() + t] = 4294967295.0;
          continue;
        }
        for (size_t c = 0; c < 5; ++c) {
          double& target = noise.targets[(r * plan.steps() + t) * 5 + c];
          target = nan_of_double;
          if (c % 2 != 0) target = infinity_of_double;
        }
      }
    }
    const Network one = make_network(context, plan), other = make_network(context, plan);
    for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION}) {
      ASSERT_OK(give(context, one, plan, zeros, SYNFIRE_MEMORY_HOST, set));
      ASSERT_OK(give(context, other, plan, noise, SYNFIRE_MEMORY_HOST, set));
    }
    const std::vector<uint32_t> before = weights_of(one, plan);
    for (int epoch = 0; epoch < 3; ++epoch) {
      const synfire_network_result a = train(one), b = train(other);
      EXPECT_EQ(b.n_skipped, 0u);
      EXPECT_TRUE(std::isfinite(b.loss));
      EXPECT_EQ(bits_of(a.loss), bits_of(b.loss));
      EXPECT_EQ(a.n_counted, b.n_counted);
      EXPECT_EQ(bits_of(evaluate(one).loss), bits_of(evaluate(other).loss));
      EXPECT_EQ(weights_of(one, plan), weights_of(other, plan));
    }
    EXPECT_NE(weights_of(one, plan), before);
  }
}

// ---- Numbers that are not finite ------------------------------------------------------------------------------------

synfire_buffer buffer_of(synfire_network network, const char* name) {
  synfire_buffer made = nullptr;
  EXPECT_OK(synfire_network_get_buffer(network, name, &made));
  return made;
}

// The same results as with zeros in their place, and the number of them in each call.
TEST_F(NetworkData, NumbersThatAreNotFiniteAreReplacedAndCounted) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16, SYNFIRE_DTYPE_F64})
    for (const int32_t input :
         {SYNFIRE_NETWORK_INPUT_VALUES, SYNFIRE_NETWORK_INPUT_RATES, SYNFIRE_NETWORK_INPUT_SPIKES}) {
      if (dtype == SYNFIRE_DTYPE_F64 && input == SYNFIRE_NETWORK_INPUT_RATES) continue;
      SCOPED_TRACE(testing::Message() << "input " << input << " dtype " << dtype);
      Plan plan, plain;
      for (Plan* const one : {&plan, &plain}) {
        one->input = input;
        one->dtype = dtype;
        if (dtype == SYNFIRE_DTYPE_F64) one->arithmetic = dtype;
      }
      plan.values = {{"in", "replace_nonfinite", 1}};
      Arrays broken(plan), zeros(plan);
      const size_t places[] = {0, 7, 8, broken.inputs.size() - 1};
      for (const size_t at : places) {
        broken.inputs[at] = at == 7 ? infinity_of_double : at == 8 ? -infinity_of_double : nan_of_double;
        zeros.inputs[at] = 0;
      }
      const Network replacing = make_network(context, plan), expected = make_network(context, plain);
      for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION}) {
        ASSERT_OK(give(context, replacing, plan, broken, SYNFIRE_MEMORY_HOST, set));
        ASSERT_OK(give(context, expected, plain, zeros, SYNFIRE_MEMORY_HOST, set));
      }
      for (int epoch = 0; epoch < 2; ++epoch) {
        const synfire_network_result a = train(replacing), b = train(expected);
        EXPECT_EQ(bits_of(a.loss), bits_of(b.loss));
        EXPECT_EQ(a.n_skipped, 0u);
        EXPECT_EQ(a.n_replaced, 4u);
        EXPECT_EQ(b.n_replaced, 0u);
        const synfire_network_result c = evaluate(replacing);
        EXPECT_EQ(bits_of(c.loss), bits_of(evaluate(expected).loss));
        EXPECT_EQ(c.n_replaced, 4u);
      }
      // Both batches of a call together.
      const Buffer from = stored(context, dtype, broken.inputs, SYNFIRE_MEMORY_HOST),
                   zero = stored(context, dtype, zeros.inputs, SYNFIRE_MEMORY_HOST);
      const Buffer to = make_buffer(context, plan.arithmetic, 30),
                   expected_to = make_buffer(context, plan.arithmetic, 30);
      ASSERT_OK(synfire_network_infer(replacing, from, 6, to));
      ASSERT_OK(synfire_network_infer(expected, zero, 6, expected_to));
      EXPECT_EQ(download<uint32_t>(to, 30), download<uint32_t>(expected_to, 30));
      const Buffer count(buffer_of(replacing, "n_replaced"));
      EXPECT_EQ(download<uint32_t>(count, 2), (std::vector<uint32_t>{4, 0}));
    }
}

// A loop that launches the graph reads the count of each replay, from its slot; and the neurons go on.
TEST_F(NetworkData, ALoopReadsTheCountOfEachReplay) {
  for (const uint32_t n_slots : {0u, 3u}) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 1;
    desc.n_slots = n_slots;
    synfire_network made = nullptr;
    ASSERT_OK(synfire_network_create(context, &desc, &made));
    const Network network(made);
    ASSERT_OK(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_VALUES, 2));
    ASSERT_OK(synfire_network_set_value(network, "in", "replace_nonfinite", 1));
    ASSERT_OK(synfire_network_add_synapse(network, "s", 1));
    ASSERT_OK(synfire_network_add_neurons(network, "n", SYNFIRE_MODEL_LI));
    ASSERT_OK(synfire_network_build(network));
    synfire_graph graph_made = nullptr;
    ASSERT_OK(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, &graph_made));
    const Graph graph(graph_made);
    const Buffer input(buffer_of(network, "input")), output(buffer_of(network, "output")),
        count(buffer_of(network, "n_replaced"));
    constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    const std::vector<std::vector<float>> frames = {{1, 2}, {nan, 2}, {nan, -infinity}, {3, 1}, {infinity, 0}};
    const uint64_t expected[] = {0, 1, 2, 0, 1};
    for (size_t i = 0; i < frames.size(); ++i) {
      std::copy(frames[i].begin(), frames[i].end(), slot_of(graph, 0, input));
      const uint64_t ticket = launch(graph);
      wait(graph, ticket);
      void* counted = nullptr;
      ASSERT_OK(synfire_graph_get_slot(graph, ticket, count, &counted, nullptr));
      EXPECT_EQ(*static_cast<const uint64_t*>(counted), expected[i]) << n_slots << " slots, frame " << i;
      EXPECT_TRUE(std::isfinite(*slot_of(graph, ticket, output)));
      // Values that the program has written stay.
      const float* const written = slot_of(graph, ticket, input);
      EXPECT_TRUE(same_bits(std::vector<float>(written, written + 2), frames[i]));
    }
  }
}

// Nothing is added where it is not asked for.
TEST_F(NetworkData, WithoutReplacingThereIsNoCountAndNoOperation) {
  const Plan plan;
  Plan replacing;
  replacing.values = {{"in", "replace_nonfinite", 1}};
  const Network without = make_network(context, plan), with = make_network(context, replacing);
  synfire_buffer none = nullptr;
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-BUFFER", "n_replaced"),
               synfire_network_get_buffer(without, "n_replaced", &none));
  EXPECT_EQ(none, nullptr);
  const auto pictures = [&](synfire_network network) {
    synfire_graph made = nullptr;
    EXPECT_OK(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, &made));
    const Graph graph(made);
    std::vector<char> text(1 << 16);
    uint64_t bytes = text.size();
    EXPECT_OK(synfire_graph_write_dot(graph, text.data(), &bytes));
    return std::string(text.data());
  };
  EXPECT_EQ(pictures(without).find("replace nonfinite"), std::string::npos);
  EXPECT_NE(pictures(with).find("replace nonfinite"), std::string::npos);
  // It is decided before the network is built, and only for numbers.
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-BUILT", "replace_nonfinite"),
               synfire_network_set_value(without, "in", "replace_nonfinite", 1));
  Plan bits;
  bits.input = SYNFIRE_NETWORK_INPUT_SPIKES;
  bits.dtype = SYNFIRE_DTYPE_BITS;
  bits.values = replacing.values;
  EXPECT_THROW(make_network(context, bits), std::runtime_error);
}

// A network for a loop, made of the file of one that was trained without it.
TEST_F(NetworkData, AFileCanBeLoadedWithReplacing) {
  const Plan plan;
  const File file = saved(make_network(context, plan));
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  synfire_network made = nullptr;
  double value = 1;
  ASSERT_OK(synfire_network_create_from_memory(context, file.data(), file.size(), &desc, &made));
  EXPECT_OK(synfire_network_get_value(Network(made), "in", "replace_nonfinite", &value));
  EXPECT_EQ(value, 0);
  desc.replace_nonfinite = 1;
  ASSERT_OK(synfire_network_create_from_memory(context, file.data(), file.size(), &desc, &made));
  const Network network(made);
  EXPECT_OK(synfire_network_get_value(network, "in", "replace_nonfinite", &value));
  EXPECT_EQ(value, 1);
  EXPECT_NE(Buffer(buffer_of(network, "n_replaced")).get(), nullptr);
  // And the two load each other's files.
  EXPECT_OK(load(network, file));
  EXPECT_OK(load(make_network(context, plan), saved(network)));
  desc.replace_nonfinite = 2;
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-FLAG", "replace_nonfinite", "2"),
               synfire_network_create_from_memory(context, file.data(), file.size(), &desc, &made));
}

}  // namespace
}  // namespace synfire_test
