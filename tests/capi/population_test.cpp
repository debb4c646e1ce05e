// Population codes: against the formula in f64 and central differences of it; sums bit for bit against those that are
// written out here; as parts of layers, trained, before an encoder of spikes, and as a stage of a network with the
// decoder that belongs to it.
#include <functional>
#include <string>

#include "described_stages.hpp"
#include "network_file.hpp"
#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;

struct Case {
  int64_t n_inputs, n_cells, n_steps, batch;
  int64_t active = -1;

  Product product() const { return {n_steps, batch, n_inputs, n_inputs * n_cells, active}; }
  size_t cells() const { return static_cast<size_t>(n_cells); }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.product();
}

// One of each, odd sizes, more cells than a tile of the host, and no row that is active.
const Case cases[] = {{1, 1, 1, 1}, {5, 3, 4, 3, 2}, {37, 10, 5, 2}, {3, 301, 2, 3, 1}, {70, 7, 1, 5}, {2, 4, 3, 3, 0}};

synfire_population_desc describe(const Case& c, int32_t dtype = SYNFIRE_DTYPE_F32) {
  synfire_population_desc desc = SYNFIRE_POPULATION_DESC_INIT;
  desc.dtype = dtype;
  desc.channels = c.n_inputs;
  desc.n_cells = c.n_cells;
  return desc;
}

Synapse make_population(synfire_context context, const synfire_population_desc& desc) {
  synfire_synapse synapse = nullptr;
  EXPECT_OK(synfire_synapse_create_population(context, &desc, &synapse));
  return Synapse(synapse);
}

// mu and sigma of [K, P], and a gradient of the output; numbers of the type.
template <typename R>
struct Numbers {
  std::vector<R> mu, sigma, grad;

  Numbers(const Product& p, uint64_t seed) {
    Random random(seed);
    mu = random.values<R>(p.outputs(), -3, 3);
    sigma = random.values<R>(p.outputs(), 0.25, 2);
    for (size_t n = 0; n < sigma.size(); n += 5) sigma[n] = -sigma[n];
    grad = random.values<R>(p.rows() * p.outputs(), -1, 1);
    for (R& g : grad) g *= static_cast<R>(std::ldexp(1.0, static_cast<int>(random.whole(-20, 3))));
  }
  void give(synfire_synapse synapse) const {
    write(synapse, "mu", mu);
    write(synapse, "sigma", sigma);
  }
};

// ---- The reference --------------------------------------------------------------------------------------------------

double formula(double x, double mu, double sigma) {
  return std::exp(-(x - mu) * (x - mu) / (2 * sigma * sigma));
}

template <typename R>
struct Sums {
  std::vector<double> dx;
  std::vector<R> mu, sigma;
};

// The contributions of a cell, one for each row: in f32 on the grid of 32 bits of their largest, in f64 in order.
template <typename R>
R sum_of(const std::vector<R>& contributions) {
  if constexpr (sizeof(R) == 8) {
    double sum = 0;
    for (const double value : contributions) sum += value;
    return sum;
  } else {
    return sum_of_contributions(contributions);
  }
}

// The gradients from the activities y of the library, whose exponential has its own tests.
template <typename R>
Sums<R> sums_of(const Case& c, const Numbers<R>& of, const std::vector<double>& x, const std::vector<double>& y) {
  const Product p = c.product();
  Sums<R> got = {std::vector<double>(p.rows() * p.inputs()), {}, {}};
  const auto slopes = [&](size_t m, size_t n) {
    const R z = (static_cast<R>(x[m * p.inputs() + n / c.cells()]) - of.mu[n]) / of.sigma[n];
    const R h = static_cast<R>(y[m * p.outputs() + n]) * z / of.sigma[n];
    return std::pair<R, R>(h, h * z);
  };
  for (size_t m = 0; m < p.rows(); ++m)
    for (size_t k = 0; k < p.inputs() && p.is_active(m); ++k) {
      double sum = 0;
      for (size_t n = k * c.cells(); n < (k + 1) * c.cells(); ++n)
        sum =
            std::fma(static_cast<double>(-of.grad[m * p.outputs() + n]), static_cast<double>(slopes(m, n).first), sum);
      got.dx[m * p.inputs() + k] = static_cast<double>(static_cast<R>(sum));
    }
  for (size_t n = 0; n < p.outputs(); ++n) {
    std::vector<R> of_mu, of_sigma;
    for (size_t b = 0; b < p.rows_per_step() && p.is_active(b); ++b) {
      double mu = 0, sigma = 0;
      for (size_t m = p.rows() + b; m >= p.rows_per_step();) {
        m -= p.rows_per_step();
        const auto grad = static_cast<double>(of.grad[m * p.outputs() + n]);
        const auto [h, w] = slopes(m, n);
        mu = std::fma(grad, static_cast<double>(h), mu);
        sigma = std::fma(grad, static_cast<double>(w), sigma);
      }
      of_mu.push_back(static_cast<R>(mu));
      of_sigma.push_back(static_cast<R>(sigma));
    }
    got.mu.push_back(sum_of(of_mu));
    got.sigma.push_back(sum_of(of_sigma));
  }
  return got;
}

