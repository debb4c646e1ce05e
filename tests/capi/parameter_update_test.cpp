// Parameters that replays update: the update, its clamps, the constants derived from the new value, the order relative
// to the host's changes, and several parameters set together.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "recording_support.hpp"

namespace synfire_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

template <typename Scalar>
class ParameterUpdate : public testing::Test {
 protected:
  const Context context_ = make_context();

  Layer make(int32_t model, int64_t n_neurons = 5) const {
    synfire_layer_desc desc = describe(Shape{4, 2, n_neurons}, dtype_of<Scalar>);
    desc.model = model;
    return make_layer(context_, desc);
  }
  Buffer gradient(const std::vector<Scalar>& values) const { return make_buffer_of(context_, values); }

  Graph updating(synfire_layer layer, const synfire_update_parameter_desc& desc) const {
    Graph graph = make_graph(context_);
    EXPECT_OK(synfire_graph_record_update_parameter(graph, layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  }
  Graph updating(synfire_layer layer, const char* name, synfire_buffer gradient, double rate) const {
    return updating(layer, update_desc(name, gradient, rate));
  }

  // Everything that depends on a layer's constants has the bits of a fresh layer that was given the same parameters.
  void expect_as_if_set(synfire_layer layer, int32_t model, int64_t n_neurons = 5) const {
    const Layer fresh = make(model, n_neurons);
    for (uint32_t index = 0;; ++index) {
      synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
      if (synfire_layer_get_parameter_info(layer, index, &info) != SYNFIRE_OK) break;
      std::vector<double> values(info.length);
      EXPECT_OK(synfire_layer_get_parameter(layer, info.name, values.data(), values.size()));
      EXPECT_OK(synfire_layer_set_parameter(fresh, info.name, values.data(), values.size()));
    }
    const Shape shape{4, 2, n_neurons};
    const Inputs<Scalar> inputs = random_inputs<Scalar>(shape, 9);
    const Buffer x = make_buffer_of(context_, inputs.x), v_init = make_buffer_of(context_, inputs.v_init);
    const Buffer w_init = make_buffer_of(context_, inputs.grad_v_final);
    const Buffer grad = make_buffer_of(context_, inputs.grad_spike_seq);
    std::vector<Scalar> h[2], grad_x[2], grad_p[2];
    int which = 0;
    for (synfire_layer each : {layer, fresh.get()}) {
      const Buffer h_seq = make_buffer(context_, dtype_of<Scalar>, shape.sequence());
      const Buffer grad_x_seq = make_buffer(context_, dtype_of<Scalar>, shape.sequence());
      const Buffer grad_v_threshold = make_buffer(context_, dtype_of<Scalar>, 1);
      const Buffer grad_own = make_buffer(context_, dtype_of<Scalar>, static_cast<uint64_t>(n_neurons));
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.x = x;
      forward.v_init = v_init;
      if (model == SYNFIRE_MODEL_IZHIKEVICH) forward.w_init = w_init;
      forward.h_seq = h_seq;
      EXPECT_OK(synfire_layer_forward(each, &forward, nullptr));
      synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
      backward.grad_spike_seq = grad;
      backward.grad_x_seq = grad_x_seq;
      const synfire_parameter_gradient gradients[2] = {
          {"v_threshold", grad_v_threshold}, {model == SYNFIRE_MODEL_PLIF ? "reciprocal_tau" : "tau", grad_own}};
      backward.parameter_gradients = gradients;
      backward.n_parameter_gradients = model == SYNFIRE_MODEL_IF ? 1 : 2;
      EXPECT_OK(synfire_layer_backward(each, &backward, nullptr));
      h[which] = download<Scalar>(h_seq, shape.sequence());
      grad_x[which] = download<Scalar>(grad_x_seq, shape.sequence());
      grad_p[which] =
          joined(download<Scalar>(grad_own, static_cast<size_t>(n_neurons)), download<Scalar>(grad_v_threshold, 1));
      ++which;
    }
    EXPECT_TRUE(same_bits(h[0], h[1])) << "H";
    EXPECT_TRUE(same_bits(grad_x[0], grad_x[1])) << "dL/dX";
    EXPECT_TRUE(same_bits(grad_p[0], grad_p[1])) << "dL/dp";
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ParameterUpdate, Scalars);

// ---- one update -----------------------------------------------------------------------------------------------------

TYPED_TEST(ParameterUpdate, EveryParameterOfEveryModelTakesAStep) {
  for (const int32_t model : {SYNFIRE_MODEL_IF, SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_PLIF, SYNFIRE_MODEL_QIF,
                              SYNFIRE_MODEL_EIF, SYNFIRE_MODEL_IZHIKEVICH}) {
    const Layer layer = this->make(model);
    for (uint32_t index = 0;; ++index) {
      synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
      if (synfire_layer_get_parameter_info(layer, index, &info) != SYNFIRE_OK) break;
      SCOPED_TRACE(testing::Message() << "model " << model << ", " << info.name);
      const Buffer grad = this->gradient({static_cast<TypeParam>(-0.3)});
      const synfire_update_parameter_desc desc = update_desc(info.name, grad, 0.7);
      if (std::string_view(info.name) == "alpha") {  // a parameter of the surrogate
        const Graph graph = make_graph(this->context_);
        EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("alpha", "surrogate"),
                     synfire_graph_record_update_parameter(graph, layer, &desc));
        continue;
      }
      const Graph graph = this->updating(layer, desc);
      double value = get_parameter(layer, info.name)[0];
      for (int step = 0; step < 3; ++step) {
        replay(graph);
        value = std::fma(-0.7, static_cast<double>(static_cast<TypeParam>(-0.3)), value);
        EXPECT_EQ(get_parameter(layer, info.name)[0], value);
      }
      this->expect_as_if_set(layer, model);
    }
  }
}

TYPED_TEST(ParameterUpdate, OneNumberPerNeuron) {
  Random random(4);
  for (const int64_t n : {5, 300}) {
    const auto count = static_cast<size_t>(n);
    for (const int32_t model : {SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_EIF, SYNFIRE_MODEL_IZHIKEVICH}) {
      SCOPED_TRACE(testing::Message() << model << ", " << n);
      const Layer layer = this->make(model, n);
      std::vector<double> tau = random.values<double>(count, 1.5, 4);
      set_parameter(layer, "tau", tau);
      const std::vector<TypeParam> values = random.values<TypeParam>(count, -0.5, 0.5);
      const Buffer grad = this->gradient(values), shared = this->gradient({TypeParam(0.25)});
      // One parameter per neuron and one shared, in one graph.
      const Graph graph = make_graph(this->context_);
      record_update(graph, layer, "tau", grad, 0.1);
      record_update(graph, layer, "v_rest", shared, 0.5);
      EXPECT_OK(synfire_graph_instantiate(graph));
      const double v_rest = get_parameter(layer, "v_rest")[0];
      for (int step = 0; step < 2; ++step) {
        replay(graph);
        for (size_t i = 0; i < count; ++i) tau[i] = std::fma(-0.1, static_cast<double>(values[i]), tau[i]);
      }
      EXPECT_TRUE(same_bits(get_parameter(layer, "tau", count), tau));
      EXPECT_EQ(get_parameter(layer, "v_rest")[0], v_rest - 0.25);
      this->expect_as_if_set(layer, model, n);
      // Another parameter becomes per neuron, a third one shared again; updates continue.
      set_parameter(layer, "v_threshold", random.values<double>(count, 0.5, 1.5));
      replay(graph);
      set_parameter(layer, "v_threshold", {0.75});
      replay(graph);
      EXPECT_EQ(get_parameter(layer, "v_rest")[0], v_rest - 0.5);
      this->expect_as_if_set(layer, model, n);
    }
  }
}

// The constants of a shared parameter become per neuron after the graph was created.
TYPED_TEST(ParameterUpdate, ConstantsBecomePerNeuronLater) {
  const int64_t n = 300;
  Random random(6);
  const Layer layer = this->make(SYNFIRE_MODEL_LIF, n);
  const Buffer grad = this->gradient({TypeParam(0.125)});
  const Graph graph = this->updating(layer, "tau", grad, 1);
  replay(graph);
  set_parameter(layer, "v_rest", random.values<double>(static_cast<size_t>(n), -0.2, 0.2));
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 1.75);
  this->expect_as_if_set(layer, SYNFIRE_MODEL_LIF, n);
  set_parameter(layer, "v_rest", {0.1});
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 1.625);
  this->expect_as_if_set(layer, SYNFIRE_MODEL_LIF, n);
}

