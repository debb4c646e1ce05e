// How the grid of a synapse rounds its weights: synfire_synapse_get_rounding(), and the summary of a network, against
// grids and errors written out here; weights from subnormal to the largest.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "network_by_hand.hpp"

namespace synfire_test {
namespace {

struct Rounding {
  uint64_t n_weights = 0, n_lost = 0;
  double error = 0, bias_error = 0;
  int64_t output = 0;
};

// A weight of this many bits on the grid 2^s.
double rounded(double weight, int s, int bits) {
  return std::ldexp(std::nearbyint(std::ldexp(weight, bits - 24 - s)), 24 - bits);
}
// The finest grid 2^s with s >= -149 on which no weight is above 8,355,711, 0x7F7F00 or 0x7F0000, and no bias above
// 2^31 - 1: tried from the finest on.
int grid_of(const std::vector<float>& weights, double bias, int bits) {
  const double most = bits == 8 ? 0x7F0000 : bits == 16 ? 0x7F7F00 : 8355711.0;
  for (int s = -149;; ++s) {
    bool fits = std::fabs(std::nearbyint(std::ldexp(bias, -s))) <= 2147483647.0;
    for (const float w : weights) fits = fits && std::fabs(rounded(static_cast<double>(w), s, bits)) <= most;
    if (fits) return s;
  }
}

// Outputs from `first` to before `end`, of rows of K weights.
Rounding oracle(const std::vector<float>& weights, const std::vector<float>& biases, size_t n_inputs, size_t first,
                size_t end, int bits = 24) {
  Rounding all;
  all.output = static_cast<int64_t>(first);
  for (size_t n = first; n < end; ++n) {
    const std::vector<float> row = slice(weights, n * n_inputs, n_inputs);
    const double bias = biases.empty() ? 0 : static_cast<double>(biases[n]);
    const int s = grid_of(row, bias, bits);
    const auto error = [&](double x, int of_bits) {
      return std::fabs(std::ldexp(rounded(x, s, of_bits), s) - x) / std::fabs(x);
    };
    for (const float w : row) {
      if (w == 0) continue;
      ++all.n_weights;
      if (rounded(static_cast<double>(w), s, bits) == 0) ++all.n_lost;
      if (error(static_cast<double>(w), bits) > all.error) {
        all.error = error(static_cast<double>(w), bits);
        all.output = static_cast<int64_t>(n);
      }
    }
    if (bias != 0) all.bias_error = std::max(all.bias_error, error(bias, 24));
  }
  return all;
}

class SynapseRounding : public testing::Test {
 protected:
  Context context = make_context();

