// Optimisers, against a reference written out here, bit for bit: every kind over many steps, lengths of all kinds,
// masks, factors, clipping, gradients that are not finite, parameters of layers, and values that change between
// replays.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <thread>

#include "graph_support.hpp"
#include "recording_support.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// ---- the reference --------------------------------------------------------------------------------------------------

double tree(std::vector<double> lanes) {
  for (size_t half = 64; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

template <typename R>
void add_squares(const std::vector<R>& values, std::vector<double>& chunks) {
  for (size_t first = 0; first < values.size(); first += 1024) {
    std::vector<double> lanes(128);
    for (size_t i = first; i < std::min(first + 1024, values.size()); ++i) {
      const double square = static_cast<double>(values[i]) * static_cast<double>(values[i]);
      lanes[(i - first) % 128] += square;
    }
    chunks.push_back(tree(lanes));
  }
}

double norm_of(const std::vector<double>& chunks) {
  std::vector<double> lanes(128);
  for (size_t i = 0; i < chunks.size(); ++i) lanes[i % 128] += chunks[i];
  return std::sqrt(tree(lanes));
}

struct Rates {
  int32_t kind;
  double rate, decay, momentum, clip;
  bool nesterov;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

struct Counters {
  uint64_t steps = 0, skipped = 0;
  double power1 = 1, power2 = 1, scale = 1;
  // Returns whether a step is taken.
  bool begin(const Rates& rates, double norm, double most = 0x1p63) {
    scale = rates.clip > 0 ? std::min(1.0, rates.clip / (norm + 1e-6)) : 1.0;
    if (!std::isfinite(norm) || norm * scale > most) {
      ++skipped;
      return false;
    }
    ++steps;
    power1 *= rates.kind == SYNFIRE_OPTIMIZER_KIND_SGD ? 0 : rates.beta1;
    power2 *= rates.kind == SYNFIRE_OPTIMIZER_KIND_SGD ? 0 : rates.beta2;
    return true;
  }
};

template <typename R>
R finite(R x) {
  return std::clamp(x, std::numeric_limits<R>::lowest(), std::numeric_limits<R>::max());
}

// A direction, and what Adam's is divided by.
template <typename R>
R direction(const Rates& rates, const Counters& now, double decay, R gradient, R weight, R& m, R& v) {
  const bool decoupled = rates.kind == SYNFIRE_OPTIMIZER_KIND_ADAMW;
  const R d = std::fma(static_cast<R>(decoupled ? 0.0 : decay), weight, gradient * static_cast<R>(now.scale));
  if (rates.kind == SYNFIRE_OPTIMIZER_KIND_SGD) {
    if (rates.momentum == 0) return d;
    const R momentum = static_cast<R>(rates.momentum);
    m = finite(std::fma(momentum, m, d));
    return rates.nesterov ? std::fma(momentum, m, d) : m;
  }
  m = finite(std::fma(static_cast<R>(1 - rates.beta1), d - m, m));
  v = finite(std::fma(static_cast<R>(1 - rates.beta2), d * d, static_cast<R>(rates.beta2) * v));
  return m / (std::sqrt(v) / static_cast<R>(std::sqrt(1 - now.power2)) + static_cast<R>(rates.epsilon));
}

template <typename R>
void step(const Rates& rates, const Counters& now, double rate_factor, double decay_factor,
          const std::vector<R>& gradients, std::vector<R>& weights, std::vector<R>& m, std::vector<R>& v) {
  const double rate = rates.rate * rate_factor, decay = rates.decay * decay_factor;
  const R size = static_cast<R>(rates.kind == SYNFIRE_OPTIMIZER_KIND_SGD ? rate : rate / (1 - now.power1));
  const R keep = static_cast<R>(rates.kind == SYNFIRE_OPTIMIZER_KIND_ADAMW ? 1 - rate * decay : 1.0);
  for (size_t i = 0; i < weights.size(); ++i) {
    const R along = direction(rates, now, decay, gradients[i], weights[i], m[i], v[i]);
    const R next = std::fma(-size, along, weights[i] * keep);
    if (std::isfinite(next)) weights[i] = next;
  }
}

// ---- handles --------------------------------------------------------------------------------------------------------

synfire_optimizer_desc describe(const Rates& rates) {
  synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  desc.kind = rates.kind;
  desc.nesterov = rates.nesterov ? 1 : 0;
  desc.learning_rate = rates.rate;
  desc.weight_decay = rates.decay;
  desc.momentum = rates.momentum;
  desc.clip_norm = rates.clip;
  return desc;
}

Optimizer make_optimizer(synfire_context context, const synfire_optimizer_desc& desc) {
  synfire_optimizer handle = nullptr;
  EXPECT_OK(synfire_optimizer_create(context, &desc, &handle));
  return Optimizer(handle);
}

struct Size {
  int64_t n_inputs, n_outputs;
  bool bias = true;
  int32_t kind = SYNFIRE_INPUT_SPIKES;
  bool masked = false;

  size_t weights() const { return static_cast<size_t>(n_inputs * n_outputs); }
  size_t outputs() const { return static_cast<size_t>(n_outputs); }
};

template <typename R>
Synapse make_synapse(synfire_context context, const Size& size, uint64_t seed, const std::vector<uint8_t>& mask = {},
                     bool frozen = false) {
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.input_kind = size.kind;
  desc.n_inputs = size.n_inputs;
  desc.n_outputs = size.n_outputs;
  desc.dtype = dtype_of<R>;
  desc.bias = size.bias ? 1 : 0;
  desc.frozen = frozen ? 1 : 0;
  desc.seed = seed;
  if (!mask.empty()) {
    desc.mask = mask.data();
    desc.mask_length = mask.size();
  }
  synfire_synapse handle = nullptr;
  EXPECT_OK(synfire_synapse_create(context, &desc, &handle));
  return Synapse(handle);
}

template <typename R>
std::vector<R> read(synfire_synapse synapse, const char* name, size_t count) {
  std::vector<R> values(count);
  EXPECT_OK(synfire_synapse_read(synapse, name, values.data(), count * sizeof(R)));
  return values;
}
template <typename R>
void write(synfire_synapse synapse, const char* name, const std::vector<R>& values) {
  EXPECT_OK(synfire_synapse_write(synapse, name, values.data(), values.size() * sizeof(R)));
}
template <typename R>
std::vector<R> read(synfire_optimizer optimizer, int32_t member, const char* name, size_t count) {
  std::vector<R> values(count);
  EXPECT_OK(synfire_optimizer_read(optimizer, member, name, values.data(), count * sizeof(R)));
  return values;
}
uint64_t count_of(synfire_optimizer optimizer, const char* name) {
  uint64_t value = 99;
  EXPECT_OK(synfire_optimizer_read(optimizer, -1, name, &value, sizeof value));
  return value;
}

// Returns products of a synapse with spikes and with a gradient: y and dL/dx.
template <typename R>
std::vector<R> products(synfire_context context, synfire_synapse synapse, const Size& size) {
  Random random(77);
  const int64_t n_steps = 3;
  std::vector<R> input(static_cast<size_t>(n_steps * size.n_inputs));
  for (R& value : input)
    value = static_cast<R>(size.kind == SYNFIRE_INPUT_SPIKES ? static_cast<double>(random.whole(0, 1))
                                                             : random.uniform(-1, 1));
  const auto count = static_cast<size_t>(n_steps) * size.outputs();
  const Buffer x = make_buffer_of(context, input), y = make_buffer(context, dtype_of<R>, count);
  const Buffer grad_y = make_buffer_of(context, random.values<R>(count, -1, 1));
  const Buffer grad_x = make_buffer(context, dtype_of<R>, input.size());
  synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  forward.n_steps = n_steps;
  forward.batch = 1;
  forward.input = x;
  forward.output = y;
  EXPECT_OK(synfire_synapse_forward(synapse, &forward, nullptr));
  synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
  backward.n_steps = n_steps;
  backward.batch = 1;
  backward.grad_output = grad_y;
  backward.grad_input = grad_x;
  EXPECT_OK(synfire_synapse_backward(synapse, &backward, nullptr));
  return joined(download<R>(y, count), download<R>(grad_x, input.size()));
}

// ---- a synapse and its copy in the reference ------------------------------------------------------------------------

template <typename R>
struct Copy {
  std::vector<R> weight, bias, weight_m, weight_v, bias_m, bias_v, weight_gradient, bias_gradient;
  std::vector<uint8_t> mask;

  void apply_mask(std::vector<R>& values) const {
    for (size_t i = 0; i < mask.size(); ++i)
      if (mask[i] == 0) values[i] = 0;
  }
};

template <typename R>
class Training {
 public:
  struct Member {
    Size size;
    Synapse synapse;
    Copy<R> copy;
    double weight_rate = 1, weight_decay = 1, bias_rate = 1, bias_decay = 0;
  };

  Training(synfire_context context, const Rates& rates, const std::vector<Size>& sizes)
      : context_(context), rates_(rates), optimizer_(make_optimizer(context, describe(rates))) {
    for (const Size& size : sizes) {
      Member member;
      member.size = size;
      if (size.masked) {
        member.copy.mask.resize(size.weights());
        for (uint8_t& connected : member.copy.mask) connected = static_cast<uint8_t>(random_.whole(0, 1));
      }
      member.synapse = make_synapse<R>(context, size, random_.next(), member.copy.mask);
      member.copy.weight = read<R>(member.synapse, "weight", size.weights());
      member.copy.weight_m.resize(size.weights());
      member.copy.weight_v.resize(size.weights());
      if (members_.size() == 1) {
        member.weight_rate = 0.25;
        member.weight_decay = 3;
        member.bias_rate = 2;
        member.bias_decay = 0.5;
      }
      // The short form and the long one are the same.
      EXPECT_OK(
          synfire_optimizer_add_array(optimizer_, member.synapse, "weight", member.weight_rate, member.weight_decay));
      if (size.bias) {
        member.copy.bias = read<R>(member.synapse, "bias", size.outputs());
        member.copy.bias_m.resize(size.outputs());
        member.copy.bias_v.resize(size.outputs());
        EXPECT_OK(synfire_optimizer_add_bias(optimizer_, member.synapse, member.bias_rate, member.bias_decay));
      }
      members_.push_back(std::move(member));
    }
  }

  synfire_optimizer optimizer() const { return optimizer_; }
  std::vector<Member>& members() { return members_; }
  Rates& rates() { return rates_; }
  const Counters& counters() const { return counters_; }

  void draw_gradients(double largest = 0.5) {
    for (Member& member : members_) {
      member.copy.weight_gradient = random_.values<R>(member.size.weights(), -largest, largest);
      member.copy.apply_mask(member.copy.weight_gradient);
      write(member.synapse, "weight_gradient", member.copy.weight_gradient);
      if (!member.size.bias) continue;
      member.copy.bias_gradient = random_.values<R>(member.size.outputs(), -largest, largest);
      write(member.synapse, "bias_gradient", member.copy.bias_gradient);
    }
  }

  void step_eagerly() {
    const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
    EXPECT_OK(synfire_optimizer_step(optimizer_, &desc, nullptr));
    EXPECT_OK(synfire_context_synchronize(context_));
  }

  // The same step in the reference.
  void follow() {
    std::vector<double> chunks;
    for (Member& member : members_) {
      add_squares(member.copy.weight_gradient, chunks);
      if (member.size.bias) add_squares(member.copy.bias_gradient, chunks);
    }
    norm_ = norm_of(chunks);
    if (!counters_.begin(rates_, norm_, sizeof(R) == 4 ? 0x1p63 : 0x1p511)) return;
    for (Member& m : members_) {
      Copy<R>& c = m.copy;
      step(rates_, counters_, m.weight_rate, m.weight_decay, c.weight_gradient, c.weight, c.weight_m, c.weight_v);
      c.apply_mask(c.weight);
      if (m.size.bias) step(rates_, counters_, m.bias_rate, m.bias_decay, c.bias_gradient, c.bias, c.bias_m, c.bias_v);
    }
  }

  void expect_equal() {
    int32_t index = 0;
    for (Member& m : members_) {
      const size_t n = m.size.weights();
      SCOPED_TRACE(testing::Message() << "K " << m.size.n_inputs << " N " << m.size.n_outputs);
      ASSERT_TRUE(same_bits(read<R>(m.synapse, "weight", n), m.copy.weight));
      expect_moments(index++, m.copy.weight_m, m.copy.weight_v);
      if (m.size.bias) {
        ASSERT_TRUE(same_bits(read<R>(m.synapse, "bias", m.size.outputs()), m.copy.bias));
        expect_moments(index++, m.copy.bias_m, m.copy.bias_v);
      }
      // All that is derived is as if the weights had been written.
      const Synapse fresh = make_synapse<R>(context_, m.size, 1, m.copy.mask);
      write(fresh, "weight", m.copy.weight);
      if (m.size.bias) write(fresh, "bias", m.copy.bias);
      ASSERT_TRUE(same_bits(products<R>(context_, m.synapse, m.size), products<R>(context_, fresh, m.size)));
    }
    EXPECT_EQ(count_of(optimizer_, "step_count"), counters_.steps);
    EXPECT_EQ(count_of(optimizer_, "skipped"), counters_.skipped);
    if (counters_.skipped == 0 && counters_.steps > 0) {
      EXPECT_EQ(read<double>(optimizer_, -1, "gradient_norm", 1)[0], norm_);
    }
    if (rates_.kind != SYNFIRE_OPTIMIZER_KIND_SGD) {
      EXPECT_EQ(read<double>(optimizer_, -1, "beta1_power", 1)[0], counters_.power1);
      EXPECT_EQ(read<double>(optimizer_, -1, "beta2_power", 1)[0], counters_.power2);
    }
  }

 private:
  void expect_moments(int32_t index, const std::vector<R>& m, const std::vector<R>& v) {
    if (rates_.kind != SYNFIRE_OPTIMIZER_KIND_SGD) {
      ASSERT_TRUE(same_bits(read<R>(optimizer_, index, "moment1", m.size()), m));
      ASSERT_TRUE(same_bits(read<R>(optimizer_, index, "moment2", v.size()), v));
    } else if (rates_.momentum > 0) {
      ASSERT_TRUE(same_bits(read<R>(optimizer_, index, "momentum", m.size()), m));
    }
  }

  synfire_context context_;
  Rates rates_;
  Random random_{5};
  Optimizer optimizer_;
  std::vector<Member> members_;
  Counters counters_;
  double norm_ = 0;
};

const Rates every_rule[] = {
    {SYNFIRE_OPTIMIZER_KIND_SGD, 0.1, 0.01, 0, 0, false},     {SYNFIRE_OPTIMIZER_KIND_SGD, 0.1, 0.01, 0.9, 0, false},
    {SYNFIRE_OPTIMIZER_KIND_SGD, 0.1, 0.01, 0.9, 2.5, true},  {SYNFIRE_OPTIMIZER_KIND_ADAM, 1e-2, 0.01, 0, 0, false},
    {SYNFIRE_OPTIMIZER_KIND_ADAM, 1e-2, 0.01, 0, 1.5, false}, {SYNFIRE_OPTIMIZER_KIND_ADAMW, 1e-2, 0.03, 0, 0, false}};
const std::vector<Size> sizes = {{1, 1},
                                 {37, 13, true, SYNFIRE_INPUT_SPIKES, true},
                                 {64, 33, false},
                                 {1028, 5, true, SYNFIRE_INPUT_VALUES},
                                 {40, 70, true, SYNFIRE_INPUT_VALUES, true}};

template <typename Scalar>
class OptimizerOf : public testing::Test {
 protected:
  const Context context_ = make_context();
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(OptimizerOf, Scalars);

TYPED_TEST(OptimizerOf, EveryRuleFollowsTheReference) {
  for (const Rates& rates : every_rule) {
    SCOPED_TRACE(testing::Message() << "kind " << rates.kind << " momentum " << rates.momentum << " clip " << rates.clip
                                    << " nesterov " << rates.nesterov);
    Training<TypeParam> training(this->context_, rates, sizes);
    for (int i = 0; i < 12; ++i) {
      training.draw_gradients(i % 3 == 0 ? 1e-3 : 0.5);
      training.step_eagerly();
      training.follow();
    }
    ASSERT_NO_FATAL_FAILURE(training.expect_equal());
  }
}

TYPED_TEST(OptimizerOf, ManyWeightsAndThreadsGiveTheSame) {
  for (const int32_t n_threads : {1, 4}) {
    const Context context = make_context(n_threads);
    Training<TypeParam> training(context, every_rule[4], {{700, 301}, {513, 128, true, SYNFIRE_INPUT_VALUES}});
    for (int i = 0; i < 2; ++i) {
      training.draw_gradients();
      training.step_eagerly();
      training.follow();
    }
    ASSERT_NO_FATAL_FAILURE(training.expect_equal());
  }
}

TYPED_TEST(OptimizerOf, ReplaysTakeTheSameSteps) {
  Training<TypeParam> training(this->context_, every_rule[3], sizes);
  const Graph graph = make_graph(this->context_);
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  EXPECT_OK(synfire_graph_record_optimizer_step(graph, training.optimizer(), &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (int i = 0; i < 3; ++i) {
    training.draw_gradients();
    std::fesetround(i == 1 ? FE_UPWARD : FE_TONEAREST);  // the caller's environment has no effect
    replay(graph);
    std::fesetround(FE_TONEAREST);
    training.follow();
    training.draw_gradients();
    training.step_eagerly();
    training.follow();
  }
  ASSERT_NO_FATAL_FAILURE(training.expect_equal());
  const auto set = [&](const char* name, double value) { EXPECT_OK(synfire_graph_set_value(graph, 0, name, value)); };
  set("learning_rate", training.rates().rate = 0.003);
  set("weight_decay", training.rates().decay = 0);
  set("clip_norm", training.rates().clip = 0.7);
  training.draw_gradients();
  replay(graph);
  training.follow();
  ASSERT_NO_FATAL_FAILURE(training.expect_equal());
  for (const char* name : {"learning_rate", "weight_decay", "clip_norm"}) {
    EXPECT_FAILS(refused, WORDS("SYN-SCALAR-RANGE", name, "at least 0"), synfire_graph_set_value(graph, 0, name, -1));
    EXPECT_FAILS(refused, WORDS("SYN-SCALAR-RANGE", name, "finite"),
                 synfire_graph_set_value(graph, 0, name, nan_value));
  }
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  training.draw_gradients();
  replay(graph);
  ASSERT_NO_FATAL_FAILURE(training.expect_equal());
  uint64_t bytes = 0;
  EXPECT_OK(synfire_graph_write_dot(graph, nullptr, &bytes));
  std::string dot(bytes, ' ');
  EXPECT_OK(synfire_graph_write_dot(graph, dot.data(), &bytes));
  EXPECT_NE(dot.find("optimizer step"), std::string::npos) << dot;
  EXPECT_NE(dot.find("9 members"), std::string::npos) << dot;
}

// ---- numbers at the edges -------------------------------------------------------------------------------------------

TYPED_TEST(OptimizerOf, AGradientThatIsNotFiniteChangesNothing) {
  const Size size = {33, 7};
  const Synapse synapse = make_synapse<TypeParam>(this->context_, size, 3);
  const Layer layer = make_layer(this->context_, describe(Shape{2, 1, 4}, dtype_of<TypeParam>));
  const Buffer grad = make_buffer_of(this->context_, std::vector<TypeParam>{TypeParam(0.5)});
  for (const Rates& rates : every_rule) {
    const Optimizer optimizer = make_optimizer(this->context_, describe(rates));
    EXPECT_OK(synfire_optimizer_add_weights(optimizer, synapse, 1, 1));
    EXPECT_OK(synfire_optimizer_add_bias(optimizer, synapse, 1, 0));
    EXPECT_OK(synfire_optimizer_add_parameter(optimizer, layer, "tau", grad, 1, 0, -infinity, infinity));
    const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
    EXPECT_OK(synfire_optimizer_step(optimizer, &desc, nullptr));
    EXPECT_OK(synfire_context_synchronize(this->context_));
    const auto weights = read<TypeParam>(synapse, "weight", size.weights());
    const auto bias = read<TypeParam>(synapse, "bias", size.outputs());
    const double tau = get_parameter(layer, "tau")[0];
    uint64_t skipped = 0;
    for (const double bad : {infinity, -infinity, nan_value}) {
      upload(grad, std::vector<TypeParam>{static_cast<TypeParam>(bad)});
      EXPECT_OK(synfire_optimizer_step(optimizer, &desc, nullptr));
      EXPECT_OK(synfire_context_synchronize(this->context_));
      EXPECT_EQ(count_of(optimizer, "skipped"), ++skipped);
      EXPECT_EQ(count_of(optimizer, "step_count"), 1u);
    }
    upload(grad, std::vector<TypeParam>{TypeParam(0.5)});
    EXPECT_TRUE(same_bits(read<TypeParam>(synapse, "weight", size.weights()), weights));
    EXPECT_TRUE(same_bits(read<TypeParam>(synapse, "bias", size.outputs()), bias));
    EXPECT_EQ(get_parameter(layer, "tau")[0], tau);
  }
}

TYPED_TEST(OptimizerOf, NumbersStayFinite) {
  using R = TypeParam;
  constexpr R largest = std::numeric_limits<R>::max();
  const R big = sizeof(R) == 4 ? R(9e18) : R(6e153);  // a step is taken
  const Size size = {2, 1, false};
  const Synapse synapse = make_synapse<R>(this->context_, size, 3);
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  {  // a step that would overflow
    Rates rates = every_rule[0];
    rates.rate = 1e300;
    rates.decay = 0;
    const Optimizer optimizer = make_optimizer(this->context_, describe(rates));
    EXPECT_OK(synfire_optimizer_add_weights(optimizer, synapse, 1, 1));
    write(synapse, "weight", std::vector<R>{R(2), R(3)});
    write(synapse, "weight_gradient", std::vector<R>{big, R(0)});
    EXPECT_OK(synfire_optimizer_step(optimizer, &desc, nullptr));
    const auto now = read<R>(synapse, "weight", 2);
    EXPECT_EQ(now[0], sizeof(R) == 4 ? R(2) : now[0]);
    EXPECT_TRUE(std::isfinite(now[0]) && std::isfinite(now[1]));
    EXPECT_EQ(count_of(optimizer, "step_count"), 1u);
  }
  {  // moments that saturate
    const Optimizer optimizer = make_optimizer(this->context_, describe(every_rule[3]));
    EXPECT_OK(synfire_optimizer_add_weights(optimizer, synapse, 1, 1));
    write(synapse, "weight", std::vector<R>{R(2), R(3)});
    const std::vector<R> before = {-largest, largest};
    EXPECT_OK(synfire_optimizer_write(optimizer, 0, "moment1", before.data(), 2 * sizeof(R)));
    const std::vector<R> v = {largest, largest};
    EXPECT_OK(synfire_optimizer_write(optimizer, 0, "moment2", v.data(), 2 * sizeof(R)));
    write(synapse, "weight_gradient", std::vector<R>{big, R(1)});
    for (int i = 0; i < 3; ++i) EXPECT_OK(synfire_optimizer_step(optimizer, &desc, nullptr));
    EXPECT_OK(synfire_context_synchronize(this->context_));
    EXPECT_EQ(count_of(optimizer, "step_count"), 3u);
    for (const char* name : {"moment1", "moment2"})
      for (const R value : read<R>(optimizer, 0, name, 2)) EXPECT_TRUE(std::isfinite(value)) << name;
    for (const R value : read<R>(synapse, "weight", 2)) EXPECT_TRUE(std::isfinite(value));
  }
}

// ---- parameters of layers -------------------------------------------------------------------------------------------

TYPED_TEST(OptimizerOf, ParametersTakeStepsAndStayInRange) {
  using R = TypeParam;
  for (const Rates& rates : every_rule) {
    SCOPED_TRACE(testing::Message() << "kind " << rates.kind << " momentum " << rates.momentum);
    for (const size_t length : std::initializer_list<size_t>{size_t{1}, size_t{5}}) {
      const Layer layer = make_layer(this->context_, describe(Shape{3, 2, 5}, dtype_of<R>));
      if (length > 1) set_parameter(layer, "tau", {2, 3, 4, 1.5, 9});
      Random random(length);
      const Buffer of_tau = make_buffer(this->context_, dtype_of<R>, length);
      const Buffer of_threshold = make_buffer(this->context_, dtype_of<R>, 1);
      const Optimizer optimizer = make_optimizer(this->context_, describe(rates));
      EXPECT_OK(synfire_optimizer_add_parameter(optimizer, layer, "tau", of_tau, 4, 0.5, 1.25, infinity));
      EXPECT_OK(synfire_optimizer_add_parameter(optimizer, layer, "v_threshold", of_threshold, 1, 0, -infinity, 1.5));
      std::vector<double> tau = get_parameter(layer, "tau", length), threshold = get_parameter(layer, "v_threshold");
      std::vector<R> m(length + 1), v(length + 1);
      Counters counters;
      const Graph graph = make_graph(this->context_);
      const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
      EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &desc));
      EXPECT_OK(synfire_graph_instantiate(graph));
      for (int i = 0; i < 20; ++i) {
        const auto g = random.values<R>(length, -1, 1.5), h = random.values<R>(1, -2, 1);
        upload(of_tau, g);
        upload(of_threshold, h);
        if (i % 2 == 0) {
          replay(graph);
        } else {
          EXPECT_OK(synfire_optimizer_step(optimizer, &desc, nullptr));
          EXPECT_OK(synfire_context_synchronize(this->context_));
        }
        std::vector<double> chunks;
        add_squares(g, chunks);
        add_squares(h, chunks);
        ASSERT_TRUE(counters.begin(rates, norm_of(chunks)));
        const auto follow = [&](double& p, R gradient, size_t at, double rate_factor, double decay_factor, double low,
                                double high) {
          double along = static_cast<double>(
              direction(rates, counters, rates.decay * decay_factor, gradient, static_cast<R>(p), m[at], v[at]));
          if (rates.kind != SYNFIRE_OPTIMIZER_KIND_SGD) along /= 1 - counters.power1;
          if (rates.kind == SYNFIRE_OPTIMIZER_KIND_ADAMW) along = std::fma(rates.decay * decay_factor, p, along);
          p = std::clamp(std::fma(-(rates.rate * rate_factor), along, p), low, high);
        };
        for (size_t k = 0; k < length; ++k) follow(tau[k], g[k], k, 4, 0.5, 1.25, 1e300);
        follow(threshold[0], h[0], length, 1, 0, -1e300, 1.5);
        ASSERT_TRUE(same_bits(get_parameter(layer, "tau", length), tau)) << i;
        ASSERT_TRUE(same_bits(get_parameter(layer, "v_threshold"), threshold)) << i;
      }
      const char* const name = rates.kind != SYNFIRE_OPTIMIZER_KIND_SGD ? "moment1" : "momentum";
      if (rates.kind != SYNFIRE_OPTIMIZER_KIND_SGD || rates.momentum > 0) {
        EXPECT_TRUE(same_bits(read<R>(optimizer, 0, name, length), slice(m, 0, length)));
        EXPECT_TRUE(same_bits(read<R>(optimizer, 1, name, 1), slice(m, length, 1)));
      }
      // The constants are those of a layer that was given the values.
      const Layer fresh = make_layer(this->context_, describe(Shape{3, 2, 5}, dtype_of<R>));
      set_parameter(fresh, "tau", tau);
      set_parameter(fresh, "v_threshold", threshold);
      std::vector<R> h_of[2];
      const Buffer x = make_buffer_of(this->context_, random.values<R>(30, -0.5, 2));
      for (int which = 0; which < 2; ++which) {
        const Buffer h_seq = make_buffer(this->context_, dtype_of<R>, 30);
        synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
        forward.x = x;
        forward.h_seq = h_seq;
        EXPECT_OK(synfire_layer_forward(which == 0 ? layer : fresh, &forward, nullptr));
        h_of[which] = download<R>(h_seq, 30);
      }
      EXPECT_TRUE(same_bits(h_of[0], h_of[1]));
    }
  }
}

TEST(Optimizers, MoreParametersThanOneLaunchTakes) {
  const Context context = make_context();
  const Optimizer optimizer = make_optimizer(context, describe({SYNFIRE_OPTIMIZER_KIND_SGD, 0.5, 0, 0, 0, false}));
  std::vector<Layer> layers;
  std::vector<Buffer> gradients;
  std::vector<double> chunks;
  for (int i = 0; i < 150; ++i) {
    layers.push_back(make_layer(context, describe(Shape{1, 1, 2}, SYNFIRE_DTYPE_F32)));
    gradients.push_back(make_buffer_of(context, std::vector<float>{0.001f * static_cast<float>(i)}));
    add_squares(std::vector<float>{0.001f * static_cast<float>(i)}, chunks);
    EXPECT_OK(
        synfire_optimizer_add_parameter(optimizer, layers.back(), "tau", gradients.back(), 1, 0, -infinity, infinity));
  }
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  EXPECT_OK(synfire_optimizer_step(optimizer, &desc, nullptr));
  EXPECT_OK(synfire_context_synchronize(context));
  EXPECT_EQ(read<double>(optimizer, -1, "gradient_norm", 1)[0], norm_of(chunks));
  const double tau = get_parameter(layers[0], "tau")[0];
  for (int i = 1; i < 150; ++i)
    EXPECT_EQ(get_parameter(layers[static_cast<size_t>(i)], "tau")[0],
              std::fma(-0.5, static_cast<double>(0.001f * static_cast<float>(i)), tau));
}

TEST(Optimizers, AStepMakesTapesStale) {
  const Context context = make_context();
  const Shape shape{3, 2, 5};
  const Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, 30), grad = make_buffer(context, SYNFIRE_DTYPE_F32, 30);
  const Buffer grad_x = make_buffer(context, SYNFIRE_DTYPE_F32, 30),
               of_tau = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  const Buffer of_threshold = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  const Optimizer optimizer = make_optimizer(context, describe(every_rule[3]));
  EXPECT_OK(synfire_optimizer_add_parameter(optimizer, layer, "tau", of_tau, 1, 0, -infinity, infinity));
  EXPECT_OK(synfire_optimizer_add_parameter(optimizer, layer, "v_threshold", of_threshold, 1, 0, -infinity, infinity));
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = grad;
  backward.grad_x_seq = grad_x;
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr));
  EXPECT_OK(synfire_optimizer_step(optimizer, &desc, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-PARAMETERS"),
               synfire_layer_backward(layer, &backward, nullptr));
  {
    const Graph graph = make_graph(context);
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &desc));
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-PARAMETERS"),
                 synfire_graph_record_backward(graph, layer, &backward));
  }
  const Graph graph = make_graph(context);
  EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
  EXPECT_OK(synfire_graph_record_backward(graph, layer, &backward));
  EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (int i = 0; i < 3; ++i) replay(graph);
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-PARAMETERS"),
               synfire_layer_backward(layer, &backward, nullptr));
}

