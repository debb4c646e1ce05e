// Synapses with a delay for each connection: products and gradients bit for bit against dense products over the inputs
// of all delays, written out here with the formula of learnt delays in f64; central differences; sequences in pieces;
// delays that are learnt, by hand and in networks; bad input. With a delay for each input or each output: against dense
// products over shifted inputs or of shifted outputs.
#include <cstring>
#include <string>

#include "described_stages.hpp"
#include "graph_support.hpp"
#include "network_file.hpp"
#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;

struct Case {
  Product p;
  int64_t max_delay;

  size_t taps() const { return static_cast<size_t>(max_delay) + 1; }
  size_t padded() const { return (p.inputs() + 31) / 32 * 32; }
  size_t connections() const { return p.inputs() * p.outputs(); }
  // The dense product over the inputs of all delays.
  Product wide() const { return {p.n_steps, p.batch, static_cast<int64_t>(taps() * padded()), p.n_outputs, p.active}; }
  Product before() const { return {max_delay, p.batch, p.n_inputs, p.n_outputs}; }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.p << " M " << c.max_delay;
}

// One of each, delays that are longer than the sequence, odd sizes, the longest delay, and rows that are not active.
const Case cases[] = {{{1, 1, 1, 1}, 1},    {{5, 3, 33, 7}, 12},  {{9, 2, 64, 33}, 4},  {{41, 1, 3, 5}, 2},
                      {{3, 2, 40, 2}, 255}, {{4, 3, 5, 3, 2}, 3}, {{6, 2, 31, 4, 0}, 2}};

synfire_delayed_desc describe(const Case& c, bool learns, bool with_bias, int32_t dtype = SYNFIRE_DTYPE_F32) {
  synfire_delayed_desc desc = SYNFIRE_DELAYED_DESC_INIT;
  desc.n_inputs = c.p.n_inputs;
  desc.n_outputs = c.p.n_outputs;
  desc.max_delay = static_cast<int32_t>(c.max_delay);
  desc.learn_delays = learns ? 1 : 0;
  desc.bias = with_bias ? 1 : 0;
  desc.dtype = dtype;
  return desc;
}

Synapse make_delayed(synfire_context context, const synfire_delayed_desc& desc) {
  synfire_synapse synapse = nullptr;
  EXPECT_OK(synfire_synapse_create_delayed(context, &desc, &synapse));
  return Synapse(synapse);
}

// ---- The reference --------------------------------------------------------------------------------------------------

// G(d - D) for d = 0 .. M, or a single 1.
std::vector<double> taps_of(const Case& c, double delay, double width, bool rounded) {
  std::vector<double> taps(c.taps());
  if (rounded) {
    taps[static_cast<size_t>(std::floor(delay + 0.5))] = 1;
    return taps;
  }
  double total = 0;
  for (size_t d = 0; d < taps.size(); ++d) {
    const double z = (static_cast<double>(d) - delay) / width;
    taps[d] = std::exp(-z * z / 2);
    total += taps[d];
  }
  for (double& tap : taps) tap /= total;
  return taps;
}

template <typename R>
struct Arrays {
  std::vector<R> weight, delay, bias, grad;
  R width = 0;

  Arrays(const Case& c, bool learns, bool with_bias, uint64_t seed) {
    Random random(seed);
    weight = random.values<R>(c.connections(), -1, 1);
    for (size_t i = 0; i < weight.size(); i += 7) weight[i] *= R(1e-3);
    for (size_t i = 0; i < c.connections(); ++i)
      delay.push_back(learns ? static_cast<R>(random.uniform(0, static_cast<double>(c.max_delay)))
                             : static_cast<R>(random.whole(0, c.max_delay)));
    delay.front() = 0;
    delay.back() = static_cast<R>(c.max_delay);
    if (with_bias) bias = random.values<R>(c.p.outputs(), -1, 1);
    if (learns) width = static_cast<R>(random.uniform(0.3, 3));
    grad = random.values<R>(c.p.rows() * c.p.outputs(), -1, 1);
    for (R& g : grad) g *= static_cast<R>(std::ldexp(1.0, static_cast<int>(random.whole(-12, 3))));
  }
  void give(synfire_synapse synapse) const {
    write(synapse, "weight", weight);
    write(synapse, "delay", delay);
    if (!bias.empty()) write(synapse, "bias", bias);
    if (width != 0) write(synapse, "width", std::vector<R>{width});
  }
  std::vector<double> taps(const Case& c, size_t i, bool rounded) const {
    return taps_of(c, static_cast<double>(delay[i]), static_cast<double>(width), rounded || width == 0);
  }
  std::vector<R> planes(const Case& c, bool rounded) const {
    std::vector<R> planes(c.p.outputs() * c.taps() * c.padded());
    for (size_t i = 0; i < c.connections(); ++i) {
      const std::vector<double> of = taps(c, i, rounded);
      const size_t n = i / c.p.inputs(), k = i % c.p.inputs();
      for (size_t d = 0; d < c.taps(); ++d)
        planes[(n * c.taps() + d) * c.padded() + k] = static_cast<R>(static_cast<double>(weight[i]) * of[d]);
    }
    return planes;
  }
};

// [T, B, M + 1, padded K]; a history may be empty.
std::vector<double> delayed(const Case& c, const std::vector<double>& spikes, const std::vector<double>& history) {
  const size_t K = c.p.inputs(), B = c.p.rows_per_step(), M = c.taps() - 1;
  std::vector<double> wide(c.p.rows() * c.taps() * c.padded());
  for (size_t m = 0; m < c.p.rows(); ++m)
    for (size_t d = 0; d < c.taps(); ++d)
      for (size_t k = 0; k < K; ++k) {
        const size_t t = m / B, b = m % B;
        double& to = wide[(m * c.taps() + d) * c.padded() + k];
        if (d <= t)
          to = spikes[((t - d) * B + b) * K + k];
        else if (!history.empty())
          to = history[((M + t - d) * B + b) * K + k];
      }
  return wide;
}

// dL/dx from that of the delayed inputs: over ascending d, added to what is there.
template <typename R>
std::vector<double> folded(const Case& c, const std::vector<R>& wide, const std::vector<double>& held) {
  const size_t K = c.p.inputs(), B = c.p.rows_per_step(), T = static_cast<size_t>(c.p.n_steps);
  std::vector<double> dx = held.empty() ? std::vector<double>(c.p.rows() * K) : held;
  for (size_t t = 0; t < T; ++t)
    for (size_t i = 0; i < B * K; ++i) {
      const size_t b = i / K, k = i % K;
      if (!c.p.is_active(b)) continue;
      R sum = static_cast<R>(dx[t * B * K + i]);
      for (size_t d = 0; d < c.taps() && t + d < T; ++d) {
        const R term = wide[(((t + d) * B + b) * c.taps() + d) * c.padded() + k];
        sum = d == 0 && held.empty() ? term : sum + term;
      }
      dx[t * B * K + i] = static_cast<double>(sum);
    }
  return dx;
}

template <typename R>
std::vector<double> product_of(const Case& c, const Arrays<R>& of, bool rounded, const std::vector<double>& wide) {
  if constexpr (sizeof(R) == 4)
    return as_doubles(exact_product(c.wide(), {of.planes(c, rounded), of.bias}, wide));
  else
    return ordered_product(c.wide(), of.planes(c, rounded), of.bias, wide);
}

template <typename R>
Gradients<R> plane_gradients(const Case& c, const Arrays<R>& of, const std::vector<double>& wide) {
  if constexpr (sizeof(R) == 4)
    return exact_gradients(c.wide(), of.grad, wide, 24);
  else
    return ordered_gradients(c.wide(), of.grad, wide);
}
template <typename R>
std::vector<R> plane_input_gradient(const Case& c, const Arrays<R>& of) {
  if constexpr (sizeof(R) == 4)
    return exact_input_gradient(c.wide(), {of.planes(c, false), of.bias}, of.grad);
  else
    return input_gradient(c.wide(), of.planes(c, false), of.grad);
}