// ---- Against it -----------------------------------------------------------------------------------------------------

class Population : public SynapseTest {
 protected:
  // Activities and gradients, now and in a graph, where the gradients are added to those of the call.
  template <typename R>
  void check(const Case& c, int32_t input_dtype, uint64_t seed) {
    const Product p = c.product();
    constexpr int32_t dtype = dtype_of<R>;
    const Numbers<R> of(p, seed);
    const Synapse synapse = make_population(context, describe(c, dtype));
    of.give(synapse);
    const Placement placement = seed % 2 == 0 ? Placement{} : Placement{3, 5};
    Rows input = rows_for_input(context, input_dtype, p, placement);
    input.put(Random(seed + 1).values<double>(p.rows() * p.inputs(), -4, 4));
    const std::vector<double> x = input.get();  // rounded
    const Rows output = outputs_in(context, dtype, p, placement),
               grad_input = rows_for_input(context, dtype, p, placement);
    Rows grad_output = outputs_in(context, dtype, p, placement);
    grad_output.put(std::vector<double>(of.grad.begin(), of.grad.end()));
    const Buffer n_active = active_buffer(p);
    const auto fd = forward(p, input, output, n_active);
    auto bd = backward(p, grad_output, input, grad_input, n_active);

    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    const std::vector<double> y = output.get();
    constexpr double epsilon = std::numeric_limits<R>::epsilon(), least = sizeof(R) == 4 ? 1e-37 : 1e-304;
    for (size_t m = 0; m < p.rows(); ++m)
      for (size_t n = 0; n < p.outputs(); ++n) {
        const size_t at = m * p.outputs() + n;
        if (!p.is_active(m)) {
          EXPECT_TRUE(y[at] == 0 && !std::signbit(y[at]));
          continue;
        }
        const double mu = static_cast<double>(of.mu[n]), sigma = static_cast<double>(of.sigma[n]),
                     from = x[m * p.inputs() + n / c.cells()], wanted = formula(from, mu, sigma),
                     exponent = (from - mu) * (from - mu) / (2 * sigma * sigma);
        EXPECT_NEAR(y[at], wanted, wanted * epsilon * (2 + 3 * exponent) + least) << from << " " << mu << " " << sigma;
      }
    EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    Sums<R> wanted = sums_of(c, of, x, y);
    EXPECT_TRUE(same_bits(grad_input.get(), wanted.dx));
    EXPECT_TRUE(same_bits(read<R>(synapse, "mu_gradient", p.outputs()), wanted.mu));
    EXPECT_TRUE(same_bits(read<R>(synapse, "sigma_gradient", p.outputs()), wanted.sigma));

    bd.add_gradients = bd.add_input_gradient = 1;
    replay_of(synapse, fd, bd);
    EXPECT_TRUE(same_bits(output.get(), y));
    for (double& value : wanted.dx) value = value + value;
    for (R& value : wanted.mu) value = value + value;
    for (R& value : wanted.sigma) value = value + value;
    EXPECT_TRUE(same_bits(grad_input.get(), wanted.dx));
    EXPECT_TRUE(same_bits(read<R>(synapse, "mu_gradient", p.outputs()), wanted.mu));
    EXPECT_TRUE(same_bits(read<R>(synapse, "sigma_gradient", p.outputs()), wanted.sigma));
  }
};

TEST_F(Population, InF32) {
  constexpr int32_t formats[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_BF16};
  uint64_t seed = 1;
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c);
    check<float>(c, formats[seed % 4], seed);
    ++seed;
  }
}

TEST_F(Population, InF64) {
  uint64_t seed = 100;
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c);
    check<double>(c, SYNFIRE_DTYPE_F64, seed++);
  }
}

