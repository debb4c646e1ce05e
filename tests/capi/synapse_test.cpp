// Synapses, against the references of their rig. Every format of spikes, lengths of all kinds, both kinds of input, and
// the gradients.
#include <cfenv>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <tuple>

#include "graph_support.hpp"
#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

const int32_t every_format[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64,  SYNFIRE_DTYPE_F16,      SYNFIRE_DTYPE_BF16,
                                SYNFIRE_DTYPE_U8,  SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS};
const Placement placements[] = {{0, 0}, {1, 0}, {0, 3}, {1, 5}, {3, 32}};

const Product products[] = {
    {1, 1, 1, 1},      {1, 1, 33, 2},     {5, 3, 31, 33},      {32, 1, 64, 128},   {33, 2, 90, 11},
    {7, 5, 300, 70},   {1, 50, 784, 10},  {40, 3, 70, 130, 2}, {3, 4, 1025, 5},    {2, 2, 2049, 65, 1},
    {37, 2, 129, 257}, {6, 7, 20, 20, 0}, {100, 1, 128, 8},    {64, 2, 32, 32, 9}, {1, 130, 40, 31, 129},
};

// ---- Exact sums -----------------------------------------------------------------------------------------------------

TEST_F(SynapseTest, SumsSpikesExactlyInEveryFormat) {
  uint64_t count = 0;
  for (const Product& p : products) {
    const bool with_bias = ++count % 2 == 0;
    const Weights w = random_weights(p, with_bias, count);
    const std::vector<double> spikes = random_spikes(p, count % 3 == 0 ? 0.6 : 0.1, count + 100);
    const std::vector<double> expected = as_doubles(exact_product(p, w, spikes));
    const Synapse synapse = make_synapse(context, describe(p, with_bias));
    set(synapse, w);
    const Buffer active = active_buffer(p);
    for (const int32_t format : every_format) {
      const Placement &in = placements[(count + static_cast<uint64_t>(format)) % 5], &out = placements[count % 5];
      SCOPED_TRACE(testing::Message() << p << " format " << format << " lead " << in.lead << " padding " << in.padding);
      const Rows input = spikes_in(context, format, p, spikes, in);
      Rows output = outputs_in(context, SYNFIRE_DTYPE_F32, p, out);
      const auto desc = forward(p, input, output, active);
      ASSERT_OK(synfire_synapse_forward(synapse, &desc, nullptr));
      ASSERT_TRUE(same_bits(output.get(), expected));
      const Graph graph = make_graph(context);
      ASSERT_OK(synfire_graph_record_synapse_forward(graph, synapse, &desc));
      ASSERT_OK(synfire_graph_instantiate(graph));
      output.poison();
      replay(graph);
      ASSERT_TRUE(same_bits(output.get(), expected)) << "in a graph";
    }
  }
}

TEST_F(SynapseTest, SumsAtTheEdgesOfTheGrid) {
  const float smallest = 0x1p-149f, largest = std::numeric_limits<float>::max(), edge = 2 - 0x1p-23f;
  const std::vector<std::vector<float>> rows = {{0, 0, 0, 0},
                                                {-0.0f, 0, -0.0f, 0},
                                                {smallest, smallest, -smallest, 3 * smallest},
                                                {0x1.fffffcp-127f, smallest, -smallest, 0x1p-126f},
                                                {0x1.fcfcfcp-127f, 0x1.fefefep-127f, smallest, 0},
                                                {largest, largest, -largest, 1},
                                                {edge, edge, -edge, 0x1p-22f},
                                                {edge, 0x1p-23f, 0x1p-24f, 0x1.8p-23f},
                                                {1, 0x1.fefefcp+0f, 0x1.fefefep+0f, -1},
                                                {1000, 1, 1e-3f, 1e-6f},
                                                {1e-30f, 1e30f, -1e30f, 1}};
  for (const float bias : {0.0f, -0.0f, 1.0f, 300.0f, smallest, largest, -largest, 0x1.fffffep+30f}) {
    const Product p = {16, 1, 4, static_cast<int64_t>(rows.size())};
    Weights w;
    for (const auto& row : rows) w.weight.insert(w.weight.end(), row.begin(), row.end());
    w.bias.assign(rows.size(), bias);
    std::vector<double> spikes;  // every combination
    for (int m = 0; m < 16; ++m)
      for (int k = 0; k < 4; ++k) spikes.push_back(m >> k & 1);
    const Synapse synapse = make_synapse(context, describe(p, true));
    set(synapse, w);
    const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, spikes),
               output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
    const auto desc = forward(p, input, output, nullptr);
    ASSERT_OK(synfire_synapse_forward(synapse, &desc, nullptr));
    EXPECT_TRUE(same_bits(output.get(), as_doubles(exact_product(p, w, spikes)))) << "bias " << bias;
    EXPECT_TRUE(same_bits(read<float>(synapse, "weight", w.weight.size()), w.weight)) << "weights stay as written";
  }
}

// More addends than fit in 32 bits, and more inputs than a tile has.
TEST_F(SynapseTest, SumsOfManyLargeWeightsDoNotOverflow) {
  for (const int64_t n_steps : {1, 2}) {
    const Product p = {n_steps, 1, 70000, 3};
    Weights w = {std::vector<float>(p.inputs() * p.outputs(), 0x1.fefefcp+0f), {}};
    for (size_t k = 0; k < p.inputs(); ++k) w.weight[p.inputs() + k] *= -1;
    const std::vector<double> spikes(p.rows() * p.inputs(), 1);
    const Synapse synapse = make_synapse(context, describe(p, false));
    set(synapse, w);
    const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, spikes),
               output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
    const auto desc = forward(p, input, output, nullptr);
    ASSERT_OK(synfire_synapse_forward(synapse, &desc, nullptr));
    EXPECT_TRUE(same_bits(output.get(), as_doubles(exact_product(p, w, spikes))));
  }
}

