// Synapses with numbers at the ends of their range: gradients that are all 0, huge, heavy-tailed or not finite, and
// weights from the smallest number to the largest. Against the references of the rig.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "graph_support.hpp"
#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr float largest = std::numeric_limits<float>::max();
constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

const uint64_t n_draws = is_sanitized() ? 30 : 400;  // sanitizers are much slower

class SynapseExtremes : public SynapseTest {
 protected:
  // The results of one forward and one backward.
  template <typename R>
  struct Results {
    std::vector<double> y, dx;
    std::vector<R> dw, db;
  };
  template <typename R>
  Results<R> run(synfire_context on, const Product& p, const synfire_synapse_desc& desc, const std::vector<R>& weight,
                 const std::vector<R>& bias, const std::vector<double>& x, const std::vector<R>& grad) {
    const Synapse synapse = make_synapse(on, desc);
    write(synapse, "weight", weight);
    if (!bias.empty()) write(synapse, "bias", bias);
    const bool is_spikes = desc.input_kind == SYNFIRE_INPUT_SPIKES;
    Rows input = is_spikes ? spikes_in(on, SYNFIRE_DTYPE_BITS, p, x) : rows_for_input(on, desc.dtype, p);
    if (!is_spikes) input.put(x);
    Buffer active;
    if (p.active >= 0) {
      active = make_buffer(on, SYNFIRE_DTYPE_U32, 1);
      upload(active, std::vector<uint32_t>{static_cast<uint32_t>(p.active)});
    }
    const Rows output = outputs_in(on, desc.dtype, p), grad_input = rows_for_input(on, desc.dtype, p);
    Rows grad_output = outputs_in(on, desc.dtype, p);
    grad_output.put({grad.begin(), grad.end()});
    const auto there = forward(p, input, output, active);
    EXPECT_OK(synfire_synapse_forward(synapse, &there, nullptr));
    const auto back = backward(p, grad_output, input, grad_input, active);
    EXPECT_OK(synfire_synapse_backward(synapse, &back, nullptr));
    return {output.get(), grad_input.get(), read<R>(synapse, "weight_gradient", weight.size()),
            bias.empty() ? std::vector<R>() : read<R>(synapse, "bias_gradient", bias.size())};
  }
};

// ---- Drawing --------------------------------------------------------------------------------------------------------

// Any finite number, each bit pattern with the same probability.
float any_finite(Random& random) {
  for (;;) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random.next()));
    if (std::isfinite(value)) return value;
  }
}
// exp(deviation * z), z from a normal distribution (Box and Muller 1958), of either sign.
float heavy_tailed(Random& random, double deviation) {
  const double radius = std::sqrt(-2 * std::log(random.uniform(0, 1) + 0x1p-54));
  const double z = radius * std::cos(2 * std::numbers::pi * random.uniform(0, 1));
  return static_cast<float>(std::exp(deviation * z)) * (random.whole(0, 1) == 0 ? 1.0f : -1.0f);
}

constexpr int64_t n_weight_kinds = 8;
// Row by row, so that each output has another grid.
std::vector<float> draw_weights(Random& random, const Product& p) {
  std::vector<float> weights;
  for (size_t n = 0; n < p.outputs(); ++n) {
    const int64_t kind = random.whole(0, n_weight_kinds - 1), dominant = random.whole(0, p.n_inputs - 1);
    const auto scale = static_cast<float>(std::ldexp(1.0, static_cast<int>(random.whole(-60, 60))));
    for (int64_t k = 0; k < p.n_inputs; ++k) {
      const auto usual = static_cast<float>(random.uniform(-1, 1));
      const float sign = random.whole(0, 1) == 0 ? 1.0f : -1.0f;
      switch (kind) {
        case 0:
          weights.push_back(usual * scale);
          break;
        case 1:
          weights.push_back(sign * 0.0f);
          break;
        case 2:  // subnormal
          weights.push_back(sign * std::bit_cast<float>(static_cast<uint32_t>(random.whole(0, 0x7FFFFF))));
          break;
        case 3:
          weights.push_back(sign * (random.whole(0, 3) == 0 ? largest : largest * usual));
          break;
        case 4:
          weights.push_back(k == dominant ? sign * 1000 * scale : usual * scale);
          break;
        case 5:
          weights.push_back(k == dominant ? sign * 1e30f : usual * 1e-30f);
          break;
        case 6:  // at the edge of the grid: the largest is 2 - 2^-23, times a power of two
          weights.push_back((k == dominant ? sign * (2 - 0x1p-23f) : usual * 2) * scale);
          break;
        default:
          weights.push_back(any_finite(random));
      }
    }
  }
  return weights;
}