// dL/dmu, dL/dsigma and dL/dx are what the loss L = sum of grad * y changes by, in f64 and by the formula alone.
TEST_F(Population, GradientsAreThoseOfTheFormula) {
  const Case c = {3, 4, 2, 3};
  const Product p = c.product();
  Numbers<double> of(p, 7);
  Rows input = rows_for_input(context, SYNFIRE_DTYPE_F64, p);
  std::vector<double> x = Random(8).values<double>(p.rows() * p.inputs(), -3, 3);
  input.put(x);
  Rows grad = outputs_in(context, SYNFIRE_DTYPE_F64, p);
  of.grad = Random(9).values<double>(of.grad.size(), -1, 1);
  grad.put(of.grad);
  const Rows grad_input = rows_for_input(context, SYNFIRE_DTYPE_F64, p);
  const Synapse synapse = make_population(context, describe(c, SYNFIRE_DTYPE_F64));
  of.give(synapse);
  const auto bd = backward(p, grad, input, grad_input, nullptr);
  EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
  const auto loss = [&] {
    double sum = 0;
    for (size_t m = 0; m < p.rows(); ++m)
      for (size_t n = 0; n < p.outputs(); ++n)
        sum += of.grad[m * p.outputs() + n] * formula(x[m * p.inputs() + n / c.cells()], of.mu[n], of.sigma[n]);
    return sum;
  };
  const auto expect = [&](std::vector<double>& numbers, const std::vector<double>& gradients) {
    ASSERT_EQ(numbers.size(), gradients.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double held = numbers[i], step = 1e-5;
      numbers[i] = held + step;
      const double above = loss();
      numbers[i] = held - step;
      const double below = loss();
      numbers[i] = held;
      EXPECT_NEAR(gradients[i], (above - below) / (2 * step), 2e-7 * (1 + std::fabs(gradients[i]))) << i;
    }
  };
  const std::vector<double> of_mu = read<double>(synapse, "mu_gradient", p.outputs()),
                            of_sigma = read<double>(synapse, "sigma_gradient", p.outputs());
  expect(of.mu, of_mu);
  expect(of.sigma, of_sigma);
  expect(x, grad_input.get());
}

// Infinities and NaN reach the gradients of their own cells alone.
TEST_F(Population, NumbersThatAreNotFinite) {
  const Case c = {2, 2, 1, 1};
  const Product p = c.product();
  const Synapse synapse = make_population(context, describe(c));
  Rows input = rows_for_input(context, SYNFIRE_DTYPE_F32, p), grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  const Rows output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  input.put({HUGE_VAL, 3});
  grad.put({1, 1, std::nan(""), 1});
  const auto fd = forward(p, input, output, nullptr);
  const auto bd = backward(p, grad, input, nullptr, nullptr);
  EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
  const std::vector<double> y = output.get();
  EXPECT_TRUE(same_bits(slice(y, 0, 2), {0.0, 0.0}));
  EXPECT_EQ(y[3], 1) << "at the place of the cell";
  EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
  const auto of_mu = read<float>(synapse, "mu_gradient", 4);
  EXPECT_TRUE(std::isnan(of_mu[0]) && std::isnan(of_mu[1]) && std::isnan(of_mu[2]));
  EXPECT_EQ(of_mu[3], 0);
  // A sigma of 0 is allowed: a cell that is active nowhere.
  write(synapse, "sigma", std::vector<float>(4, 0));
  input.put({1, 2});
  EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
  EXPECT_TRUE(same_bits(output.get(), std::vector<double>(4, 0)));
}

// ---- As a part of a layer -------------------------------------------------------------------------------------------

// IF neurons with a soft reset compute the same with the code as with its activities, apart; and so do the gradients.
TEST_F(Population, OfALayerIsThatApart) {
  const Case c = {7, 6, 9, 3};
  const Product p = c.product();
  const Shape shape = {p.n_steps, p.batch, p.n_outputs};
  const Synapse together = make_population(context, describe(c)), apart = make_population(context, describe(c));
  const Numbers<float> of(p, 3);
  of.give(together);
  of.give(apart);
  Rows input = rows_for_input(context, SYNFIRE_DTYPE_F32, p), grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  input.put(Random(4).values<double>(p.rows() * p.inputs(), -3, 3));
  grad.put(as_doubles(Random(5).values<float>(shape.sequence(), -1, 1)));
  auto ld = synfire_test::describe(shape, SYNFIRE_DTYPE_F32);
  ld.model = SYNFIRE_MODEL_IF;
  ld.reset = SYNFIRE_RESET_SOFT;
  for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE}) {
    const Layer one = make_layer(context, ld), other = make_layer(context, ld);
    const Rows spikes_one = outputs_in(context, SYNFIRE_DTYPE_F32, p),
               spikes_other = outputs_in(context, SYNFIRE_DTYPE_F32, p), x = outputs_in(context, SYNFIRE_DTYPE_F32, p),
               grad_x = outputs_in(context, SYNFIRE_DTYPE_F32, p),
               dx_one = rows_for_input(context, SYNFIRE_DTYPE_F32, p),
               dx_other = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
    synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
    fd.tape = tape;
    fd.synapse = together;
    fd.synapse_input = input;
    fd.spikes = spikes_one;
    synfire_backward_desc bd = SYNFIRE_BACKWARD_DESC_INIT;
    bd.grad_spike_seq = grad;
    bd.grad_synapse_input = dx_one;
    replay_of(one, fd, bd);

    const auto product = forward(p, input, x, nullptr);
    EXPECT_OK(synfire_synapse_forward(apart, &product, nullptr));
    fd.synapse = nullptr;
    fd.synapse_input = nullptr;
    fd.x = x;
    fd.spikes = spikes_other;
    EXPECT_OK(synfire_layer_forward(other, &fd, nullptr));
    bd.grad_synapse_input = nullptr;
    bd.grad_x_seq = grad_x;
    EXPECT_OK(synfire_layer_backward(other, &bd, nullptr));
    const auto gradients = backward(p, grad_x, input, dx_other, nullptr);
    EXPECT_OK(synfire_synapse_backward(apart, &gradients, nullptr));

    const std::vector<double> spikes = spikes_one.get();
    EXPECT_TRUE(same_bits(spikes, spikes_other.get()));
    EXPECT_GT(std::count(spikes.begin(), spikes.end(), 1.0), 10);
    EXPECT_TRUE(same_bits(dx_one.get(), dx_other.get()));
    for (const char* const name : {"mu_gradient", "sigma_gradient"})
      EXPECT_TRUE(same_bits(read<float>(together, name, p.outputs()), read<float>(apart, name, p.outputs())));
  }
}