// A step alone: few spikes and more than a 32-bit sum takes, columns in registers and in memory, and set bits beyond
// the inputs of a row.
TEST_F(SynapseTest, AStepOfPackedSpikesIsTheSameSum) {
  for (const int64_t n_outputs : {7, 250, 1057}) {
    const Product p = {1, 3, 420, n_outputs};
    const Weights w = random_weights(p, true, 8);
    const Synapse synapse = make_synapse(context, describe(p, true));
    set(synapse, w);
    const auto n_words = static_cast<uint64_t>((p.n_inputs + 31) / 32);
    for (const double rate : {0.0, 0.003, 0.01, 0.02, 0.1, 0.8}) {
      SCOPED_TRACE(testing::Message() << p << " rate " << rate);
      const std::vector<double> spikes = random_spikes(p, rate, 9);
      const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, spikes),
                 output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
      auto words = download<uint32_t>(input, 3 * n_words);
      for (uint64_t b = 1; b <= 3; ++b) words[b * n_words - 1] |= ~uint32_t{0} << p.n_inputs % 32;
      upload(input, words);
      const auto desc = forward(p, input, output, nullptr);
      ASSERT_OK(synfire_synapse_forward(synapse, &desc, nullptr));
      ASSERT_TRUE(same_bits(output.get(), as_doubles(exact_product(p, w, spikes))));
    }
  }
}

TEST_F(SynapseTest, ErrsAsLittleAsItsDocumentationSays) {
  const Product p = {50, 1, 512, 64};
  const Weights w = {Random(3).values<float>(p.inputs() * p.outputs(), -1, 1),
                     Random(4).values<float>(p.outputs(), -200, 200)};
  const std::vector<double> spikes = random_spikes(p, 0.3, 5);
  const Synapse synapse = make_synapse(context, describe(p, true));
  set(synapse, w);
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, spikes),
             output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  const auto desc = forward(p, input, output, nullptr);
  ASSERT_OK(synfire_synapse_forward(synapse, &desc, nullptr));
  const std::vector<double> y = output.get();
  for (size_t m = 0; m < p.rows(); ++m)
    for (size_t n = 0; n < p.outputs(); ++n) {
      double sum = w.bias[n], fired = 0;
      for (size_t k = 0; k < p.inputs(); ++k)
        if (spikes[m * p.inputs() + k] != 0) {
          sum += w.weight[n * p.inputs() + k];
          ++fired;
        }
      const double rounding = std::fabs(sum) * 0x1p-24;
      ASSERT_LE(std::fabs(y[m * p.outputs() + n] - sum), (fired + 1) * 1.2e-7 + rounding) << m << " " << n;
    }
}

// ---- Gradients of exact sums ----------------------------------------------------------------------------------------

TEST_F(SynapseTest, GradientsOfSpikesAreExactSums) {
  uint64_t count = 0;
  for (const Product& p : products) {
    const bool with_bias = ++count % 2 == 0;
    const int bits = count % 3 == 0 ? 32 : 24;
    const Weights w = random_weights(p, with_bias, count);
    const std::vector<double> spikes = random_spikes(p, count % 4 == 0 ? 0.7 : 0.1, count + 100);
    Random random(count + 200);
    std::vector<float> grad = random.values<float>(p.rows() * p.outputs(), -1, 1);
    for (float& g : grad)
      if (random.whole(0, 7) == 0) g = random.whole(0, 1) == 0 ? 0.0f : g * 1e-6f;
    auto described = describe(p, with_bias);
    described.gradient_bits = bits;
    const Synapse synapse = make_synapse(context, described);
    set(synapse, w);
    const Buffer active = active_buffer(p);
    Gradients<float> expected = exact_gradients(p, grad, spikes, bits);
    const std::vector<double> dx = as_doubles(exact_input_gradient(p, w, grad));
    for (const int32_t format : every_format) {
      const Placement& in = placements[(count + static_cast<uint64_t>(format)) % 5];
      SCOPED_TRACE(testing::Message() << p << " bits " << bits << " format " << format);
      const Rows input = spikes_in(context, format, p, spikes, in);
      Rows grad_output = outputs_in(context, SYNFIRE_DTYPE_F32, p, placements[count % 5]);
      grad_output.put(as_doubles(grad));
      Rows grad_input = rows_for_input(context, SYNFIRE_DTYPE_F32, p, in);
      auto desc = backward(p, grad_output, input, grad_input, active);
      ASSERT_OK(synfire_synapse_backward(synapse, &desc, nullptr));
      ASSERT_TRUE(same_bits(read<float>(synapse, "weight_gradient", w.weight.size()), expected.weight));
      if (with_bias) {
        ASSERT_TRUE(same_bits(read<float>(synapse, "bias_gradient", p.outputs()), expected.bias));
      }
      ASSERT_TRUE(same_bits(grad_input.get(), dx));
      // Added to what is there, in a graph.
      desc.add_gradients = desc.add_input_gradient = 1;
      const Graph graph = make_graph(context);
      ASSERT_OK(synfire_graph_record_synapse_backward(graph, synapse, &desc));
      ASSERT_OK(synfire_graph_instantiate(graph));
      replay(graph);
      const auto twice = [](auto values) {
        for (auto& value : values) value += value;
        return values;
      };
      ASSERT_TRUE(same_bits(read<float>(synapse, "weight_gradient", w.weight.size()), twice(expected.weight)));
      if (with_bias) {
        ASSERT_TRUE(same_bits(read<float>(synapse, "bias_gradient", p.outputs()), twice(expected.bias)));
      }
      std::vector<double> doubled = twice(dx);
      ASSERT_TRUE(same_bits(grad_input.get(), doubled));
    }
  }
}

TEST_F(SynapseTest, AGradientThatIsNotFiniteIsNaNForItsOutputOnly) {
  const Product p = {9, 2, 40, 5};
  const std::vector<double> spikes = random_spikes(p, 0.3, 1);
  for (const double bad : {nan, infinity, -infinity}) {
    std::vector<float> grad = Random(2).values<float>(p.rows() * p.outputs(), -1, 1);
    grad[7 * p.outputs() + 3] = static_cast<float>(bad);
    const Synapse synapse = make_synapse(context, describe(p, true));
    const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, spikes);
    Rows grad_output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
    grad_output.put(as_doubles(grad));
    const auto desc = backward(p, grad_output, input, nullptr, nullptr);
    ASSERT_OK(synfire_synapse_backward(synapse, &desc, nullptr));
    const Gradients<float> expected = exact_gradients(p, grad, spikes, 24);
    EXPECT_TRUE(same_bits(read<float>(synapse, "weight_gradient", 200), expected.weight)) << bad;
    EXPECT_TRUE(same_bits(read<float>(synapse, "bias_gradient", 5), expected.bias)) << bad;
    EXPECT_TRUE(std::isnan(expected.bias[3]) && std::isfinite(expected.bias[2]));
  }
}

// ---- Sums in the fixed order ----------------------------------------------------------------------------------------

template <typename R>
class OrderedSynapse : public SynapseTest {
 protected:
  static constexpr int32_t dtype = sizeof(R) == 8 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
  static std::vector<double> wide(const std::vector<R>& values) { return {values.begin(), values.end()}; }

