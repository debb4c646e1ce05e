// Every gradient of every model against automatic differentiation: of X, of the initial state and of every parameter,
// with either reset, attached and detached, with every surrogate. Also the sums that form gradients of parameters.
#include <cmath>
#include <numeric>

#include "neuron_oracle.hpp"
#include "oracle.hpp"

namespace synfire_test {
namespace {

// ---- The oracle itself ----------------------------------------------------------------------------------------------

// Fourth-order central difference of a loss with respect to one number.
template <typename Loss>
double central_difference(Loss loss, double& number) {
  constexpr double h = 2e-4;
  const double at = number;
  const auto moved = [&](double steps) {
    number = at + steps * h;
    const double result = loss();
    number = at;
    return result;
  };
  return (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * h);
}

TEST(GradientOracle, EqualsCentralDifferencesOfASmoothSpike) {
  const Shape shape{6, 1, 1};
  Random random(1);
  double largest = 0;
  size_t n_gradients = 0;
  for (const ReferenceSurrogate& surrogate : reference_surrogates()) {
    if (surrogate.primitive == nullptr) continue;
    for (const ReferenceNeuron& neuron : reference_neurons(surrogate, 1, random)) {
      SCOPED_TRACE(neuron.text());
      const NeuronOracle oracle(neuron, shape, SpikeKind::smooth);
      NeuronOracle::Element e = oracle.element(oracle.drive<double>(random, 0.02), 0);
      const NeuronOracle::Gradients gradients = oracle.differentiate(e);
      const auto loss = [&] {
        return oracle.run<double>(e, e.x, {e.v_init, e.w_init}, e.parameters, &gradients.run.spike).loss;
      };
      const auto expect_same = [&](double gradient, double& number, const std::string& name) {
        const double difference = central_difference(loss, number);
        const double error = std::fabs(gradient - difference) / std::fmax(1, std::fabs(difference));
        EXPECT_LE(error, 1e-7) << name << ": " << gradient << " against " << difference;
        largest = std::fmax(largest, error);
        ++n_gradients;
      };
      for (size_t t = 0; t < e.x.size(); ++t) expect_same(gradients.x[t], e.x[t], "x");
      expect_same(gradients.v_init, e.v_init, "v_init");
      if (neuron.model->two_variables) expect_same(gradients.w_init, e.w_init, "w_init");
      for (size_t p = 0; p < e.parameters.size(); ++p)
        expect_same(gradients.parameters[p], e.parameters[p], neuron.name(p));
      if (HasFailure()) return;
    }
  }
  RecordProperty("largest_error", std::to_string(largest));
  EXPECT_GT(n_gradients, 4000u);
}

// ---- The library against the oracle ---------------------------------------------------------------------------------

template <typename Scalar>
class Gradients : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Gradients, Scalars);

// Relative to an array's largest magnitude. In f32, models with a square amplify rounding from step to step, so beyond
// the 12 steps of tests/golden/README.md they are allowed proportionally more.
template <typename Scalar>
double bound_for(const ReferenceNeuron& neuron, const Shape& shape) {
  if (std::is_same_v<Scalar, double>) return 1e-10;
  const bool square = neuron.model->id == SYNFIRE_MODEL_QIF || neuron.model->id == SYNFIRE_MODEL_IZHIKEVICH;
  return square ? 2e-5 * std::fmax(1.0, static_cast<double>(shape.n_steps) / 12) : 2e-5;
}

// Every parameter gradient of a neuron, with PLIF's leak by both names.
std::vector<Asked> all_gradients(const ReferenceNeuron& neuron, bool per_neuron) {
  std::vector<Asked> asked;
  for (size_t p = 0; p < neuron.n_differentiable(); ++p) asked.push_back({neuron.name(p), per_neuron});
  if (neuron.model->id == SYNFIRE_MODEL_PLIF) asked.push_back({"tau", per_neuron});
  return asked;
}

// For the gradient of tau, PLIF is LIF.
ReferenceNeuron as_lif(ReferenceNeuron neuron) {
  neuron.model = &reference_models()[SYNFIRE_MODEL_LIF - 1];
  for (double& tau : neuron.own[0]) tau = 1 / tau;
  return neuron;
}

// Gradients per element [B, N] summed to [N].
std::vector<double> summed_over_batch(const Shape& shape, const std::vector<double>& elements) {
  std::vector<double> sums(static_cast<size_t>(shape.n_neurons), 0);
  for (size_t i = 0; i < elements.size(); ++i) sums[i % sums.size()] += elements[i];
  return sums;
}

template <typename Scalar>
void compare_with_oracle(synfire_context context, const ReferenceNeuron& neuron, const Shape& shape, Random& random) {
  SCOPED_TRACE(testing::Message() << neuron.text() << ", " << shape << ", "
                                  << (neuron.v_threshold.size() > 1 ? "values per neuron" : "one value for all"));
  const NeuronOracle oracle(neuron, shape);
  const FullInputs<Scalar> inputs = oracle.drive<Scalar>(random, 0.01);
  ReferenceOutputs reference = oracle.outputs(inputs);
  if (neuron.model->id == SYNFIRE_MODEL_PLIF)
    reference.gradients.push_back(NeuronOracle(as_lif(neuron), shape).outputs(inputs).gradients[0]);

  FullRig<Scalar> rig(context, describe(neuron, shape, dtype_of<Scalar>));
  set_parameters(rig.layer, neuron);
  rig.load(inputs);
  rig.ask(all_gradients(neuron, false));
  const FullOutputs<Scalar> out = rig.run();
  const std::vector<std::vector<Scalar>> totals = rig.gradients();
  rig.ask(all_gradients(neuron, true));
  EXPECT_TRUE(same_bits(rig.run(), out));
  const std::vector<std::vector<Scalar>> per_neuron = rig.gradients();

  const double bound = bound_for<Scalar>(neuron, shape);
  // If everything cancels, arrays are compared relative to 1 % of the incoming gradients, which are about 1.
  const auto expect_near = [&](const char* name, const std::vector<Scalar>& array,
                               const std::vector<double>& expected) {
    double largest = 0.01, difference = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::fmax(largest, std::fabs(expected[i]));
      const double here = std::fabs(static_cast<double>(array[i]) - expected[i]);
      if (!(here <= difference)) difference = std::isnan(here) ? HUGE_VAL : here;
    }
    EXPECT_LE(difference, bound * largest) << name;
  };
  EXPECT_EQ(relative_error(out.spikes, reference.spikes), 0);
  expect_near("h_seq", out.h_seq, reference.h_seq);
  expect_near("v_seq", out.v_seq, reference.v_seq);
  expect_near("w_seq", out.w_seq, reference.w_seq);
  expect_near("v_final", out.v_final, reference.v_final);
  expect_near("w_final", out.w_final, reference.w_final);
  expect_near("grad_x_seq", out.grad_x_seq, reference.grad_x_seq);
  expect_near("grad_v_init", out.grad_v_init, reference.grad_v_init);
  expect_near("grad_w_init", out.grad_w_init, reference.grad_w_init);
  // If a sum cancels, the error is relative to the largest contribution of an element.
  const std::vector<Asked> names = all_gradients(neuron, false);
  ASSERT_EQ(names.size(), reference.gradients.size());
  for (size_t p = 0; p < names.size(); ++p) {
    const std::vector<double>& shares = reference.gradients[p];
    const std::vector<double> sums = summed_over_batch(shape, shares);
    const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
    double largest = 0.01;
    for (const double share : shares) largest = std::fmax(largest, std::fabs(share));
    for (size_t n = 0; n < sums.size(); ++n)
      EXPECT_LE(std::fabs(static_cast<double>(per_neuron[p][n]) - sums[n]), bound * largest)
          << names[p].name << " of neuron " << n << ": " << per_neuron[p][n] << " against " << sums[n];
    EXPECT_LE(std::fabs(static_cast<double>(totals[p][0]) - total), bound * std::fmax(largest, std::fabs(total)))
        << names[p].name << ": " << totals[p][0] << " against " << total;
  }
}

