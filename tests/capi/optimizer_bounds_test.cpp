// How long a step can be: gradients whose squares may overflow change nothing and are counted, by every optimiser and
// in both types; no step of Adam is longer than its own bound; parameters stay within theirs.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "graph_support.hpp"
#include "network_by_hand.hpp"
#include "recording_support.hpp"

namespace synfire_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A synapse with a few weights, a layer with a parameter, and an optimiser over them.
template <typename R>
class Rig {
 public:
  static constexpr size_t n = 3;

  Rig(synfire_context context, const synfire_optimizer_desc& desc, bool with_parameter = true) : context_(context) {
    synfire_synapse_desc sd = SYNFIRE_SYNAPSE_DESC_INIT;
    sd.n_inputs = n;
    sd.n_outputs = 1;
    sd.dtype = dtype_of<R>;
    sd.initialization = SYNFIRE_INITIALIZATION_ZERO;
    synfire_synapse made = nullptr;
    require_ok(synfire_synapse_create(context, &sd, &made));
    synapse = Synapse(made);
    layer = make_layer(context, describe(Shape{2, 1, 4}, dtype_of<R>));
    of_tau = make_buffer_of(context, std::vector<R>{0});
    synfire_optimizer optimizer_handle = nullptr;
    require_ok(synfire_optimizer_create(context, &desc, &optimizer_handle));
    optimizer = Optimizer(optimizer_handle);
    require_ok(synfire_optimizer_add_weights(optimizer, synapse, 1, 1));
    if (with_parameter)
      require_ok(synfire_optimizer_add_parameter(optimizer, layer, "tau", of_tau, 1, 0,
                                                 std::numeric_limits<double>::quiet_NaN(), infinity));
  }

  void write(const char* name, const std::vector<R>& values) const {
    require_ok(synfire_synapse_write(synapse, name, values.data(), values.size() * sizeof(R)));
  }
  std::vector<R> weights() const {
    std::vector<R> values(n);
    require_ok(synfire_synapse_read(synapse, "weight", values.data(), n * sizeof(R)));
    return values;
  }
  void step(const std::vector<R>& gradient, R gradient_of_tau = 0) const {
    write("weight_gradient", gradient);
    upload(of_tau, std::vector<R>{gradient_of_tau});
    const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
    require_ok(synfire_optimizer_step(optimizer, &desc, nullptr));
    require_ok(synfire_context_synchronize(context_));
  }
  uint64_t count(const char* name) const {
    uint64_t value = 0;
    require_ok(synfire_optimizer_read(optimizer, -1, name, &value, sizeof value));
    return value;
  }
  std::vector<R> moment(const char* name) const {
    std::vector<R> values(n);
    require_ok(synfire_optimizer_read(optimizer, 0, name, values.data(), n * sizeof(R)));
    return values;
  }
  // All that a step may change.
  std::vector<double> state(bool adam, bool momentum) const {
    std::vector<double> all;
    const auto add = [&](const std::vector<R>& values) { all.insert(all.end(), values.begin(), values.end()); };
    add(weights());
    if (adam) add(moment("moment1"));
    if (adam) add(moment("moment2"));
    if (momentum) add(moment("momentum"));
    double tau = 0;
    require_ok(synfire_layer_get_parameter(layer, "tau", &tau, 1));
    all.push_back(tau);
    all.push_back(static_cast<double>(count("step_count")));
    return all;
  }

  Synapse synapse = {};
  Layer layer = {};
  Buffer of_tau = {};
  Optimizer optimizer = {};

 private:
  synfire_context context_;
};

synfire_optimizer_desc rule(int32_t kind, double momentum = 0, bool nesterov = false) {
  synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  desc.kind = kind;
  desc.learning_rate = 1e-3;
  desc.momentum = momentum;
  desc.nesterov = nesterov ? 1 : 0;
  return desc;
}
const synfire_optimizer_desc every_rule[] = {rule(SYNFIRE_OPTIMIZER_KIND_SGD), rule(SYNFIRE_OPTIMIZER_KIND_SGD, 0.9),
                                             rule(SYNFIRE_OPTIMIZER_KIND_SGD, 0.9, true),
                                             rule(SYNFIRE_OPTIMIZER_KIND_ADAM), rule(SYNFIRE_OPTIMIZER_KIND_ADAMW)};