// ---- life, memory, slots --------------------------------------------------------------------------------------------

TEST(Optimizers, KeepWhatTheyUse) {
  const Context context = make_context();
  Optimizer optimizer = make_optimizer(context, describe(every_rule[3]));
  const Graph graph = make_graph(context);
  {
    Synapse synapse = make_synapse<float>(context, {5, 3}, 1);
    const Layer layer = make_layer(context, describe(Shape{2, 1, 4}, SYNFIRE_DTYPE_F32));
    const Buffer gradient = make_buffer_of(context, std::vector<float>{0.5f});
    EXPECT_OK(synfire_optimizer_add_weights(optimizer, synapse, 1, 1));
    EXPECT_OK(synfire_optimizer_add_bias(optimizer, synapse, 1, 0));
    EXPECT_OK(synfire_optimizer_add_parameter(optimizer, layer, "tau", gradient, 1, 0, -infinity, infinity));
  }
  synfire_optimizer_memory memory = SYNFIRE_OPTIMIZER_MEMORY_INIT;
  EXPECT_OK(synfire_optimizer_query_memory(optimizer, &memory));
  EXPECT_EQ(memory.moment_bytes, 2u * 4 * (15 + 3 + 1));
  EXPECT_GT(memory.state_bytes, 0u);
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  EXPECT_OK(synfire_optimizer_step(optimizer, &desc, nullptr));
  EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  optimizer.reset();
  replay(graph);
  replay(graph);
}

