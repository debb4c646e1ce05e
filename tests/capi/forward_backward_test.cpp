// The results of a forward and a backward: compared with the oracle, in every layout, with every choice of optional
// buffers, at odd addresses, with any number of threads.
#include <cmath>
#include <limits>

#include "oracle.hpp"

namespace synfire_test {
namespace {

template <typename Scalar>
class ForwardBackward : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ForwardBackward, Scalars);

// ---- Against the oracle ---------------------------------------------------------------------------------------------

// Three charges, 2 resets, 2 gradients through the reset, 2 surrogates.
std::vector<Neuron> all_neurons() {
  std::vector<Neuron> neurons;
  for (const auto& [model, undecayed] :
       {std::pair{SYNFIRE_MODEL_IF, false}, std::pair{SYNFIRE_MODEL_LIF, false}, std::pair{SYNFIRE_MODEL_LIF, true}})
    for (const int32_t reset : {SYNFIRE_RESET_HARD, SYNFIRE_RESET_SOFT})
      for (const bool detach : {false, true})
        for (const int32_t surrogate : {SYNFIRE_SURROGATE_SIGMOID, SYNFIRE_SURROGATE_ATAN})
          neurons.push_back({model, reset, surrogate, detach, undecayed});
  return neurons;
}

std::string text_of(const Neuron& neuron) {
  return std::string(neuron.model == SYNFIRE_MODEL_IF ? "IF"
                     : neuron.undecayed_input         ? "LIF undecayed"
                                                      : "LIF") +
         (neuron.reset == SYNFIRE_RESET_HARD ? " hard" : " soft") + (neuron.detach_reset ? " detached" : " attached") +
         (neuron.surrogate == SYNFIRE_SURROGATE_SIGMOID ? " sigmoid" : " atan");
}

Parameters random_parameters(const Neuron& neuron, int64_t n_neurons, bool per_neuron, Random& random) {
  const size_t count = per_neuron ? static_cast<size_t>(n_neurons) : 1;
  Parameters parameters;
  parameters.tau = random.values<double>(count, 1.2, 8);
  parameters.v_rest = random.values<double>(count, -0.2, 0.2);
  parameters.v_threshold = random.values<double>(count, 0.7, 1.3);
  parameters.v_reset = random.values<double>(count, -0.3, 0.3);
  const bool sigmoid = neuron.surrogate == SYNFIRE_SURROGATE_SIGMOID;
  parameters.alpha = random.values<double>(count, sigmoid ? 2 : 1, sigmoid ? 5 : 3);
  return parameters;
}

// Inputs that make this neuron fire in about a quarter of the steps, independent of its gain on X.
template <typename Scalar>
Inputs<Scalar> spiking_inputs(const Neuron& neuron, const Parameters& parameters, const Shape& shape, Random& random) {
  Inputs<Scalar> inputs = random_inputs<Scalar>(shape, random.next());
  const auto n_neurons = static_cast<size_t>(shape.n_neurons);
  for (size_t i = 0; i < inputs.x.size(); ++i) {
    const double tau = parameters.tau.size() == 1 ? parameters.tau[0] : parameters.tau[i % n_neurons];
    const bool decayed = neuron.model == SYNFIRE_MODEL_LIF && !neuron.undecayed_input;
    inputs.x[i] = static_cast<Scalar>(random.uniform(-0.5, 1.0) * (decayed ? tau : 1));
  }
  return inputs;
}

// f32 bounds: those of tests/golden/README.md for 12 steps. Without a leak the error grows with every step, so longer
// runs are allowed proportionally more. f64 has one bound for all lengths.
template <typename Scalar>
double bound(double f32_bound, const Shape& shape) {
  if (std::is_same_v<Scalar, double>) return 1e-12;
  return f32_bound * std::fmax(1.0, static_cast<double>(shape.n_steps) / 12);
}

template <typename Scalar>
void compare_with_oracle(synfire_context context, const Neuron& neuron, const Parameters& parameters,
                         const Shape& shape, Random& random) {
  SCOPED_TRACE(testing::Message() << text_of(neuron) << ", " << shape);
  Inputs<Scalar> inputs = spiking_inputs<Scalar>(neuron, parameters, shape, random);
  const Oracle oracle(neuron, parameters, shape);
  oracle.keep_margin(inputs.x, inputs.v_init, 0.02);

  Rig<Scalar> rig(context, describe(neuron, shape, dtype_of<Scalar>));
  set_parameters(rig.layer, neuron, parameters);
  rig.load(inputs);
  const ForwardOutputs<Scalar> forward = rig.forward();
  const BackwardOutputs<Scalar> backward = rig.backward();

  const ForwardOutputs<double> reference = oracle.forward(inputs);
  const BackwardOutputs<double> gradients = oracle.backward(inputs, reference.h_seq);
  EXPECT_EQ(relative_error(forward.spikes, reference.spikes), 0);
  EXPECT_LE(relative_error(forward.h_seq, reference.h_seq), bound<Scalar>(2e-6, shape));
  EXPECT_LE(relative_error(forward.v_seq, reference.v_seq), bound<Scalar>(2e-6, shape));
  EXPECT_LE(relative_error(forward.v_final, reference.v_final), bound<Scalar>(2e-6, shape));
  EXPECT_LE(relative_error(backward.grad_x_seq, gradients.grad_x_seq), bound<Scalar>(1e-5, shape));
  EXPECT_LE(relative_error(backward.grad_v_init, gradients.grad_v_init), bound<Scalar>(1e-5, shape));

  const ForwardOutputs<Scalar> packed = rig.forward({.spikes = Spikes::bits});
  EXPECT_TRUE(same_bits(packed.spike_bits, reference.spike_bits));
}

// The number of threads per block affects only the time.
TYPED_TEST(ForwardBackward, ThreadsOfABlockChangeNoBit) {
  const Context context = make_context();
  const Neuron neuron{SYNFIRE_MODEL_LIF, SYNFIRE_RESET_HARD, SYNFIRE_SURROGATE_SIGMOID, false, false};
  Random random(7);
  for (const Shape& shape : {Shape{33, 1, 1024}, Shape{8, 3, 77}, Shape{5, 1, 70001}}) {
    SCOPED_TRACE(testing::Message() << shape);
    const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, random.next());
    synfire_layer_desc desc = describe(neuron, shape, dtype_of<TypeParam>);
    Rig<TypeParam> automatic(context, desc);
    automatic.load(inputs);
    const ForwardOutputs<TypeParam> forward = automatic.forward({.spikes = Spikes::bits});
    const BackwardOutputs<TypeParam> backward = automatic.backward();
    for (const uint32_t threads : {32u, 64u, 96u, 128u}) {
      desc.threads_per_block = threads;
      Rig<TypeParam> rig(context, desc);
      rig.load(inputs);
      EXPECT_TRUE(same_bits(rig.forward({.spikes = Spikes::bits}).spike_bits, forward.spike_bits)) << threads;
      EXPECT_TRUE(same_bits(rig.backward().grad_x_seq, backward.grad_x_seq)) << threads;
    }
  }
}