std::vector<float> draw_gradients(Random& random, const Product& p) {
  const int64_t kind = random.whole(0, 5);
  std::vector<float> gradients;
  for (size_t i = 0; i < p.rows() * p.outputs(); ++i) {
    const auto usual = static_cast<float>(random.uniform(-1, 1));
    gradients.push_back(kind == 0   ? usual
                        : kind == 1 ? heavy_tailed(random, 4)
                        : kind == 2 ? any_finite(random)
                        : kind == 3 ? usual * 0x1p-126f
                        : kind == 4 ? (random.whole(0, 3) == 0 ? usual : 0.0f)
                                    : usual * largest);
  }
  if (random.whole(0, 2) == 0)
    for (int64_t i = random.whole(1, 3); i > 0; --i)
      gradients[static_cast<size_t>(random.whole(0, static_cast<int64_t>(gradients.size()) - 1))] = i == 1 ? nan
                                                                                                    : i == 2
                                                                                                        ? infinity
                                                                                                        : -infinity;
  return gradients;
}

Product draw_product(Random& random) {
  Product p = {random.whole(1, 40), random.whole(1, 7), random.whole(1, 90), random.whole(1, 70)};
  if (random.whole(0, 2) == 0) p.active = random.whole(0, p.batch);
  return p;
}

// ---- Any numbers ----------------------------------------------------------------------------------------------------

TEST_F(SynapseExtremes, SpikesWithAnyWeightsAndGradients) {
  for (uint64_t seed = 1; seed <= n_draws; ++seed) {
    if (!synfire_test::sampled(seed - 1)) continue;
    Random random(seed);
    const Product p = draw_product(random);
    const int bits = random.whole(0, 1) == 0 ? 24 : 32;
    SCOPED_TRACE(testing::Message() << p << " bits " << bits << " seed " << seed);
    Weights w = {draw_weights(random, p), {}};
    if (random.whole(0, 1) == 0)
      for (size_t n = 0; n < p.outputs(); ++n)
        w.bias.push_back(random.whole(0, 1) == 0 ? any_finite(random) : w.weight[n * p.inputs()] * 300.0f);
    for (float& bias : w.bias) bias = std::isfinite(bias) ? bias : largest;
    const std::vector<double> spikes = random_spikes(p, random.uniform(0, 1), seed);
    const std::vector<float> grad = draw_gradients(random, p);
    auto desc = describe(p, !w.bias.empty());
    desc.gradient_bits = bits;
    const Results<float> got = run<float>(context, p, desc, w.weight, w.bias, spikes, grad);
    const Gradients<float> expected = exact_gradients(p, grad, spikes, bits);
    ASSERT_TRUE(same_bits(got.y, as_doubles(exact_product(p, w, spikes)))) << "y";
    ASSERT_TRUE(same_bits(got.dw, expected.weight)) << "dL/dW";
    if (!w.bias.empty()) {
      ASSERT_TRUE(same_bits(got.db, expected.bias)) << "dL/db";
    }
    ASSERT_TRUE(same_bits(got.dx, as_doubles(exact_input_gradient(p, w, grad)))) << "dL/dx";
  }
}

TEST_F(SynapseExtremes, ValuesWithAnyWeightsAndGradients) {
  for (uint64_t seed = 1; seed <= n_draws; ++seed) {
    if (!synfire_test::sampled(seed - 1)) continue;
    Random random(seed + 1000000);
    const Product p = draw_product(random);
    SCOPED_TRACE(testing::Message() << p << " seed " << seed);
    const Weights w = {draw_weights(random, p), random.values<float>(p.outputs(), -1, 1)};
    const int64_t kind = random.whole(0, 2);
    std::vector<double> x(p.rows() * p.inputs());
    for (double& value : x)
      value = static_cast<double>(kind == 0   ? static_cast<float>(random.uniform(-1, 1))
                                  : kind == 1 ? any_finite(random)
                                              : std::bit_cast<float>(static_cast<uint32_t>(random.next())));
    const std::vector<float> grad = draw_gradients(random, p);
    const Results<float> got =
        run<float>(context, p, describe(p, true, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_VALUES), w.weight, w.bias, x, grad);
    const Gradients<float> expected = value_gradients(p, grad, x);
    ASSERT_TRUE(same_bits(got.y, as_doubles(ordered_product<float>(p, w.weight, w.bias, x)))) << "y";
    ASSERT_TRUE(same_bits(got.dw, expected.weight)) << "dL/dW";
    ASSERT_TRUE(same_bits(got.db, expected.bias)) << "dL/db";
    ASSERT_TRUE(same_bits(got.dx, as_doubles(exact_input_gradient(p, {w.weight, {}}, grad)))) << "dL/dx";
  }
}