// |m| / sqrt(v), both without bias, after t steps, by the inequality of Cauchy and Schwarz; times the bias corrections.
double bound(double rate, double beta1, double beta2, int t) {
  double sum = 0, power = 1;
  for (int i = 0; i < t; ++i, power *= beta1 * beta1 / beta2) sum += power;
  return rate * (1 - beta1) / (1 - std::pow(beta1, t)) * std::sqrt((1 - std::pow(beta2, t)) / (1 - beta2) * sum);
}
// The same for any number of steps, as the header states it.
double stated_bound(double rate, double beta1, double beta2, int t) {
  return rate * (1 - beta1) / (1 - std::pow(beta1, t)) *
         std::sqrt((1 - std::pow(beta2, t)) / ((1 - beta2) * (1 - beta1 * beta1 / beta2)));
}

template <typename Scalar>
class StepBounds : public testing::Test {
 protected:
  const Context context_ = make_context();
  // The largest norm of which a step is taken.
  static constexpr Scalar most = sizeof(Scalar) == 4 ? Scalar(0x1p63) : Scalar(0x1p511);
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(StepBounds, Scalars);

TYPED_TEST(StepBounds, AGradientThatIsTooLargeChangesNothingAndIsCounted) {
  using R = TypeParam;
  const R above = std::nextafter(this->most, std::numeric_limits<R>::infinity()),
          largest = std::numeric_limits<R>::max();
  for (const synfire_optimizer_desc& desc : every_rule) {
    const bool adam = desc.kind != SYNFIRE_OPTIMIZER_KIND_SGD, momentum = desc.momentum > 0;
    SCOPED_TRACE(testing::Message() << "kind " << desc.kind << " momentum " << desc.momentum);
    const Rig<R> rig(this->context_, desc), alone(this->context_, desc);
    const auto ordinary = [](const Rig<R>& one) { one.step({R(0.5), R(-0.25), R(0)}, R(0.125)); };
    ordinary(rig);
    ordinary(alone);
    const std::vector<double> before = rig.state(adam, momentum);
    uint64_t skipped = 0;
    const std::vector<std::vector<R>> too_large = {{above, 0, 0},
                                                   {0, -above, 0},
                                                   {largest, 0, 0},
                                                   {largest, largest, largest},
                                                   {this->most, R(0), this->most / 4}};
    for (const std::vector<R>& gradient : too_large) {
      rig.step(gradient);
      EXPECT_EQ(rig.count("skipped"), ++skipped);
      EXPECT_EQ(rig.state(adam, momentum), before);
    }
    rig.step({0, 0, 0}, -above);  // a parameter's counts with all others
    EXPECT_EQ(rig.count("skipped"), ++skipped);
    EXPECT_EQ(rig.state(adam, momentum), before);
    // The training goes on as if nothing had been.
    ordinary(rig);
    ordinary(alone);
    EXPECT_EQ(rig.state(adam, momentum), alone.state(adam, momentum));
  }
}

TYPED_TEST(StepBounds, TheLargestGradientIsTaken) {
  using R = TypeParam;
  for (const synfire_optimizer_desc& desc : every_rule) {
    const Rig<R> rig(this->context_, desc, false);
    for (int i = 0; i < 5; ++i) {
      rig.step({i % 2 == 0 ? this->most : -this->most, 0, 0});
      EXPECT_EQ(rig.count("step_count"), static_cast<uint64_t>(i + 1));
      EXPECT_EQ(rig.count("skipped"), 0u);
    }
    for (const R weight : rig.weights()) EXPECT_TRUE(std::isfinite(weight));
    if (desc.kind == SYNFIRE_OPTIMIZER_KIND_SGD) continue;
    // No moment is cut: the second one is the mean of the squares.
    const double square = static_cast<double>(this->most) * static_cast<double>(this->most);
    EXPECT_NEAR(static_cast<double>(rig.moment("moment2")[0]) / (square * (1 - std::pow(0.999, 5))), 1, 1e-5);
  }
}

// The norm after clipping counts.
TYPED_TEST(StepBounds, AGradientThatIsClippedIsTaken) {
  using R = TypeParam;
  const R huge = sizeof(R) == 4 ? R(1e25) : R(1e153);
  for (synfire_optimizer_desc desc : every_rule) {
    desc.clip_norm = 2;
    const Rig<R> rig(this->context_, desc, false);
    rig.step({huge, 0, -huge});
    EXPECT_EQ(rig.count("step_count"), 1u);
    EXPECT_EQ(rig.count("skipped"), 0u);
    const std::vector<R> weights = rig.weights();
    EXPECT_LT(weights[0], 0);
    EXPECT_GT(weights[2], 0);
    EXPECT_LE(std::fabs(weights[0]), R(3e-3));
    desc.clip_norm = 1e200;  // clips nothing here
    if (sizeof(R) == 8) continue;
    const Rig<R> other(this->context_, desc, false);
    other.step({huge, 0, 0});
    EXPECT_EQ(other.count("skipped"), 1u);
  }
}

// Gradients that are as long as the bound allows, and others that are not, in many magnitudes.
TYPED_TEST(StepBounds, NoStepOfAdamIsLongerThanItsBound) {
  using R = TypeParam;
  using Sequence = std::function<double(int)>;
  Random random(7);
  const double huge = static_cast<double>(this->most) / 2;
  const double high = std::log10(huge), low = sizeof(R) == 4 ? -30 : -250;
  const Sequence sequences[] = {
      [](int) { return 1; },
      [](int t) { return t % 2 == 0 ? 1 : -1; },
      [](int t) { return std::pow(0.999 / 0.9, t); },  // equality in Cauchy-Schwarz
      [&](int t) { return std::min(huge, std::pow(2.0, t)); },
      [&](int t) { return t == 30 ? huge : 1; },  // one explosion
      [&](int t) { return t % 20 == 0 ? huge : 1e-3; },
      [&](int) { return std::pow(10.0, random.uniform(low, high)) * (random.whole(0, 1) == 0 ? 1 : -1); },
      [&](int t) { return std::pow(10.0, low + t * (high - low) / 200); },
      [](int t) { return t < 100 ? 0 : 1; },
  };
  for (const int32_t kind : {SYNFIRE_OPTIMIZER_KIND_ADAM, SYNFIRE_OPTIMIZER_KIND_ADAMW})
    for (const auto& [beta1, beta2] : {std::pair{0.9, 0.999}, std::pair{0.5, 0.9}, std::pair{0.9, 0.9999}})
      for (size_t s = 0; s < std::size(sequences); ++s) {
        SCOPED_TRACE(testing::Message() << "kind " << kind << " beta2 " << beta2 << " sequence " << s);
        synfire_optimizer_desc desc = rule(kind);
        desc.beta1 = beta1;
        desc.beta2 = beta2;
        desc.epsilon = 1e-30;
        const Rig<R> rig(this->context_, desc, false);
        for (int t = 1; t <= 200; ++t) {
          rig.write("weight", std::vector<R>(Rig<R>::n));  // so that the weight is the step
          const auto g = static_cast<R>(sequences[s](t - 1));
          rig.step({g, -g, 0});
          const double moved = std::fabs(static_cast<double>(rig.weights()[0]));
          ASSERT_LE(moved, stated_bound(1e-3, beta1, beta2, t) * (1 + 0x1p-9)) << "step " << t;
          // Without underflow, also the bound for t steps.
          if (s != 6 && s != 7) {
            ASSERT_LE(moved, bound(1e-3, beta1, beta2, t) * (1 + 1e-4)) << "step " << t;
          }
        }
        EXPECT_EQ(rig.count("skipped"), 0u);
      }
}

// Version 0.2 left such moments after g = 1e25: the second one was cut at the largest number, and one step from them
// moved a weight by 17.
TEST(StepBounds, MomentsOfAnOverflowDoNotMoveFar) {
  const Context context = make_context();
  for (const int32_t kind : {SYNFIRE_OPTIMIZER_KIND_ADAM, SYNFIRE_OPTIMIZER_KIND_ADAMW}) {
    const Rig<float> rig(context, rule(kind), false);
    rig.step({1, 1, 1});
    const std::vector<float> first = {1e24F, -1e24F, 3e38F}, second(3, std::numeric_limits<float>::max());
    require_ok(synfire_optimizer_write(rig.optimizer, 0, "moment1", first.data(), 12));
    require_ok(synfire_optimizer_write(rig.optimizer, 0, "moment2", second.data(), 12));
    rig.write("weight", {0, 0, 0});
    rig.step({1, 1, 1});
    for (const float weight : rig.weights())
      EXPECT_LE(std::fabs(static_cast<double>(weight)), stated_bound(1e-3, 0.9, 0.999, 2) * (1 + 0x1p-9));
    EXPECT_LT(rig.weights()[0], 0);
    EXPECT_GT(rig.weights()[1], 0);
  }
}

// The gradients of a layer's parameters move it no further.
TEST(StepBounds, HoldForParameters) {
  const Context context = make_context();
  const Rig<float> rig(context, rule(SYNFIRE_OPTIMIZER_KIND_ADAM));
  const float gradients[] = {1, 9e18F, -1e-3F, 1e10F, 1e25F, -3e38F, 1};
  double tau = get_parameter(rig.layer, "tau")[0];
  for (const float gradient : gradients) {
    const uint64_t skipped = rig.count("skipped");
    rig.step({0, 0, 0}, gradient);
    const double now = get_parameter(rig.layer, "tau")[0];
    const auto t = static_cast<int>(rig.count("step_count"));
    EXPECT_LE(std::fabs(now - tau), rig.count("skipped") > skipped ? 0 : stated_bound(1e-3, 0.9, 0.999, t) * 1.001);
    tau = now;
  }
  EXPECT_EQ(rig.count("skipped"), 2u);
}

// One step that is far too large leaves a time from 1 to 10,000 steps in every model, whether its range begins above 0
// or at a step.
TEST(StepBounds, TimesInStepsHaveDefaults) {
  constexpr double by_default = std::numeric_limits<double>::quiet_NaN();
  const Context context = make_context();
  synfire_optimizer_desc desc = rule(SYNFIRE_OPTIMIZER_KIND_SGD);
  desc.learning_rate = 1e6;
  for (const int32_t model : {SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_CUBA_LIF, SYNFIRE_MODEL_CUBA_LI_EXACT}) {
    synfire_layer_desc of_layer = describe(Shape{1, 1, 2}, SYNFIRE_DTYPE_F32);
    of_layer.model = model;
    const Layer layer = make_layer(context, of_layer);
    for (const char* const name : {"tau", "tau_syn"}) {
      if (model == SYNFIRE_MODEL_LIF && name == std::string("tau_syn")) continue;
      SCOPED_TRACE(testing::Message() << name << " of model " << model);
      set_parameter(layer, name, {4, 4});
      synfire_optimizer made = nullptr;
      require_ok(synfire_optimizer_create(context, &desc, &made));
      const Optimizer optimizer(made);
      const Buffer gradient = make_buffer_of(context, std::vector<float>{-1, 1});
      require_ok(synfire_optimizer_add_parameter(optimizer, layer, name, gradient, 1, 0, by_default, by_default));
      const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
      require_ok(synfire_optimizer_step(optimizer, &step, nullptr));
      require_ok(synfire_context_synchronize(context));
      EXPECT_EQ(get_parameter(layer, name, 2), (std::vector<double>{10'000, 1}));
    }
  }
}

// If one member is f32, its limit holds for the norm of all.
TEST(StepBounds, OfSeveralTypesTheNarrowOneCounts) {
  const Context context = make_context();
  const synfire_optimizer_desc desc = rule(SYNFIRE_OPTIMIZER_KIND_ADAM);
  const Rig<double> wide(context, desc, false);
  const Rig<float> narrow(context, desc, false);
  wide.step({1e30, 0, 0});
  EXPECT_EQ(wide.count("step_count"), 1u);
  synfire_optimizer handle = nullptr;
  require_ok(synfire_optimizer_create(context, &desc, &handle));
  const Optimizer both(handle);
  require_ok(synfire_optimizer_add_weights(both, wide.synapse, 1, 1));
  require_ok(synfire_optimizer_add_weights(both, narrow.synapse, 1, 1));
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  require_ok(synfire_optimizer_step(both, &step, nullptr));
  require_ok(synfire_context_synchronize(context));
  uint64_t skipped = 0;
  require_ok(synfire_optimizer_read(both, -1, "skipped", &skipped, sizeof skipped));
  EXPECT_EQ(skipped, 1u);
}

// ---- where it was seen ----------------------------------------------------------------------------------------------

// Neurons that are at their threshold in every step: with a soft reset that gradients pass through and a steep
// surrogate, the gradient grows fourfold with each step of the backward.
class Explosion {
 public:
  Explosion(synfire_context context, int64_t n_steps, int32_t dtype, double clip_norm = 0) : dtype_(dtype) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.dtype = dtype;
    desc.n_steps = n_steps;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    network_ = Network(made);
    const auto set = [&](const char* name, double value) {
      require_ok(synfire_network_set_value(network_, "neurons", name, value));
    };
    require_ok(synfire_network_add_input(network_, "input", SYNFIRE_NETWORK_INPUT_VALUES, 1));
    require_ok(synfire_network_add_synapse(network_, "synapse", 2));
    require_ok(synfire_network_add_neurons(network_, "neurons", SYNFIRE_MODEL_PLIF));
    set("reset", SYNFIRE_RESET_SOFT);
    set("undecayed_input", 1);
    set("surrogate", SYNFIRE_SURROGATE_SIGMOID);
    set("alpha", 20);
    set("reciprocal_tau", 0.001);
    require_ok(synfire_network_train_parameter(network_, "neurons", "reciprocal_tau", 0, 1, 0,
                                               std::numeric_limits<double>::quiet_NaN(),
                                               std::numeric_limits<double>::quiet_NaN()));
    require_ok(synfire_network_add_readout(network_, "readout", SYNFIRE_READOUT_MEAN, 1));
    require_ok(synfire_network_add_loss(network_, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
    require_ok(synfire_network_add_optimizer(network_, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.001));
    require_ok(synfire_network_set_value(network_, "adam", "clip_norm", clip_norm));
    require_ok(synfire_network_build(network_));
    const auto count = static_cast<size_t>(n_steps);
    const uint32_t label = 1;
    const Buffer inputs = dtype == SYNFIRE_DTYPE_F64 ? make_buffer_of(context, std::vector<double>(count, 1))
                                                     : make_buffer_of(context, std::vector<float>(count, 1)),
                 labels = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, 1, &label, 4);
    require_ok(synfire_network_set_data(network_, SYNFIRE_DATA_TRAINING, 1, inputs, labels, nullptr, nullptr, nullptr));
    synfire_synapse handle = nullptr;
    require_ok(synfire_network_get_synapse(network_, "synapse", &handle));
    synapse_ = Synapse(handle);
    write({1, 1});
    if (dtype == SYNFIRE_DTYPE_F64) {
      const double zero[2] = {};
      require_ok(synfire_synapse_write(synapse_, "bias", zero, sizeof zero));
    } else {
      const float zero[2] = {};
      require_ok(synfire_synapse_write(synapse_, "bias", zero, sizeof zero));
    }
  }

  void write(const std::vector<double>& weights) const {
    const std::vector<float> narrow(weights.begin(), weights.end());
    if (dtype_ == SYNFIRE_DTYPE_F64)
      require_ok(synfire_synapse_write(synapse_, "weight", weights.data(), 2 * sizeof(double)));
    else
      require_ok(synfire_synapse_write(synapse_, "weight", narrow.data(), 2 * sizeof(float)));
  }
  std::vector<double> read(const char* name) const {
    std::vector<double> wide(2);
    std::vector<float> narrow(2);
    if (dtype_ == SYNFIRE_DTYPE_F64) {
      require_ok(synfire_synapse_read(synapse_, name, wide.data(), 2 * sizeof(double)));
      return wide;
    }
    require_ok(synfire_synapse_read(synapse_, name, narrow.data(), 2 * sizeof(float)));
    return {narrow.begin(), narrow.end()};
  }
  double reciprocal_tau() const {
    double value = 0;
    require_ok(synfire_network_get_value(network_, "neurons", "reciprocal_tau", &value));
    return value;
  }
  uint64_t train() const {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_train(network_, 1, &result));
    EXPECT_TRUE(std::isfinite(result.loss));
    return result.n_skipped;
  }

 private:
  const int32_t dtype_;
  Network network_ = {};
  Synapse synapse_ = {};
};

TEST(StepBounds, HoldWhereGradientsExplode) {
  const Context context = make_context();
  int n_skipped = 0, n_taken = 0;
  double largest = 0;
  for (const int64_t n_steps : {8, 20, 28, 31, 32, 33, 34, 36, 45, 60, 64, 80}) {
    SCOPED_TRACE(n_steps);
    const Explosion training(context, n_steps, SYNFIRE_DTYPE_F32);
    for (int i = 0; i < 4; ++i) {
      training.write({1, 1});
      const double before = training.reciprocal_tau();
      const bool skipped = training.train() == 1;
      const std::vector<double> weights = training.read("weight"), gradient = training.read("weight_gradient");
      if (n_steps == 60) largest = std::max(largest, std::fabs(gradient[0]));
      for (const double weight : weights)
        EXPECT_LE(std::fabs(weight - 1), skipped ? 0 : stated_bound(0.001, 0.9, 0.999, 100) * 1.001);
      EXPECT_LE(std::fabs(training.reciprocal_tau() - before),
                skipped ? 0 : stated_bound(0.001, 0.9, 0.999, 100) * 1.001);
      EXPECT_GE(training.reciprocal_tau(), 1e-4);
      EXPECT_LE(training.reciprocal_tau(), 1);
      EXPECT_TRUE(n_steps >= 28 || !skipped);
      EXPECT_TRUE(n_steps <= 36 || skipped);
      (skipped ? n_skipped : n_taken) += 1;
    }
  }
  EXPECT_GT(n_skipped, 15);
  EXPECT_GT(n_taken, 8);
  EXPECT_GT(largest, 1e25) << "it explodes no longer";
  EXPECT_TRUE(std::isfinite(largest)) << "a finite gradient is the case";
}

TEST(StepBounds, AreReachedByClipping) {
  const Context context = make_context();
  const Explosion training(context, 60, SYNFIRE_DTYPE_F32, 1);
  for (int i = 0; i < 5; ++i) {
    training.write({1, 1});
    EXPECT_EQ(training.train(), 0u);
    for (const double weight : training.read("weight")) {
      EXPECT_NE(weight, 1);
      EXPECT_LE(std::fabs(weight - 1), stated_bound(0.001, 0.9, 0.999, 100) * 1.001);
    }
    EXPECT_GE(training.reciprocal_tau(), 1e-4);
    EXPECT_LE(training.reciprocal_tau(), 1);
  }
}

TEST(StepBounds, HoldWhereGradientsExplodeInF64) {
  const Context context = make_context();
  const Explosion training(context, 60, SYNFIRE_DTYPE_F64);
  EXPECT_EQ(training.train(), 0u);
  EXPECT_GT(std::fabs(training.read("weight_gradient")[0]), 1e25);
  for (const double weight : training.read("weight"))
    EXPECT_LE(std::fabs(weight - 1), stated_bound(0.001, 0.9, 0.999, 1) * 1.001);
}

}  // namespace
}  // namespace synfire_test