TYPED_TEST(ForwardBackward, MatchesTheOracleAtEveryLength) {
  const Context context = make_context();
  Random random(1);
  for (const Neuron& neuron : all_neurons()) {
    for (const int64_t n_steps : {1, 2, 16, 31, 32, 33, 63, 64, 65, 96, 100}) {
      const Shape shape{n_steps, random.whole(1, 3), random.whole(1, 40)};
      compare_with_oracle<TypeParam>(context, neuron, random_parameters(neuron, shape.n_neurons, false, random), shape,
                                     random);
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(ForwardBackward, MatchesTheOracleAtEveryWidth) {
  const Context context = make_context();
  Random random(2);
  for (const Neuron& neuron : all_neurons()) {
    for (const int64_t n_neurons : {1, 3, 31, 32, 33, 64, 65, 127, 257, 1001}) {
      const Shape shape{random.whole(1, 12), random.whole(1, 5), n_neurons};
      compare_with_oracle<TypeParam>(context, neuron, random_parameters(neuron, n_neurons, false, random), shape,
                                     random);
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(ForwardBackward, MatchesTheOracleWithPerNeuronParameters) {
  const Context context = make_context();
  Random random(3);
  for (const Neuron& neuron : all_neurons()) {
    for (const int64_t n_steps : {1, 12, 40}) {
      const Shape shape{n_steps, random.whole(1, 3), random.whole(2, 70)};
      compare_with_oracle<TypeParam>(context, neuron, random_parameters(neuron, shape.n_neurons, true, random), shape,
                                     random);
      if (this->HasFailure()) return;
    }
  }
}

// ---- The moment of firing -------------------------------------------------------------------------------------------

// An IF layer of N = x.size() neurons, one step from V = 0.
template <typename Scalar>
ForwardOutputs<Scalar> one_step(const std::vector<Scalar>& x, int32_t reset) {
  const Context context = make_context();
  const Shape shape{1, 1, static_cast<int64_t>(x.size())};
  Neuron neuron;
  neuron.model = SYNFIRE_MODEL_IF;
  neuron.reset = reset;
  Rig<Scalar> rig(context, describe(neuron, shape, dtype_of<Scalar>));
  upload(rig.x, x);
  return rig.forward();
}

TYPED_TEST(ForwardBackward, FiresExactlyAtTheThreshold) {
  const TypeParam below = std::nextafter(TypeParam(1), TypeParam(0)),
                  above = std::nextafter(TypeParam(1), TypeParam(2));
  const ForwardOutputs<TypeParam> hard = one_step<TypeParam>({below, 1, above}, SYNFIRE_RESET_HARD);
  EXPECT_TRUE(same_bits(hard.spikes, {0, 1, 1}));
  EXPECT_TRUE(same_bits(hard.v_final, {below, 0, 0}));
  const ForwardOutputs<TypeParam> soft = one_step<TypeParam>({below, 1, above}, SYNFIRE_RESET_SOFT);
  EXPECT_TRUE(same_bits(soft.spikes, {0, 1, 1}));
  EXPECT_TRUE(same_bits(soft.v_final, {below, 0, static_cast<TypeParam>(above - 1)}));
}

TYPED_TEST(ForwardBackward, InfiniteInputs) {
  const TypeParam inf = std::numeric_limits<TypeParam>::infinity();
  const ForwardOutputs<TypeParam> hard = one_step<TypeParam>({inf, -inf, 0.5}, SYNFIRE_RESET_HARD);
  EXPECT_TRUE(same_bits(hard.h_seq, {inf, -inf, 0.5}));
  EXPECT_TRUE(same_bits(hard.spikes, {1, 0, 0}));
  EXPECT_TRUE(same_bits(hard.v_final, {0, -inf, 0.5})) << "a spike resets by selection: an infinite H leaves no NaN";
  const ForwardOutputs<TypeParam> soft = one_step<TypeParam>({inf, -inf, 0.5}, SYNFIRE_RESET_SOFT);
  EXPECT_TRUE(same_bits(soft.spikes, {1, 0, 0}));
  EXPECT_TRUE(same_bits(soft.v_final, {inf, -inf, 0.5}));
}

TYPED_TEST(ForwardBackward, AnInfiniteInputPassesNoGradientWhenTheResetIsDetached) {
  const Context context = make_context();
  const Shape shape{3, 1, 2};
  const TypeParam inf = std::numeric_limits<TypeParam>::infinity();
  for (const int32_t surrogate : {SYNFIRE_SURROGATE_SIGMOID, SYNFIRE_SURROGATE_ATAN}) {
    SCOPED_TRACE(surrogate);
    const Neuron neuron{SYNFIRE_MODEL_IF, SYNFIRE_RESET_HARD, surrogate, true, false};
    Rig<TypeParam> rig(context, describe(neuron, shape, dtype_of<TypeParam>));
    upload<TypeParam>(rig.x, {0.25, 0.25, inf, 0.25, 0.25, 0.25});
    upload<TypeParam>(rig.grad_spike_seq, {1, 1, 1, 1, 1, 1});
    EXPECT_OK(rig.run_forward());
    const auto gradients = rig.backward({.grad_v_seq = false, .grad_v_final = false});
    const std::vector<TypeParam>& g = gradients.grad_x_seq;
    EXPECT_EQ(g[2], TypeParam(0)) << "g' is 0 at infinity";
    EXPECT_GT(g[4], TypeParam(0)) << "the step after the reset has a gradient again";
    EXPECT_GT(g[0], TypeParam(0));
    for (const TypeParam value : g) EXPECT_TRUE(std::isfinite(value));
    for (size_t t = 0; t < 3; ++t) EXPECT_GT(g[2 * t + 1], TypeParam(0)) << "the other neuron, step " << t;
  }
}

TYPED_TEST(ForwardBackward, ANaNNeverFiresAndStaysInItsNeuron) {
  const Context context = make_context();
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  for (const Neuron& neuron : all_neurons()) {
    SCOPED_TRACE(text_of(neuron));
    const Shape shape{40, 2, 37};
    Rig<TypeParam> rig(context, describe(neuron, shape, dtype_of<TypeParam>));
    Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 4);
    rig.load(inputs);
    const ForwardOutputs<TypeParam> clean = rig.forward();
    const BackwardOutputs<TypeParam> clean_gradients = rig.backward();

    const size_t sick = 37 + 5, sick_step = 7;  // batch row 1, neuron 5
    inputs.x[sick_step * shape.row() + sick] = nan;
    rig.load(inputs);
    const ForwardOutputs<TypeParam> forward = rig.forward();
    const BackwardOutputs<TypeParam> backward = rig.backward();
    const ForwardOutputs<TypeParam> packed = rig.forward({.spikes = Spikes::bits});
    EXPECT_TRUE(same_bits(packed.spike_bits, pack_bits(shape, forward.spikes)));

    ForwardOutputs<TypeParam> expected = clean;
    for (size_t t = sick_step; t < 40; ++t) {
      expected.spikes[t * shape.row() + sick] = 0;
      expected.h_seq[t * shape.row() + sick] = nan;
      expected.v_seq[t * shape.row() + sick] = nan;
    }
    expected.v_final[sick] = nan;
    EXPECT_TRUE(same_bits(forward, expected));
    for (size_t i = 0; i < shape.sequence(); ++i) {
      if (i % shape.row() == sick) continue;
      ASSERT_EQ(bits_of(backward.grad_x_seq[i]), bits_of(clean_gradients.grad_x_seq[i])) << "element " << i;
    }
  }
}

// ---- Spikes as bits -------------------------------------------------------------------------------------------------

TYPED_TEST(ForwardBackward, BitsAreTheDenseSpikesPacked) {
  const Context context = make_context();
  Random random(5);
  for (const int64_t n_neurons : {1, 2, 31, 32, 33, 63, 64, 65, 95, 96, 97, 1000}) {
    for (const int64_t batch : {1, 2, 3}) {
      const Shape shape{random.whole(1, 40), batch, n_neurons};
      SCOPED_TRACE(testing::Message() << shape);
      Rig<TypeParam> rig(context, describe(shape, dtype_of<TypeParam>));
      rig.load(random_inputs<TypeParam>(shape, random.next()));
      const ForwardOutputs<TypeParam> dense = rig.forward();
      const ForwardOutputs<TypeParam> packed = rig.forward({.spikes = Spikes::bits});
      // Each step and each batch row starts a new word. Bits past N, which were set before, are cleared.
      ASSERT_TRUE(same_bits(packed.spike_bits, pack_bits(shape, dense.spikes)));
      ASSERT_TRUE(same_bits(packed.v_final, dense.v_final));
      const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
      ASSERT_TRUE(all_are(packed.spikes, nan)) << "dense spikes were not requested";
    }
  }
}

// ---- One neuron at a time -------------------------------------------------------------------------------------------

TYPED_TEST(ForwardBackward, PerNeuronParametersEqualSingleNeuronLayers) {
  const Context context = make_context();
  Random random(6);
  for (const Neuron& neuron : all_neurons()) {
    SCOPED_TRACE(text_of(neuron));
    const Shape shape{35, 2, 35}, single_shape{35, 2, 1};
    const Parameters parameters = random_parameters(neuron, shape.n_neurons, true, random);
    const Inputs<TypeParam> inputs = spiking_inputs<TypeParam>(neuron, parameters, shape, random);
    Rig<TypeParam> rig(context, describe(neuron, shape, dtype_of<TypeParam>));
    set_parameters(rig.layer, neuron, parameters);
    rig.load(inputs);
    const ForwardOutputs<TypeParam> forward = rig.forward();
    const BackwardOutputs<TypeParam> backward = rig.backward();

    for (size_t n = 0; n < 35; ++n) {
      const auto column = [&](const auto& values) {  // neuron n of [.., B, N]
        auto result = slice(values, 0, values.size() / 35);
        for (size_t row = 0; row < result.size(); ++row) result[row] = values[row * 35 + n];
        return result;
      };
      Rig<TypeParam> single(context, describe(neuron, single_shape, dtype_of<TypeParam>));
      set_parameters(single.layer, neuron,
                     {{parameters.tau[n]},
                      {parameters.v_rest[n]},
                      {parameters.v_threshold[n]},
                      {parameters.v_reset[n]},
                      {parameters.alpha[n]}});
      single.load({column(inputs.x), column(inputs.v_init), column(inputs.grad_spike_seq), column(inputs.grad_v_seq),
                   column(inputs.grad_v_final)});
      const ForwardOutputs<TypeParam> alone = single.forward();
      const BackwardOutputs<TypeParam> alone_backward = single.backward();
      ASSERT_TRUE(same_bits(column(forward.spikes), alone.spikes)) << "neuron " << n;
      ASSERT_TRUE(same_bits(column(forward.h_seq), alone.h_seq)) << "neuron " << n;
      ASSERT_TRUE(same_bits(column(forward.v_seq), alone.v_seq)) << "neuron " << n;
      ASSERT_TRUE(same_bits(column(forward.v_final), alone.v_final)) << "neuron " << n;
      ASSERT_TRUE(same_bits(column(backward.grad_x_seq), alone_backward.grad_x_seq)) << "neuron " << n;
      ASSERT_TRUE(same_bits(column(backward.grad_v_init), alone_backward.grad_v_init)) << "neuron " << n;
    }
  }
}

TYPED_TEST(ForwardBackward, OneNumberEqualsTheSameNumberForEveryNeuron) {
  const Context context = make_context();
  const Shape shape{33, 3, 41};
  Rig<TypeParam> one(context, describe(shape, dtype_of<TypeParam>)),
      many(context, describe(shape, dtype_of<TypeParam>));
  for (const auto& [name, value] : {std::pair{"tau", 3.3}, std::pair{"v_rest", 0.1}, std::pair{"v_threshold", 0.9},
                                    std::pair{"v_reset", -0.1}, std::pair{"alpha", 3.0}}) {
    set_parameter(one.layer, name, {value});
    set_parameter(many.layer, name, std::vector<double>(41, value));
  }
  one.load(random_inputs<TypeParam>(shape, 7));
  many.load(random_inputs<TypeParam>(shape, 7));
  EXPECT_TRUE(same_bits(one.forward(), many.forward()));
  EXPECT_TRUE(same_bits(one.backward(), many.backward()));
}

TYPED_TEST(ForwardBackward, BatchRowsAreLayersOfTheirOwn) {
  const Context context = make_context();
  const Shape shape{34, 4, 39}, row_shape{34, 1, 39};
  const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 8);
  Rig<TypeParam> rig(context, describe(shape, dtype_of<TypeParam>));
  rig.load(inputs);
  const ForwardOutputs<TypeParam> forward = rig.forward();
  const ForwardOutputs<TypeParam> packed = rig.forward({.spikes = Spikes::bits});
  const BackwardOutputs<TypeParam> backward = rig.backward();
  for (size_t b = 0; b < 4; ++b) {
    const auto row = [&](const auto& values, size_t width) {  // row b of [.., B, width]
      auto result = slice(values, 0, 0);
      for (size_t first = b * width; first < values.size(); first += 4 * width)
        result = joined(result, slice(values, first, width));
      return result;
    };
    Rig<TypeParam> alone(context, describe(row_shape, dtype_of<TypeParam>));
    alone.load({row(inputs.x, 39), row(inputs.v_init, 39), row(inputs.grad_spike_seq, 39), row(inputs.grad_v_seq, 39),
                row(inputs.grad_v_final, 39)});
    const ForwardOutputs<TypeParam> alone_forward = alone.forward();
    const ForwardOutputs<TypeParam> alone_packed = alone.forward({.spikes = Spikes::bits});
    const BackwardOutputs<TypeParam> alone_backward = alone.backward();
    EXPECT_TRUE(same_bits(row(forward.spikes, 39), alone_forward.spikes));
    EXPECT_TRUE(same_bits(row(forward.h_seq, 39), alone_forward.h_seq));
    EXPECT_TRUE(same_bits(row(forward.v_seq, 39), alone_forward.v_seq));
    EXPECT_TRUE(same_bits(row(packed.spike_bits, 2), alone_packed.spike_bits));
    EXPECT_TRUE(same_bits(row(backward.grad_x_seq, 39), alone_backward.grad_x_seq));
    EXPECT_TRUE(same_bits(row(backward.grad_v_init, 39), alone_backward.grad_v_init));
  }
}

// ---- Optional buffers -----------------------------------------------------------------------------------------------

TYPED_TEST(ForwardBackward, EveryChoiceOfForwardOutputsGivesTheSameBits) {
  const Context context = make_context();
  const Shape shape{34, 2, 43};
  Rig<TypeParam> rig(context, describe(shape, dtype_of<TypeParam>));
  const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 9);
  rig.load(inputs);
  ForwardOutputs<TypeParam> all = rig.forward();
  all.spike_bits = pack_bits(shape, all.spikes);
  ForwardOutputs<TypeParam> poison = all;
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  for (std::vector<TypeParam>* array : {&poison.spikes, &poison.v_final, &poison.v_seq, &poison.h_seq})
    array->assign(array->size(), nan);
  poison.spike_bits.assign(poison.spike_bits.size(), 0xFFFFFFFFu);

  for (const Spikes spikes : {Spikes::none, Spikes::dense, Spikes::bits}) {
    for (unsigned mask = 0; mask < 32; ++mask) {
      SCOPED_TRACE(testing::Message() << "spikes " << static_cast<int>(spikes) << ", mask " << mask);
      ForwardChoice choice;
      choice.spikes = spikes;
      choice.v_init = (mask & 1) != 0;
      choice.v_final = (mask & 2) != 0;
      choice.v_seq = (mask & 4) != 0;
      choice.h_seq = (mask & 8) != 0;
      choice.tape = (mask & 16) != 0 ? SYNFIRE_TAPE_RECOMPUTE : SYNFIRE_TAPE_NONE;
      // Without v_init the layer's own state is used, and ends with what v_final would have.
      EXPECT_OK(synfire_layer_write_state(rig.layer, "v", inputs.v_init.data(), shape.row() * sizeof(TypeParam)));
      const ForwardOutputs<TypeParam> out = rig.forward(choice);
      EXPECT_TRUE(same_bits(out.spikes, spikes == Spikes::dense ? all.spikes : poison.spikes));
      EXPECT_TRUE(same_bits(out.spike_bits, spikes == Spikes::bits ? all.spike_bits : poison.spike_bits));
      EXPECT_TRUE(same_bits(out.v_final, choice.v_final ? all.v_final : poison.v_final));
      EXPECT_TRUE(same_bits(out.v_seq, choice.v_seq ? all.v_seq : poison.v_seq));
      EXPECT_TRUE(same_bits(out.h_seq, choice.h_seq ? all.h_seq : poison.h_seq));
      EXPECT_TRUE(
          same_bits(read_state<TypeParam>(rig.layer, shape.row()), choice.v_init ? inputs.v_init : all.v_final));
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(ForwardBackward, ANullGradientMeansZero) {
  const Context context = make_context();
  const Shape shape{34, 2, 43};
  Rig<TypeParam> rig(context, describe(shape, dtype_of<TypeParam>));
  const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 10);
  for (unsigned mask = 0; mask < 8; ++mask) {
    SCOPED_TRACE(mask);
    Inputs<TypeParam> zeroed = inputs;
    BackwardChoice choice;
    choice.grad_spike_seq = (mask & 1) != 0;
    choice.grad_v_seq = (mask & 2) != 0;
    choice.grad_v_final = (mask & 4) != 0;
    if (!choice.grad_spike_seq) zeroed.grad_spike_seq.assign(shape.sequence(), 0);
    if (!choice.grad_v_seq) zeroed.grad_v_seq.assign(shape.sequence(), 0);
    if (!choice.grad_v_final) zeroed.grad_v_final.assign(shape.row(), 0);
    rig.load(zeroed);
    EXPECT_OK(rig.run_forward());
    const BackwardOutputs<TypeParam> zeros = rig.backward();
    const BackwardOutputs<TypeParam> nulls = rig.backward(choice);
    EXPECT_EQ(zeros.grad_x_seq, nulls.grad_x_seq);  // by value: the sign of a zero gradient is free
    EXPECT_EQ(zeros.grad_v_init, nulls.grad_v_init);
    if (mask == 0) {
      EXPECT_EQ(nulls.grad_x_seq, std::vector<TypeParam>(shape.sequence(), 0));
    }
  }
}

TYPED_TEST(ForwardBackward, EveryChoiceOfGradientOutputsGivesTheSameBits) {
  const Context context = make_context();
  const Shape shape{65, 1, 21};
  Rig<TypeParam> rig(context, describe(shape, dtype_of<TypeParam>));
  rig.load(random_inputs<TypeParam>(shape, 11));
  EXPECT_OK(rig.run_forward());
  const BackwardOutputs<TypeParam> both = rig.backward();
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  const BackwardOutputs<TypeParam> x_only = rig.backward({.grad_v_init = false});
  EXPECT_TRUE(same_bits(x_only.grad_x_seq, both.grad_x_seq));
  EXPECT_TRUE(all_are(x_only.grad_v_init, nan));
  const BackwardOutputs<TypeParam> v_only = rig.backward({.grad_x_seq = false});
  EXPECT_TRUE(same_bits(v_only.grad_v_init, both.grad_v_init));
  EXPECT_TRUE(all_are(v_only.grad_x_seq, nan));
}

TYPED_TEST(ForwardBackward, InferenceComputesTheSameBits) {
  const Context context = make_context();
  const Shape shape{65, 2, 21};
  Rig<TypeParam> rig(context, describe(shape, dtype_of<TypeParam>));
  rig.load(random_inputs<TypeParam>(shape, 12));
  EXPECT_TRUE(same_bits(rig.forward(), rig.forward({.tape = SYNFIRE_TAPE_NONE})));
}

// ---- Addresses ------------------------------------------------------------------------------------------------------

// All arrays are in one allocation, one element off any wider alignment, with canary bytes around each.
TYPED_TEST(ForwardBackward, AnyElementAlignmentAndNothingBeyondTheArrays) {
  const Context context = make_context();
  for (const Shape shape : {Shape{33, 1, 1}, Shape{5, 3, 7}, Shape{34, 2, 67}, Shape{2, 1, 512}}) {
    SCOPED_TRACE(testing::Message() << shape);
    Rig<TypeParam> rig(context, describe(shape, dtype_of<TypeParam>));
    const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 13);
    rig.load(inputs);
    const ForwardOutputs<TypeParam> forward = rig.forward();
    const ForwardOutputs<TypeParam> packed = rig.forward({.spikes = Spikes::bits});
    const BackwardOutputs<TypeParam> backward = rig.backward();

    constexpr uint64_t element = sizeof(TypeParam), canary = 64;
    constexpr uint32_t canary_word = 0x7FF5A5A5u;  // in f32 and in f64 a NaN that no result has
    struct Placed {
      Buffer* target;
      uint64_t bytes;
      int32_t dtype;
      uint64_t offset;
    };
    std::vector<Placed> places;
    uint64_t end = 0;
    const auto place = [&](Buffer& target, size_t count, int32_t dtype) {
      const uint64_t width = dtype == SYNFIRE_DTYPE_BITS ? 4 : element;
      const uint64_t offset = (end + canary + 255) / 256 * 256 + width;
      places.push_back({&target, count * width, dtype, offset});
      end = offset + count * width + canary;
    };
    for (Buffer* buffer :
         {&rig.x, &rig.spikes, &rig.v_seq, &rig.h_seq, &rig.grad_spike_seq, &rig.grad_v_seq, &rig.grad_x_seq})
      place(*buffer, shape.sequence(), dtype_of<TypeParam>);
    for (Buffer* buffer : {&rig.v_init, &rig.v_final, &rig.grad_v_final, &rig.grad_v_init})
      place(*buffer, shape.row(), dtype_of<TypeParam>);
    place(rig.spike_bits, shape.words(), SYNFIRE_DTYPE_BITS);

    const uint64_t arena_words = (end + 3) / 4;
    const Buffer arena = make_buffer(context, SYNFIRE_DTYPE_BITS, arena_words);
    for (const Placed& placed : places)
      *placed.target = make_window(context, arena, placed.dtype, placed.offset,
                                   placed.bytes / (placed.dtype == SYNFIRE_DTYPE_BITS ? 4 : element));
    EXPECT_OK(synfire_buffer_fill(arena, canary_word));
    rig.load(inputs);
    const ForwardOutputs<TypeParam> off_forward = rig.forward();
    EXPECT_TRUE(same_bits(off_forward, forward));
    EXPECT_TRUE(same_bits(rig.forward({.spikes = Spikes::bits}).spike_bits, packed.spike_bits));
    EXPECT_TRUE(same_bits(rig.backward(), backward));

    std::vector<uint32_t> words = download<uint32_t>(arena, arena_words);
    std::vector<bool> inside(arena_words, false);
    for (const Placed& placed : places)
      for (uint64_t byte = placed.offset; byte < placed.offset + placed.bytes; byte += 4) inside[byte / 4] = true;
    for (uint64_t word = 0; word < arena_words; ++word) {
      if (inside[word]) continue;
      ASSERT_EQ(words[word], canary_word) << "byte " << word * 4 << " of the allocation";
    }
  }
}

TYPED_TEST(ForwardBackward, BuffersMayBeLargerThanNeeded) {
  const Context context = make_context();
  const Shape shape{3, 1, 5};
  Rig<TypeParam> rig(context, describe(shape, dtype_of<TypeParam>));
  const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 14);
  rig.load(inputs);
  const ForwardOutputs<TypeParam> exact = rig.forward();
  rig.x = make_buffer_of(context, joined(inputs.x, std::vector<TypeParam>(100, TypeParam(9))));
  rig.v_final = make_buffer(context, dtype_of<TypeParam>, 100);
  EXPECT_OK(synfire_buffer_fill(rig.v_final, 7));
  EXPECT_OK(rig.run_forward());
  const std::vector<TypeParam> v_final = download<TypeParam>(rig.v_final, 100);
  EXPECT_TRUE(same_bits(slice(v_final, 0, 5), exact.v_final));
  EXPECT_TRUE(all_are(slice(v_final, 5, 95), TypeParam(7)));
}

// ---- Kinds of memory and threads ------------------------------------------------------------------------------------

TYPED_TEST(ForwardBackward, PinnedMemoryGivesTheSameBits) {
  const Context context = make_context();
  const Shape shape{16, 2, 33};
  Rig<TypeParam> rig(context, describe(shape, dtype_of<TypeParam>));
  const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 15);
  rig.load(inputs);
  const ForwardOutputs<TypeParam> device = rig.forward();
  const auto pinned = [&](size_t count) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.memory = SYNFIRE_MEMORY_PINNED;
    desc.dtype = dtype_of<TypeParam>;
    desc.n_elements = count;
    synfire_buffer handle = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
    return Buffer(handle);
  };
  rig.x = pinned(shape.sequence());
  rig.spikes = pinned(shape.sequence());
  rig.load(inputs);
  EXPECT_TRUE(same_bits(rig.forward(), device));
}

TYPED_TEST(ForwardBackward, AnyNumberOfThreadsGivesTheSameBits) {
  if (!on_host()) GTEST_SKIP() << "only the host backend has threads";
  for (const Shape shape : {Shape{40, 1, 30001}, Shape{9, 64, 501}, Shape{4, 3, 1}}) {
    SCOPED_TRACE(testing::Message() << shape);
    const Inputs<TypeParam> inputs = random_inputs<TypeParam>(shape, 16);
    std::optional<ForwardOutputs<TypeParam>> forward;
    std::optional<BackwardOutputs<TypeParam>> backward;
    for (const int32_t n_threads : {1, 2, 4, 0}) {
      const Context context = make_context(n_threads);
      Rig<TypeParam> rig(context, describe(shape, dtype_of<TypeParam>));
      rig.load(inputs);
      ForwardOutputs<TypeParam> out = rig.forward({.spikes = Spikes::bits});
      const BackwardOutputs<TypeParam> gradients = rig.backward();
      if (!forward) forward = out;
      if (!backward) backward = gradients;
      EXPECT_TRUE(same_bits(out, *forward)) << n_threads << " threads";
      EXPECT_TRUE(same_bits(gradients, *backward)) << n_threads << " threads";
    }
  }
}

}  // namespace
}  // namespace synfire_test