// Activities are rates of spikes: over many steps, each cell fires about as often as it is active.
TEST_F(Population, GivesRatesOfSpikes) {
  const Case c = {3, 5, 1, 2};
  const Product p = c.product();
  const Synapse synapse = make_population(context, describe(c));
  Rows input = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
  input.put(Random(6).values<double>(p.inputs() * 2, -3, 3));
  const Rows rates = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  const auto fd = forward(p, input, rates, nullptr);
  EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
  const Product many = {2000, p.batch, p.n_inputs, p.n_outputs};
  const Rows spikes = outputs_in(context, SYNFIRE_DTYPE_U8, many);
  synfire_encode_bernoulli_desc encode = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
  encode.n_steps = many.n_steps;
  encode.n_neurons = many.n_outputs;
  encode.batch = many.batch;
  encode.rates = rates;
  encode.spikes = spikes;
  encode.seed = 5;
  EXPECT_OK(synfire_encode_bernoulli(context, &encode, nullptr));
  const std::vector<double> rate = rates.get(), fired = spikes.get();
  for (size_t i = 0; i < rate.size(); ++i) {
    double count = 0;
    for (size_t at = i; at < fired.size(); at += rate.size()) count += fired[at];
    EXPECT_NEAR(count / 2000, rate[i], 0.05) << i;
  }
}

// ---- Training -------------------------------------------------------------------------------------------------------

// Steps of plain descent: mu - rate * g and sigma - rate * g, element by element.
TEST_F(Population, IsTrained) {
  const Case c = {3, 4, 2, 2};
  const Product p = c.product();
  const Synapse synapse = make_population(context, describe(c));
  const Numbers<float> of(p, 12);
  of.give(synapse);
  Rows input = rows_for_input(context, SYNFIRE_DTYPE_F32, p), grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  input.put(Random(13).values<double>(p.rows() * p.inputs(), -3, 3));
  grad.put(as_doubles(of.grad));
  synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
  od.learning_rate = 0.25;
  synfire_optimizer handle = nullptr;
  ASSERT_OK(synfire_optimizer_create(context, &od, &handle));
  const Optimizer optimizer(handle);
  EXPECT_OK(synfire_optimizer_add_array(optimizer, synapse, "mu", 1, 0));
  EXPECT_OK(synfire_optimizer_add_array(optimizer, synapse, "sigma", 0.5, 0));
  const auto bd = backward(p, grad, input, nullptr, nullptr);
  EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  EXPECT_OK(synfire_optimizer_step(optimizer, &step, nullptr));
  const auto mu = read<float>(synapse, "mu", 12), sigma = read<float>(synapse, "sigma", 12),
             of_mu = read<float>(synapse, "mu_gradient", 12), of_sigma = read<float>(synapse, "sigma_gradient", 12);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(mu[i], std::fma(-0.25F, of_mu[i], of.mu[i]));
    EXPECT_EQ(sigma[i], std::fma(-0.125F, of_sigma[i], of.sigma[i]));
  }
}

