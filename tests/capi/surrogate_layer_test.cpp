// Surrogates through a layer: their derivatives at every critical point, infinities and NaN included, and parameters
// that change between replays of a graph that is recorded once. Their accuracy at other points: tests/model.
#include <cmath>

#include "neuron_oracle.hpp"

namespace synfire_test {
namespace {

template <typename Scalar>
class SurrogateLayer : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(SurrogateLayer, Scalars);

// g'(±∞), which is nonzero for the one-sided and the leaky ones.
double at_infinity(const ReferenceSurrogate& surrogate, const double* p, bool positive) {
  switch (surrogate.id) {
    case SYNFIRE_SURROGATE_PIECEWISE_LEAKY_RELU:
      return p[1];
    case SYNFIRE_SURROGATE_LEAKY_K_RELU:
      return positive ? p[1] : p[0];
    case SYNFIRE_SURROGATE_LOG_TAILED_RELU:
      return positive ? 0 : p[0];
    default:
      return 0;
  }
}

double expected_derivative(const ReferenceSurrogate& surrogate, const double* p, double x) {
  if (std::isnan(x)) return 0;
  if (std::isinf(x)) return at_infinity(surrogate, p, x > 0);
  // Both zeros are the threshold itself, where the difference quotient of the step is limited to alpha.
  if (surrogate.id == SYNFIRE_SURROGATE_FAKE_NUMERICAL_GRADIENT && x == 0) return p[0];
  return surrogate.derivative(p, x);
}

// An IF neuron at rest with threshold 0 and one step: H − v_threshold is X itself. With a detached reset the gradient
// of X is g'(X), for infinite X too.
TYPED_TEST(SurrogateLayer, IsRightAtEveryCriticalPoint) {
  using R = TypeParam;
  constexpr R infinity = std::numeric_limits<R>::infinity(), largest = std::numeric_limits<R>::max();
  const Context context = make_context();
  for (const ReferenceSurrogate& surrogate : reference_surrogates()) {
    // Powers of two, so that ±alpha, ±1/alpha, ±1/(2·alpha) and ±w are exact and x can be the edge itself.
    std::vector<std::vector<double>> sets = {{}};
    for (const TestedParameter& parameter : surrogate.parameters) {
      std::vector<std::vector<double>> more;
      const bool at_most_one = surrogate.id == SYNFIRE_SURROGATE_MULTI_GAUSSIAN && parameter.name == std::string("h");
      const std::vector<double> values = parameter.whole ? std::vector<double>{2, 3}
                                         : at_most_one   ? std::vector<double>{0.25, 0.5, 1}
                                         : surrogate.id == SYNFIRE_SURROGATE_Q_PSEUDO_SPIKE
                                             ? std::vector<double>{1.5, 2, 4}
                                             : std::vector<double>{0.25, 0.5, 1, 4};
      for (const std::vector<double>& set : sets)
        for (const double value : values) more.push_back(joined(set, std::vector<double>{value}));
      sets = more;
    }
    for (const std::vector<double>& p : sets) {
      std::vector<R> points = {0,
                               R(0.25),
                               R(0.5),
                               R(1),
                               R(2),
                               R(8),
                               R(1e-30),
                               R(1e-3),
                               R(1e3),
                               R(1e6),
                               R(1e30),
                               largest,
                               infinity,
                               std::numeric_limits<R>::denorm_min(),
                               std::nextafter(R(1), R(0)),
                               std::nextafter(R(1), R(2))};
      for (const double value : p) {
        for (const double edge : {value, 1 / value, 0.5 / value, 1 / (value * value)}) {
          const R at = static_cast<R>(edge);
          points.insert(points.end(), {at, std::nextafter(at, R(0)), std::nextafter(at, largest)});
        }
      }
      std::vector<R> x;
      for (const R point : points) x.insert(x.end(), {point, -point});
      x.push_back(std::numeric_limits<R>::quiet_NaN());

      synfire_layer_desc desc = describe(Shape{1, 1, static_cast<int64_t>(x.size())}, dtype_of<R>);
      desc.model = SYNFIRE_MODEL_IF;
      desc.surrogate = surrogate.id;
      desc.detach_reset = 1;
      FullRig<R> rig(context, desc);
      set_parameter(rig.layer, "v_threshold", {0});
      std::string text = surrogate.name;
      for (size_t i = 0; i < p.size(); ++i) {
        set_parameter(rig.layer, surrogate.parameters[i].name, {p[i]});
        (text += ' ') += std::to_string(p[i]);
      }
      SCOPED_TRACE(text);
      const std::vector<R> zeros(x.size(), 0);
      rig.load({x, zeros, {}, std::vector<R>(x.size(), 1), zeros, zeros, {}, {}});
      const FullOutputs<R> out = rig.run();
      double peak = 0;
      for (const R at : x)
        if (std::isfinite(at))
          peak = std::fmax(peak, std::fabs(expected_derivative(surrogate, p.data(), static_cast<double>(at))));
      for (size_t i = 0; i < x.size(); ++i) {
        const double wanted = expected_derivative(surrogate, p.data(), static_cast<double>(x[i]));
        const double got = static_cast<double>(out.grad_x_seq[i]);
        // Far out, the reference's sums of cosines lose the angle. The layer is 0 beyond 2²¹ (f32) or 2⁵⁰ (f64)
        // periods.
        if (surrogate.id == SYNFIRE_SURROGATE_SQUAREWAVE_FOURIER_SERIES && std::fabs(x[i]) >= R(1e6)) {
          EXPECT_LE(std::fabs(got), peak * 1.00001) << "x " << x[i];
          continue;
        }
        if (!std::isfinite(x[i])) {
          EXPECT_EQ(got, wanted) << "x " << x[i];
        } else {
          EXPECT_LE(std::fabs(got - wanted), peak * (std::is_same_v<R, float> ? 3e-7 : 1e-14))
              << "x " << x[i] << ": " << got << " against " << wanted;
        }
        EXPECT_EQ(out.spikes[i], x[i] >= R(0) ? R(1) : R(0)) << "x " << x[i];
      }
      EXPECT_EQ(out.grad_x_seq[0], out.grad_x_seq[1]) << "0 and -0";
      if (this->HasFailure()) return;
    }
  }
}

// Annealing: a graph is recorded once with the defaults. After each change its replay has the bits of a fresh layer
// created with those values.
TYPED_TEST(SurrogateLayer, ParametersChangeBetweenReplaysWithoutRecordingAgain) {
  const Context context = make_context();
  const Shape shape{11, 2, 13};
  Random random(31);
  for (const ReferenceSurrogate& surrogate : reference_surrogates()) {
    SCOPED_TRACE(surrogate.name);
    ReferenceNeuron neuron{&reference_models()[SYNFIRE_MODEL_LIF - 1], &surrogate};
    choose_parameters(neuron, 1, random);
    const FullInputs<TypeParam> inputs = NeuronOracle(neuron, shape).template drive<TypeParam>(random, 0);
    const synfire_layer_desc desc = describe(neuron, shape, dtype_of<TypeParam>);
    FullRig<TypeParam> rig(context, desc);
    rig.load(inputs);
    const Graph graph = rig.graph();
    const std::vector<std::vector<double>> own = neuron.own;
    const std::vector<double> v_threshold = neuron.v_threshold, v_reset = neuron.v_reset;
    std::vector<TypeParam> previous;
    for (const size_t count : {size_t{1}, size_t{1}, size_t{13}, size_t{13}, size_t{1}}) {
      choose_parameters(neuron, count, random);
      neuron.own = own, neuron.v_threshold = v_threshold, neuron.v_reset = v_reset;
      set_parameters(rig.layer, neuron);
      rig.poison();
      replay(graph);
      FullRig<TypeParam> fresh(context, desc);
      set_parameters(fresh.layer, neuron);
      fresh.load(inputs);
      EXPECT_TRUE(same_bits(rig.outputs(), fresh.run()));
      EXPECT_NE(rig.outputs().grad_x_seq, previous);
      previous = rig.outputs().grad_x_seq;
    }
  }
}

}  // namespace
}  // namespace synfire_test