// The chain rule for one connection, and how large its terms are.
struct Chain {
  double weight = 0, delay = 0, size = 0;
};
template <typename R>
Chain chain_of(const Case& c, const Arrays<R>& of, const std::vector<R>& planes, size_t i) {
  const std::vector<double> taps = of.taps(c, i, false);
  const size_t n = i / c.p.inputs(), k = i % c.p.inputs();
  Chain chain;
  double mean = 0;
  for (size_t d = 0; d < c.taps(); ++d) mean += static_cast<double>(d) * taps[d];
  for (size_t d = 0; d < c.taps(); ++d) {
    const double term = static_cast<double>(planes[(n * c.taps() + d) * c.padded() + k]) * taps[d];
    chain.weight += term;
    chain.delay += term * (static_cast<double>(d) - mean);
    chain.size += std::fabs(term) * (1 + std::fabs(static_cast<double>(d) - mean));
  }
  const auto width = static_cast<double>(of.width), weight = static_cast<double>(of.weight[i]);
  if (width == 0) return chain;
  chain.delay *= weight / (width * width);
  chain.size *= 1 + std::fabs(weight / (width * width));
  return chain;
}

// ---- Against it -----------------------------------------------------------------------------------------------------

class Delayed : public SynapseTest {
 protected:
  struct Sequence {
    std::vector<double> spikes, history;
    Rows input, before;
  };
  Sequence sequence(const Case& c, uint64_t seed, int32_t format = SYNFIRE_DTYPE_BITS, Placement placement = {}) {
    std::vector<double> spikes = random_spikes(c.p, 0.3, seed), history = random_spikes(c.before(), 0.3, seed + 1);
    Rows input = spikes_in(context, format, c.p, spikes, placement),
         before = spikes_in(context, SYNFIRE_DTYPE_BITS, c.before(), history, placement);
    return {spikes, history, std::move(input), std::move(before)};
  }

  // Now and in a graph, where the gradients are added to those of the call.
  template <typename R>
  void check(const Case& c, bool learns, bool with_bias, int32_t format, uint64_t seed) {
    constexpr int32_t dtype = dtype_of<R>;
    const Arrays<R> of(c, learns, with_bias, seed);
    const Synapse synapse = make_delayed(context, describe(c, learns, with_bias, dtype));
    of.give(synapse);
    const Placement placement = seed % 2 == 0 ? Placement{} : Placement{3, 5};
    const bool has_history = seed % 3 != 0;
    const Sequence x = sequence(c, seed, format, placement);
    const std::vector<double> wide = delayed(c, x.spikes, has_history ? x.history : std::vector<double>());
    const Rows output = outputs_in(context, dtype, c.p, placement),
               grad_input = rows_for_input(context, dtype, c.p, placement);
    Rows grad = outputs_in(context, dtype, c.p, placement);
    grad.put(std::vector<double>(of.grad.begin(), of.grad.end()));
    const Buffer n_active = active_buffer(c.p);
    auto fd = forward(c.p, x.input, output, n_active);
    auto bd = backward(c.p, grad, x.input, grad_input, n_active);
    if (has_history) fd.history = bd.history = x.before;

    fd.round_delays = 1;
    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    EXPECT_TRUE(same_bits(output.get(), product_of(c, of, true, wide)));
    fd.round_delays = 0;
    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    const std::vector<double> y = product_of(c, of, false, wide);
    expect_near<R>(output.get(), y, learns);
    EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    const std::vector<double> dx = folded(c, plane_input_gradient(c, of), {});
    expect_near<R>(grad_input.get(), dx, learns);
    const Gradients<R> planes = plane_gradients(c, of, wide);
    check_gradients(c, of, planes, synapse, 1);

    const Graph graph = make_graph(context);
    bd.add_gradients = bd.add_input_gradient = 1;
    EXPECT_OK(synfire_graph_record_synapse_forward(graph, synapse, &fd));
    EXPECT_OK(synfire_graph_record_synapse_backward(graph, synapse, &bd));
    EXPECT_OK(synfire_graph_instantiate(graph));
    uint64_t ticket = 0;
    EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
    EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
    expect_near<R>(output.get(), y, learns);
    expect_near<R>(grad_input.get(), folded(c, plane_input_gradient(c, of), dx), learns);
    check_gradients(c, of, planes, synapse, 2);
  }

  // In f32, the reference has the bits of the weights, and so those of all sums; in f64 its exponential is another one.
  template <typename R>
  static void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, bool learns) {
    if (sizeof(R) == 4 || !learns) {
      EXPECT_TRUE(same_bits(got, wanted));
      return;
    }
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-12 * (1 + std::fabs(wanted[i]))) << i;
  }

  template <typename R>
  void check_gradients(const Case& c, const Arrays<R>& of, const Gradients<R>& planes, synfire_synapse synapse,
                       double times) {
    const auto weight = read<R>(synapse, "weight_gradient", c.connections());
    const bool learns = of.width != 0;
    const auto delay = learns ? read<R>(synapse, "delay_gradient", c.connections()) : std::vector<R>();
    // In f64, two exponentials differ by as many units in the last place as their exponents are large.
    const double epsilon = std::numeric_limits<R>::epsilon() * (sizeof(R) == 4 ? 1 : 64);
    for (size_t i = 0; i < c.connections(); ++i) {
      const Chain wanted = chain_of(c, of, planes.weight, i);
      if (!learns) {
        EXPECT_EQ(static_cast<double>(weight[i]), times * wanted.weight) << i;
        continue;
      }
      EXPECT_NEAR(static_cast<double>(weight[i]), times * wanted.weight, 2 * epsilon * wanted.size) << i;
      EXPECT_NEAR(static_cast<double>(delay[i]), times * wanted.delay, 2 * epsilon * wanted.size) << i;
    }
    if (of.bias.empty()) return;
    std::vector<R> bias = planes.bias;
    for (R& value : bias) value = static_cast<R>(static_cast<double>(value) * times);
    EXPECT_TRUE(same_bits(read<R>(synapse, "bias_gradient", c.p.outputs()), bias));
  }
};

TEST_F(Delayed, InF32) {
  constexpr int32_t formats[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32};
  uint64_t seed = 1;
  for (const Case& c : cases)
    for (const bool learns : {false, true}) {
      SCOPED_TRACE(testing::Message() << c << " learns " << learns);
      const int32_t format = formats[seed % 4];
      check<float>(c, learns, seed % 2 == 0, format, seed);
      ++seed;
    }
}

TEST_F(Delayed, InF64) {
  uint64_t seed = 100;
  for (const Case& c : cases)
    for (const bool learns : {false, true}) {
      if (c.max_delay == 255) continue;
      SCOPED_TRACE(testing::Message() << c << " learns " << learns);
      check<double>(c, learns, seed % 2 == 0, SYNFIRE_DTYPE_BITS, seed);
      ++seed;
    }
}

// ---- Delays of inputs and of outputs --------------------------------------------------------------------------------

// x of step t, which may be in the history, or 0 before it.
double spike_at(const Product& p, const std::vector<double>& spikes, const std::vector<double>& history, int64_t t,
                size_t at) {
  const size_t of_step = p.rows_per_step() * p.inputs();
  const auto n_before = static_cast<int64_t>(history.size() / of_step);
  if (t >= 0) return spikes[static_cast<size_t>(t) * of_step + at];
  return t + n_before >= 0 ? history[static_cast<size_t>(t + n_before) * of_step + at] : 0;
}

template <typename R>
std::vector<double> dense_product(const Product& p, const std::vector<R>& weight, const std::vector<R>& bias,
                                  const std::vector<double>& x) {
  if constexpr (sizeof(R) == 4)
    return as_doubles(exact_product(p, {weight, bias}, x));
  else
    return ordered_product(p, weight, bias, x);
}
template <typename R>
Gradients<R> dense_gradients(const Product& p, const std::vector<R>& grad, const std::vector<double>& x) {
  if constexpr (sizeof(R) == 4)
    return exact_gradients(p, grad, x, 24);
  else
    return ordered_gradients(p, grad, x);
}
template <typename R>
std::vector<R> dense_input_gradient(const Product& p, const std::vector<R>& weight, const std::vector<R>& grad) {
  if constexpr (sizeof(R) == 4)
    return exact_input_gradient(p, {weight, {}}, grad);
  else
    return input_gradient(p, weight, grad);
}