  void expect_product(const Product& p, uint64_t seed, int32_t kind, int32_t input_type) {
    Random random(seed);
    const bool with_bias = seed % 2 == 0, is_spikes = kind == SYNFIRE_INPUT_SPIKES;
    const std::vector<R> weight = random.values<R>(p.inputs() * p.outputs(), -1, 1),
                         bias = with_bias ? random.values<R>(p.outputs(), -1, 1) : std::vector<R>(),
                         grad = random.values<R>(p.rows() * p.outputs(), -1, 1);
    const std::vector<double> x = is_spikes
                                      ? random_spikes(p, 0.3, seed)
                                      : stored_as(input_type, random.values<double>(p.rows() * p.inputs(), -2, 2));
    const Placement& placement = this->placement(seed);
    SCOPED_TRACE(testing::Message() << p << " kind " << kind << " input " << input_type);
    const Synapse synapse = make_synapse(context, describe(p, with_bias, dtype, kind));
    write(synapse, "weight", weight);
    if (with_bias) write(synapse, "bias", bias);
    Rows input =
        is_spikes ? spikes_in(context, input_type, p, x, placement) : rows_for_input(context, input_type, p, placement);
    if (!is_spikes) input.put(x);
    const Buffer active = active_buffer(p);
    const Rows output = outputs_in(context, dtype, p, placement);
    const auto desc = forward(p, input, output, active);
    ASSERT_OK(synfire_synapse_forward(synapse, &desc, nullptr));
    ASSERT_TRUE(same_bits(output.get(), wide(ordered_product<R>(p, weight, bias, x))));
    Rows grad_output = outputs_in(context, dtype, p, placement);
    grad_output.put(wide(grad));
    const Rows grad_input = rows_for_input(context, dtype, p, placement);
    const auto back = backward(p, grad_output, input, grad_input, active);
    ASSERT_OK(synfire_synapse_backward(synapse, &back, nullptr));
    Gradients<R> expected;
    if constexpr (sizeof(R) == 8)
      expected = ordered_gradients<R>(p, grad, x);
    else
      expected = value_gradients(p, grad, x);
    ASSERT_TRUE(same_bits(read<R>(synapse, "weight_gradient", weight.size()), expected.weight));
    if (with_bias) {
      ASSERT_TRUE(same_bits(read<R>(synapse, "bias_gradient", p.outputs()), expected.bias));
    }
    if constexpr (sizeof(R) == 8)
      ASSERT_TRUE(same_bits(grad_input.get(), input_gradient<R>(p, weight, grad)));
    else
      ASSERT_TRUE(same_bits(grad_input.get(), wide(exact_input_gradient(p, {weight, {}}, grad))));
  }
  static const Placement& placement(uint64_t seed) { return placements[seed % 5]; }
  using SynapseTest::context;
};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(OrderedSynapse, Numbers);

TYPED_TEST(OrderedSynapse, ValuesAreAddedInTheStatedOrder) {
  uint64_t count = 0;
  for (const Product& p : products) this->expect_product(p, ++count, SYNFIRE_INPUT_VALUES, this->dtype);
  // Chains and blocks that end anywhere, over inputs, outputs and rows.
  const int64_t many = is_sanitized() ? 65 : 1025;  // sanitizers are much slower
  for (const Product& p : {Product{1, 2, 63, 64}, Product{3, 1, 64, 65}, Product{2, 3, 1024, 1},
                           Product{1, 1, 1088, many}, Product{1030, 1, 2, 3}, Product{700, 3, 3, 2, 2}})
    this->expect_product(p, ++count, SYNFIRE_INPUT_VALUES, this->dtype);
}

// Metres beside millivolts: the small weight counts in the product; dL/dx has the weights on their grid.
TEST_F(SynapseTest, ASmallWeightCountsBesideALargeOne) {
  const Product p = {1, 2, 2, 1};
  const Synapse synapse = make_synapse(context, describe(p, false, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_VALUES));
  write(synapse, "weight", std::vector<float>{2e6f, 0.1f});
  Rows input = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
  input.put({0, 1, 0x1p-20, 1});
  const Rows output = outputs_in(context, SYNFIRE_DTYPE_F32, p),
             grad_input = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
  const auto desc = forward(p, input, output, nullptr);
  ASSERT_OK(synfire_synapse_forward(synapse, &desc, nullptr));
  EXPECT_TRUE(
      same_bits(output.get(), {static_cast<double>(0.1f), static_cast<double>(std::fma(1.0f, 0.1f, 0x1p-20f * 2e6f))}));
  Rows grad_output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  grad_output.put({1, 1});
  const auto back = backward(p, grad_output, input, grad_input, nullptr);
  ASSERT_OK(synfire_synapse_backward(synapse, &back, nullptr));
  EXPECT_TRUE(same_bits(grad_input.get(), {2e6, 0.0, 2e6, 0.0}));
  // Each input has a grid of its own, so the small one keeps its bits.
  EXPECT_TRUE(same_bits(read<float>(synapse, "weight_gradient", 2), {0x1p-20f, 2.0f}));
}

TEST_F(SynapseTest, ValuesOf16Bits) {
  class Rig : public OrderedSynapse<float> {
   public:
    using OrderedSynapse<float>::expect_product;
    void TestBody() override {}
  } rig;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    for (const uint64_t seed : std::initializer_list<uint64_t>{1, 2, 3})
      rig.expect_product({5, 3, 130, 70, 2}, seed, SYNFIRE_INPUT_VALUES, dtype);
}

TEST_F(SynapseTest, SpikesInF64AreAddedInTheStatedOrder) {
  class Rig : public OrderedSynapse<double> {
   public:
    using OrderedSynapse<double>::expect_product;
    void TestBody() override {}
  } rig;
  uint64_t seed = 0;
  for (const int32_t format : every_format)
    rig.expect_product({35, 2, 70, 33, 1}, ++seed, SYNFIRE_INPUT_SPIKES, format);
}

// ---- The same bits however it is computed ---------------------------------------------------------------------------