// A frozen one has the gradient of its input, and no other.
TEST_F(Population, Frozen) {
  const Case c = {3, 4, 2, 2};
  const Product p = c.product();
  auto desc = describe(c);
  const Synapse trained = make_population(context, desc);
  desc.frozen = 1;
  const Synapse frozen = make_population(context, desc);
  Rows input = rows_for_input(context, SYNFIRE_DTYPE_F32, p), grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  input.put(Random(13).values<double>(p.rows() * p.inputs(), -3, 3));
  grad.put(Random(14).values<double>(p.rows() * p.outputs(), -1, 1));
  const Rows one = rows_for_input(context, SYNFIRE_DTYPE_F32, p), other = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
  auto bd = backward(p, grad, input, one, nullptr);
  EXPECT_OK(synfire_synapse_backward(trained, &bd, nullptr));
  bd.grad_input = other;
  EXPECT_OK(synfire_synapse_backward(frozen, &bd, nullptr));
  EXPECT_TRUE(same_bits(one.get(), other.get()));
  bd.grad_input = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-SYNAPSE-FROZEN"), synfire_synapse_backward(frozen, &bd, nullptr));
  // dL/dx reads the input, also of one that is trained.
  for (const synfire_synapse each : {trained.get(), frozen.get()}) {
    bd.input = nullptr;
    bd.grad_input = one;
    EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-INPUT", "population", "desc.input is null"),
                 synfire_synapse_backward(each, &bd, nullptr));
  }
}

// ---- What it is -----------------------------------------------------------------------------------------------------

TEST_F(Population, Info) {
  auto desc = describe({3, 5, 1, 1}, SYNFIRE_DTYPE_F64);
  desc.height = 2;
  desc.width = 4;
  desc.lower = -1;
  desc.upper = 1;
  const Synapse synapse = make_population(context, desc);
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  EXPECT_OK(synfire_synapse_get_info(synapse, &info));
  EXPECT_STREQ(info.kind, "population");
  EXPECT_EQ(info.input_kind, SYNFIRE_INPUT_VALUES);
  EXPECT_EQ(std::vector({info.input_height, info.input_width, info.input_channels}), std::vector<int64_t>({2, 4, 3}));
  EXPECT_EQ(std::vector({info.output_height, info.output_width, info.output_channels}),
            std::vector<int64_t>({2, 4, 15}));
  EXPECT_EQ(info.dtype, SYNFIRE_DTYPE_F64);
  EXPECT_EQ(info.n_arrays, 2u);
  EXPECT_EQ(info.frozen + info.takes_mask + info.takes_dropout + info.weight_bits, 0);
  for (const uint32_t i : {0u, 1u}) {
    synfire_synapse_array_info array = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
    EXPECT_OK(synfire_synapse_get_array_info(synapse, i, &array));
    EXPECT_STREQ(array.name, i == 0 ? "mu" : "sigma");
    EXPECT_EQ(array.trained, 1);
    EXPECT_EQ(std::vector(array.shape, array.shape + 4), std::vector<int64_t>({24, 5, 0, 0}));
  }
  const auto mu = read<double>(synapse, "mu", 120), sigma = read<double>(synapse, "sigma", 120);
  for (size_t i = 0; i < 120; ++i) {
    EXPECT_EQ(mu[i], -1 + 0.5 * static_cast<double>(i % 5));
    EXPECT_EQ(sigma[i], 0.5) << "the distance between cells";
  }
  synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
  EXPECT_OK(synfire_synapse_query_memory_population(&desc, &memory));
  EXPECT_EQ(memory.weight_bytes, 1920u);
  EXPECT_EQ(memory.derived_bytes, 0u);
  EXPECT_EQ(memory.gradient_bytes, 1920u);
  desc.frozen = 1;
  EXPECT_OK(synfire_synapse_query_memory_population(&desc, &memory));
  EXPECT_EQ(memory.gradient_bytes, 0u);
  // Zero means the default everywhere.
  const Synapse plain = make_population(context, describe({1, 4, 1, 1}));
  EXPECT_EQ(read<float>(plain, "mu", 4), std::vector<float>({-3, -1, 1, 3}));
  EXPECT_EQ(read<float>(plain, "sigma", 4), std::vector<float>(4, 2));
  auto single = describe({1, 1, 1, 1});
  single.upper = 4;
  single.sigma = 0.125;
  EXPECT_EQ(read<float>(make_population(context, single), "mu", 1), std::vector<float>({2}));
  EXPECT_EQ(read<float>(make_population(context, single), "sigma", 1), std::vector<float>({0.125}));
  single.sigma = 0;
  EXPECT_EQ(read<float>(make_population(context, single), "sigma", 1), std::vector<float>({4}));
}