TYPED_TEST(ParameterUpdate, SecondNames) {
  const Layer layer = this->make(SYNFIRE_MODEL_PLIF);
  const Buffer grad = this->gradient({TypeParam(0.5)});
  const Graph along_tau = this->updating(layer, "tau", grad, 1);
  replay(along_tau);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 1.5);
  EXPECT_EQ(get_parameter(layer, "reciprocal_tau")[0], 1 / 1.5);
  this->expect_as_if_set(layer, SYNFIRE_MODEL_PLIF);
  set_parameter(layer, "tau", {2});
  const Graph along_reciprocal = this->updating(layer, "reciprocal_tau", grad, 0.5);
  replay(along_reciprocal);
  EXPECT_EQ(get_parameter(layer, "reciprocal_tau")[0], 0.25);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 4);
  this->expect_as_if_set(layer, SYNFIRE_MODEL_PLIF);
}

// ---- the range ------------------------------------------------------------------------------------------------------

TYPED_TEST(ParameterUpdate, OpenRangesEndWhereConstantsStayFinite) {
  const double largest = std::numeric_limits<TypeParam>::max();
  for (const int32_t model : {SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_EIF, SYNFIRE_MODEL_QIF, SYNFIRE_MODEL_IZHIKEVICH}) {
    SCOPED_TRACE(model);
    const Layer layer = this->make(model);
    const Buffer grad = this->gradient({TypeParam(1e6)});
    const Graph graph = this->updating(layer, "tau", grad, 1e6);
    replay(graph);
    const double tau = get_parameter(layer, "tau")[0];
    EXPECT_GT(tau, 0);
    // This value may be set, but no smaller one.
    EXPECT_OK(synfire_layer_set_parameter(layer, "tau", &tau, 1));
    const double below = std::nextafter(tau, 0);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("tau"), synfire_layer_set_parameter(layer, "tau", &below, 1));
    if (model == SYNFIRE_MODEL_LIF) {
      EXPECT_LE(1 / tau, largest);
      EXPECT_GT(1 / below, largest);
    }
    this->expect_as_if_set(layer, model);
    replay(graph);  // it stays there
    EXPECT_EQ(get_parameter(layer, "tau")[0], tau);
  }
  // The other end of the range: constants stay finite there too.
  const Layer layer = this->make(SYNFIRE_MODEL_LIF);
  const Buffer grad = this->gradient({TypeParam(-1)});
  const Graph graph = this->updating(layer, "v_threshold", grad, std::numeric_limits<double>::max());
  replay(graph);
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "v_threshold")[0], largest);
  this->expect_as_if_set(layer, SYNFIRE_MODEL_LIF);
}