TEST_F(SynapseTest, AnyNumberOfThreadsGivesTheSame) {
  const Product p = {33, 40, 500, 90};
  const Weights w = random_weights(p, true, 1);
  const std::vector<double> spikes = random_spikes(p, 0.1, 2);
  const std::vector<float> grad = Random(3).values<float>(p.rows() * p.outputs(), -1, 1);
  std::vector<double> first_y, first_dx;
  std::vector<float> first_dw;
  for (const int32_t n_threads : {1, 2, 4}) {
    const Context threads = make_context(n_threads);
    const Synapse synapse = make_synapse(threads, describe(p, true));
    set(synapse, w);
    const Rows input = spikes_in(threads, SYNFIRE_DTYPE_BITS, p, spikes),
               output = outputs_in(threads, SYNFIRE_DTYPE_F32, p);
    const auto desc = forward(p, input, output, nullptr);
    ASSERT_OK(synfire_synapse_forward(synapse, &desc, nullptr));
    Rows grad_output = outputs_in(threads, SYNFIRE_DTYPE_F32, p);
    grad_output.put(as_doubles(grad));
    const Rows grad_input = rows_for_input(threads, SYNFIRE_DTYPE_F32, p);
    const auto back = backward(p, grad_output, input, grad_input, nullptr);
    ASSERT_OK(synfire_synapse_backward(synapse, &back, nullptr));
    const std::vector<float> dw = read<float>(synapse, "weight_gradient", w.weight.size());
    if (first_y.empty()) {
      first_y = output.get();
      first_dx = grad_input.get();
      first_dw = dw;
    }
    EXPECT_TRUE(same_bits(output.get(), first_y)) << n_threads;
    EXPECT_TRUE(same_bits(grad_input.get(), first_dx)) << n_threads;
    EXPECT_TRUE(same_bits(dw, first_dw)) << n_threads;
  }
  EXPECT_TRUE(same_bits(first_y, as_doubles(exact_product(p, w, spikes))));
}

TEST_F(SynapseTest, ABatchRowAloneIsTheSameAsInTheBatch) {
  const Product all = {20, 6, 77, 35}, one = {20, 1, 77, 35};
  const Weights w = random_weights(all, true, 1);
  const std::vector<double> spikes = random_spikes(all, 0.2, 2);
  const Synapse synapse = make_synapse(context, describe(all, true));
  set(synapse, w);
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_TIME_BITS, all, spikes),
             output = outputs_in(context, SYNFIRE_DTYPE_F32, all);
  const auto desc = forward(all, input, output, nullptr);
  ASSERT_OK(synfire_synapse_forward(synapse, &desc, nullptr));
  const std::vector<double> y = output.get();
  for (size_t b = 0; b < 6; ++b) {
    std::vector<double> own, expected;
    for (size_t t = 0; t < 20; ++t) {
      own = joined(std::move(own), slice(spikes, (t * 6 + b) * 77, 77));
      expected = joined(std::move(expected), slice(y, (t * 6 + b) * 35, 35));
    }
    const Rows row = spikes_in(context, SYNFIRE_DTYPE_U8, one, own),
               alone = outputs_in(context, SYNFIRE_DTYPE_F32, one);
    const auto single = forward(one, row, alone, nullptr);
    ASSERT_OK(synfire_synapse_forward(synapse, &single, nullptr));
    EXPECT_TRUE(same_bits(alone.get(), expected)) << "row " << b;
  }
}

// ---- Weights --------------------------------------------------------------------------------------------------------

TEST_F(SynapseTest, AMaskLeavesOutConnections) {
  const Product p = {11, 2, 45, 13};
  Random random(1);
  std::vector<uint8_t> mask(p.inputs() * p.outputs());
  for (uint8_t& connected : mask) connected = static_cast<uint8_t>(random.whole(0, 1));
  for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES}) {
    auto desc = describe(p, false, SYNFIRE_DTYPE_F32, kind);
    desc.mask = mask.data();
    desc.mask_length = mask.size();
    const Synapse synapse = make_synapse(context, desc);
    const std::vector<float> initial = read<float>(synapse, "weight", mask.size());
    write(synapse, "weight", std::vector<float>(mask.size(), 0.5f));
    const std::vector<float> written = read<float>(synapse, "weight", mask.size());
    const std::vector<double> spikes = random_spikes(p, 0.4, 2);
    Rows input = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
    input.put(spikes);
    Rows grad_output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
    grad_output.put(as_doubles(Random(3).values<float>(p.rows() * p.outputs(), 0.5, 1)));
    const auto back = backward(p, grad_output, input, nullptr, nullptr);
    ASSERT_OK(synfire_synapse_backward(synapse, &back, nullptr));
    const std::vector<float> gradient = read<float>(synapse, "weight_gradient", mask.size());
    for (size_t i = 0; i < mask.size(); ++i) {
      ASSERT_EQ(initial[i] != 0, mask[i] != 0) << i;
      ASSERT_EQ(written[i], mask[i] != 0 ? 0.5f : 0.0f) << i;
      if (mask[i] == 0)
        ASSERT_TRUE(same_bits<float>({gradient[i]}, {0.0f})) << i;
      else
        ASSERT_GT(gradient[i], 0) << i;
    }
  }
}

TEST_F(SynapseTest, InitialWeightsFollowFanInAndSeed) {
  const Product p = {1, 1, 400, 300};
  const auto initial = [&](int32_t how, uint64_t seed, double gain) {
    auto desc = describe(p, true);
    desc.initialization = how;
    desc.seed = seed;
    desc.gain = gain;
    return make_synapse(context, desc);
  };
  const size_t count = p.inputs() * p.outputs();
  const double bound = 1 / std::sqrt(400.0);
  for (const double gain : {0.0, 3.0}) {
    const double scale = (gain == 0 ? 1 : gain) * bound;
    const Synapse uniform = initial(SYNFIRE_INITIALIZATION_UNIFORM, 7, gain),
                  normal = initial(SYNFIRE_INITIALIZATION_NORMAL, 7, gain);
    const std::vector<float> u = read<float>(uniform, "weight", count), n = read<float>(normal, "weight", count);
    double u_sum = 0, u_squares = 0, n_sum = 0, n_squares = 0, n_fourth = 0, within = 0;
    for (size_t i = 0; i < count; ++i) {
      ASSERT_LE(std::fabs(u[i]), scale);
      u_sum += u[i] / scale;
      u_squares += std::pow(u[i] / scale, 2);
      n_sum += n[i] / scale;
      n_squares += std::pow(n[i] / scale, 2);
      n_fourth += std::pow(n[i] / scale, 4);
      within += std::fabs(n[i]) < scale ? 1 : 0;
    }
    const auto m = static_cast<double>(count);
    EXPECT_NEAR(u_sum / m, 0, 5 * std::sqrt(1 / 3.0 / m));
    EXPECT_NEAR(u_squares / m, 1 / 3.0, 5 * std::sqrt(4 / 45.0 / m));
    EXPECT_NEAR(n_sum / m, 0, 5 / std::sqrt(m));
    EXPECT_NEAR(n_squares / m, 1, 5 * std::sqrt(2 / m));
    EXPECT_NEAR(n_fourth / m, 3, 5 * std::sqrt(96 / m));
    EXPECT_NEAR(within / m, 0.6826894921, 5 * std::sqrt(0.6827 * 0.3173 / m));
    EXPECT_TRUE(all_are(read<float>(normal, "bias", 300), 0.0f));
    for (const float b : read<float>(uniform, "bias", 300)) ASSERT_TRUE(b != 0 && std::fabs(b) <= scale);
  }
  const std::vector<float> seven = read<float>(initial(SYNFIRE_INITIALIZATION_UNIFORM, 7, 0), "weight", count);
  EXPECT_TRUE(same_bits(seven, read<float>(initial(SYNFIRE_INITIALIZATION_UNIFORM, 7, 1), "weight", count)));
  EXPECT_FALSE(same_bits(seven, read<float>(initial(SYNFIRE_INITIALIZATION_UNIFORM, 8, 0), "weight", count)));
  EXPECT_TRUE(all_are(read<float>(initial(SYNFIRE_INITIALIZATION_ZERO, 7, 0), "weight", count), 0.0f));
}