// Gradients of parameters in pinned memory have a copy in each slot; another buffer may take their place.
TEST(Optimizers, GradientsInSlotsAndReboundOnes) {
  const Context context = make_context();
  const Layer layer = make_layer(context, describe(Shape{2, 1, 4}, SYNFIRE_DTYPE_F32));
  const Buffer pinned = make_frame(context, 1), other = make_frame(context, 1);
  const Optimizer optimizer = make_optimizer(context, describe({SYNFIRE_OPTIMIZER_KIND_SGD, 0.5, 0, 0, 0, false}));
  EXPECT_OK(synfire_optimizer_add_parameter(optimizer, layer, "tau", pinned, 1, 0, -infinity, infinity));
  const Graph graph = make_slotted_graph(context, 2);
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  double tau = get_parameter(layer, "tau")[0];
  for (const float gradient : {-0.25f, -0.5f, -1.0f}) {
    *slot_of(graph, 0, pinned) = gradient;
    wait(graph, launch(graph));
    tau = std::fma(-0.5, static_cast<double>(gradient), tau);
    EXPECT_EQ(get_parameter(layer, "tau")[0], tau);
  }
  EXPECT_OK(synfire_graph_rebind(graph, pinned, other));
  *slot_of(graph, 0, other) = -2.0f;
  wait(graph, launch(graph));
  EXPECT_EQ(get_parameter(layer, "tau")[0], tau + 1);
}

