// Properties of random layers: shape, model, surrogate, reset, input mode, parameters (each shared or per neuron),
// source of the state, incoming and requested gradients, eager or replayed, threads. All are drawn from a seed and
// compared with an independent scalar reference. A failure prints its seed; SYNFIRE_TEST_SEED=N runs only that seed.
// Host against GPU bit for bit: tests/gpu/bit_equality_test.cpp.
#include <cstdlib>
#include <numeric>

#include "closed_form_oracle.hpp"

namespace synfire_test {
namespace {

std::vector<uint64_t> seeds(uint64_t count) {
  if (const char* const only = std::getenv("SYNFIRE_TEST_SEED")) return {std::strtoull(only, nullptr, 0)};
  std::vector<uint64_t> all(count);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

/// A layer and how it is run.
struct RandomLayer {
  explicit RandomLayer(uint64_t seed) : random(seed) {
    // Small rows as often as wide ones, both including odd lengths, partial words and single neurons.
    shape = {coin() ? random.whole(1, 6) : random.whole(1, 70), coin() ? 1 : random.whole(1, 4),
             coin() ? random.whole(1, 40) : random.whole(1, 300)};
    const auto n_models = static_cast<int64_t>(reference_models().size());
    const auto n_surrogates = static_cast<int64_t>(reference_surrogates().size());
    neuron.model = &reference_models()[static_cast<size_t>(random.whole(0, n_models - 1))];
    neuron.surrogate = &reference_surrogates()[static_cast<size_t>(random.whole(0, n_surrogates - 1))];
    neuron.soft_reset = coin();
    neuron.detach_reset = coin();
    neuron.undecayed_input = neuron.model->has_input_decay && coin();
    choose_parameters(neuron, static_cast<size_t>(shape.n_neurons), random);
    for (std::vector<double>* values : all_parameters())
      if (coin()) values->resize(1);
    replayed = coin();
    state_written = coin();
    bits = coin();
    n_threads = static_cast<int32_t>(random.whole(1, 4));
    for (bool* dropped : {&no_grad_spike, &no_grad_v, &no_grad_final, &no_grad_w}) *dropped = random.whole(0, 3) == 0;
    for (size_t p = 0; p < neuron.n_differentiable(); ++p)
      if (coin()) asked.push_back({neuron.name(p), coin()});
    if (coin()) std::reverse(asked.begin(), asked.end());
  }

  bool coin() { return random.whole(0, 1) == 1; }
  std::vector<std::vector<double>*> all_parameters() {
    std::vector<std::vector<double>*> all = {&neuron.v_threshold, &neuron.v_reset};
    for (std::vector<double>& values : neuron.own) all.push_back(&values);
    for (std::vector<double>& values : neuron.shape) all.push_back(&values);
    return all;
  }
  std::string text(uint64_t seed) const {
    return std::string("SYNFIRE_TEST_SEED=") + std::to_string(seed) + ": " + neuron.text() + ", T " +
           std::to_string(shape.n_steps) + ", B " + std::to_string(shape.batch) + ", N " +
           std::to_string(shape.n_neurons) + (replayed ? ", replayed" : ", eager") +
           (state_written ? ", state written" : ", state given") + (bits ? ", bits" : ", dense") + ", " +
           std::to_string(n_threads) + " threads";
  }

  template <typename Scalar>
  FullInputs<Scalar> inputs() {
    FullInputs<Scalar> drawn = NeuronOracle(neuron, shape).drive<Scalar>(random, 0.01);
    const auto zero = [](bool dropped, std::vector<Scalar>& values) {
      if (dropped) values.assign(values.size(), 0);
    };
    zero(no_grad_spike, drawn.grad_spike_seq);
    zero(no_grad_v, drawn.grad_v_seq);
    zero(no_grad_final, drawn.grad_v_final);
    zero(no_grad_w, drawn.grad_w_seq);
    zero(no_grad_w, drawn.grad_w_final);
    return drawn;
  }

  Random random;
  Shape shape;
  ReferenceNeuron neuron;
  bool replayed, state_written, bits, no_grad_spike, no_grad_v, no_grad_final, no_grad_w;
  int32_t n_threads;
  std::vector<Asked> asked;
};

template <typename Scalar>
struct Results {
  FullOutputs<Scalar> out;  // spikes stay NaN if bits were requested
  std::vector<uint32_t> spike_bits;
  std::vector<std::vector<Scalar>> gradients;
};

// One context for each number of threads; on a GPU there is only one.
class Contexts {
 public:
  synfire_context with_threads(int32_t n_threads) {
    Context& context = contexts_[on_host() ? n_threads : 0];
    if (context.get() == nullptr) context = make_context(n_threads);
    return context;
  }

 private:
  Context contexts_[5];
};

template <typename Scalar>
Results<Scalar> run(Contexts& contexts, const RandomLayer& layer, const FullInputs<Scalar>& inputs) {
  const synfire_context context = contexts.with_threads(layer.n_threads);
  FullRig<Scalar> rig(context, describe(layer.neuron, layer.shape, dtype_of<Scalar>));
  set_parameters(rig.layer, layer.neuron);
  rig.load(inputs);
  rig.ask(layer.asked);
  rig.poison();
  const Buffer words = make_buffer(context, SYNFIRE_DTYPE_BITS, layer.shape.words());
  EXPECT_OK(synfire_buffer_fill(words, 4294967295.0));

  synfire_forward_desc forward = rig.forward_desc();
  if (layer.bits) forward.spikes = words;
  if (layer.state_written) {
    const uint64_t bytes = layer.shape.row() * sizeof(Scalar);
    EXPECT_OK(synfire_layer_write_state(rig.layer, "v", inputs.v_init.data(), bytes));
    if (rig.two_variables) {
      EXPECT_OK(synfire_layer_write_state(rig.layer, "w", inputs.w_init.data(), bytes));
    }
    forward.v_init = forward.w_init = nullptr;
  }
  synfire_backward_desc backward = rig.backward_desc();
  if (layer.no_grad_spike) backward.grad_spike_seq = nullptr;
  if (layer.no_grad_v) backward.grad_v_seq = nullptr;
  if (layer.no_grad_final) backward.grad_v_final = nullptr;
  if (layer.no_grad_w) backward.grad_w_seq = backward.grad_w_final = nullptr;
  if (layer.replayed) {
    const Graph graph = make_graph(context);
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
    EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
  } else {
    EXPECT_OK(synfire_layer_forward(rig.layer, &forward, nullptr));
    EXPECT_OK(synfire_layer_backward(rig.layer, &backward, nullptr));
  }
  return {rig.outputs(), download<uint32_t>(words, layer.shape.words()), rig.gradients()};
}

template <typename Scalar>
class Properties : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Properties, Scalars);

// X with its last bits changed, by about the rounding of a step (1/tau of it reaches H). Some layers amplify such a
// change from step to step, more so in longer runs. Its effect on the reference measures by how much.
template <typename Scalar>
FullInputs<double> shaken(const FullInputs<Scalar>& inputs, Random& random) {
  const auto as_double = [](const std::vector<Scalar>& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  FullInputs<double> result = {as_double(inputs.x),          as_double(inputs.v_init),
                               as_double(inputs.w_init),     as_double(inputs.grad_spike_seq),
                               as_double(inputs.grad_v_seq), as_double(inputs.grad_v_final),
                               as_double(inputs.grad_w_seq), as_double(inputs.grad_w_final)};
  const double step = 8 * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  for (double& x : result.x) x += random.uniform(-step, step) * std::fmax(1, std::fabs(x));
  return result;
}

// `scale`: the reference of the relative error. `noise`: the effect of X's last bits on the reference.
template <typename Scalar>
void expect_near(const char* name, const std::vector<Scalar>& got, const std::vector<double>& wanted, double scale,
                 double noise) {
  ASSERT_EQ(got.size(), wanted.size()) << name;
  const double allowed = std::fmax((std::is_same_v<Scalar, float> ? 2e-5 : 1e-12) * scale, 8 * noise);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double value = static_cast<double>(got[i]);
    ASSERT_LE(std::fabs(value - wanted[i]), allowed) << name << "[" << i << "]: " << value << " against " << wanted[i];
  }
}

std::vector<double> distances(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all(a.size());
  for (size_t i = 0; i < a.size(); ++i) all[i] = std::fabs(a[i] - b[i]);
  return all;
}

double largest_of(const std::vector<double>& values, double at_least) {
  for (const double value : values) at_least = std::fmax(at_least, std::fabs(value));
  return at_least;
}

// Contributions of the elements [B, N], summed to one number or to one per neuron.
std::vector<double> summed(const std::vector<double>& shares, size_t length) {
  std::vector<double> sums(length, 0.0);
  for (size_t i = 0; i < shares.size(); ++i) sums[i % length] += shares[i];
  return sums;
}

TYPED_TEST(Properties, RandomLayersMatchAScalarReference) {
  constexpr double floor = 0.01;  // 1 % of the incoming gradients, for sums that cancel
  Contexts contexts;
  for (const uint64_t seed : seeds(200)) {
    RandomLayer layer(seed);
    SCOPED_TRACE(layer.text(seed));
    const FullInputs<TypeParam> inputs = layer.inputs<TypeParam>();
    const ClosedFormOracle oracle(layer.neuron, layer.shape);
    const ReferenceOutputs wanted = oracle.outputs(inputs), other = oracle.outputs(shaken(inputs, layer.random));
    const Results<TypeParam> got = run(contexts, layer, inputs);
    EXPECT_EQ(wanted.spikes, other.spikes) << "the margin is too small for this layer";
    if (layer.bits) {
      EXPECT_TRUE(same_bits(got.spike_bits, pack_bits(layer.shape, wanted.spikes)));
    } else {
      EXPECT_TRUE(same_bits(got.out.spikes, std::vector<TypeParam>(wanted.spikes.begin(), wanted.spikes.end())));
    }
    const auto expect_array = [&](const char* name, const std::vector<TypeParam>& array,
                                  std::vector<double> ReferenceOutputs::*reference) {
      expect_near(name, array, wanted.*reference, largest_of(wanted.*reference, floor),
                  largest_of(distances(wanted.*reference, other.*reference), 0));
    };
    expect_array("h_seq", got.out.h_seq, &ReferenceOutputs::h_seq);
    expect_array("v_seq", got.out.v_seq, &ReferenceOutputs::v_seq);
    expect_array("w_seq", got.out.w_seq, &ReferenceOutputs::w_seq);
    expect_array("v_final", got.out.v_final, &ReferenceOutputs::v_final);
    expect_array("w_final", got.out.w_final, &ReferenceOutputs::w_final);
    expect_array("grad_x_seq", got.out.grad_x_seq, &ReferenceOutputs::grad_x_seq);
    expect_array("grad_v_init", got.out.grad_v_init, &ReferenceOutputs::grad_v_init);
    expect_array("grad_w_init", got.out.grad_w_init, &ReferenceOutputs::grad_w_init);
    for (size_t k = 0; k < layer.asked.size(); ++k) {
      size_t p = 0;
      while (layer.neuron.name(p) != layer.asked[k].name) ++p;
      const std::vector<double>& shares = wanted.gradients[p];
      const size_t length = layer.asked[k].per_neuron ? static_cast<size_t>(layer.shape.n_neurons) : 1;
      const std::vector<double> sums = summed(shares, length);
      // If a sum cancels, the error is relative to the largest contribution of an element.
      expect_near(layer.asked[k].name.c_str(), got.gradients[k], sums,
                  std::fmax(largest_of(shares, floor), length == 1 ? std::fabs(sums[0]) : 0),
                  largest_of(summed(distances(shares, other.gradients[p]), length), 0));
    }
    if (this->HasFailure()) return;
  }
}

// A neuron's bits depend neither on its position in the row nor on its neighbours: if neurons are permuted, every
// output and every gradient per neuron is permuted too, bit for bit.
TYPED_TEST(Properties, NeuronsDoNotKnowTheirPlace) {
  Contexts contexts;
  for (const uint64_t seed : seeds(60)) {
    RandomLayer layer(seed + 1000);
    layer.bits = false;
    for (Asked& asked : layer.asked) asked.per_neuron = true;
    SCOPED_TRACE(layer.text(seed));
    const FullInputs<TypeParam> inputs = layer.inputs<TypeParam>();
    const Results<TypeParam> first = run(contexts, layer, inputs);

    const size_t n = static_cast<size_t>(layer.shape.n_neurons);
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = n; i-- > 1;)
      std::swap(order[i], order[static_cast<size_t>(layer.random.whole(0, static_cast<int64_t>(i)))]);
    const auto permuted = [&](const auto& values) {
      auto result = values;
      for (size_t i = 0; i < values.size(); ++i) result[i] = values[i - i % n + order[i % n]];
      return result;
    };
    RandomLayer other = layer;
    for (std::vector<double>* values : other.all_parameters())
      if (values->size() == n) *values = permuted(*values);
    const FullInputs<TypeParam> other_inputs = {permuted(inputs.x),          permuted(inputs.v_init),
                                                permuted(inputs.w_init),     permuted(inputs.grad_spike_seq),
                                                permuted(inputs.grad_v_seq), permuted(inputs.grad_v_final),
                                                permuted(inputs.grad_w_seq), permuted(inputs.grad_w_final)};
    const Results<TypeParam> second = run(contexts, other, other_inputs);
    const FullOutputs<TypeParam>& out = first.out;
    EXPECT_TRUE(same_bits(
        second.out,
        {permuted(out.spikes), permuted(out.h_seq), permuted(out.v_seq), permuted(out.w_seq), permuted(out.v_final),
         permuted(out.w_final), permuted(out.grad_x_seq), permuted(out.grad_v_init), permuted(out.grad_w_init)}));
    for (size_t k = 0; k < layer.asked.size(); ++k)
      EXPECT_TRUE(same_bits(second.gradients[k], permuted(first.gradients[k]))) << layer.asked[k].name;
    if (this->HasFailure()) return;
  }
}

}  // namespace
}  // namespace synfire_test