TEST_F(SynapseTest, MemoryIsKnownInAdvance) {
  auto desc = describe({1, 1, 100, 40}, true);
  synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
  ASSERT_OK(synfire_synapse_query_memory(&desc, &memory));
  EXPECT_EQ(memory.weight_bytes, 100u * 40 * 4 + 40 * 4);
  EXPECT_EQ(memory.gradient_bytes, memory.weight_bytes);
  EXPECT_GE(memory.derived_bytes, 2 * 100u * 40 * 4);
  desc.frozen = 1;
  ASSERT_OK(synfire_synapse_query_memory(&desc, &memory));
  EXPECT_EQ(memory.gradient_bytes, 0u);
}

// ---- In graphs ------------------------------------------------------------------------------------------------------

TEST_F(SynapseTest, StandsSeveralTimesInAGraph) {
  const Product p = {8, 2, 30, 30};
  const Weights w = random_weights(p, false, 1);
  const Synapse synapse = make_synapse(context, describe(p, false));
  set(synapse, w);
  const std::vector<double> first = random_spikes(p, 0.3, 2), second = random_spikes(p, 0.3, 3);
  std::vector<float> grad = Random(4).values<float>(p.rows() * p.outputs(), -1, 1);
  const Rows a = spikes_in(context, SYNFIRE_DTYPE_BITS, p, first),
             b = spikes_in(context, SYNFIRE_DTYPE_BITS, p, second);
  Rows grad_output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  grad_output.put(as_doubles(grad));
  const Graph graph = make_graph(context);
  auto desc = backward(p, grad_output, a, nullptr, nullptr);
  ASSERT_OK(synfire_graph_record_synapse_backward(graph, synapse, &desc));
  desc.input = b;
  desc.add_gradients = 1;
  ASSERT_OK(synfire_graph_record_synapse_backward(graph, synapse, &desc));
  ASSERT_OK(synfire_graph_instantiate(graph));
  std::vector<float> sum = exact_gradients(p, grad, first, 24).weight;
  const std::vector<float> more = exact_gradients(p, grad, second, 24).weight;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  for (int i = 0; i < 2; ++i) {
    replay(graph);
    EXPECT_TRUE(same_bits(read<float>(synapse, "weight_gradient", sum.size()), sum));
  }
  // The graph keeps the synapse; new weights hold from the next replay on.
}

TEST_F(SynapseTest, GraphsKeepItAndSeeNewWeights) {
  const Product p = {3, 1, 40, 20};
  const std::vector<double> spikes = random_spikes(p, 0.5, 1);
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, spikes);
  Rows output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  const Graph graph = make_graph(context);
  Weights w = random_weights(p, true, 2);
  {
    const Synapse synapse = make_synapse(context, describe(p, true));
    set(synapse, w);
    const auto desc = forward(p, input, output, nullptr);
    ASSERT_OK(synfire_graph_record_synapse_forward(graph, synapse, &desc));
    ASSERT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    EXPECT_TRUE(same_bits(output.get(), as_doubles(exact_product(p, w, spikes))));
    w = random_weights(p, true, 3);
    set(synapse, w);
  }
  ASSERT_OK(synfire_context_reclaim(context, nullptr));
  output.poison();
  replay(graph);
  EXPECT_TRUE(same_bits(output.get(), as_doubles(exact_product(p, w, spikes))));
}