TYPED_TEST(ParameterUpdate, ReciprocalsStayInTheirRange) {
  for (const double sign : {1.0, -1.0}) {
    SCOPED_TRACE(sign);
    const Layer layer = this->make(SYNFIRE_MODEL_PLIF);
    const Buffer grad = this->gradient({static_cast<TypeParam>(sign * 1e30)});
    const Graph graph = this->updating(layer, "tau", grad, 1e300);
    replay(graph);
    const double reciprocal = get_parameter(layer, "reciprocal_tau")[0];
    EXPECT_GT(reciprocal, 0);
    EXPECT_LE(reciprocal, static_cast<double>(std::numeric_limits<TypeParam>::max()));
    EXPECT_EQ(reciprocal > 1, sign > 0);
    EXPECT_OK(synfire_layer_set_parameter(layer, "reciprocal_tau", &reciprocal, 1));
    this->expect_as_if_set(layer, SYNFIRE_MODEL_PLIF);
  }
}

TYPED_TEST(ParameterUpdate, BoundsOfOnesOwn) {
  const Layer layer = this->make(SYNFIRE_MODEL_LIF);
  const Buffer grad = this->gradient({TypeParam(1)});
  synfire_update_parameter_desc desc = update_desc("tau", grad, 0.75);
  desc.bounds = SYNFIRE_BOUND_LOWER | SYNFIRE_BOUND_UPPER;
  desc.lower = 1.125;
  desc.upper = 3;
  const Graph graph = this->updating(layer, desc);
  const int32_t operation = 0;
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 1.25);
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 1.125);
  EXPECT_OK(synfire_graph_set_value(graph, operation, "learning_rate", -8));
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 3);
  // The host may set a value outside; the next step clamps it.
  set_parameter(layer, "tau", {100});
  EXPECT_EQ(get_parameter(layer, "tau")[0], 100);
  EXPECT_OK(synfire_graph_set_value(graph, operation, "learning_rate", 0));
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 3);
}