TEST_F(SynapseExtremes, AnyNumbersInF64) {
  const auto any = [](Random& random, bool finite) {
    for (;;) {
      const auto value = std::bit_cast<double>(random.next());
      if (!finite || std::isfinite(value)) return value;
    }
  };
  for (uint64_t seed = 1; seed <= n_draws / 4; ++seed) {
    if (!synfire_test::sampled(seed - 1)) continue;
    Random random(seed + 2000000);
    const Product p = draw_product(random);
    const int32_t kind = random.whole(0, 1) == 0 ? SYNFIRE_INPUT_SPIKES : SYNFIRE_INPUT_VALUES;
    SCOPED_TRACE(testing::Message() << p << " kind " << kind << " seed " << seed);
    const bool usual = random.whole(0, 2) == 0;
    std::vector<double> weight(p.inputs() * p.outputs()), bias(p.outputs()), grad(p.rows() * p.outputs());
    for (std::vector<double>* array : {&weight, &bias, &grad})
      for (double& value : *array) value = usual ? random.uniform(-1, 1) : any(random, array != &grad);
    std::vector<double> x = random_spikes(p, 0.5, seed);
    if (kind == SYNFIRE_INPUT_VALUES)
      for (double& value : x) value = usual ? random.uniform(-1, 1) : any(random, false);
    const Results<double> got =
        run<double>(context, p, describe(p, true, SYNFIRE_DTYPE_F64, kind), weight, bias, x, grad);
    const Gradients<double> expected = ordered_gradients<double>(p, grad, x);
    ASSERT_TRUE(same_bits(got.y, ordered_product<double>(p, weight, bias, x))) << "y";
    ASSERT_TRUE(same_bits(got.dw, expected.weight)) << "dL/dW";
    ASSERT_TRUE(same_bits(got.db, expected.bias)) << "dL/db";
    ASSERT_TRUE(same_bits(got.dx, input_gradient<double>(p, weight, grad))) << "dL/dx";
  }
}

// ---- Gradients ------------------------------------------------------------------------------------------------------

// Rows (t, b) whose gradients are all 0, of either sign, beside others: dL/dx is +0 there, for weights of either sign.
TEST_F(SynapseExtremes, GradientsThatAreAllZeroGivePositiveZero) {
  for (const Product& p : {Product{6, 3, 70, 33}, Product{35, 4, 33, 130, 3}})
    for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES}) {
      SCOPED_TRACE(testing::Message() << p << " kind " << kind);
      const Weights w = random_weights(p, false, 1);
      std::vector<float> grad = Random(2).values<float>(p.rows() * p.outputs(), -1, 1);
      for (size_t m = 0; m < p.rows(); ++m)
        for (size_t n = 0; n < p.outputs() && m % 3 != 0; ++n)
          grad[m * p.outputs() + n] = m % 3 == 1 ? 0.0f : n % 2 == 0 ? -0.0f : 0.0f;
      const Synapse synapse = make_synapse(context, describe(p, false, SYNFIRE_DTYPE_F32, kind));
      set(synapse, w);
      const Buffer active = active_buffer(p);
      Rows grad_output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
      grad_output.put(as_doubles(grad));
      const Rows grad_input = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
      const auto desc = backward(p, grad_output, nullptr, grad_input, active);
      ASSERT_OK(synfire_synapse_backward(synapse, &desc, nullptr));
      const std::vector<double> dx = grad_input.get();
      EXPECT_TRUE(same_bits(dx, as_doubles(exact_input_gradient(p, w, grad))));
      EXPECT_TRUE(all_are(slice(dx, p.inputs(), p.inputs()), 0.0)) << "the second row";
    }
}