// Pinned arrays with a copy in each slot; then other buffers in their place, and the operations left out.
TEST_F(SynapseTest, SlotsReboundBuffersAndDisabledOperations) {
  const Product p = {3, 2, 40, 20};
  const Weights w = random_weights(p, false, 1);
  const Synapse synapse = make_synapse(context, describe(p, false, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_VALUES));
  set(synapse, w);
  const size_t n_in = p.rows() * p.inputs(), n_out = p.rows() * p.outputs();
  const Buffer x = make_frame(context, n_in), y = make_frame(context, n_out), grad = make_frame(context, n_out),
               dx = make_frame(context, n_in);
  const Graph graph = make_slotted_graph(context, 3);
  const auto forward_desc = forward(p, x, y, nullptr);
  const auto backward_desc = backward(p, grad, x, dx, nullptr);
  ASSERT_OK(synfire_graph_record_synapse_forward(graph, synapse, &forward_desc));
  ASSERT_OK(synfire_graph_record_synapse_backward(graph, synapse, &backward_desc));
  ASSERT_OK(synfire_graph_instantiate(graph));
  struct Arrays {
    std::vector<float> x, grad;
  };
  const auto draw = [&](uint64_t seed) {
    Random random(seed);
    return Arrays{random.values<float>(n_in, -1, 1), random.values<float>(n_out, -1, 1)};
  };
  const auto expect = [&](uint64_t ticket, const Arrays& of, synfire_buffer output, synfire_buffer grad_input) {
    const float *const got = slot_of(graph, ticket, output), *const got_dx = slot_of(graph, ticket, grad_input);
    EXPECT_TRUE(
        same_bits(std::vector<float>(got, got + n_out), ordered_product<float>(p, w.weight, {}, as_doubles(of.x))));
    EXPECT_TRUE(same_bits(std::vector<float>(got_dx, got_dx + n_in), exact_input_gradient(p, w, of.grad)));
  };
  const auto run = [&](uint64_t seed, synfire_buffer input, synfire_buffer grad_output) {
    const Arrays arrays = draw(seed);
    std::copy(arrays.x.begin(), arrays.x.end(), slot_of(graph, 0, input));
    std::copy(arrays.grad.begin(), arrays.grad.end(), slot_of(graph, 0, grad_output));
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    return ticket;
  };
  for (uint64_t seed = 1; seed <= 6; ++seed) expect(run(seed, x, grad), draw(seed), y, dx);
  const uint64_t last = run(7, x, grad), next = run(8, x, grad);
  expect(last, draw(7), y, dx);
  expect(next, draw(8), y, dx);

  const Buffer other_x = make_frame(context, n_in), other_y = make_frame(context, n_out),
               other_grad = make_frame(context, n_out), other_dx = make_frame(context, n_in);
  ASSERT_OK(synfire_graph_rebind(graph, x, other_x));
  ASSERT_OK(synfire_graph_rebind(graph, y, other_y));
  ASSERT_OK(synfire_graph_rebind(graph, grad, other_grad));
  ASSERT_OK(synfire_graph_rebind(graph, dx, other_dx));
  expect(run(9, other_x, other_grad), draw(9), other_y, other_dx);
  const Buffer small = make_frame(context, n_in - 1);
  EXPECT_FAILS(refused, WORDS("SYN-REBIND-SHAPE", "new_buffer"), synfire_graph_rebind(graph, other_x, small));

  // Left out, the product and the gradients stay as the same slot has them.
  const std::vector<float> held = read<float>(synapse, "weight_gradient", w.weight.size());
  for (const int32_t operation : {0, 1}) ASSERT_OK(synfire_graph_set_enabled(graph, operation, 0));
  for (uint64_t seed = 20; seed < 23; ++seed) run(seed, other_x, other_grad);
  EXPECT_TRUE(same_bits(read<float>(synapse, "weight_gradient", w.weight.size()), held));
  for (const int32_t operation : {0, 1}) ASSERT_OK(synfire_graph_set_enabled(graph, operation, 1));
  expect(run(23, other_x, other_grad), draw(23), other_y, other_dx);
  uint64_t bytes = 0;
  ASSERT_OK(synfire_graph_write_dot(graph, nullptr, &bytes));
  std::string dot(bytes, '\0');
  ASSERT_OK(synfire_graph_write_dot(graph, dot.data(), &bytes));
  for (const char* part : {"0: synapse", "1: synapse gradient", "[3, 2, 40] to 20"})
    EXPECT_NE(dot.find(part), std::string::npos) << part << " is not in\n" << dot;
}

// ---- What is refused ------------------------------------------------------------------------------------------------

class SynapseErrors : public SynapseTest {
 protected:
  void expect_refused(const synfire_synapse_desc& desc, synfire_status status, const char* rule, const char* word) {
    auto synapse = reinterpret_cast<synfire_synapse>(uintptr_t{1});
    EXPECT_FAILS(status, WORDS(rule, word), synfire_synapse_create(context, &desc, &synapse));
    EXPECT_EQ(synapse, nullptr);
    synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
    EXPECT_FAILS(status, WORDS(rule, word), synfire_synapse_query_memory(&desc, &memory));
  }
  const Product p = {4, 2, 40, 10};
};

TEST_F(SynapseErrors, Descriptors) {
  const synfire_synapse_desc good = describe(p, true);
  auto bad = good;
  const auto expect = [&](const char* rule, const char* word) {
    expect_refused(bad, refused, rule, word);
    bad = good;
  };
  bad.n_inputs = 0;
  expect("SYN-SYNAPSE-INPUTS", "desc.n_inputs is 0");
  bad.n_inputs = -5;
  expect("SYN-SYNAPSE-INPUTS", "-5");
  bad.n_inputs = (int64_t{1} << 29) + 1;
  expect("SYN-SYNAPSE-INPUTS", "2^29");
  bad.n_outputs = 0;
  expect("SYN-SYNAPSE-OUTPUTS", "desc.n_outputs is 0");
  bad.input_kind = 3;
  expect("SYN-SYNAPSE-INPUT-KIND", "desc.input_kind is 3");
  bad.dtype = SYNFIRE_DTYPE_F16;
  expect("SYN-SYNAPSE-DTYPE", "desc.dtype is 3");
  bad.bias = 2;
  expect("SYN-SYNAPSE-FLAG", "desc.bias is 2");
  bad.frozen = -1;
  expect("SYN-SYNAPSE-FLAG", "desc.frozen is -1");
  bad.gradient_bits = 16;
  expect("SYN-SYNAPSE-GRADIENT-BITS", "16");
  for (const int32_t bits : {12, 32, -8}) {
    bad.weight_bits = bits;
    expect("SYN-SYNAPSE-WEIGHT-BITS", "8, 16, 24");
  }
  for (const int32_t bits : {8, 16, 24}) {
    bad.dtype = SYNFIRE_DTYPE_F64;
    bad.weight_bits = bits;
    expect("SYN-SYNAPSE-WEIGHT-BITS", "f64");
  }
  bad.initialization = 3;
  expect("SYN-SYNAPSE-INITIALIZATION", "3");
  bad.no_self_connections = 2;
  expect("SYN-SYNAPSE-FLAG", "desc.no_self_connections");
  for (const double gain : {-1.0, nan, infinity, 1e31}) {
    bad.gain = gain;
    expect("SYN-SYNAPSE-GAIN", "desc.gain");
  }
  bad.mask_length = 400;
  expect("SYN-SYNAPSE-MASK", "desc.mask is null");
  std::vector<uint8_t> mask(400, 1);
  bad.mask = mask.data();
  expect("SYN-SYNAPSE-MASK", "desc.mask_length is 0");
  bad.mask = mask.data();
  bad.mask_length = 399;
  expect("SYN-SYNAPSE-MASK", "400");
  for (const int64_t large : {int64_t{1} << 58, INT64_MAX}) {
    bad.n_outputs = large;
    expect_refused(bad, SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-SYNAPSE-OVERFLOW", "2^58");
  }
  bad = good;
  mask[17] = 2;
  bad.mask = mask.data();
  bad.mask_length = 400;
  synfire_synapse synapse = nullptr;
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-MASK", "desc.mask[17] is 2"),
               synfire_synapse_create(context, &bad, &synapse));
}