TEST(Optimizers, ContinueFromWhatWasRead) {
  const Context context = make_context();
  Training<float> first(context, every_rule[3], {{9, 4}}), second(context, every_rule[3], {{9, 4}});
  for (int i = 0; i < 3; ++i) {
    first.draw_gradients();
    first.step_eagerly();
  }
  for (const char* name : {"step_count", "skipped", "beta1_power", "beta2_power"}) {
    const auto value = read<double>(first.optimizer(), -1, name, 1);  // any 8 bytes
    EXPECT_OK(synfire_optimizer_write(second.optimizer(), -1, name, value.data(), 8));
  }
  auto& from = first.members()[0];
  auto& to = second.members()[0];
  for (const auto& [member, count] : {std::pair{0, size_t{36}}, std::pair{1, size_t{4}}})
    for (const char* name : {"moment1", "moment2"}) {
      const auto moments = read<float>(first.optimizer(), member, name, count);
      EXPECT_OK(synfire_optimizer_write(second.optimizer(), member, name, moments.data(), count * 4));
    }
  for (const auto& [name, count] : {std::pair{"weight", size_t{36}}, std::pair{"bias", size_t{4}},
                                    std::pair{"weight_gradient", size_t{36}}, std::pair{"bias_gradient", size_t{4}}})
    write(to.synapse, name, read<float>(from.synapse, name, count));
  first.step_eagerly();
  second.step_eagerly();
  EXPECT_TRUE(same_bits(read<float>(from.synapse, "weight", 36), read<float>(to.synapse, "weight", 36)));
  EXPECT_TRUE(same_bits(read<float>(from.synapse, "bias", 4), read<float>(to.synapse, "bias", 4)));
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST(OptimizerErrors, Descriptors) {
  const Context context = make_context();
  const auto create = [&](auto change) {
    synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
    change(desc);
    synfire_optimizer handle = nullptr;
    return synfire_optimizer_create(context, &desc, &handle);
  };
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-KIND", "3"), create([](auto& d) { d.kind = 3; }));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-FLAG", "nesterov"), create([](auto& d) { d.nesterov = 2; }));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "momentum"), create([](auto& d) { d.nesterov = 1; }));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "batches_per_step"),
               create([](auto& d) { d.batches_per_step = 1U << 21; }));
  for (const double bad : {-1.0, infinity, nan_value}) {
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "learning_rate"),
                 create([&](auto& d) { d.learning_rate = bad; }));
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "weight_decay"),
                 create([&](auto& d) { d.weight_decay = bad; }));
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "momentum"), create([&](auto& d) { d.momentum = bad; }));
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "clip_norm"), create([&](auto& d) { d.clip_norm = bad; }));
    for (const double beta : {bad, 1.0}) {
      EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "beta1"),
                   create([&](auto& d) { d.kind = 1, d.beta1 = beta; }));
      EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "beta2"),
                   create([&](auto& d) { d.kind = 2, d.beta2 = beta; }));
    }
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "epsilon"),
                 create([&](auto& d) { d.kind = 1, d.epsilon = bad; }));
  }
}