// A dense product around a shift of each input, or of each output, for which it has M steps more.
template <typename R>
struct Shifted {
  std::vector<double> y;
  Gradients<R> gradients;
  std::vector<double> dx;

  Shifted(const Case& c, bool of_inputs, const Arrays<R>& of, const std::vector<R>& delay,
          const std::vector<double>& spikes, const std::vector<double>& history) {
    const Product& p = c.p;
    Product wide = p;
    if (!of_inputs) wide.n_steps += c.max_delay;
    const size_t K = p.inputs(), N = p.outputs(), B = p.rows_per_step();
    const auto steps_of = [&](size_t i) { return static_cast<int64_t>(delay[i]); };
    const int64_t first = of_inputs ? 0 : -c.max_delay;
    std::vector<double> x(wide.rows() * K);
    std::vector<R> grad = of_inputs ? of.grad : std::vector<R>(wide.rows() * N);
    for (size_t m = 0; m < wide.rows(); ++m) {
      const int64_t t = static_cast<int64_t>(m / B) + first;
      for (size_t k = 0; k < K; ++k)
        x[m * K + k] = spike_at(p, spikes, history, t - (of_inputs ? steps_of(k) : 0), m % B * K + k);
      for (size_t n = 0; n < N && !of_inputs; ++n) {
        const int64_t after = t + steps_of(n);
        if (after >= 0 && after < p.n_steps)
          grad[m * N + n] = of.grad[(static_cast<size_t>(after) * B + m % B) * N + n];
      }
    }
    const std::vector<double> product = dense_product(wide, of.weight, of.bias, x);
    y = of_inputs ? product : std::vector<double>(p.rows() * N);
    for (size_t i = 0; i < y.size() && !of_inputs; ++i)
      y[i] = product[i + static_cast<size_t>(c.max_delay - steps_of(i % N)) * B * N];
    gradients = dense_gradients(wide, grad, x);
    if (!of_inputs)
      grad.erase(grad.begin(), grad.begin() + static_cast<ptrdiff_t>(c.max_delay) * static_cast<ptrdiff_t>(B * N));
    const std::vector<R> early = dense_input_gradient(p, of.weight, grad);
    dx.resize(early.size());
    for (size_t i = 0; i < dx.size(); ++i) {
      const size_t from = i + (of_inputs ? static_cast<size_t>(steps_of(i % K)) * B * K : 0);
      dx[i] = from < early.size() ? static_cast<double>(early[from]) : 0;
    }
  }
};

class SharedDelays : public Delayed {
 protected:
  template <typename R>
  void check_shared(const Case& c, bool of_inputs, bool with_bias, uint64_t seed) {
    constexpr int32_t dtype = dtype_of<R>;
    auto desc = describe(c, false, with_bias, dtype);
    desc.delays_of = of_inputs ? SYNFIRE_DELAYS_OF_INPUTS : SYNFIRE_DELAYS_OF_OUTPUTS;
    const Synapse synapse = make_delayed(context, desc);
    Arrays<R> of(c, false, with_bias, seed);
    std::vector<R> delay(of_inputs ? c.p.inputs() : c.p.outputs());
    Random random(seed + 1);
    for (R& one : delay) one = static_cast<R>(random.whole(0, c.max_delay));
    delay.back() = static_cast<R>(c.max_delay);
    of.delay = delay;
    of.give(synapse);
    const Placement placement = seed % 2 == 0 ? Placement{} : Placement{3, 5};
    const bool has_history = seed % 3 != 0;
    const Sequence x = sequence(c, seed, seed % 2 == 0 ? SYNFIRE_DTYPE_BITS : SYNFIRE_DTYPE_U8, placement);
    const Shifted<R> wanted(c, of_inputs, of, delay, x.spikes, has_history ? x.history : std::vector<double>());
    const Rows output = outputs_in(context, dtype, c.p, placement),
               grad_input = rows_for_input(context, dtype, c.p, placement);
    Rows grad = outputs_in(context, dtype, c.p, placement);
    grad.put(std::vector<double>(of.grad.begin(), of.grad.end()));
    const Buffer n_active = active_buffer(c.p);
    auto fd = forward(c.p, x.input, output, n_active);
    auto bd = backward(c.p, grad, x.input, grad_input, n_active);
    if (has_history) fd.history = bd.history = x.before;
    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    EXPECT_TRUE(same_bits(output.get(), wanted.y));
    EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    EXPECT_TRUE(same_bits(grad_input.get(), wanted.dx));
    EXPECT_TRUE(same_bits(read<R>(synapse, "weight_gradient", c.connections()), wanted.gradients.weight));
    if (with_bias) {
      EXPECT_TRUE(same_bits(read<R>(synapse, "bias_gradient", c.p.outputs()), wanted.gradients.bias));
    }

    // Added to what is there.
    bd.add_input_gradient = 1;
    EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    std::vector<double> twice = wanted.dx;
    for (double& value : twice) value *= 2;
    EXPECT_TRUE(same_bits(grad_input.get(), twice));
    if constexpr (sizeof(R) == 4)
      if (c.max_delay < 256) check_connections(c, of_inputs, of, wanted, fd, output);
  }

  // Connections with the same delays have the same product and gradients.
  void check_connections(const Case& c, bool of_inputs, const Arrays<float>& of, const Shifted<float>& wanted,
                         const synfire_synapse_forward_desc& fd, const Rows& output) {
    Arrays<float> each = of;
    each.delay.resize(c.connections());
    for (size_t i = 0; i < each.delay.size(); ++i)
      each.delay[i] = of.delay[of_inputs ? i % c.p.inputs() : i / c.p.inputs()];
    const Synapse synapse = make_delayed(context, describe(c, false, !of.bias.empty()));
    each.give(synapse);
    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    EXPECT_TRUE(same_bits(output.get(), wanted.y));
  }
};

TEST_F(SharedDelays, AreShiftsAroundADenseProduct) {
  const Case of_shared[] = {{{1, 1, 1, 1}, 1}, {{5, 3, 33, 7}, 12}, {{41, 1, 3, 5}, 2}, {{4, 3, 37, 3, 2}, 300}};
  uint64_t seed = 200;
  for (const Case& c : of_shared)
    for (const bool of_inputs : {true, false}) {
      SCOPED_TRACE(testing::Message() << c << " of inputs " << of_inputs);
      check_shared<float>(c, of_inputs, seed % 4 < 2, seed);
      check_shared<double>(c, of_inputs, seed % 4 < 2, seed + 1);
      seed += 3;
    }
}

// A product that underflows is a zero of either sign; the terms of other delays, each +0, take the sign of a -0.
TEST_F(SharedDelays, AGradientThatUnderflowsHasTheSignOfThatOfConnections) {
  for (const int64_t n_steps : {1, 2, 3})
    for (const double delay : {0.0, 1.0})
      for (const bool add : {false, true}) {
        SCOPED_TRACE(testing::Message() << n_steps << " steps, delay " << delay << ", add " << add);
        const Case c = {{n_steps, 1, 1, 1}, 1};
        std::vector<double> found[2];
        for (const bool shared : {false, true}) {
          auto desc = describe(c, false, false);
          if (shared) desc.delays_of = SYNFIRE_DELAYS_OF_INPUTS;
          desc.delays = &delay;
          desc.delays_length = 1;
          const Synapse synapse = make_delayed(context, desc);
          write(synapse, "weight", std::vector<float>{1e-30F});
          const auto steps = static_cast<size_t>(n_steps);
          Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, c.p),
               of_input = rows_for_input(context, SYNFIRE_DTYPE_F32, c.p);
          grad.put(std::vector<double>(steps, -1e-30));
          of_input.put(std::vector<double>(steps, -0.0));
          const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, c.p, std::vector<double>(steps, 1));
          auto bd = backward(c.p, grad, input, of_input, nullptr);
          bd.add_input_gradient = add ? 1 : 0;
          EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
          found[shared ? 1 : 0] = of_input.get();
        }
        EXPECT_TRUE(same_bits(found[1], found[0]));
      }
}