TEST_F(SynapseErrors, Arrays) {
  const Synapse synapse = make_synapse(context, describe(p, false));
  std::vector<float> values(400, 1);
  const auto write_bytes = [&](const char* name, uint64_t bytes) {
    return synfire_synapse_write(synapse, name, values.data(), bytes);
  };
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "wieght", "did you mean \"weight\"?"), write_bytes("wieght", 1600));
  EXPECT_OK(write_bytes("weights", 1600));  // as in files
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "no bias"), write_bytes("bias", 40));
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1599}, uint64_t{1604}, ~uint64_t{0}})
    EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-SIZE", "f32 [10, 40]"), write_bytes("weight", bytes));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "values"), synfire_synapse_write(synapse, "weight", nullptr, 1600));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "name"),
               synfire_synapse_write(synapse, nullptr, values.data(), 1600));
  const std::vector<float> before = read<float>(synapse, "weight", 400);
  for (const double bad : {nan, infinity, -infinity}) {
    values[123] = static_cast<float>(bad);
    EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-FINITE", "values[123]"), write_bytes("weight", 1600));
  }
  EXPECT_TRUE(same_bits(read<float>(synapse, "weight", 400), before));
  auto frozen = describe(p, false);
  frozen.frozen = 1;
  const Synapse still = make_synapse(context, frozen);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-SYNAPSE-FROZEN"),
               synfire_synapse_read(still, "weight_gradient", values.data(), 1600));
}

TEST_F(SynapseErrors, Info) {
  const Synapse synapse = make_synapse(context, describe(p, true));
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  EXPECT_OK(synfire_synapse_get_info(synapse, &info));
  EXPECT_STREQ(info.kind, "dense");
  EXPECT_EQ(info.input_kind, SYNFIRE_INPUT_SPIKES);
  EXPECT_EQ(std::vector({info.input_height, info.input_width, info.input_channels}), std::vector<int64_t>({1, 1, 40}));
  EXPECT_EQ(std::vector({info.output_height, info.output_width, info.output_channels}),
            std::vector<int64_t>({1, 1, 10}));
  EXPECT_EQ(info.row_operations, 400u);
  EXPECT_EQ(info.dtype, SYNFIRE_DTYPE_F32);
  EXPECT_EQ(info.n_arrays, 2u);
  EXPECT_EQ(info.frozen, 0);
  EXPECT_EQ(info.takes_mask, 1);
  EXPECT_EQ(info.takes_dropout, 1);
  EXPECT_EQ(info.has_mask, 0);
  EXPECT_EQ(info.weight_bits, 24);
  EXPECT_EQ(info.gradient_bits, 24);
  const std::vector<int64_t> shapes[] = {{10, 40, 0, 0}, {10, 0, 0, 0}};
  for (const uint32_t i : {0u, 1u}) {
    synfire_synapse_array_info array = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
    EXPECT_OK(synfire_synapse_get_array_info(synapse, i, &array));
    EXPECT_STREQ(array.name, i == 0 ? "weight" : "bias");
    EXPECT_EQ(array.dtype, SYNFIRE_DTYPE_F32);
    EXPECT_EQ(array.trained, 1);
    EXPECT_EQ(array.n_dimensions, 2 - i);
    EXPECT_EQ(std::vector(array.shape, array.shape + 4), shapes[i]);
    // The array that is listed can be read, and so can its gradient.
    std::vector<float> values(i == 0 ? 400 : 10);
    const std::string name = array.name;
    for (const std::string& known_as : {name, name + "_gradient"})
      EXPECT_OK(synfire_synapse_read(synapse, known_as.c_str(), values.data(), values.size() * sizeof(float)));
  }
  synfire_synapse_array_info array = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-INDEX", "index is 2", "2 arrays"),
               synfire_synapse_get_array_info(synapse, 2, &array));
  EXPECT_EQ(array.name, nullptr);
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "info"), synfire_synapse_get_info(synapse, nullptr));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "info"), synfire_synapse_get_array_info(synapse, 0, nullptr));
  info.struct_size = 3;
  EXPECT_FAILS(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("info"), synfire_synapse_get_info(synapse, &info));

  auto plain = describe(p, false, SYNFIRE_DTYPE_F64, SYNFIRE_INPUT_VALUES);
  plain.frozen = 1;
  const Synapse frozen = make_synapse(context, plain);
  info = SYNFIRE_SYNAPSE_INFO_INIT;
  EXPECT_OK(synfire_synapse_get_info(frozen, &info));
  EXPECT_EQ(info.input_kind, SYNFIRE_INPUT_VALUES);
  EXPECT_EQ(info.dtype, SYNFIRE_DTYPE_F64);
  EXPECT_EQ(info.n_arrays, 1u);
  EXPECT_EQ(info.frozen, 1);
}