// One bad step without bounds ends where the gradient is 0; with those of training, tau stays from 1 to 10,000.
TYPED_TEST(ParameterUpdate, NaNAsksForTheBoundsOfTraining) {
  for (const double sign : {-1.0, 1.0}) {
    const Layer layer = this->make(SYNFIRE_MODEL_LIF);
    const Buffer grad = this->gradient({TypeParam(sign * 1e30)});
    synfire_update_parameter_desc desc = update_desc("tau", grad, 1);
    desc.bounds = SYNFIRE_BOUND_LOWER | SYNFIRE_BOUND_UPPER;
    desc.lower = desc.upper = nan_value;
    const Graph graph = this->updating(layer, desc);
    replay(graph);
    EXPECT_EQ(get_parameter(layer, "tau")[0], sign > 0 ? 1 : 10000);
  }
}

TYPED_TEST(ParameterUpdate, AnInfinityIsNoBound) {
  const Layer layer = this->make(SYNFIRE_MODEL_LIF), free = this->make(SYNFIRE_MODEL_LIF);
  const Buffer grad = this->gradient({TypeParam(1e30)});
  synfire_update_parameter_desc desc = update_desc("tau", grad, 1);
  const Graph without = this->updating(free, desc);
  desc.bounds = SYNFIRE_BOUND_LOWER | SYNFIRE_BOUND_UPPER;
  desc.lower = -infinity;
  desc.upper = infinity;
  const Graph graph = this->updating(layer, desc);
  replay(graph);
  replay(without);
  EXPECT_TRUE(same_bits(get_parameter(layer, "tau", 1), get_parameter(free, "tau", 1)));
}

TYPED_TEST(ParameterUpdate, GradientsThatAreNoNumbersChangeNothing) {
  const size_t n = 5;
  const Layer layer = this->make(SYNFIRE_MODEL_LIF);
  const std::vector<double> tau = {2, 3, 4, 5, 6};
  set_parameter(layer, "tau", tau);
  const auto inf = static_cast<TypeParam>(infinity), nan = static_cast<TypeParam>(nan_value);
  const Buffer grad = this->gradient({nan, TypeParam(0.5), inf, -inf, -nan});
  const Graph graph = this->updating(layer, "tau", grad, 1);
  replay(graph);
  EXPECT_TRUE(same_bits(get_parameter(layer, "tau", n), {2, 2.5, 4, 5, 6}));
  this->expect_as_if_set(layer, SYNFIRE_MODEL_LIF);
}

// ---- order with the host --------------------------------------------------------------------------------------------