// The longest delays; pieces of a sequence; what can be asked for and what cannot.
TEST_F(SharedDelays, MayBeLong) {
  constexpr int64_t longest = 65'535;
  const Case c = {{1, 1, 3, 2}, longest};
  for (const bool of_inputs : {true, false}) {
    auto desc = describe(c, false, false);
    desc.delays_of = of_inputs ? SYNFIRE_DELAYS_OF_INPUTS : SYNFIRE_DELAYS_OF_OUTPUTS;
    const std::vector<double> delays = {longest, 2, 1};
    desc.delays = delays.data();
    desc.delays_length = of_inputs ? 3 : 2;
    const Synapse synapse = make_delayed(context, desc);
    const std::vector<float> weight = {1, 2, 4, 8, 16, 32};
    write(synapse, "weight", weight);
    // Two steps ago all inputs fired, and in the earliest step of the history input 0.
    std::vector<double> before(3 * longest);
    before[0] = before[3 * (longest - 2)] = before[3 * (longest - 2) + 1] = before[3 * (longest - 2) + 2] = 1;
    const Rows history = spikes_in(context, SYNFIRE_DTYPE_BITS, c.before(), before),
               input = spikes_in(context, SYNFIRE_DTYPE_BITS, c.p, {0, 0, 0}),
               output = outputs_in(context, SYNFIRE_DTYPE_F32, c.p);
    auto fd = forward(c.p, input, output, nullptr);
    fd.history = history;
    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    // Input 0 of the earliest step, and input 1 of two steps ago; output 0 of the earliest step, and output 1.
    const std::vector<double> wanted =
        of_inputs ? std::vector<double>{1 + 2, 8 + 16} : std::vector<double>{1, 8 + 16 + 32};
    EXPECT_EQ(output.get(), wanted);
    synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
    EXPECT_OK(synfire_synapse_query_memory_delayed(&desc, &memory));
    EXPECT_EQ(memory.weight_bytes, (6 + desc.delays_length) * 4);
    EXPECT_LT(memory.derived_bytes, 64U << 10);

    // Pieces have the bits of the whole.
    const Case whole = {{9, 2, 37, 5}, 6};
    auto of_pieces = describe(whole, false, true);
    of_pieces.delays_of = desc.delays_of;
    const Synapse drawn = make_delayed(context, of_pieces);
    const Sequence x = sequence(whole, 71);
    const Rows all = outputs_in(context, SYNFIRE_DTYPE_F32, whole.p);
    fd = forward(whole.p, x.input, all, nullptr);
    fd.history = x.before;
    EXPECT_OK(synfire_synapse_forward(drawn, &fd, nullptr));
    const std::vector<double> y = all.get();
    Rows kept = spikes_in(context, SYNFIRE_DTYPE_BITS, whole.before(), x.history);
    size_t first = 0;
    for (const int64_t n_steps : {int64_t{1}, int64_t{8}}) {
      Case piece = whole;
      piece.p.n_steps = n_steps;
      const Rows part = spikes_in(context, SYNFIRE_DTYPE_BITS, piece.p,
                                  slice(x.spikes, first * 2 * 37, piece.p.rows() * 37)),
                 result = outputs_in(context, SYNFIRE_DTYPE_F32, piece.p);
      Rows next = rows_for_input(context, SYNFIRE_DTYPE_BITS, whole.before());
      fd = forward(piece.p, part, result, nullptr);
      fd.history = kept;
      fd.next_history = next;
      EXPECT_OK(synfire_synapse_forward(drawn, &fd, nullptr));
      EXPECT_TRUE(same_bits(result.get(), slice(y, first * 2 * 5, piece.p.rows() * 5))) << first;
      first += static_cast<size_t>(n_steps);
      kept = std::move(next);
    }

    // Delays in another number, too long, learnt, or not whole.
    synfire_synapse made = nullptr;
    const auto fails = [&](auto change, const char* word) {
      auto bad = desc;
      change(bad);
      EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-DELAY", word), synfire_synapse_create_delayed(context, &bad, &made));
      EXPECT_EQ(made, nullptr);
    };
    fails([](auto& bad) { bad.delays_length = 6; }, of_inputs ? "one number for each input" : "for each output");
    fails([](auto& bad) { bad.max_delay = 65'536; }, of_inputs ? "delays of inputs" : "delays of outputs");
    fails([](auto& bad) { bad.learn_delays = 1; }, "are fixed");
    fails([](auto& bad) { bad.delays_of = 3; }, "desc.delays_of is 3");
    fails([](auto& bad) { bad.max_delay = 100; }, "desc.delays[0] is 65535");
    const std::vector<float> broken = {1, 0.5F, 1};
    EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-DELAY", "values[1]"),
                 synfire_synapse_write(synapse, "delay", broken.data(), desc.delays_length * 4));
    EXPECT_TRUE(same_bits(read<float>(synapse, "delay", delays.size() - (of_inputs ? 0 : 1)),
                          of_inputs ? std::vector<float>{longest, 2, 1} : std::vector<float>{longest, 2}));
  }
}

// dL/dD and dL/dW are what the loss L = sum of grad * y changes by, of the library's own products in f64.
TEST_F(Delayed, GradientsAreThoseOfTheProduct) {
  const Case c = {{7, 2, 3, 2}, 5};
  Arrays<double> of(c, true, true, 31);
  of.delay[0] = 0.4;  // so that both sides are inside of the bounds
  of.delay.back() = 4.6;
  const Synapse synapse = make_delayed(context, describe(c, true, true, SYNFIRE_DTYPE_F64));
  of.give(synapse);
  const Sequence x = sequence(c, 32);
  const Rows output = outputs_in(context, SYNFIRE_DTYPE_F64, c.p);
  Rows grad = outputs_in(context, SYNFIRE_DTYPE_F64, c.p);
  grad.put(of.grad);
  auto fd = forward(c.p, x.input, output, nullptr);
  auto bd = backward(c.p, grad, x.input, nullptr, nullptr);
  fd.history = bd.history = x.before;
  EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
  const auto loss = [&] {
    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    const std::vector<double> y = output.get();
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += of.grad[i] * y[i];
    return sum;
  };
  const auto expect = [&](const char* name, std::vector<double> numbers) {
    const auto gradients = read<double>(synapse, std::string(name).append("_gradient").c_str(), numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double held = numbers[i], step = 1e-5;
      numbers[i] = held + step;
      write(synapse, name, numbers);
      const double above = loss();
      numbers[i] = held - step;
      write(synapse, name, numbers);
      const double below = loss();
      numbers[i] = held;
      write(synapse, name, numbers);
      EXPECT_NEAR(gradients[i], (above - below) / (2 * step), 1e-7 * (1 + std::fabs(gradients[i]))) << name << i;
    }
  };
  expect("delay", of.delay);
  expect("weight", of.weight);
  expect("bias", of.bias);
}

// dL/dx is made for a few steps at a time where those of all steps would take too much memory: here for one. A graph
// takes that too, with a gradient that only it reads.
TEST_F(Delayed, InputGradientsOfFewStepsAreThoseOfAll) {
  const Case many = {{2, 4100, 1, 1}, 255}, few = {{2, 2, 1, 1}, 255};
  auto desc = describe(many, true, false);
  const double delay = 0.75;
  desc.width = 1.5;
  desc.delays = &delay;
  desc.delays_length = 1;
  const Synapse synapse = make_delayed(context, desc);
  const std::vector<double> of_few = {0.5, -0.25, 0.125, 0.75};
  std::vector<double> of_many(many.p.rows());
  for (size_t i = 0; i < 4; ++i) of_many[i / 2 * 4100 + i % 2] = of_few[i];
  Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, few.p), grads = outputs_in(context, SYNFIRE_DTYPE_F32, many.p);
  grad.put(of_few);
  grads.put(of_many);
  const Rows wanted = rows_for_input(context, SYNFIRE_DTYPE_F32, few.p),
             got = rows_for_input(context, SYNFIRE_DTYPE_F32, many.p);
  auto bd = backward(few.p, grad, nullptr, wanted, nullptr);
  EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
  const Buffer passing = make_frame(context, many.p.rows(), SYNFIRE_MEMORY_TRANSIENT);
  bd = backward(many.p, grads, nullptr, passing, nullptr);
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = passing;
  copy.destination = got;
  const Graph graph = make_graph(context);
  ASSERT_OK(synfire_graph_record_synapse_backward(graph, synapse, &bd));
  ASSERT_OK(synfire_graph_record_copy(graph, &copy));
  ASSERT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  const std::vector<double> small = wanted.get(), large = got.get();
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(large[i / 2 * 4100 + i % 2], small[i]) << i;
    EXPECT_NE(small[i], 0) << i;
  }
  EXPECT_EQ(large.back(), 0);
}