TEST_F(SynapseErrors, Buffers) {
  const Synapse synapse = make_synapse(context, describe(p, true)),
                values = make_synapse(context, describe(p, true, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_VALUES));
  const Buffer spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, 4 * 2 * 2),
               y = make_buffer(context, SYNFIRE_DTYPE_F32, 80), x = make_buffer(context, SYNFIRE_DTYPE_F32, 320),
               count = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
  const Graph graph = make_graph(context);
  const auto good = forward(p, spikes, y, nullptr);
  auto bad = good;
  const auto expect = [&](const char* rule, const char* word, synfire_synapse of = nullptr) {
    if (!of) of = synapse;
    EXPECT_FAILS(refused, WORDS(rule, word), synfire_synapse_forward(of, &bad, nullptr));
    EXPECT_FAILS(refused, WORDS(rule, word), synfire_graph_record_synapse_forward(graph, of, &bad));
    bad = good;
  };
  bad.n_steps = 5;
  expect("SYN-BUFFER-SIZE", "desc.input");
  bad.output = spikes;
  expect("SYN-BUFFER-TYPE", "desc.output");
  bad.input = count;
  expect("SYN-BUFFER-TYPE", "desc.input");
  expect("SYN-BUFFER-TYPE", "desc.input holds bits", values);
  bad.n_active = x;
  expect("SYN-BUFFER-TYPE", "desc.n_active");
  bad.round_delays = 2;
  expect("SYN-SYNAPSE-FLAG", "desc.round_delays");
  bad.input = bad.output = x;
  expect("SYN-BUFFER-OVERLAP", "desc.output");
  bad.n_steps = 0;
  expect("SYN-SPIKES-SHAPE", "desc.n_steps is 0");
  bad.n_steps = -1;
  expect("SYN-SPIKES-SHAPE", "desc.n_steps is -1");
  bad.batch = -1;
  expect("SYN-SPIKES-SHAPE", "desc.batch is -1");
  bad.struct_size = 4;
  EXPECT_FAILS(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("SYN-STRUCT-SMALL"), synfire_synapse_forward(synapse, &bad, nullptr));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "desc"), synfire_synapse_forward(synapse, nullptr, nullptr));
  bad = good;
  bad.input = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("desc.input"), synfire_synapse_forward(synapse, &bad, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("synapse"), synfire_synapse_forward(nullptr, &good, nullptr));

  auto back = backward(p, y, nullptr, nullptr, nullptr);
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NOTHING"), synfire_synapse_backward(synapse, &back, nullptr));
  back = backward(p, y, spikes, nullptr, nullptr);
  back.n_steps = 0;
  EXPECT_FAILS(refused, WORDS("SYN-SPIKES-SHAPE", "desc.n_steps"), synfire_synapse_backward(synapse, &back, nullptr));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "desc"), synfire_synapse_backward(synapse, nullptr, nullptr));
  back = backward(p, y, spikes, y, nullptr);
  EXPECT_FAILS(refused, WORDS("desc.grad_input"), synfire_synapse_backward(synapse, &back, nullptr));
  back = backward(p, y, spikes, nullptr, nullptr);
  back.add_gradients = 2;
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-FLAG", "add_gradients"), synfire_synapse_backward(synapse, &back, nullptr));
  auto frozen = describe(p, false);
  frozen.frozen = 1;
  const Synapse still = make_synapse(context, frozen);
  back = backward(p, y, spikes, nullptr, nullptr);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-SYNAPSE-FROZEN"),
               synfire_graph_record_synapse_backward(graph, still, &back));
  back = backward(p, y, nullptr, x, nullptr);
  EXPECT_OK(synfire_synapse_backward(still, &back, nullptr));  // the input's gradient needs none of its own
  back = backward(p, y, spikes, nullptr, nullptr);
  back.n_steps = int64_t{1} << 31;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-SYNAPSE-ROWS", "2^31"),
               synfire_synapse_backward(synapse, &back, nullptr));
}

// The sum over outputs of a gradient of an input is one of 64 bits.
TEST_F(SynapseErrors, GradientsOfInputsHaveABoundOnOutputs) {
  for (const auto& [n_outputs, dtype, expected] :
       {std::tuple<int64_t, int32_t, synfire_status>{132106, SYNFIRE_DTYPE_F32, SYNFIRE_OK},
        {132107, SYNFIRE_DTYPE_F32, SYNFIRE_ERROR_UNSUPPORTED},
        {132107, SYNFIRE_DTYPE_F64, SYNFIRE_OK}}) {
    synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
    desc.n_inputs = 1;
    desc.n_outputs = n_outputs;
    desc.dtype = dtype;
    const Synapse synapse = make_synapse(context, desc);
    const Buffer grad_output = make_buffer(context, dtype, static_cast<uint64_t>(n_outputs)),
                 grad_input = make_buffer(context, dtype, 1);
    synfire_synapse_backward_desc back = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    back.n_steps = 1;
    back.grad_output = grad_output;
    back.grad_input = grad_input;
    if (expected == SYNFIRE_OK) {
      EXPECT_OK(synfire_synapse_backward(synapse, &back, nullptr));
      continue;
    }
    EXPECT_FAILS(expected, WORDS("SYN-SYNAPSE-GRADIENT-OUTPUTS", "132107", "132106"),
                 synfire_synapse_backward(synapse, &back, nullptr));
    const Graph graph = make_graph(context);
    EXPECT_FAILS(expected, WORDS("SYN-SYNAPSE-GRADIENT-OUTPUTS", "132107", "132106"),
                 synfire_graph_record_synapse_backward(graph, synapse, &back));
  }
}

// While a graph reads a synapse, another thread may replay graphs that read it, but none that writes it.
struct Meanwhile {
  synfire_graph reader, writer;
  std::vector<synfire_status> statuses;
  std::string text;

  static synfire_status SYNFIRE_CALL launch_both(void* user, const synfire_native_call*) {
    auto& meanwhile = *static_cast<Meanwhile*>(user);
    std::thread([&] {
      for (const synfire_graph graph : {meanwhile.reader, meanwhile.writer})
        meanwhile.statuses.push_back(synfire_graph_launch(graph, nullptr, nullptr));
      char found[512] = "";
      synfire_last_error(found, sizeof found, nullptr);
      meanwhile.text = found;
    }).join();
    return SYNFIRE_OK;
  }
};

TEST_F(SynapseErrors, AnotherThreadWrites) {
  if (!on_host()) GTEST_SKIP() << "on a GPU streams give the order: tests/fault";
  const Synapse synapse = make_synapse(context, describe(p, true));
  const Buffer spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, 4 * 2 * 2),
               y = make_buffer(context, SYNFIRE_DTYPE_F32, 80), z = make_buffer(context, SYNFIRE_DTYPE_F32, 80);
  const Graph first = make_graph(context), reader = make_graph(context), writer = make_graph(context);
  Meanwhile meanwhile = {reader, writer, {}, {}};
  auto desc = forward(p, spikes, y, nullptr);
  ASSERT_OK(synfire_graph_record_synapse_forward(first, synapse, &desc));
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = Meanwhile::launch_both;
  native.user = &meanwhile;
  ASSERT_OK(synfire_graph_record_native(first, &native));
  desc.output = z;
  ASSERT_OK(synfire_graph_record_synapse_forward(reader, synapse, &desc));
  const auto back = backward(p, z, spikes, nullptr, nullptr);
  ASSERT_OK(synfire_graph_record_synapse_backward(writer, synapse, &back));
  for (const synfire_graph graph : {first.get(), reader.get(), writer.get()})
    ASSERT_OK(synfire_graph_instantiate(graph));
  ASSERT_OK(synfire_graph_launch(first, nullptr, nullptr));
  ASSERT_EQ(meanwhile.statuses.size(), 2u);
  EXPECT_EQ(meanwhile.statuses[0], SYNFIRE_OK);
  EXPECT_EQ(meanwhile.statuses[1], SYNFIRE_ERROR_WRONG_ORDER);
  EXPECT_NE(meanwhile.text.find("[SYN-SYNAPSE-SHARED]"), std::string::npos) << meanwhile.text;
  EXPECT_OK(synfire_graph_launch(writer, nullptr, nullptr));
}

}  // namespace
}  // namespace synfire_test