// Replays in flight, with values set between launches: each set comes after the updates of earlier launches and before
// those of later ones.
TYPED_TEST(ParameterUpdate, TheHostsValuesAreOrderedByTicket) {
  constexpr uint32_t n_slots = 6;
  const Shape shape{4, 2, 5};
  const Layer layer = this->make(SYNFIRE_MODEL_LIF);
  const Buffer x = make_frame(this->context_, shape.sequence(), SYNFIRE_MEMORY_DEVICE, dtype_of<TypeParam>);
  EXPECT_OK(synfire_buffer_fill(x, 1));
  const Buffer h = make_frame(this->context_, shape.sequence(), SYNFIRE_MEMORY_PINNED, dtype_of<TypeParam>);
  const Buffer v_init = make_buffer_of(this->context_, std::vector<TypeParam>(shape.row(), 0));
  const Buffer grad = this->gradient({TypeParam(1)});
  const Graph graph = make_slotted_graph(this->context_, n_slots);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.v_init = v_init;
  forward.h_seq = h;
  forward.tape = SYNFIRE_TAPE_NONE;
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  const int32_t update = record_update(graph, layer, "tau", grad, -1);
  EXPECT_OK(synfire_graph_instantiate(graph));
  double tau = 2;
  std::vector<double> seen;
  uint64_t tickets[n_slots];
  for (uint32_t k = 0; k < n_slots; ++k) {
    if (k == 2) set_parameter(layer, "tau", {tau = 10});
    if (k == 4) {
      // Only the last of two sets counts, together with a learning rate.
      set_parameter(layer, "tau", {77});
      set_parameter(layer, "tau", {tau = 20});
      EXPECT_OK(synfire_graph_set_value(graph, update, "learning_rate", -0.5));
    }
    tickets[k] = launch(graph);
    seen.push_back(tau);
    tau += k < 4 ? 1 : 0.5;
  }
  set_parameter(layer, "v_threshold", {0.875});  // another parameter: the updates in flight are not lost
  EXPECT_EQ(get_parameter(layer, "tau")[0], tau) << "reading waits for them";
  for (uint32_t k = 0; k < n_slots; ++k) {
    wait(graph, tickets[k]);
    void* data = nullptr;
    EXPECT_OK(synfire_graph_get_slot(graph, tickets[k], h, &data, nullptr));
    // H[1] = X/tau, from V = 0 and X = 1.
    EXPECT_EQ(*static_cast<TypeParam*>(data), static_cast<TypeParam>(1 / seen[k])) << k;
  }
  // Set after the last launch: the value is kept, and the next replay's update starts from it.
  set_parameter(layer, "tau", {5});
  EXPECT_EQ(get_parameter(layer, "tau")[0], 5);
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 5.5);
  EXPECT_EQ(get_parameter(layer, "v_threshold")[0], 0.875);
}

TYPED_TEST(ParameterUpdate, TheHostsValuesPerNeuronAreOrderedByTicket) {
  constexpr uint32_t n_slots = 4;
  constexpr size_t n = 5;
  const Layer layer = this->make(SYNFIRE_MODEL_LIF);
  set_parameter(layer, "v_rest", std::vector<double>(n, 0));
  const Buffer grad = this->gradient(std::vector<TypeParam>(n, 1));
  const Graph graph = make_slotted_graph(this->context_, n_slots);
  record_update(graph, layer, "v_rest", grad, -1);
  EXPECT_OK(synfire_graph_instantiate(graph));
  std::vector<double> expected(n, 0);
  for (uint32_t k = 0; k < 12; ++k) {
    if (k % 3 == 1) {
      for (size_t i = 0; i < n; ++i) expected[i] = static_cast<double>(100 * k + i);
      set_parameter(layer, "v_rest", expected);
    }
    const uint64_t ticket = launch(graph);
    if (k >= n_slots - 1) wait(graph, ticket);
    for (double& value : expected) value += 1;
  }
  EXPECT_TRUE(same_bits(get_parameter(layer, "v_rest", n), expected));
  this->expect_as_if_set(layer, SYNFIRE_MODEL_LIF);
}