TYPED_TEST(Gradients, MatchTheOracleWithEverySurrogate) {
  const Context context = make_context();
  Random random(2);
  uint64_t number = 0;
  for (const ReferenceSurrogate& surrogate : reference_surrogates())
    for (const size_t count : {size_t{1}, size_t{7}})
      for (const ReferenceNeuron& neuron : reference_neurons(surrogate, count, random))
        for (const int64_t n_steps : {1, 5, 40}) {
          Random own(++number);  // the same inputs whatever else is in the sample
          if (!is_new_here(neuron) || !sampled(number - 1)) continue;
          compare_with_oracle<TypeParam>(context, neuron, Shape{n_steps, 3, 7}, own);
          if (this->HasFailure()) return;
        }
}

TYPED_TEST(Gradients, MatchTheOracleAtEveryWidth) {
  const Context context = make_context();
  Random random(3);
  uint64_t number = 0;
  for (const Shape shape : {Shape{3, 1, 1}, Shape{33, 5, 1}, Shape{7, 1, 129}, Shape{34, 2, 131}, Shape{3, 3, 1025}})
    for (const size_t count : {size_t{1}, static_cast<size_t>(shape.n_neurons)})
      for (const ReferenceNeuron& neuron :
           reference_neurons(reference_surrogate(SYNFIRE_SURROGATE_ATAN), count, random)) {
        Random own(++number);
        if (!is_new_here(neuron) || !sampled(number - 1)) continue;
        compare_with_oracle<TypeParam>(context, neuron, shape, own);
        if (this->HasFailure()) return;
      }
}