// A sequence in pieces of any length, longer and shorter than the delays, has the products of the whole; rows that are
// not active keep their history.
TEST_F(Delayed, PiecesAreTheWhole) {
  const Case whole = {{11, 3, 37, 5}, 4};
  const Arrays<float> of(whole, true, true, 41);
  const Synapse synapse = make_delayed(context, describe(whole, true, true));
  of.give(synapse);
  const Sequence x = sequence(whole, 42);
  const Rows output = outputs_in(context, SYNFIRE_DTYPE_F32, whole.p);
  auto fd = forward(whole.p, x.input, output, nullptr);
  fd.history = x.before;
  EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
  const std::vector<double> y = output.get();
  Rows before = spikes_in(context, SYNFIRE_DTYPE_BITS, whole.before(), x.history);
  size_t first = 0;
  for (const int64_t n_steps : {int64_t{1}, int64_t{2}, int64_t{1}, int64_t{7}}) {
    Case c = whole;
    c.p.n_steps = n_steps;
    const size_t of_input = first * c.p.rows_per_step() * c.p.inputs();
    const Rows input = spikes_in(context, SYNFIRE_DTYPE_U8, c.p, slice(x.spikes, of_input, c.p.rows() * c.p.inputs())),
               piece = outputs_in(context, SYNFIRE_DTYPE_F32, c.p);
    Rows next = rows_for_input(context, SYNFIRE_DTYPE_BITS, c.before());
    fd = forward(c.p, input, piece, nullptr);
    fd.history = before;
    fd.next_history = next;
    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    const size_t of_output = first * c.p.rows_per_step() * c.p.outputs();
    EXPECT_TRUE(same_bits(piece.get(), slice(y, of_output, c.p.rows() * c.p.outputs()))) << first;
    first += static_cast<size_t>(n_steps);
    before = std::move(next);
  }
  // The last steps of the whole, and of a pass with one active row those of its history.
  const std::vector<uint32_t> last = before.words();
  const Case tail = {{4, 3, 37, 5}, 4};
  const std::vector<double> steps =
      slice(x.spikes, 7 * whole.p.rows_per_step() * whole.p.inputs(), tail.p.rows() * tail.p.inputs());
  EXPECT_EQ(last, spikes_in(context, SYNFIRE_DTYPE_BITS, tail.p, steps).words());
  Case one = whole;
  one.p.n_steps = 2;
  one.p.active = 1;
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, one.p, slice(x.spikes, 0, one.p.rows() * one.p.inputs())),
             piece = outputs_in(context, SYNFIRE_DTYPE_F32, one.p);
  const Rows next = rows_for_input(context, SYNFIRE_DTYPE_BITS, one.before());
  const Buffer n_active = active_buffer(one.p);
  fd = forward(one.p, input, piece, n_active);
  fd.history = before;
  fd.next_history = next;
  EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
  const std::vector<uint32_t> got = next.words(), given = input.words();
  const size_t words = 2, of_step = 3 * words;
  for (size_t step = 0; step < 4; ++step)
    for (size_t i = 0; i < of_step; ++i) {
      const uint32_t wanted = i >= words  ? last[step * of_step + i]
                              : step >= 2 ? given[(step - 2) * of_step + i]
                                          : last[(step + 2) * of_step + i];
      EXPECT_EQ(got[step * of_step + i], wanted) << step << " " << i;
    }

  // Bits beyond the inputs are not passed on.
  for (const synfire_buffer full : {synfire_buffer(input), synfire_buffer(before)})
    EXPECT_OK(synfire_buffer_fill(full, 4294967295.0));
  EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
  const std::vector<uint32_t> cut = next.words();
  for (size_t i = 0; i < cut.size(); ++i) EXPECT_EQ(cut[i], i % words == 0 ? ~0U : 31U) << i;
}

// Masked connections have weight 0 and no gradients; the arrays are told, and begin within their bounds.
TEST_F(Delayed, MasksAndArrays) {
  const Case c = {{6, 2, 35, 4}, 6};
  Random random(51);
  std::vector<uint8_t> mask(c.connections());
  for (uint8_t& connected : mask) connected = static_cast<uint8_t>(random.whole(0, 1));
  auto desc = describe(c, true, true);
  desc.mask = mask.data();
  desc.mask_length = mask.size();
  desc.seed = 5;
  synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
  EXPECT_OK(synfire_synapse_query_memory_delayed(&desc, &memory));
  EXPECT_EQ(memory.weight_bytes, (2 * c.connections() + 4 + 1) * 4 + 4 * 2 * 4);
  EXPECT_EQ(memory.gradient_bytes, (2 * c.connections() + 4) * 4);
  const Synapse synapse = make_delayed(context, desc);
  Arrays<float> of(c, true, true, 52);
  of.give(synapse);
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i] == 0) of.weight[i] = 0;
  EXPECT_TRUE(same_bits(read<float>(synapse, "weight", c.connections()), of.weight));
  const Sequence x = sequence(c, 53);
  const Rows output = outputs_in(context, SYNFIRE_DTYPE_F32, c.p);
  Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, c.p);
  grad.put(as_doubles(of.grad));
  const auto fd = forward(c.p, x.input, output, nullptr);
  const auto bd = backward(c.p, grad, x.input, nullptr, nullptr);
  EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
  EXPECT_TRUE(same_bits(output.get(), product_of(c, of, false, delayed(c, x.spikes, {}))));
  EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
  const auto weight = read<float>(synapse, "weight_gradient", mask.size()),
             delay = read<float>(synapse, "delay_gradient", mask.size());
  for (size_t i = 0; i < mask.size(); ++i) {
    EXPECT_EQ(weight[i] == 0, mask[i] == 0) << i;
    EXPECT_TRUE(mask[i] == 1 || delay[i] == 0) << i;
  }

  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  EXPECT_OK(synfire_synapse_get_info(synapse, &info));
  EXPECT_STREQ(info.kind, "delayed");
  EXPECT_EQ(info.n_arrays, 4U);
  EXPECT_EQ(info.has_mask, 1);
  EXPECT_EQ(info.row_operations, 35U * 4 * 7);
  constexpr const char* names[] = {"weight", "delay", "bias", "width"};
  for (uint32_t i = 0; i < 4; ++i) {
    synfire_synapse_array_info array = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
    EXPECT_OK(synfire_synapse_get_array_info(synapse, i, &array));
    EXPECT_STREQ(array.name, names[i]);
    EXPECT_EQ(array.trained, i < 3 ? 1 : 0);
  }
  synfire_synapse_rounding rounding = SYNFIRE_SYNAPSE_ROUNDING_INIT;
  EXPECT_OK(synfire_synapse_get_rounding(synapse, -1, &rounding));
  EXPECT_EQ(rounding.has_grid, 1);

  // The start: drawn with the seed, between the bounds, whole where they are fixed; or given.
  for (const bool learns : {false, true}) {
    auto drawn = describe({{1, 1, 50, 40}, 9}, learns, false);
    const Synapse one = make_delayed(context, drawn), same = make_delayed(context, drawn);
    drawn.seed = 1;
    const Synapse other = make_delayed(context, drawn);
    const auto delays = read<float>(one, "delay", 2000);
    EXPECT_TRUE(same_bits(delays, read<float>(same, "delay", 2000)));
    EXPECT_FALSE(same_bits(delays, read<float>(other, "delay", 2000)));
    double sum = 0, least = 9, most = 0;
    size_t n_whole = 0;
    for (const float d : delays) {
      sum += static_cast<double>(d);
      least = std::min(least, static_cast<double>(d));
      most = std::max(most, static_cast<double>(d));
      n_whole += d == std::floor(d) ? 1 : 0;
    }
    EXPECT_NEAR(sum / 2000, 4.5, 0.3);
    EXPECT_TRUE(least >= 0 && least < 0.1 && most <= 9 && most > 8.9);
    EXPECT_EQ(n_whole == 2000, !learns);
  }
  const std::vector<double> given = {1, 0, 2, 3};
  auto fixed = describe({{1, 1, 2, 2}, 3}, false, false);
  fixed.delays = given.data();
  fixed.delays_length = 4;
  EXPECT_TRUE(same_bits(read<float>(make_delayed(context, fixed), "delay", 4), {1.0F, 0.0F, 2.0F, 3.0F}));

  // Half-way delays are rounded up, the number below one half is not.
  const Case at_once = {{1, 1, 2, 1}, 3};
  const std::vector<double> halves = {0.5, std::nextafter(0.5, 0.0)};
  auto rounded = describe(at_once, true, false, SYNFIRE_DTYPE_F64);
  rounded.delays = halves.data();
  rounded.delays_length = 2;
  const Synapse of_halves = make_delayed(context, rounded);
  write(of_halves, "weight", std::vector<double>{8, 1});
  const Rows both = spikes_in(context, SYNFIRE_DTYPE_BITS, at_once.p, {1, 1}),
             one_step = outputs_in(context, SYNFIRE_DTYPE_F64, at_once.p);
  auto of_both = forward(at_once.p, both, one_step, nullptr);
  of_both.round_delays = 1;
  EXPECT_OK(synfire_synapse_forward(of_halves, &of_both, nullptr));
  EXPECT_EQ(one_step.get(), std::vector<double>{1});
}