// The host checks a value against the other parameters as it last read them. If replays have changed those, a constant
// may overflow; it then becomes the largest number of its sign.
TYPED_TEST(ParameterUpdate, ConstantsThatNoCheckLetPassAreHeldFinite) {
  const double large = std::is_same_v<TypeParam, float> ? 1e30 : 1e200;
  const TypeParam largest = std::numeric_limits<TypeParam>::max();
  for (const bool per_neuron : {false, true})
    for (const double sign : {1.0, -1.0}) {
      SCOPED_TRACE(testing::Message() << "per neuron " << per_neuron << ", sign " << sign);
      const size_t count = per_neuron ? 5 : 1;
      const Layer layer = this->make(SYNFIRE_MODEL_LIF);
      if (per_neuron) set_parameter(layer, "v_rest", std::vector<double>(count, 0));
      const Buffer grad = this->gradient(std::vector<TypeParam>(count, static_cast<TypeParam>(-sign)));
      const Graph graph = this->updating(layer, "v_rest", grad, large);
      replay(graph);
      set_parameter(layer, "tau", std::vector<double>(count, 1 / large));  // v_rest/tau is 1e60, or 1e400
      const Buffer x = make_buffer(this->context_, dtype_of<TypeParam>, 40),
                   v_init = make_buffer(this->context_, dtype_of<TypeParam>, 10),
                   h_seq = make_buffer(this->context_, dtype_of<TypeParam>, 40);
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.x = x;
      forward.v_init = v_init;
      forward.h_seq = h_seq;
      EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
      EXPECT_TRUE(all_are(download<TypeParam>(h_seq, 10), static_cast<TypeParam>(sign) * largest));
      EXPECT_TRUE(same_bits(get_parameter(layer, "v_rest", count), std::vector<double>(count, sign * large)));
    }
}

// A thread reads while another one launches. The value read must not be mistaken for the result of the last replay.
TYPED_TEST(ParameterUpdate, ReadingWhileAnotherThreadLaunchesLosesNoUpdate) {
  const Layer layer = this->make(SYNFIRE_MODEL_LIF);
  const Buffer grad = this->gradient({TypeParam(-1)});
  const Graph graph = this->updating(layer, "v_rest", grad, 1);
  set_parameter(layer, "v_rest", {0});
  double expected = 0;
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> reading{false}, done{false};
    std::thread reader([&] {
      double value = 0, last = 0;
      do {
        EXPECT_OK(synfire_layer_get_parameter(layer, "v_rest", &value, 1));
        EXPECT_GE(value, last);
        last = value;
        reading = true;
      } while (!done);
    });
    while (!reading) std::this_thread::yield();
    for (int i = 0; i < 3; ++i) {
      replay(graph);
      expected += 1;
    }
    done = true;
    reader.join();
    ASSERT_EQ(get_parameter(layer, "v_rest")[0], expected) << "round " << round;
  }
}

TYPED_TEST(ParameterUpdate, SurrogatesStaySettable) {
  const Layer layer = this->make(SYNFIRE_MODEL_LIF);
  const Buffer grad = this->gradient({TypeParam(0.25)});
  const Graph graph = this->updating(layer, "tau", grad, 1);
  replay(graph);
  set_parameter(layer, "alpha", {1.5});
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "alpha")[0], 1.5);
  this->expect_as_if_set(layer, SYNFIRE_MODEL_LIF);
  set_parameter(layer, "alpha", {1, 2, 3, 4, 5});
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 1.25);
  this->expect_as_if_set(layer, SYNFIRE_MODEL_LIF);
}

// ---- tapes ----------------------------------------------------------------------------------------------------------

TYPED_TEST(ParameterUpdate, AnUpdateMakesTapesStale) {
  const Shape shape{4, 2, 5};
  Rig<TypeParam> rig(this->context_, describe(shape, dtype_of<TypeParam>));
  rig.load(random_inputs<TypeParam>(shape, 3));
  const Buffer grad = this->gradient({TypeParam(0)});
  const Graph update = this->updating(rig.layer, "tau", grad, 1);
  EXPECT_OK(rig.run_forward());
  EXPECT_OK(rig.run_backward());
  replay(update);
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("parameter"), rig.run_backward());
  EXPECT_OK(rig.run_forward());
  EXPECT_OK(rig.run_backward());

  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  const Graph graph = make_graph(this->context_);
  record_update(graph, rig.layer, "tau", grad, 1);
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("parameter"),
               synfire_graph_record_backward(graph, rig.layer, &backward));
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
  EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
  const int32_t last = record_update(graph, rig.layer, "tau", grad, 1);
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("operation", "parameter"),
               synfire_graph_record_backward(graph, rig.layer, &backward));
  EXPECT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  replay(graph);
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("parameter"), rig.run_backward());
  EXPECT_OK(synfire_graph_set_enabled(graph, last, 0));
  replay(graph);
  EXPECT_OK(rig.run_backward()) << "the tape of the forward after the first update";
}