TYPED_TEST(Gradients, OfModelsWithACurrentMatchTheOracle) {
  if (library_has_added()) GTEST_SKIP() << "the library without additions tests them";
  const Context context = make_context();
  Random random(31);
  for (const Shape shape : {Shape{1, 1, 1}, Shape{40, 3, 7}, Shape{70, 1, 33}})
    for (const size_t count : {size_t{1}, static_cast<size_t>(shape.n_neurons)})
      for (const ReferenceNeuron& neuron :
           reference_neurons(reference_surrogate(SYNFIRE_SURROGATE_SIGMOID), count, random, models_with_currents())) {
        compare_with_oracle<TypeParam>(context, neuron, shape, random);
        if (this->HasFailure()) return;
      }
}

// ---- Sums -----------------------------------------------------------------------------------------------------------

TYPED_TEST(Gradients, PerNeuronAddUpToTheOneNumber) {
  const Context context = make_context();
  const Shape shape{9, 2, 701};
  Random random(4);
  for (const ReferenceNeuron& neuron :
       sample_of(reference_neurons(reference_surrogate(SYNFIRE_SURROGATE_SIGMOID), 1, random))) {
    SCOPED_TRACE(neuron.text());
    FullRig<TypeParam> rig(context, describe(neuron, shape, dtype_of<TypeParam>));
    set_parameters(rig.layer, neuron);
    rig.load(NeuronOracle(neuron, shape).template drive<TypeParam>(random, 0));
    rig.ask(all_gradients(neuron, false));
    rig.run();
    const auto totals = rig.gradients();
    rig.ask(all_gradients(neuron, true));
    rig.run();
    const auto per_neuron = rig.gradients();
    for (size_t p = 0; p < totals.size(); ++p) {
      double sum = 0, magnitude = 0;
      for (const TypeParam share : per_neuron[p]) {
        sum += static_cast<double>(share);
        magnitude += std::fabs(static_cast<double>(share));
      }
      const double rounding = static_cast<double>(std::numeric_limits<TypeParam>::epsilon()) *
                              (std::is_same_v<TypeParam, double> ? 10 : 1);  // in f64 the sum above is rounded as well
      EXPECT_LE(std::fabs(static_cast<double>(totals[p][0]) - sum), rounding * magnitude)
          << all_gradients(neuron, false)[p].name;
    }
  }
}