// ---- Training -------------------------------------------------------------------------------------------------------

// Two inputs that spike at steps 2 and 9 shall meet at step 10: delays of 8 and 1, which a shrinking width finds.
TEST_F(Delayed, DelaysAreLearnt) {
  const Case c = {{14, 1, 2, 1}, 10};
  auto desc = describe(c, true, false);
  const std::vector<double> start = {4, 4};
  desc.delays = start.data();
  desc.delays_length = 2;
  const Synapse synapse = make_delayed(context, desc);
  write(synapse, "weight", std::vector<float>{1, 1});
  std::vector<double> spikes(28), wanted(14);
  spikes[2 * 2] = spikes[9 * 2 + 1] = 1;
  wanted[10] = 2;
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, c.p, spikes);
  const Rows output = outputs_in(context, SYNFIRE_DTYPE_F32, c.p);
  Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, c.p);
  synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
  od.kind = SYNFIRE_OPTIMIZER_KIND_ADAM;
  od.learning_rate = 0.1;
  synfire_optimizer handle = nullptr;
  ASSERT_OK(synfire_optimizer_create(context, &od, &handle));
  const Optimizer optimizer(handle);
  EXPECT_OK(synfire_optimizer_add_array(optimizer, synapse, "delay", 1, 0));
  auto fd = forward(c.p, input, output, nullptr);
  const auto bd = backward(c.p, grad, input, nullptr, nullptr);
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  for (int i = 0; i < 300; ++i) {
    const auto width = static_cast<float>(5 * std::pow(0.1, i / 300.0));
    write(synapse, "width", std::vector<float>{width});
    ASSERT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    std::vector<double> difference = output.get();
    for (size_t t = 0; t < difference.size(); ++t) difference[t] -= wanted[t];
    grad.put(difference);
    ASSERT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    ASSERT_OK(synfire_optimizer_step(optimizer, &step, nullptr));
  }
  const auto delays = read<float>(synapse, "delay", 2);
  EXPECT_NEAR(delays[0], 8, 0.5);
  EXPECT_NEAR(delays[1], 1, 0.5);
  fd.round_delays = 1;
  EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
  EXPECT_TRUE(same_bits(output.get(), wanted));

  // A step that goes beyond the bounds ends at them.
  write(synapse, "delay_gradient", std::vector<float>{-1, 1});
  write(synapse, "delay", std::vector<float>{10, 0});
  EXPECT_OK(synfire_optimizer_step(optimizer, &step, nullptr));
  const auto bounded = read<float>(synapse, "delay", 2);
  EXPECT_TRUE(bounded[0] >= 0 && bounded[0] <= 10 && bounded[1] >= 0 && bounded[1] <= 10);
}

// ---- As a stage -----------------------------------------------------------------------------------------------------

Network make_empty(synfire_context context, int64_t n_steps, int64_t batch) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  return Network(made);
}

Synapse synapse_of(synfire_network network, const char* stage) {
  synfire_synapse synapse = nullptr;
  require_ok(synfire_network_get_synapse(network, stage, &synapse));
  return Synapse(synapse);
}

// Two inputs spike, four steps apart, and the class is which one comes first. Weights stay 4, so that delays alone can
// tell the classes: each has an output at which its spikes meet.
TEST(DelayedStage, LearnsWhichCameFirst) {
  constexpr int64_t n_steps = 13, n_rows = 12;
  const Context context = make_context();
  const Network network = make_empty(context, n_steps, 4);
  require_ok(
      add_stage(network, "input", "events", {text("kind", "spikes"), number("n_features", 2), text("dtype", "u8")}));
  require_ok(add_stage(network, "delayed", "paths",
                       {number("n_outputs", 2), number("max_delay", 6), number("learn_delays", 1), number("width", 3),
                        number("bias", 0), number("learning_rate_factor", 0), number("seed", 3)}));
  require_ok(add_stage(network, "neurons", "sums", {text("model", "li"), number("tau", 1.25)}));
  require_ok(add_stage(network, "readout", "peaks", {text("reduction", "max")}));
  require_ok(add_stage(network, "loss", "loss", {text("kind", "cross_entropy")}));
  require_ok(add_stage(network, "optimizer", "optimizer", {text("kind", "adam"), number("learning_rate", 0.05)}));
  require_ok(synfire_network_build(network));
  const Synapse paths = synapse_of(network, "paths");
  write(paths, "weight", std::vector<float>(4, 4));
  EXPECT_EQ(read<float>(paths, "width", 1), std::vector<float>{3});
  std::vector<uint8_t> events(n_rows * n_steps * 2);
  std::vector<uint32_t> labels;
  for (size_t row = 0; row < n_rows; ++row) {
    const size_t label = row % 2, at = row % 3 + 1;
    events[(row * n_steps + at) * 2 + label] = events[(row * n_steps + at + 4) * 2 + 1 - label] = 1;
    labels.push_back(static_cast<uint32_t>(label));
  }
  const Buffer inputs = buffer_of_bytes(context, SYNFIRE_DTYPE_U8, events.size(), events.data(), events.size()),
               classes = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, n_rows, labels.data(), n_rows * 4);
  for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION})
    require_ok(synfire_network_set_data(network, set, n_rows, inputs, classes, nullptr, nullptr, nullptr));
  const auto start = read<float>(paths, "delay", 4);
  File file;
  for (int epoch = 0; epoch < 60; ++epoch) {
    require_ok(synfire_network_set_value(network, "paths", "width", 3 * std::pow(0.1, epoch / 60.0)));
    trained(network, 3);
    if (epoch == 30) file = saved(network);
  }
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  require_ok(synfire_network_evaluate(network, &result));
  EXPECT_EQ(result.n_correct, static_cast<uint64_t>(n_rows));
  const auto delays = read<float>(paths, "delay", 4);
  EXPECT_FALSE(same_bits(delays, start));
  EXPECT_EQ(read<float>(paths, "weight", 4), std::vector<float>(4, 4));
  EXPECT_NEAR(delays[0] - delays[1], 4, 1.5) << "the spikes of class 0 meet at output 0";
  EXPECT_NEAR(delays[3] - delays[2], 4, 1.5);

  // A file continues with the same bits; the width is a value of it.
  const Network continued = created(context, file);
  EXPECT_TRUE(saved(continued) == file);
  double width = 0;
  require_ok(synfire_network_get_value(continued, "paths", "width", &width));
  EXPECT_EQ(width, 3 * std::pow(0.1, 30 / 60.0));
  require_ok(
      synfire_network_set_data(continued, SYNFIRE_DATA_TRAINING, n_rows, inputs, classes, nullptr, nullptr, nullptr));
  for (int epoch = 31; epoch < 60; ++epoch) {
    require_ok(synfire_network_set_value(continued, "paths", "width", 3 * std::pow(0.1, epoch / 60.0)));
    trained(continued, 3);
  }
  EXPECT_TRUE(same_bits(read<float>(synapse_of(continued, "paths"), "delay", 4), delays));
}