// Huge gradients of an output that has one that is not finite must not reach the integers of the others, nor overflow.
TEST_F(SynapseExtremes, HugeGradientsBesideOneThatIsNotFinite) {
  for (const int32_t bits : {24, 32})
    for (const float bad : {nan, infinity, -infinity}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, " << bad);
      const Product p = {40, 9, 70, 37};
      const std::vector<double> spikes = random_spikes(p, 0.9, 1);
      std::vector<float> grad = Random(2).values<float>(p.rows() * p.outputs(), -1, 1);
      for (size_t m = 0; m < p.rows(); ++m)
        for (const size_t n : {size_t{0}, size_t{5}, size_t{36}})
          grad[m * p.outputs() + n] = m == 7 ? bad : m % 2 == 0 ? largest : m % 3 == 0 ? -largest : 0x1p31f;
      auto described = describe(p, true);
      described.gradient_bits = bits;
      const Synapse synapse = make_synapse(context, described);
      const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, spikes);
      Rows grad_output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
      grad_output.put(as_doubles(grad));
      const auto desc = backward(p, grad_output, input, nullptr, nullptr);
      ASSERT_OK(synfire_synapse_backward(synapse, &desc, nullptr));
      const Gradients<float> expected = exact_gradients(p, grad, spikes, bits);
      ASSERT_TRUE(std::isnan(expected.bias[0]) && std::isfinite(expected.bias[1]));
      EXPECT_TRUE(same_bits(read<float>(synapse, "weight_gradient", p.inputs() * p.outputs()), expected.weight));
      EXPECT_TRUE(same_bits(read<float>(synapse, "bias_gradient", p.outputs()), expected.bias));
    }
}

// A cue early, the loss late: the first input spikes only where the gradient is 2^-25 of the largest.
TEST_F(SynapseExtremes, AWeakGradientNeeds32Bits) {
  const Product p = {2, 1, 2, 1};
  const std::vector<double> spikes = {1, 0, 0, 1};
  const std::vector<float> grad = {0x1p-25f, 1};
  for (const int bits : {24, 32}) {
    auto desc = describe(p, false);
    desc.gradient_bits = bits;
    const Results<float> got = run<float>(context, p, desc, {1, 1}, {}, spikes, grad);
    EXPECT_TRUE(same_bits(got.dw, {bits == 24 ? 0.0f : 0x1p-25f, 1.0f})) << bits;
  }
}

// A gradient on its grid is off by half of 2^e at most, and 2^e is at most 2 max / 8,355,711 (or 2^31 - 1).
TEST_F(SynapseExtremes, HeavyTailedGradientsAreRoundedToTheirGridOnly) {
  const Product p = {60, 10, 50, 20};
  Random random(1);
  std::vector<float> grad;
  for (size_t i = 0; i < p.rows() * p.outputs(); ++i) grad.push_back(heavy_tailed(random, 4));
  const std::vector<double> spikes = random_spikes(p, 0.2, 2);
  const std::vector<float> weight = random.values<float>(p.inputs() * p.outputs(), -1, 1);
  for (const int bits : {24, 32}) {
    auto desc = describe(p, false);
    desc.gradient_bits = bits;
    const Results<float> got = run<float>(context, p, desc, weight, {}, spikes, grad);
    for (size_t n = 0; n < p.outputs(); ++n)
      for (size_t k = 0; k < p.inputs(); ++k) {
        double sum = 0, most = 0, n_added = 0;
        for (size_t m = 0; m < p.rows(); ++m) {
          const auto g = static_cast<double>(grad[m * p.outputs() + n]);
          most = std::fmax(most, std::fabs(g));
          sum += spikes[m * p.inputs() + k] * g;
          n_added += spikes[m * p.inputs() + k];
        }
        const double steps = n_added * most / static_cast<double>(bits == 24 ? largest_24 : largest_32);
        ASSERT_LE(std::fabs(static_cast<double>(got.dw[n * p.inputs() + k]) - sum), steps + 0x1p-23 * std::fabs(sum))
            << "output " << n << ", input " << k << ", " << bits << " bits";
      }
  }
}

// ---- However it is computed -----------------------------------------------------------------------------------------