  Synapse make(size_t n_outputs, size_t n_inputs, const std::vector<float>& weights, const std::vector<float>& biases,
               int32_t kind = SYNFIRE_INPUT_SPIKES, int32_t bits = 0) const {
    synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
    desc.n_inputs = static_cast<int64_t>(n_inputs);
    desc.n_outputs = static_cast<int64_t>(n_outputs);
    desc.bias = biases.empty() ? 0 : 1;
    desc.input_kind = kind;
    desc.weight_bits = bits;
    synfire_synapse made = nullptr;
    require_ok(synfire_synapse_create(context, &desc, &made));
    Synapse synapse(made);
    require_ok(synfire_synapse_write(synapse, "weight", weights.data(), weights.size() * sizeof(float)));
    if (!biases.empty())
      require_ok(synfire_synapse_write(synapse, "bias", biases.data(), biases.size() * sizeof(float)));
    return synapse;
  }
  static synfire_synapse_rounding rounding_of(synfire_synapse synapse, int64_t output) {
    synfire_synapse_rounding rounding = SYNFIRE_SYNAPSE_ROUNDING_INIT;
    EXPECT_OK(synfire_synapse_get_rounding(synapse, output, &rounding));
    return rounding;
  }
  static void expect(const synfire_synapse_rounding& got, const Rounding& expected) {
    EXPECT_EQ(got.has_grid, 1);
    EXPECT_EQ(got.n_weights, expected.n_weights);
    EXPECT_EQ(got.n_lost, expected.n_lost);
    EXPECT_EQ(got.largest_error, expected.error);
    EXPECT_EQ(got.largest_bias_error, expected.bias_error);
    EXPECT_EQ(got.output, expected.output);
  }
  // Checks all outputs together and each alone.
  void check(size_t n_inputs, const std::vector<float>& weights, const std::vector<float>& biases) const {
    const size_t n_outputs = weights.size() / n_inputs;
    for (const int bits : {24, 16, 8}) {
      const Synapse synapse = make(n_outputs, n_inputs, weights, biases, SYNFIRE_INPUT_SPIKES, bits);
      ASSERT_NO_FATAL_FAILURE(expect(rounding_of(synapse, -1), oracle(weights, biases, n_inputs, 0, n_outputs, bits)));
      for (size_t n = 0; n < n_outputs; ++n)
        ASSERT_NO_FATAL_FAILURE(
            expect(rounding_of(synapse, static_cast<int64_t>(n)), oracle(weights, biases, n_inputs, n, n + 1, bits)))
            << bits;
    }
  }
};

TEST_F(SynapseRounding, KnownAnswers) {
  // The grid of 1 is 2^-22; half of it goes to the even integer 0, a bit more to 1.
  const float half = 0x1p-23F, more = std::nextafter(half, 1.0F);
  const Synapse synapse = make(4, 4, {1, half, 0, 0.5F, 1, more, -0.0F, 0, 0, 0, 0, 0, 1, 1, 1, -1}, {});
  synfire_synapse_rounding one = rounding_of(synapse, 0);
  EXPECT_EQ(one.n_weights, 3u);
  EXPECT_EQ(one.n_lost, 1u);
  EXPECT_EQ(one.largest_error, 1);
  one = rounding_of(synapse, 1);
  EXPECT_EQ(one.n_weights, 2u);
  EXPECT_EQ(one.n_lost, 0u);
  EXPECT_NEAR(one.largest_error, 1 - 0x1p-22, 1e-7);
  one = rounding_of(synapse, 2);
  EXPECT_EQ(one.n_weights, 0u);
  EXPECT_EQ(one.largest_error, 0);
  EXPECT_EQ(one.output, 2);
  one = rounding_of(synapse, 3);
  EXPECT_EQ(one.n_weights, 4u);
  EXPECT_EQ(one.largest_error, 0);
  one = rounding_of(synapse, -1);
  EXPECT_EQ(one.n_weights, 9u);
  EXPECT_EQ(one.n_lost, 1u);
  EXPECT_EQ(one.output, 0);
}

TEST_F(SynapseRounding, OfRandomWeights) {
  Random random(3);
  for (const size_t n_inputs : {size_t{1}, size_t{7}, size_t{300}})
    for (const double spread : {1.0, 6.0, 12.0, 30.0}) {
      std::vector<float> weights(n_inputs * 9), biases(9);
      for (std::vector<float>* const list : {&weights, &biases})
        for (float& w : *list) {
          const double magnitude = std::pow(10.0, random.uniform(-spread, 0));
          w = static_cast<float>(random.whole(0, 9) == 0 ? 0 : random.uniform(-1, 1) * magnitude);
        }
      ASSERT_NO_FATAL_FAILURE(check(n_inputs, weights, biases)) << n_inputs << " " << spread;
      ASSERT_NO_FATAL_FAILURE(check(n_inputs, weights, {})) << n_inputs << " " << spread;
    }
}

// From subnormal numbers to the largest, and a bias far beyond the weights, which takes bits from them.
TEST_F(SynapseRounding, OfExtremes) {
  constexpr float tiny = FLT_TRUE_MIN, largest = FLT_MAX;
  ASSERT_NO_FATAL_FAILURE(check(3, {tiny, -tiny, 5 * tiny, FLT_MIN, tiny, -FLT_MIN}, {tiny, 0}));
  ASSERT_NO_FATAL_FAILURE(check(3, {largest, -largest, tiny, largest, 1, -FLT_MIN}, {largest, -1}));
  ASSERT_NO_FATAL_FAILURE(check(2, {1e-3F, -2e-3F, 1e-3F, 0}, {1e6F, 1e30F}));
  ASSERT_NO_FATAL_FAILURE(check(2, {0, 0, -0.0F, 0}, {0, 3}));
  ASSERT_NO_FATAL_FAILURE(check(2, {2e6F, 0.1F, 2e6F, -0.1F}, {0.1F, 0.2F}));  // metres beside millivolts
  const Synapse synapse = make(1, 2, {2e6F, 0.1F}, {});
  EXPECT_EQ(rounding_of(synapse, -1).n_lost, 1u);
}

// Numbers that are not finite never get into a synapse.
TEST_F(SynapseRounding, WeightsAreFinite) {
  const Synapse synapse = make(1, 2, {1, 1}, {0});
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const float weights[] = {1, bad};
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-FINITE"),
                 synfire_synapse_write(synapse, "weight", weights, sizeof weights));
  }
  EXPECT_EQ(rounding_of(synapse, -1).largest_error, 0);
}