// Sequences in pieces have the bits of the whole, also by way of a file; a reset forgets the spikes under way.
TEST(DelayedStage, ContinuesFromReplayToReplay) {
  constexpr size_t n_steps = 12, batch = 3, n_inputs = 37, n_outputs = 5, piece = 3;
  const Context context = make_context();
  const Network network = make_empty(context, n_steps, batch);
  require_ok(
      add_stage(network, "input", "in", {text("kind", "spikes"), number("n_features", n_inputs), text("dtype", "u8")}));
  require_ok(
      add_stage(network, "delayed", "first",
                {number("n_outputs", 33), number("max_delay", 7), number("learn_delays", 1), number("gain", 4)}));
  require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
  require_ok(
      add_stage(network, "delayed", "third",
                {number("n_outputs", 9), number("max_delay", 300), text("delays_of", "inputs"), number("gain", 6)}));
  require_ok(add_stage(network, "neurons", "between", {text("model", "lif")}));
  require_ok(
      add_stage(network, "delayed", "fourth",
                {number("n_outputs", 9), number("max_delay", 3), text("delays_of", "outputs"), number("gain", 6)}));
  require_ok(add_stage(network, "neurons", "after", {text("model", "lif")}));
  require_ok(add_stage(network, "delayed", "second",
                       {number("n_outputs", n_outputs), number("max_delay", 2), number("gain", 6)}));
  require_ok(add_stage(network, "neurons", "last", {text("model", "lif")}));
  require_ok(add_stage(network, "readout", "all", {text("reduction", "steps"), number("of_spikes", 0)}));
  require_ok(synfire_network_build(network));
  Random random(8);
  std::vector<float> late;
  for (size_t i = 0; i < 33; ++i) late.push_back(static_cast<float>(i % 5));
  write(synapse_of(network, "third"), "delay", late);
  std::vector<uint8_t> spikes(batch * n_steps * n_inputs);
  for (uint8_t& spike : spikes) spike = random.uniform(0, 1) < 0.3 ? 1 : 0;
  // Replays of the inference graph, which go on from each other; frames are [T, B, K].
  const auto replayed = [&](synfire_network from, size_t first, size_t count) {
    const auto part = [&](const char* name) {
      synfire_buffer buffer = nullptr;
      require_ok(synfire_network_get_buffer(from, name, &buffer));
      return Buffer(buffer);
    };
    synfire_graph handle = nullptr;
    require_ok(synfire_network_get_graph(from, SYNFIRE_NETWORK_GRAPH_INFERENCE, &handle));
    const Graph graph(handle);
    const Buffer inputs = part("input"), outputs = part("output");
    require_ok(synfire_buffer_upload(inputs, 0, &spikes[first * batch * n_inputs], count * batch * n_inputs));
    uint64_t ticket = 0;
    require_ok(synfire_graph_launch(graph, nullptr, &ticket));
    require_ok(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
    return download<float>(outputs, count * batch * n_outputs);
  };
  const File start = saved(network);
  const std::vector<float> whole = replayed(network, 0, n_steps);
  EXPECT_FALSE(same_bits(replayed(network, 0, n_steps), whole)) << "spikes are under way";
  require_ok(synfire_network_reset_state(network));
  EXPECT_TRUE(same_bits(replayed(network, 0, n_steps), whole));

  Network loop = created(context, start, piece);
  for (size_t first = 0; first < n_steps; first += piece) {
    EXPECT_TRUE(
        same_bits(replayed(loop, first, piece), slice(whole, first * batch * n_outputs, piece * batch * n_outputs)))
        << first;
    const File file = saved(loop);
    EXPECT_NE(FileParts(file).header.find("first.state.inputs"), std::string::npos);
    loop = created(context, file);
  }

  // Files with delays, widths and spikes that cannot be change nothing.
  const File good = saved(loop);
  const auto fails = [&](const char* tensor, auto number, const char* rule) {
    EXPECT_FAILS(refused, WORDS(rule), load(loop, FileParts(good).poke(tensor, 1, number).whole())) << tensor;
    EXPECT_TRUE(saved(loop) == good);
  };
  fails("first.delays", 7.5F, "SYN-SYNAPSE-DELAY");
  fails("first.delays", -1.0F, "SYN-SYNAPSE-DELAY");
  fails("second.delays", 1.5F, "SYN-SYNAPSE-DELAY");
  fails("third.delays", 301.0F, "SYN-SYNAPSE-DELAY");
  fails("fourth.delays", 0.5F, "SYN-SYNAPSE-DELAY");
  fails("first.delays", std::nanf(""), "SYN-SYNAPSE-DELAY");
  fails("first.state.inputs", uint32_t{1} << 5, "SYN-NETWORK-NUMBER");
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-WIDTH"), load(loop, FileParts(good).poke("first.width", 0, -1.0F).whole()));
  EXPECT_TRUE(saved(loop) == good);
}

TEST(DelayedStage, BadInput) {
  const Context context = make_context();
  const Network network = make_empty(context, 3, 2);
  require_ok(add_stage(network, "input", "values", {text("kind", "values"), number("n_features", 4)}));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-SHAPE", "values", "delays are of spikes"),
               add_stage(network, "delayed", "d", {number("n_outputs", 3), number("max_delay", 2)}));
  require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 5)}, {reads("values")}));
  require_ok(add_stage(network, "neurons", "n", {text("model", "lif")}));
  const auto fails = [&](const char* rule, const StageValues& values) {
    EXPECT_FAILS(refused, WORDS(rule), add_stage(network, "delayed", "d", values, {reads("n")}));
  };
  fails("SYN-NETWORK-VALUE", {number("n_outputs", 3)});
  for (const double max_delay : {0.0, 256.0})
    fails("SYN-NETWORK-VALUE", {number("n_outputs", 3), number("max_delay", max_delay)});
  for (const char* const of : {"inputs", "outputs"}) {
    fails("SYN-NETWORK-VALUE", {number("n_outputs", 3), number("max_delay", 65'536), text("delays_of", of)});
    fails("SYN-SYNAPSE-DELAY",
          {number("n_outputs", 3), number("max_delay", 2), number("learn_delays", 1), text("delays_of", of)});
  }
  fails("SYN-NETWORK-VALUE", {number("n_outputs", 3), number("max_delay", 2), number("width", -1)});
  fails("SYN-SYNAPSE-WIDTH", {number("n_outputs", 3), number("max_delay", 2), number("width", 2)});
  fails("SYN-SYNAPSE-WIDTH",
        {number("n_outputs", 3), number("max_delay", 2), number("learn_delays", 1), number("width", 1e-4)});
  require_ok(add_stage(network, "delayed", "d",
                       {number("n_outputs", 3), number("max_delay", 2), number("learn_delays", 1)}, {reads("n")}));
  require_ok(add_stage(network, "neurons", "m", {text("model", "lif")}));
  require_ok(synfire_network_build(network));
  const Synapse synapse = synapse_of(network, "d");
  EXPECT_EQ(read<float>(synapse, "width", 1), std::vector<float>{1});
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-WIDTH"), synfire_network_set_value(network, "d", "width", 1e-4));
  EXPECT_EQ(read<float>(synapse, "width", 1), std::vector<float>{1}) << "nothing has changed";
  require_ok(synfire_network_set_value(network, "d", "width", 0.5));
  EXPECT_EQ(read<float>(synapse, "width", 1), std::vector<float>{0.5});
  // A width that was written to the synapse stays when another value changes.
  write(synapse, "width", std::vector<float>{0.75});
  require_ok(synfire_network_set_value(network, "d", "delay_learning_rate_factor", 2));
  EXPECT_EQ(read<float>(synapse, "width", 1), std::vector<float>{0.75});

  // In a cycle, on an edge that has a delay. What is wrong with it comes to light with what it reads.
  const Network cycle = make_empty(context, 3, 2);
  require_ok(add_stage(cycle, "input", "in", {text("kind", "spikes"), number("n_features", 4)}));
  synfire_stage_input later = reads("n");
  const StageValues outputs = {number("n_outputs", 4), number("max_delay", 256), text("delays_of", "inputs")};
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-READS"), add_stage(cycle, "delayed", "back", outputs, {later}));
  later.delay = 1;
  require_ok(add_stage(cycle, "delayed", "back", outputs, {later}));
  require_ok(add_stage(cycle, "delayed", "wide", {number("n_outputs", 4), number("max_delay", 256)}, {later}));
  require_ok(add_stage(cycle, "synapse", "there", {number("n_outputs", 4)}, {reads("in")}));
  require_ok(add_stage(cycle, "sum", "x", {}, {reads("there"), reads("back"), reads("wide")}));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-VALUE", "max_delay of stage \"wide\" is 256; 1 to 255", "delays_of"),
               add_stage(cycle, "neurons", "n", {text("model", "lif")}));
}