struct Kind {
  int32_t dtype, input;
};
const Kind kinds[] = {{SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_SPIKES},
                      {SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_VALUES},
                      {SYNFIRE_DTYPE_F64, SYNFIRE_INPUT_SPIKES},
                      {SYNFIRE_DTYPE_F64, SYNFIRE_INPUT_VALUES}};

class SynapseKinds : public SynapseExtremes {
 protected:
  // A synapse's results as doubles: y, dL/dx, dL/dW, dL/db.
  struct All {
    std::vector<double> y, dx, dw, db;
  };
  template <typename R>
  All run_as(synfire_context on, const Product& p, const Kind& kind, const std::vector<float>& weight,
             const std::vector<double>& x, const std::vector<float>& grad) {
    const Results<R> got = run<R>(on, p, describe(p, true, kind.dtype, kind.input), {weight.begin(), weight.end()},
                                  std::vector<R>(p.outputs(), R(0.25)), x, std::vector<R>(grad.begin(), grad.end()));
    return {got.y, got.dx, {got.dw.begin(), got.dw.end()}, {got.db.begin(), got.db.end()}};
  }
  All run_kind(synfire_context on, const Product& p, const Kind& kind, const std::vector<float>& weight,
               const std::vector<double>& x, const std::vector<float>& grad) {
    return kind.dtype == SYNFIRE_DTYPE_F64 ? run_as<double>(on, p, kind, weight, x, grad)
                                           : run_as<float>(on, p, kind, weight, x, grad);
  }
  static std::vector<double> inputs(const Product& p, const Kind& kind, uint64_t seed) {
    if (kind.input == SYNFIRE_INPUT_SPIKES) return random_spikes(p, 0.2, seed);
    return as_doubles(Random(seed).values<float>(p.rows() * p.inputs(), -2, 2));
  }
};

// Large enough that the work is shared.
TEST_F(SynapseKinds, AnyNumberOfThreadsGivesTheSame) {
  if (!on_host()) GTEST_SKIP() << "only the host shares its work among threads";
  const Product p = {is_sanitized() ? 13 : 37, is_sanitized() ? 21 : 23, 301, 211};
  Random random(1);
  const std::vector<float> weight = draw_weights(random, p), grad = random.values<float>(p.rows() * p.outputs(), -1, 1);
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(testing::Message() << "type " << kind.dtype << " input " << kind.input);
    const std::vector<double> x = inputs(p, kind, 2);
    const All expected = run_kind(make_context(1), p, kind, weight, x, grad);
    for (const int32_t n_threads : {2, 3, 7}) {
      const Context threads = make_context(n_threads);
      const All got = run_kind(threads, p, kind, weight, x, grad);
      EXPECT_TRUE(same_bits(got.y, expected.y)) << n_threads;
      EXPECT_TRUE(same_bits(got.dx, expected.dx)) << n_threads;
      EXPECT_TRUE(same_bits(got.dw, expected.dw)) << n_threads;
      EXPECT_TRUE(same_bits(got.db, expected.db)) << n_threads;
    }
  }
}

TEST_F(SynapseKinds, ABatchRowAloneIsTheSameAsInTheBatch) {
  const Product all = {19, 5, 77, 35}, one = {19, 1, 77, 35};
  Random random(3);
  const std::vector<float> weight = draw_weights(random, all), grad = [&] {
    std::vector<float> gradients;
    for (size_t i = 0; i < all.rows() * all.outputs(); ++i) gradients.push_back(heavy_tailed(random, 3));
    return gradients;
  }();
  const auto row_of = [&](const auto& array, size_t b, size_t length) {
    std::decay_t<decltype(array)> row;
    for (size_t t = 0; t < 19; ++t) row = joined(std::move(row), slice(array, (t * 5 + b) * length, length));
    return row;
  };
  for (const Kind& kind : kinds) {
    const std::vector<double> x = inputs(all, kind, 4);
    const All together = run_kind(context, all, kind, weight, x, grad);
    for (size_t b = 0; b < 5; ++b) {
      SCOPED_TRACE(testing::Message() << "type " << kind.dtype << " input " << kind.input << " row " << b);
      const All alone = run_kind(context, one, kind, weight, row_of(x, b, 77), row_of(grad, b, 35));
      EXPECT_TRUE(same_bits(alone.y, row_of(together.y, b, 35)));
      EXPECT_TRUE(same_bits(alone.dx, row_of(together.dx, b, 77)));
    }
  }
}

}  // namespace
}  // namespace synfire_test