TYPED_TEST(ParameterUpdate, ADisabledUpdateUpdatesNothing) {
  const Layer layer = this->make(SYNFIRE_MODEL_LIF);
  const Buffer grad = this->gradient({TypeParam(0.25)});
  const Graph graph = this->updating(layer, "tau", grad, 1);
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 2);
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 1));
  replay(graph);
  EXPECT_EQ(get_parameter(layer, "tau")[0], 1.75);
}

// ---- Several at once ------------------------------------------------------------------------------------------------

TYPED_TEST(ParameterUpdate, SeveralParametersAreSetAllOrNone) {
  for (const bool updated : {false, true}) {
    SCOPED_TRACE(updated);
    const Layer layer = this->make(SYNFIRE_MODEL_LIF);
    const Buffer grad = this->gradient({TypeParam(0)});
    Graph graph;
    if (updated) graph = this->updating(layer, "v_reset", grad, 1);
    const double tau[5] = {2, 3, 4, 5, 6}, v_rest = 0.25, alpha = 3, zero = 0, tiny = 1e-310;
    const synfire_parameter_values good[3] = {{"tau", tau, 5}, {"v_rest", &v_rest, 1}, {"alpha", &alpha, 1}};
    EXPECT_OK(synfire_layer_set_parameters(layer, good, 3));
    EXPECT_TRUE(same_bits(get_parameter(layer, "tau", 5), std::vector<double>(tau, tau + 5)));
    EXPECT_EQ(get_parameter(layer, "v_rest")[0], 0.25);
    EXPECT_EQ(get_parameter(layer, "alpha")[0], 3);
    if (updated) replay(graph);
    this->expect_as_if_set(layer, SYNFIRE_MODEL_LIF);

    const double one = 1;
    const auto refuses = [&](std::initializer_list<std::string_view> words,
                             std::vector<synfire_parameter_values> list) {
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words,
                   synfire_layer_set_parameters(layer, list.data(), list.size()));
    };
    refuses({"tau"}, {{"v_rest", &one, 1}, {"tau", &zero, 1}});
    refuses({"tau"}, {{"v_rest", &one, 1}, {"tau", &tiny, 1}});
    refuses({"v_rest"}, {{"v_rest", &one, 1}, {"v_rest", &one, 1}});
    refuses({"nonsense"}, {{"v_rest", &one, 1}, {"nonsense", &one, 1}});
    refuses({"count"}, {{"v_rest", &one, 1}, {"tau", tau, 3}});
    refuses({"name"}, {{"v_rest", &one, 1}, {nullptr, tau, 3}});
    refuses({"values"}, {{"v_rest", &one, 1}, {"tau", nullptr, 3}});
    refuses({"n_values"}, std::vector<synfire_parameter_values>(99, {"v_rest", &one, 1}));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("n_values"), synfire_layer_set_parameters(layer, good, 0));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("list"), synfire_layer_set_parameters(layer, nullptr, 1));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_set_parameters(nullptr, good, 1));
    EXPECT_EQ(get_parameter(layer, "v_rest")[0], 0.25);
    EXPECT_TRUE(same_bits(get_parameter(layer, "tau", 5), std::vector<double>(tau, tau + 5)));
    if (updated) replay(graph);
    this->expect_as_if_set(layer, SYNFIRE_MODEL_LIF);
  }
}

// ---- Bad input ------------------------------------------------------------------------------------------------------