// A neuron that fires in every step under a detached hard reset: dL/dv_reset is the sum of the incoming gradients.
TYPED_TEST(Gradients, AreAddedUpInDoublePrecision) {
  const Context context = make_context();
  const Shape shape{20000, 3, 5};
  synfire_layer_desc desc = describe(shape, dtype_of<TypeParam>);
  desc.model = SYNFIRE_MODEL_IF;
  desc.detach_reset = 1;
  FullRig<TypeParam> rig(context, desc);
  const auto share = static_cast<TypeParam>(0.1);
  FullInputs<TypeParam> inputs;
  inputs.x.assign(shape.sequence(), 2);
  inputs.v_init.assign(shape.row(), 0);
  inputs.grad_spike_seq.assign(shape.sequence(), 0);
  inputs.grad_v_seq.assign(shape.sequence(), share);
  inputs.grad_v_final.assign(shape.row(), 0);
  rig.load(inputs);
  rig.ask({{"v_reset", false}, {"v_reset", true}});
  rig.run();
  const auto gradients = rig.gradients();
  const double per_neuron = static_cast<double>(share) * 60000;
  const double rounding = std::is_same_v<TypeParam, double> ? 1e-11 : 1e-7;  // f32 rounds only the result
  EXPECT_LE(relative_error(gradients[0], {5 * per_neuron}), rounding);
  EXPECT_LE(relative_error(gradients[1], std::vector<double>(5, per_neuron)), rounding);
}

// ---- Independence ---------------------------------------------------------------------------------------------------

TYPED_TEST(Gradients, AreOverwritten) {
  const Context context = make_context();
  const Shape shape{35, 2, 9};
  Random random(5);
  for (const ReferenceNeuron& neuron :
       sample_of(reference_neurons(reference_surrogate(SYNFIRE_SURROGATE_SIGMOID), 1, random))) {
    FullRig<TypeParam> rig(context, describe(neuron, shape, dtype_of<TypeParam>));
    set_parameters(rig.layer, neuron);
    rig.load(NeuronOracle(neuron, shape).template drive<TypeParam>(random, 0));
    for (const bool per_neuron : {false, true}) {
      rig.ask(all_gradients(neuron, per_neuron));
      rig.run();
      const auto first = rig.gradients();
      EXPECT_OK(rig.run_backward());
      const auto second = rig.gradients();
      for (size_t p = 0; p < first.size(); ++p) EXPECT_TRUE(same_bits(first[p], second[p])) << neuron.text();
    }
  }
}