TEST(OptimizerErrors, Members) {
  const Context context = make_context(), elsewhere = make_context();
  const Optimizer optimizer = make_optimizer(context, describe(every_rule[3]));
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  const Graph graph = make_graph(context);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-OPTIMIZER-EMPTY"),
               synfire_optimizer_step(optimizer, &desc, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-OPTIMIZER-EMPTY"),
               synfire_graph_record_optimizer_step(graph, optimizer, &desc));
  const Synapse frozen = make_synapse<float>(context, {4, 3}, 1, {}, true);
  const Synapse synapse = make_synapse<float>(context, {4, 3, false}, 1),
                foreign = make_synapse<float>(elsewhere, {4, 3}, 1);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-SYNAPSE-FROZEN"),
               synfire_optimizer_add_weights(optimizer, frozen, 1, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-SYNAPSE-FROZEN"),
               synfire_optimizer_add_bias(optimizer, frozen, 1, 1));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-BIAS"), synfire_optimizer_add_bias(optimizer, synapse, 1, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("SYN-HANDLE-FOREIGN", "synapse"),
               synfire_optimizer_add_weights(optimizer, foreign, 1, 1));
  for (const double bad : {-1.0, infinity, nan_value}) {
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "learning_rate_factor"),
                 synfire_optimizer_add_weights(optimizer, synapse, bad, 1));
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "weight_decay_factor"),
                 synfire_optimizer_add_weights(optimizer, synapse, 1, bad));
  }
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "wieght", "did you mean \"weight\"?"),
               synfire_optimizer_add_array(optimizer, synapse, "wieght", 1, 1));
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "weight_gradient"),
               synfire_optimizer_add_array(optimizer, synapse, "weight_gradient", 1, 1));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-BIAS"), synfire_optimizer_add_array(optimizer, synapse, "bias", 1, 1));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "name"),
               synfire_optimizer_add_array(optimizer, synapse, nullptr, 1, 1));
  EXPECT_OK(synfire_optimizer_add_weights(optimizer, synapse, 1, 1));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-MEMBER", "already"),
               synfire_optimizer_add_weights(optimizer, synapse, 1, 1));
  for (const char* const name : {"weight", "weights"})  // as in files
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-MEMBER", "already", "\"weight\""),
                 synfire_optimizer_add_array(optimizer, synapse, name, 1, 1));
  const Layer layer = make_layer(context, describe(Shape{2, 1, 4}, SYNFIRE_DTYPE_F32));
  const Buffer one = make_buffer(context, SYNFIRE_DTYPE_F32, 1), wide = make_buffer(context, SYNFIRE_DTYPE_F64, 1);
  const Buffer four = make_buffer(context, SYNFIRE_DTYPE_F32, 4);
  const auto add = [&](const char* name, synfire_buffer gradient, double lower = -infinity, double upper = infinity) {
    return synfire_optimizer_add_parameter(optimizer, layer, name, gradient, 1, 0, lower, upper);
  };
  EXPECT_FAILS(refused, WORDS("SYN-PARAMETER-NAME", "taus"), add("taus", one));
  EXPECT_FAILS(refused, WORDS("alpha"), add("alpha", one));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "name"), add(nullptr, one));
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-TYPE", "gradient", "f64"), add("tau", wide));
  EXPECT_FAILS(refused, WORDS("SYN-UPDATE-LENGTH", "gradient", "4"), add("tau", four));
  EXPECT_FAILS(refused, WORDS("SYN-UPDATE-BOUNDS", "upper"), add("tau", one, 3, 2));
  EXPECT_OK(add("tau", one));
  const Buffer another = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  EXPECT_OK(add("v_threshold", another, nan_value, nan_value));  // default bounds
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-MEMBER", "already"), add("tau", one));
  // An object that was destroyed before cannot be added.
  Synapse gone = make_synapse<float>(context, {4, 3}, 1);
  Layer gone_layer = make_layer(context, describe(Shape{2, 1, 4}, SYNFIRE_DTYPE_F32));
  const synfire_synapse stale = gone;
  const synfire_layer stale_layer = gone_layer;
  gone.reset();
  gone_layer.reset();
  constexpr auto invalid = SYNFIRE_ERROR_INVALID_HANDLE;
  EXPECT_FAILS(invalid, WORDS("SYN-HANDLE-STALE", "synapse"), synfire_optimizer_add_weights(optimizer, stale, 1, 1));
  EXPECT_FAILS(invalid, WORDS("SYN-HANDLE-STALE", "synapse"), synfire_optimizer_add_bias(optimizer, stale, 1, 1));
  EXPECT_FAILS(invalid, WORDS("SYN-HANDLE-STALE", "layer"),
               synfire_optimizer_add_parameter(optimizer, stale_layer, "tau", one, 1, 0, -infinity, infinity));
  const double values[4] = {2, 2, 2, 2};
  EXPECT_FAILS(refused, WORDS("SYN-UPDATE-LENGTH"), synfire_layer_set_parameter(layer, "tau", values, 4));
  synfire_optimizer_step_desc bad = desc;
  bad.learning_rate = -1;
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "learning_rate"),
               synfire_optimizer_step(optimizer, &bad, nullptr));
  bad = desc;
  bad.clip_norm = nan_value;
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "clip_norm"),
               synfire_graph_record_optimizer_step(graph, optimizer, &bad));
  EXPECT_OK(synfire_optimizer_step(optimizer, &desc, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-OPTIMIZER-SEALED"), add("v_threshold", one));
}

TEST(OptimizerErrors, ReadingAndWriting) {
  const Context context = make_context();
  const Synapse synapse = make_synapse<float>(context, {4, 3}, 1);
  const Optimizer adam = make_optimizer(context, describe(every_rule[3])),
                  sgd = make_optimizer(context, describe(every_rule[0]));
  EXPECT_OK(synfire_optimizer_add_weights(adam, synapse, 1, 1));
  EXPECT_OK(synfire_optimizer_add_weights(sgd, synapse, 1, 1));
  float values[12] = {};
  const auto write = [&](int32_t member, const char* name, uint64_t bytes = 48) {
    return synfire_optimizer_write(adam, member, name, values, bytes);
  };
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-MEMBER", "1"), write(1, "moment1"));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-MEMBER", "-2"), write(-2, "moment1"));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NAME", "step_count"), write(-1, "moment1"));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NAME", "moment2"), write(0, "momentum"));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NAME", "did you mean \"step_count\"?"), write(-1, "stepcount"));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NAME", "did you mean \"moment1\"?"), write(0, "moment_1"));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NAME", "nothing"), synfire_optimizer_read(sgd, 0, "momentum", values, 48));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-SIZE", "47", "48"), write(0, "moment1", 47));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "values"), synfire_optimizer_read(adam, 0, "moment1", nullptr, 48));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "name"), synfire_optimizer_read(adam, 0, nullptr, values, 48));
  EXPECT_OK(write(0, "moment2"));
  values[3] = -1;
  EXPECT_OK(write(0, "moment1"));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-FINITE", "3", "at least 0"), write(0, "moment2"));
  values[3] = std::numeric_limits<float>::infinity();
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-FINITE", "3"), write(0, "moment1"));
  const double two = 2;
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-FINITE", "0 to 1"),
               synfire_optimizer_write(adam, -1, "beta1_power", &two, 8));
}