TYPED_TEST(ParameterUpdate, BadInput) {
  const Layer layer = this->make(SYNFIRE_MODEL_LIF);
  const Buffer one = this->gradient({TypeParam(1)}), five = this->gradient(std::vector<TypeParam>(5, 1));
  const Buffer other =
      make_buffer(this->context_, dtype_of<TypeParam> == SYNFIRE_DTYPE_F32 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32, 1);
  const Graph graph = make_graph(this->context_);
  const auto refuses = [&](synfire_status status, std::initializer_list<std::string_view> words,
                           const synfire_update_parameter_desc& desc) {
    EXPECT_FAILS(status, words, synfire_graph_record_update_parameter(graph, layer, &desc));
  };
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"nonsense", "tau"}, update_desc("nonsense", one, 1));
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"name"}, update_desc(nullptr, one, 1));
  refuses(SYNFIRE_ERROR_INVALID_HANDLE, {"gradient"}, update_desc("tau", nullptr, 1));
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"gradient"}, update_desc("tau", other, 1));
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"gradient", "tau"}, update_desc("tau", five, 1));
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"learning_rate"}, update_desc("tau", one, infinity));
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"learning_rate"}, update_desc("tau", one, nan_value));
  synfire_update_parameter_desc desc = update_desc("tau", one, 1);
  desc.bounds = 4;
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"bounds"}, desc);
  desc.bounds = SYNFIRE_BOUND_LOWER | SYNFIRE_BOUND_UPPER;
  desc.lower = 3;
  desc.upper = 2;
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"lower", "upper"}, desc);
  desc.upper = -infinity;
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"upper"}, desc);
  desc.lower = infinity;
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"lower"}, desc);
  desc.lower = -2;
  desc.upper = -1;
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"lower", "upper"}, desc);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("desc"),
               synfire_graph_record_update_parameter(graph, layer, nullptr));
  // A parameter that a graph updates cannot change its length.
  set_parameter(layer, "tau", {2, 3, 4, 5, 6});
  refuses(SYNFIRE_ERROR_INVALID_ARGUMENT, {"gradient"}, update_desc("tau", one, 1));
  EXPECT_EQ(record_update(graph, layer, "tau", five, 1), 0);
  const double number = 2;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count", "tau"),
               synfire_layer_set_parameter(layer, "tau", &number, 1));
  EXPECT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  EXPECT_TRUE(same_bits(get_parameter(layer, "tau", 5), {1, 2, 3, 4, 5}));
  const synfire_update_parameter_desc late = update_desc("tau", five, 1);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_update_parameter(graph, layer, &late));
}

// A parameter cannot change its length while a graph that updates it lives, but can afterwards.
TYPED_TEST(ParameterUpdate, ALengthIsFreeAgainWithTheLastGraph) {
  const Layer layer = this->make(SYNFIRE_MODEL_LIF);
  const Buffer one = this->gradient({TypeParam(1)}), five = this->gradient(std::vector<TypeParam>(5, 1));
  Graph first = this->updating(layer, "tau", one, -1), second = this->updating(layer, "tau", one, -1);
  replay(first);
  const double numbers[5] = {2, 3, 4, 5, 6};
  const auto refused = [&] {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count", "tau"),
                 synfire_layer_set_parameter(layer, "tau", numbers, 5));
  };
  refused();
  first.reset();
  EXPECT_OK(synfire_context_reclaim(this->context_, nullptr));
  refused();
  {
    // A graph whose recording failed does not hold it.
    const Graph third = make_graph(this->context_);
    const synfire_update_parameter_desc bad = update_desc("v_rest", one, infinity);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("learning_rate"),
                 synfire_graph_record_update_parameter(third, layer, &bad));
    set_parameter(layer, "v_rest", {0, 0.1, 0.2, 0.3, 0.4});
    // A graph that is not instantiated holds it too.
    const synfire_update_parameter_desc held = update_desc("v_rest", five, 0);
    EXPECT_OK(synfire_graph_record_update_parameter(third, layer, &held));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count", "v_rest"),
                 synfire_layer_set_parameter(layer, "v_rest", numbers, 1));
  }
  second.reset();
  EXPECT_OK(synfire_context_reclaim(this->context_, nullptr));
  EXPECT_EQ(get_parameter(layer, "tau")[0], 3);
  set_parameter(layer, "tau", std::vector<double>(numbers, numbers + 5));
  set_parameter(layer, "v_rest", {0});
  const Graph later = this->updating(layer, "tau", five, -1);
  replay(later);
  EXPECT_TRUE(same_bits(get_parameter(layer, "tau", 5), {3, 4, 5, 6, 7}));
  this->expect_as_if_set(layer, SYNFIRE_MODEL_LIF);
}

}  // namespace
}  // namespace synfire_test