TYPED_TEST(Gradients, DoNotDependOnWhatElseIsAsked) {
  const Context context = make_context();
  const Shape shape{35, 3, 67};
  Random random(6);
  for (const size_t count : {size_t{1}, size_t{67}}) {
    for (const ReferenceNeuron& neuron :
         sample_of(reference_neurons(reference_surrogate(SYNFIRE_SURROGATE_ATAN), count, random))) {
      SCOPED_TRACE(neuron.text());
      FullRig<TypeParam> rig(context, describe(neuron, shape, dtype_of<TypeParam>));
      set_parameters(rig.layer, neuron);
      rig.load(NeuronOracle(neuron, shape).template drive<TypeParam>(random, 0));
      const FullOutputs<TypeParam> none = rig.run();
      const std::vector<Asked> totals = all_gradients(neuron, false), per_neuron = all_gradients(neuron, true);
      rig.ask(totals);
      EXPECT_TRUE(same_bits(rig.run(), none));
      const auto all_totals = rig.gradients();
      rig.ask(per_neuron);
      EXPECT_TRUE(same_bits(rig.run(), none));
      const auto all_per_neuron = rig.gradients();

      // From the last to the first, alternating between the two lengths.
      std::vector<Asked> mixed;
      for (size_t p = totals.size(); p-- > 0;) mixed.push_back({totals[p].name, p % 2 == 0});
      rig.ask(mixed);
      EXPECT_TRUE(same_bits(rig.run(), none));
      const auto of_mixed = rig.gradients();
      for (size_t i = 0; i < mixed.size(); ++i) {
        const size_t p = mixed.size() - 1 - i;
        EXPECT_TRUE(same_bits(of_mixed[i], p % 2 == 0 ? all_per_neuron[p] : all_totals[p])) << totals[p].name;
      }
      // One gradient in both lengths; nothing else is written.
      rig.ask({totals.back(), per_neuron.back()});
      synfire_backward_desc desc = rig.backward_desc();
      desc.grad_x_seq = desc.grad_v_init = desc.grad_w_init = nullptr;
      rig.poison();
      EXPECT_OK(synfire_layer_backward(rig.layer, &desc, nullptr));
      EXPECT_TRUE(same_bits(rig.gradients()[0], all_totals.back()));
      EXPECT_TRUE(same_bits(rig.gradients()[1], all_per_neuron.back()));
      EXPECT_TRUE(all_are(rig.outputs().grad_x_seq, std::numeric_limits<TypeParam>::quiet_NaN()));
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(Gradients, OfLifHaveTheBitsOfPlif) {
  const Context context = make_context();
  const Shape shape{20, 2, 15};
  Random random(7);
  ReferenceNeuron plif{&reference_models()[SYNFIRE_MODEL_PLIF - 1], &reference_surrogate(SYNFIRE_SURROGATE_SIGMOID)};
  choose_parameters(plif, 1, random);
  plif.own[0] = {0.25};
  const ReferenceNeuron lif = as_lif(plif);
  const FullInputs<TypeParam> inputs = NeuronOracle(plif, shape).template drive<TypeParam>(random, 0);
  std::vector<std::vector<TypeParam>> gradients[2];
  for (const ReferenceNeuron* const neuron : std::initializer_list<const ReferenceNeuron*>{&plif, &lif}) {
    FullRig<TypeParam> rig(context, describe(*neuron, shape, dtype_of<TypeParam>));
    set_parameters(rig.layer, *neuron);
    rig.load(inputs);
    rig.ask({{"tau", true}, {"v_rest", true}, {"tau", false}});
    rig.run();
    gradients[neuron == &lif ? 1 : 0] = rig.gradients();
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(gradients[0][i], gradients[1][i])) << i;
}

TYPED_TEST(Gradients, AnyNumberOfThreadsAndEveryReplayGiveTheSameBits) {
  const Shape shape{40, 3, 1101};  // enough for several threads in the backward
  Random random(8);
  Sample cases;
  for (const bool shared : {true, false}) {
    for (const ReferenceModel& model : reference_models()) {
      if (!cases.next()) continue;
      const size_t count = shared ? 1 : 1101;
      // Every model is split in two and in four, once with shared values and once with values per neuron.
      const int32_t n_several = (model.id % 2 == 0) == shared ? 2 : 4;
      ReferenceNeuron neuron{&model, &reference_surrogate(SYNFIRE_SURROGATE_ATAN)};
      choose_parameters(neuron, count, random);
      SCOPED_TRACE(neuron.text());
      const FullInputs<TypeParam> inputs = NeuronOracle(neuron, shape).template drive<TypeParam>(random, 0);
      std::vector<Asked> asked = all_gradients(neuron, false);
      for (size_t p = 1; p < asked.size(); p += 2) asked[p].per_neuron = true;
      std::optional<FullOutputs<TypeParam>> first;
      std::vector<std::vector<TypeParam>> first_gradients;
      const auto expect_same = [&](const FullRig<TypeParam>& rig) {
        if (!first) first = rig.outputs();
        if (first_gradients.empty()) first_gradients = rig.gradients();
        EXPECT_TRUE(same_bits(rig.outputs(), *first));
        const auto gradients = rig.gradients();
        for (size_t p = 0; p < gradients.size(); ++p)
          EXPECT_TRUE(same_bits(gradients[p], first_gradients[p])) << asked[p].name;
      };
      for (const int32_t n_threads : {1, n_several}) {
        SCOPED_TRACE(testing::Message() << n_threads << " threads");
        const Context context = make_context(n_threads);
        FullRig<TypeParam> rig(context, describe(neuron, shape, dtype_of<TypeParam>));
        set_parameters(rig.layer, neuron);
        rig.load(inputs);
        rig.ask(asked);
        rig.run();
        expect_same(rig);
        const Graph graph = rig.graph();
        for (int time = 0; time < 2; ++time) {
          rig.poison();
          replay(graph);
          expect_same(rig);
        }
        if (!on_host()) break;
      }
      if (this->HasFailure()) return;
    }
  }
}

// ---- Graphs ---------------------------------------------------------------------------------------------------------

// A graph is recorded once. Every replay uses the parameters at its launch and gives the results of a fresh layer.
TYPED_TEST(Gradients, FollowAParameterThatChangesBetweenReplays) {
  const Context context = make_context();
  const Shape shape{37, 2, 21};
  Random random(9);
  for (const ReferenceModel& model : reference_models()) {
    ReferenceNeuron neuron{&model, &reference_surrogate(SYNFIRE_SURROGATE_SIGMOID)};
    choose_parameters(neuron, 1, random);
    SCOPED_TRACE(neuron.text());
    const FullInputs<TypeParam> inputs = NeuronOracle(neuron, shape).template drive<TypeParam>(random, 0);
    FullRig<TypeParam> rig(context, describe(neuron, shape, dtype_of<TypeParam>));
    rig.load(inputs);
    rig.ask(all_gradients(neuron, true));
    set_parameters(rig.layer, neuron);
    const Graph graph = rig.graph();
    std::vector<std::vector<TypeParam>> previous;
    for (const size_t count : std::vector<size_t>{1, 1, 21, 1, 21, 21}) {
      choose_parameters(neuron, count, random);
      set_parameters(rig.layer, neuron);
      rig.poison();
      replay(graph);
      FullRig<TypeParam> fresh(context, describe(neuron, shape, dtype_of<TypeParam>));
      set_parameters(fresh.layer, neuron);
      fresh.load(inputs);
      fresh.ask(all_gradients(neuron, true));
      EXPECT_TRUE(same_bits(rig.outputs(), fresh.run()));
      const auto gradients = rig.gradients(), expected = fresh.gradients();
      for (size_t p = 0; p < gradients.size(); ++p) {
        EXPECT_TRUE(same_bits(gradients[p], expected[p])) << all_gradients(neuron, true)[p].name;
        if (!previous.empty()) {
          EXPECT_NE(gradients[p], previous[p]) << all_gradients(neuron, true)[p].name;
        }
      }
      previous = gradients;
    }
  }
}

// Two graphs of one layer, one of them without gradients of parameters, recorded before and after these.
TYPED_TEST(Gradients, LeaveGraphsWithoutThemAlone) {
  const Context context = make_context();
  const Shape shape{12, 2, 33};
  Random random(10);
  for (const size_t count : {size_t{1}, size_t{33}}) {
    ReferenceNeuron neuron{&reference_models()[SYNFIRE_MODEL_IZHIKEVICH - 1],
                           &reference_surrogate(SYNFIRE_SURROGATE_SIGMOID)};
    choose_parameters(neuron, count, random);
    FullRig<TypeParam> rig(context, describe(neuron, shape, dtype_of<TypeParam>));
    set_parameters(rig.layer, neuron);
    rig.load(NeuronOracle(neuron, shape).template drive<TypeParam>(random, 0));
    const FullOutputs<TypeParam> expected = rig.run();
    const Graph before = rig.graph();
    rig.ask(all_gradients(neuron, true));
    const Graph with = rig.graph();
    for (const Graph* graph : {&before, &with, &before, &with}) {
      rig.poison();
      replay(*graph);
      EXPECT_TRUE(same_bits(rig.outputs(), expected));
      for (const auto& gradient : rig.gradients()) EXPECT_EQ(std::isnan(gradient[0]), graph == &before);
    }
  }
}

}  // namespace
}  // namespace synfire_test