TEST_F(Population, Refusals) {
  const Case c = {2, 3, 2, 1};
  const synfire_population_desc good = describe(c);
  const auto expect = [&](const char* rule, const char* word,
                          const std::function<void(synfire_population_desc&)>& change) {
    SCOPED_TRACE(rule);
    synfire_population_desc bad = good;
    change(bad);
    synfire_synapse made = nullptr;
    EXPECT_FAILS(refused, WORDS(rule, word), synfire_synapse_create_population(context, &bad, &made));
    EXPECT_EQ(made, nullptr);
    synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
    EXPECT_FAILS(refused, WORDS(rule, word), synfire_synapse_query_memory_population(&bad, &memory));
  };
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{1} << 62}) {
    expect("SYN-SYNAPSE-MAP", "desc.channels", [&](auto& desc) { desc.channels = bad; });
    expect("SYN-SYNAPSE-MAP", "desc.n_cells", [&](auto& desc) { desc.n_cells = bad; });
  }
  for (const int64_t bad : {int64_t{-1}, int64_t{1} << 61}) {
    expect("SYN-SYNAPSE-MAP", "desc.height", [&](auto& desc) { desc.height = bad; });
    expect("SYN-SYNAPSE-MAP", "desc.width", [&](auto& desc) { desc.width = bad; });
  }
  expect("SYN-SYNAPSE-DTYPE", "desc.dtype", [](auto& desc) { desc.dtype = SYNFIRE_DTYPE_F16; });
  expect("SYN-SYNAPSE-FLAG", "desc.frozen", [](auto& desc) { desc.frozen = 2; });
  expect("SYN-RESERVED", "desc.reserved", [](auto& desc) { desc.reserved = 1; });
  for (const double bad : {HUGE_VAL, std::nan(""), 1e39, 2.0, 3.0})
    expect("SYN-SYNAPSE-RANGE", "desc.lower and desc.upper", [&](auto& desc) { desc.lower = bad, desc.upper = 2; });
  for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan(""), 1e39, 1e-39, -1.0})
    expect("SYN-SYNAPSE-SIGMA", "sigma is", [&](auto& desc) { desc.sigma = bad; });

  const Synapse synapse = make_population(context, good);
  const Product p = c.product();
  const Rows input = rows_for_input(context, SYNFIRE_DTYPE_F32, p), output = outputs_in(context, SYNFIRE_DTYPE_F32, p),
             bits = rows_for_input(context, SYNFIRE_DTYPE_U8, p);
  const Buffer mask = make_buffer(context, SYNFIRE_DTYPE_BITS, 1), scale = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  auto fd = forward(p, input, output, nullptr);
  fd.input_mask = mask;
  fd.input_scale = scale;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-SYNAPSE-DROPOUT-KIND", "population"),
               synfire_synapse_forward(synapse, &fd, nullptr));
  fd = forward(p, bits, output, nullptr);
  EXPECT_FAILS(refused, WORDS("desc.input"), synfire_synapse_forward(synapse, &fd, nullptr));
  const Case alone = {6, 1, 2, 1};
  const Synapse of_six = make_population(context, describe(alone));
  fd = forward(alone.product(), output, output, nullptr);
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-OVERLAP"), synfire_synapse_forward(of_six, &fd, nullptr));
  std::vector<float> values(6, 1);
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "did you mean \"sigma\"?"),
               synfire_synapse_read(synapse, "sigme", values.data(), 24));
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-SIZE", "f32 [2, 3]"),
               synfire_synapse_read(synapse, "mu", values.data(), 12));
  values[2] = HUGE_VALF;
  std::vector<int32_t> integers(6);
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-FINITE"), synfire_synapse_write(synapse, "mu", values.data(), 24));
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-SYNAPSE-INTEGERS"),
               synfire_synapse_read_integers(synapse, "mu", integers.data(), integers.size()));
}

// ---- As a stage -----------------------------------------------------------------------------------------------------

// A population-coded actor: observations, cells, IF neurons with a soft reset, LIF neurons, populations of actions, and
// the weighted means of their rates.
Network make_actor(synfire_context context, const StageValues& values = {}, bool optimized = true) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 5;
  desc.batch = 3;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  StageValues of_code = {number("n_cells", 4), number("sigma", 0.5)};
  of_code.insert(of_code.end(), values.begin(), values.end());
  require_ok(add_stage(network, "input", "observation",
                       {text("kind", "values"), number("n_features", 3), number("n_steps", 1)}));
  require_ok(add_stage(network, "population", "cells", of_code));
  require_ok(add_stage(network, "neurons", "encoder", {text("model", "if"), text("reset", "soft")}));
  require_ok(add_stage(network, "synapse", "to-hidden", {number("n_outputs", 9), number("gain", 8)}));
  require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
  require_ok(add_stage(network, "synapse", "to-actions", {number("n_outputs", 2 * 5), number("gain", 8)}));
  require_ok(add_stage(network, "neurons", "actions", {text("model", "lif")}));
  require_ok(add_stage(network, "readout", "rates", {number("of_spikes", 1), text("reduction", "mean")}));
  require_ok(add_stage(network, "scale", "weights", {text("scope", "neuron"), number("bias", 1)}));
  require_ok(add_stage(network, "group_mean", "decoder", {number("group_size", 5)}));
  require_ok(add_stage(network, "loss", "loss", {text("kind", "mean_squared_error")}));
  if (optimized)
    require_ok(add_stage(network, "optimizer", "optimizer", {text("kind", "adam"), number("learning_rate", 0.01)}));
  return network;
}