TEST_F(SynapseRounding, OfManyOutputs) {  // more than are read at once
  constexpr size_t n_inputs = 1500, n_outputs = 1401;
  std::vector<float> weights(n_inputs * n_outputs, 0.5F);
  weights[n_inputs * 1300 + 7] = 1e-12F;
  weights[n_inputs * 1400 + 1499] = 1e-9F;
  const Synapse synapse = make(n_outputs, n_inputs, weights, {});
  const synfire_synapse_rounding all = rounding_of(synapse, -1);
  EXPECT_EQ(all.n_weights, weights.size());
  EXPECT_EQ(all.n_lost, 2u);
  EXPECT_EQ(all.output, 1300);
  EXPECT_EQ(rounding_of(synapse, 1400).n_lost, 1u);
  EXPECT_EQ(rounding_of(synapse, 1399).n_lost, 0u);
}

TEST_F(SynapseRounding, OfWeightsWithoutAGrid) {
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.n_inputs = desc.n_outputs = 3;
  desc.dtype = SYNFIRE_DTYPE_F64;
  synfire_synapse made = nullptr;
  require_ok(synfire_synapse_create(context, &desc, &made));
  const Synapse wide(made);
  synfire_one_to_one_desc one = SYNFIRE_ONE_TO_ONE_DESC_INIT;
  one.channels = 3;
  require_ok(synfire_synapse_create_one_to_one(context, &one, &made));
  const Synapse of_one(made);
  for (const synfire_synapse synapse : {wide.get(), of_one.get()})
    for (const int64_t output : {-1, 0, 2}) {
      const synfire_synapse_rounding got = rounding_of(synapse, output);
      EXPECT_EQ(got.has_grid, 0);
      EXPECT_EQ(got.n_weights + got.n_lost, 0u);
      EXPECT_EQ(got.largest_error + got.largest_bias_error, 0);
      EXPECT_EQ(got.output, 0);
    }
  // Values have one for dL/dx, and none for the bias.
  const Synapse values = make(1, 2, {2e6F, 0.1F}, {0.1F}, SYNFIRE_INPUT_VALUES);
  EXPECT_EQ(rounding_of(values, -1).has_grid, 1);
  EXPECT_EQ(rounding_of(values, -1).n_lost, 1u);
  EXPECT_EQ(rounding_of(values, -1).largest_bias_error, 0);
}

TEST_F(SynapseRounding, OutputsThatThereAreNot) {
  const Synapse synapse = make(2, 1, {1, 1}, {});
  synfire_synapse_rounding rounding = SYNFIRE_SYNAPSE_ROUNDING_INIT;
  for (const int64_t output : {int64_t{-2}, int64_t{2}, INT64_MIN, INT64_MAX})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-OUTPUT", "output", "2 outputs"),
                 synfire_synapse_get_rounding(synapse, output, &rounding));
}

// A step of an optimiser changes it.
TEST_F(SynapseRounding, OfTrainedWeights) {
  const Synapse synapse = make(1, 2, {1, 0.5F}, {});
  synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
  od.learning_rate = 1;
  synfire_optimizer made = nullptr;
  require_ok(synfire_optimizer_create(context, &od, &made));
  const Optimizer optimizer(made);
  require_ok(synfire_optimizer_add_weights(optimizer, synapse, 1, 1));
  const float gradient[] = {-1e6F, 0.1F};
  require_ok(synfire_synapse_write(synapse, "weight_gradient", gradient, sizeof gradient));
  EXPECT_EQ(rounding_of(synapse, 0).largest_error, 0);
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  require_ok(synfire_optimizer_step(optimizer, &step, nullptr));
  std::vector<float> weights(2);
  require_ok(synfire_synapse_read(synapse, "weight", weights.data(), 8));
  expect(rounding_of(synapse, 0), oracle(weights, {}, 2, 0, 1));
  EXPECT_GT(rounding_of(synapse, 0).largest_error, 0);
}