// ---- Bad input ------------------------------------------------------------------------------------------------------

TEST_F(Delayed, BadInput) {
  const Case c = {{3, 2, 5, 4}, 6};
  synfire_synapse made = nullptr;
  const auto fails = [&](const char* rule, const synfire_delayed_desc& desc) {
    EXPECT_FAILS(refused, WORDS(rule), synfire_synapse_create_delayed(context, &desc, &made));
    EXPECT_EQ(made, nullptr);
  };
  const synfire_delayed_desc good = describe(c, true, false), fixed = describe(c, false, false);
  auto bad = good;
  for (const int32_t max_delay : {0, -1, 256}) {
    bad.max_delay = max_delay;
    fails("SYN-SYNAPSE-DELAY", bad);
  }
  bad = good;
  bad.n_inputs = int64_t{1} << 27;
  fails("SYN-SYNAPSE-INPUTS", bad);
  bad = good;
  bad.learn_delays = 2;
  fails("SYN-SYNAPSE-FLAG", bad);
  for (const double width : {-1.0, 1e-4, 1e7, std::nan(""), HUGE_VAL}) {
    bad = good;
    bad.width = width;
    fails("SYN-SYNAPSE-WIDTH", bad);
  }
  bad = fixed;
  bad.width = 1;
  fails("SYN-SYNAPSE-WIDTH", bad);
  std::vector<double> delays(20, 1);
  bad = good;
  bad.delays_length = 20;
  fails("SYN-SYNAPSE-DELAY", bad);
  bad.delays = delays.data();
  bad.delays_length = 19;
  fails("SYN-SYNAPSE-DELAY", bad);
  bad.delays_length = 20;
  for (const double delay : {-0.5, 6.5, std::nan(""), HUGE_VAL}) {
    delays[7] = delay;
    fails("SYN-SYNAPSE-DELAY", bad);
  }
  delays[7] = 2.5;
  bad = fixed;
  bad.delays = delays.data();
  bad.delays_length = 20;
  fails("SYN-SYNAPSE-DELAY", bad);
  const std::vector<uint8_t> mask(20, 2);
  bad = good;
  bad.mask = mask.data();
  bad.mask_length = 19;
  fails("SYN-SYNAPSE-MASK", bad);
  bad.mask_length = 20;
  fails("SYN-SYNAPSE-MASK", bad);

  // Arrays keep what they had.
  const Synapse learnt = make_delayed(context, good), whole = make_delayed(context, fixed);
  const auto keeps = [&](synfire_synapse synapse, const char* name, const std::vector<float>& values,
                         const char* rule) {
    const auto before = read<float>(synapse, name, values.size());
    EXPECT_FAILS(refused, WORDS(rule), synfire_synapse_write(synapse, name, values.data(), values.size() * 4));
    EXPECT_TRUE(same_bits(read<float>(synapse, name, values.size()), before));
  };
  std::vector<float> values(20, 1);
  for (const float delay : {-1.0F, 6.25F}) {
    values[3] = delay;
    keeps(learnt, "delay", values, "SYN-SYNAPSE-DELAY");
  }
  values[3] = 2.5F;
  keeps(whole, "delay", values, "SYN-SYNAPSE-DELAY");
  values[3] = std::nanf("");
  keeps(learnt, "delay", values, "SYN-SYNAPSE-FINITE");
  for (const float width : {0.0F, -1.0F, 2e6F}) keeps(learnt, "width", {width}, "SYN-SYNAPSE-WIDTH");
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "no width"), synfire_synapse_write(whole, "width", values.data(), 4));
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "\"delay\" of this synapse is not trained"),
               synfire_synapse_read(whole, "delay_gradient", values.data(), 80));
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "\"width\" of this synapse is not trained"),
               synfire_synapse_read(learnt, "width_gradient", values.data(), 4));

  // Histories of another synapse, of another length or type, and over the other one.
  const Rows input = rows_for_input(context, SYNFIRE_DTYPE_BITS, c.p),
             output = outputs_in(context, SYNFIRE_DTYPE_F32, c.p),
             before = rows_for_input(context, SYNFIRE_DTYPE_BITS, c.before()),
             bytes = rows_for_input(context, SYNFIRE_DTYPE_U8, c.before());
  const Synapse dense = make_synapse(context, synfire_test::describe(c.p, false));
  auto fd = forward(c.p, input, output, nullptr);
  fd.history = before;
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-HISTORY"), synfire_synapse_forward(dense, &fd, nullptr));
  EXPECT_OK(synfire_synapse_forward(learnt, &fd, nullptr));
  fd.history = input;
  EXPECT_FAILS(refused, WORDS("desc.history"), synfire_synapse_forward(learnt, &fd, nullptr));
  fd.history = bytes;
  EXPECT_FAILS(refused, WORDS("desc.history"), synfire_synapse_forward(learnt, &fd, nullptr));
  fd.history = fd.next_history = before;
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-OVERLAP", "desc.next_history"),
               synfire_synapse_forward(learnt, &fd, nullptr));
  fd.next_history = nullptr;
  fd.round_delays = 2;
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-FLAG"), synfire_synapse_forward(learnt, &fd, nullptr));
  fd.round_delays = 1;
  fd.history = nullptr;
  EXPECT_OK(synfire_synapse_forward(dense, &fd, nullptr)) << "has no effect";

  // No pass of a layer takes it.
  const Layer layer = make_layer(context, synfire_test::describe({3, 2, 4}, SYNFIRE_DTYPE_F32));
  synfire_forward_desc of_layer = SYNFIRE_FORWARD_DESC_INIT;
  of_layer.synapse = learnt;
  of_layer.synapse_input = input;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-FORWARD-DELAYED"),
               synfire_layer_forward(layer, &of_layer, nullptr));
}

}  // namespace
}  // namespace synfire_test