std::vector<float> observations() {
  return Random(21).values<float>(3 * 6, -3, 3);
}
void give_data(synfire_context context, synfire_network network) {
  std::vector<float> targets;
  for (size_t row = 0; row < 6; ++row)
    for (size_t action = 0; action < 2; ++action)
      targets.push_back(observations()[3 * row + action] > 0 ? 0.75F : 0.25F);
  const Buffer inputs = make_buffer_of(context, observations()), wanted = make_buffer_of(context, targets);
  require_ok(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 6, inputs, nullptr, wanted, nullptr, nullptr));
  require_ok(synfire_network_set_data(network, SYNFIRE_DATA_EVALUATION, 6, inputs, nullptr, wanted, nullptr, nullptr));
}
std::vector<float> inferred(synfire_context context, synfire_network network) {
  const Buffer inputs = make_buffer_of(context, observations());
  Buffer actions = make_buffer(context, SYNFIRE_DTYPE_F32, 12);
  require_ok(synfire_network_infer(network, inputs, 6, actions));
  return download<float>(actions, 12);
}
Synapse cells_of(synfire_network network) {
  synfire_synapse synapse = nullptr;
  require_ok(synfire_network_get_synapse(network, "cells", &synapse));
  return Synapse(synapse);
}

// The places and widths learn, with the weights; a file continues with the same bits.
TEST(PopulationStage, LearnsAndIsSaved) {
  const Context context = make_context();
  const Network network = make_actor(context);
  require_ok(synfire_network_build(network));
  give_data(context, network);
  const Synapse cells = cells_of(network);
  EXPECT_EQ(read<float>(cells, "mu", 12), std::vector<float>({-3, -1, 1, 3, -3, -1, 1, 3, -3, -1, 1, 3}));
  EXPECT_EQ(read<float>(cells, "sigma", 12), std::vector<float>(12, 0.5F));
  const double before = trained(network, 1).loss;
  trained(network, 200);
  EXPECT_LT(trained(network, 2).loss, 0.75 * before);
  const auto mu = read<float>(cells, "mu", 12), sigma = read<float>(cells, "sigma", 12);
  EXPECT_NE(mu, std::vector<float>({-3, -1, 1, 3, -3, -1, 1, 3, -3, -1, 1, 3}));
  EXPECT_NE(sigma, std::vector<float>(12, 0.5F));

  const File file = saved(network);
  const Network continued = created(context, file), for_inference = created(context, file, 0, 0, true);
  EXPECT_TRUE(saved(continued) == file);
  EXPECT_EQ(read<float>(cells_of(continued), "mu", 12), mu);
  const std::vector<float> actions = inferred(context, network);
  EXPECT_TRUE(same_bits(inferred(context, for_inference), actions));
  give_data(context, continued);
  trained(network, 3);
  trained(continued, 3);
  EXPECT_TRUE(saved(continued) == saved(network));
  // Frozen after it was built: mu and sigma stay, and everything else goes on.
  for (const bool frozen : {true, false}) {
    const auto held = read<float>(cells, "sigma", 12);
    require_ok(synfire_network_set_value(network, "cells", "frozen", frozen ? 1 : 0));
    trained(network, 3);
    EXPECT_EQ(read<float>(cells, "sigma", 12) == held, frozen);
  }
}

// The decoder: the mean over a group of weight times rate, and of the biases.
TEST(PopulationStage, DecoderIsAWeightedMean) {
  const Context context = make_context();
  const Network network = make_actor(context, {}, false);
  require_ok(synfire_network_build(network));
  synfire_synapse handle = nullptr;
  require_ok(synfire_network_get_synapse(network, "weights", &handle));
  const Synapse weights(handle);
  const std::vector<float> ones = inferred(context, network);
  EXPECT_NE(ones, std::vector<float>(12, 0)) << "rates";
  write(weights, "weight", std::vector<float>(10, 2));
  write(weights, "bias", std::vector<float>({0, 0, 0, 0, 0, 1, 2, 3, 4, 5}));
  const std::vector<float> actions = inferred(context, network);
  for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(actions[i], 2 * ones[i] + (i % 2 == 1 ? 3 : 0), 1e-6) << i;
}