// A replay runs on the launching thread; its callback lets another thread launch a second graph.
struct OtherThread {
  synfire_graph graph;
  synfire_status status = SYNFIRE_OK;
  std::string text = {};

  static synfire_status SYNFIRE_CALL launch(void* user, const synfire_native_call*) {
    auto& other = *static_cast<OtherThread*>(user);
    std::thread([&] {
      other.status = synfire_graph_launch(other.graph, nullptr, nullptr);
      char found[512] = "";
      synfire_last_error(found, sizeof found, nullptr);
      other.text = found;
    }).join();
    return SYNFIRE_OK;
  }
};

TEST(OptimizerErrors, AnotherThreadTakesAStep) {
  if (!on_host()) GTEST_SKIP() << "on a GPU a launch is not the computation";
  const Context context = make_context();
  const Synapse synapse = make_synapse<float>(context, {4, 3}, 1);
  const Optimizer optimizer = make_optimizer(context, describe(every_rule[1]));
  EXPECT_OK(synfire_optimizer_add_weights(optimizer, synapse, 1, 1));
  const Graph first = make_graph(context), second = make_graph(context);
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  OtherThread other = {second};
  EXPECT_OK(synfire_graph_record_optimizer_step(first, optimizer, &desc));
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = OtherThread::launch;
  native.user = &other;
  EXPECT_OK(synfire_graph_record_native(first, &native));
  EXPECT_OK(synfire_graph_record_optimizer_step(second, optimizer, &desc));
  for (const synfire_graph graph : {first.get(), second.get()}) EXPECT_OK(synfire_graph_instantiate(graph));
  replay(first);
  EXPECT_EQ(other.status, SYNFIRE_ERROR_WRONG_ORDER);
  EXPECT_NE(other.text.find("[SYN-OPTIMIZER-SHARED]"), std::string::npos) << other.text;
  replay(second);
  EXPECT_EQ(count_of(optimizer, "step_count"), 2u);
}

}  // namespace
}  // namespace synfire_test