// Training keeps all bits of the weights: steps that are far smaller than a unit of 8 bits add up, and products read
// the new integers, in f32 steps of every optimiser. Values read the same numbers.
TEST_F(SynapseRounding, StepsReachWeightsOfFewBits) {
  for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES})
    for (const int32_t rule : {SYNFIRE_OPTIMIZER_KIND_SGD, SYNFIRE_OPTIMIZER_KIND_ADAM}) {
      const Synapse synapse = make(2, 3, {1, 0.5F, 0.25F, -3, 0.1F, 0.7F}, {}, kind, 8);
      synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
      od.kind = rule;
      od.learning_rate = 0x1p-12;
      synfire_optimizer made = nullptr;
      require_ok(synfire_optimizer_create(context, &od, &made));
      const Optimizer optimizer(made);
      require_ok(synfire_optimizer_add_weights(optimizer, synapse, 1, 0));
      const Buffer input = make_buffer_of(context, std::vector<float>{1, 1, 0}), output = make_buffer(context, 0, 2);
      std::vector<float> first;
      for (int i = 0; i < 100; ++i) {
        const float gradient[] = {-1, -1, -1, -1, -1, -1};
        require_ok(synfire_synapse_write(synapse, "weight_gradient", gradient, sizeof gradient));
        const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
        require_ok(synfire_optimizer_step(optimizer, &step, nullptr));
        std::vector<float> weights(6);
        require_ok(synfire_synapse_read(synapse, "weight", weights.data(), 24));
        synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
        desc.n_steps = 1;
        desc.input = input;
        desc.output = output;
        require_ok(synfire_synapse_forward(synapse, &desc, nullptr));
        std::vector<float> expected;
        for (size_t n = 0; n < 2; ++n) {
          const int s = grid_of(slice(weights, n * 3, 3), 0, 8);
          expected.push_back(static_cast<float>(std::ldexp(rounded(static_cast<double>(weights[n * 3]), s, 8), s) +
                                                std::ldexp(rounded(static_cast<double>(weights[n * 3 + 1]), s, 8), s)));
        }
        const std::vector<float> y = download<float>(output, 2);
        ASSERT_EQ(y, expected) << i;
        if (i == 0) first = y;
        if (i == 99) {
          EXPECT_NE(y[0], first[0]);
        }
      }
    }
}

// ---- the summary ----------------------------------------------------------------------------------------------------

std::string summary_of(synfire_network network) {
  uint64_t bytes = 0;
  require_ok(synfire_network_write_summary(network, nullptr, &bytes));
  std::string text(bytes, ' ');
  require_ok(synfire_network_write_summary(network, text.data(), &bytes));
  text.pop_back();
  return text;
}

TEST_F(SynapseRounding, IsInTheSummaryOfABuiltNetwork) {
  StagePlan plan;
  plan.sizes = {6, 4, 3};
  const Network network = make_stages(context, plan);
  EXPECT_EQ(summary_of(network).find("grid"), std::string::npos) << "there are no weights yet";
  require_ok(synfire_network_build(network));
  synfire_synapse handle = nullptr;
  require_ok(synfire_network_get_synapse(network, "s1", &handle));
  const Synapse synapse(handle);
  std::vector<float> weights(12, 0.5F);
  weights[1] = 1e-9F;
  weights[2] = -1e-20F;
  weights[3] = 0;
  require_ok(synfire_synapse_write(synapse, "weight", weights.data(), weights.size() * sizeof(float)));
  const std::string text = summary_of(network);
  EXPECT_NE(text.find("\ns1: 2 of 11 weights become 0 on their grid, the largest relative error is 1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\ns0: 0 of 24 weights become 0 on their grid, the largest relative error is "),
            std::string::npos)
      << text;
  plan.dtype = SYNFIRE_DTYPE_F64;
  const Network wide = make_stages(context, plan);
  require_ok(synfire_network_build(wide));
  EXPECT_EQ(summary_of(wide).find("grid"), std::string::npos) << "f64 has none";
}

// The product of spikes is what it says: weights that become 0 contribute nothing.
TEST_F(SynapseRounding, IsWhatProductsDo) {
  const Synapse synapse = make(1, 3, {2e6F, 0.1F, 0.6F}, {});
  const Buffer input = make_buffer_of(context, std::vector<float>{0, 1, 0}), output = make_buffer(context, 0, 1);
  synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  desc.n_steps = 1;
  desc.input = input;
  desc.output = output;
  require_ok(synfire_synapse_forward(synapse, &desc, nullptr));
  EXPECT_EQ(download<float>(output, 1)[0], 0);
  EXPECT_EQ(rounding_of(synapse, 0).n_lost, 1u);
}

}  // namespace
}  // namespace synfire_test