// Two codes with the same cells, trained or frozen. The gradient of the first one passes to the synapse before it: as a
// part of the neurons that read it, or apart, where something else reads it too.
TEST(PopulationStage, SharesItsCellsAndPassesGradients) {
  const Context context = make_context();
  const auto make = [&](bool frozen, bool apart) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 4;
    desc.batch = 3;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    Network network(made);
    const StageValues soft_if = {text("model", "if"), text("reset", "soft")};
    require_ok(add_stage(network, "input", "in", {text("kind", "values"), number("n_features", 3)}));
    require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 3), number("gain", 3)}));
    require_ok(add_stage(network, "population", "cells", {number("n_cells", 5), number("frozen", frozen ? 1 : 0)}));
    require_ok(add_stage(network, "neurons", "n", soft_if));
    require_ok(add_stage(network, "population", "same", {text("weights_of", "cells")}, {reads("in")}));
    require_ok(add_stage(network, "neurons", "m", soft_if));
    StageInputs joined = {reads("n"), reads("m")};
    if (apart) {
      require_ok(add_stage(network, "scale", "half", {number("initial_weight", 0.5)}, {reads("cells")}));
      require_ok(add_stage(network, "neurons", "k", soft_if));
      joined.push_back(reads("k"));
    }
    require_ok(add_stage(network, "sum", "all", {}, joined));
    require_ok(add_stage(network, "synapse", "t", {number("n_outputs", 2)}));
    require_ok(add_stage(network, "neurons", "o", {text("model", "li")}));
    require_ok(add_stage(network, "readout", "r", {text("reduction", "mean")}));
    require_ok(add_stage(network, "loss", "loss", {text("kind", "cross_entropy")}));
    require_ok(add_stage(network, "optimizer", "optimizer", {text("kind", "sgd"), number("learning_rate", 0.1)}));
    require_ok(synfire_network_build(network));
    const Buffer inputs = make_buffer_of(context, Random(3).values<float>(3 * 4 * 3, -2, 2));
    Buffer labels = make_buffer(context, SYNFIRE_DTYPE_U32, 3);
    upload(labels, std::vector<uint32_t>{0, 1, 1});
    require_ok(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 3, inputs, labels, nullptr, nullptr, nullptr));
    return network;
  };
  for (const bool apart : {false, true})
    for (const bool frozen : {false, true}) {
      SCOPED_TRACE(testing::Message() << "apart " << apart << " frozen " << frozen);
      const Network network = make(frozen, apart);
      synfire_synapse handle = nullptr;
      require_ok(synfire_network_get_synapse(network, "s", &handle));
      const Synapse before(handle);
      const Synapse cells = cells_of(network);
      const auto weight = read<float>(before, "weight", 9), mu = read<float>(cells, "mu", 15);
      trained(network, 3);
      EXPECT_NE(read<float>(before, "weight", 9), weight) << "through the code";
      EXPECT_EQ(read<float>(cells, "mu", 15) == mu, frozen);
      require_ok(synfire_network_get_synapse(network, "same", &handle));
      EXPECT_TRUE(same_bits(read<float>(Synapse(handle), "mu", 15), read<float>(cells, "mu", 15)));
    }
}

TEST(PopulationStage, SummaryAndPicture) {
  const Context context = make_context();
  const Network network = make_actor(context, {number("frozen", 1)});
  const auto text_of = [&](auto write) {
    uint64_t bytes = 0;
    require_ok(write(network.get(), nullptr, &bytes));
    std::string text(bytes, ' ');
    require_ok(write(network.get(), text.data(), &bytes));
    return text;
  };
  for (const std::string& text : {text_of(synfire_network_write_summary), text_of(synfire_network_write_dot)}) {
    EXPECT_NE(text.find("population"), std::string::npos);
    EXPECT_NE(text.find("4 cells each, frozen"), std::string::npos) << text;
  }
}

TEST(PopulationStage, Refusals) {
  const Context context = make_context();
  const Network network = make_actor(context, {}, false);
  const auto expect = [&](const char* rule, const char* word, const StageValues& values,
                          const StageInputs& inputs = {reads("observation")}) {
    EXPECT_FAILS(refused, WORDS(rule, word), add_stage(network, "population", "more", values, inputs));
  };
  expect("SYN-NETWORK-VALUE", "n_cells", {});
  expect("SYN-NETWORK-VALUE", "\"lower\" and \"upper\"",
         {number("n_cells", 3), number("lower", 0), number("upper", 0)});
  expect("SYN-SYNAPSE-MAP", "n_cells", {number("n_cells", 0)});
  expect("SYN-SYNAPSE-SIGMA", "sigma is 1e-300", {number("n_cells", 3), number("sigma", 1e-300)});
  expect("SYN-NETWORK-VALUE", "cells", {number("n_cells", 3), text("weights_of", "cells")});
  expect("SYN-NETWORK-VALUE", "kind", {text("weights_of", "to-hidden")});
  expect("SYN-NETWORK-VALUE", "\"sigma\"", {text("weights_of", "cells"), number("sigma", 2)});
  expect("SYN-NETWORK-SHAPE", "9 inputs", {text("weights_of", "cells")}, {reads("hidden")});
  EXPECT_OK(add_stage(network, "population", "more", {number("n_cells", 2)}, {reads("hidden", "v")}));
}

}  // namespace
}  // namespace synfire_test
