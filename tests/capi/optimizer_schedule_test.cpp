// Schedules of the learning rate, several batches for a step, and members whose factors change or that are frozen:
// against references that are written out here, and against optimisers that were made so.
#include <cmath>
#include <limits>

#include "graph_support.hpp"
#include "recording_support.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

Optimizer make_optimizer(synfire_context context, int32_t kind, uint32_t batches_per_step = 0, double clip_norm = 0) {
  synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  desc.kind = kind;
  desc.learning_rate = 0.25;
  desc.weight_decay = 0.03;
  desc.momentum = kind == SYNFIRE_OPTIMIZER_KIND_SGD ? 0.9 : 0;
  desc.clip_norm = clip_norm;
  desc.batches_per_step = batches_per_step;
  synfire_optimizer handle = nullptr;
  EXPECT_OK(synfire_optimizer_create(context, &desc, &handle));
  return Optimizer(handle);
}

// A synapse of values, and a parameter of a layer: three members.
template <typename R>
class Members {
 public:
  static constexpr int64_t n_inputs = 37, n_outputs = 5;
  static constexpr size_t n_weights = 37 * 5;

  explicit Members(synfire_context context, uint64_t seed = 3)
      : context_(context), layer(make_layer(context, describe(Shape{2, 1, 4}, dtype_of<R>))) {
    synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
    desc.input_kind = SYNFIRE_INPUT_VALUES;
    desc.n_inputs = n_inputs;
    desc.n_outputs = n_outputs;
    desc.dtype = dtype_of<R>;
    desc.bias = 1;
    desc.seed = seed;
    synfire_synapse handle = nullptr;
    EXPECT_OK(synfire_synapse_create(context, &desc, &handle));
    synapse = Synapse(handle);
    grad_tau = make_buffer(context, dtype_of<R>, 1);
  }
  void join(synfire_optimizer optimizer, double rate = 1, double decay = 1) const {
    EXPECT_OK(synfire_optimizer_add_weights(optimizer, synapse, rate, decay));
    EXPECT_OK(synfire_optimizer_add_bias(optimizer, synapse, 1, 0));
    EXPECT_OK(synfire_optimizer_add_parameter(optimizer, layer, "tau", grad_tau, 1, 0, nan_value, nan_value));
  }
  void set_gradients(const std::vector<R>& all) const {
    write("weight_gradient", slice(all, 0, n_weights));
    write("bias_gradient", slice(all, n_weights, n_outputs));
    upload(grad_tau, slice(all, n_weights + n_outputs, 1));
  }
  static constexpr size_t n_gradients() { return n_weights + n_outputs + 1; }
  // All that steps change.
  std::vector<R> values() const {
    std::vector<R> all(n_weights + n_outputs);
    EXPECT_OK(synfire_synapse_read(synapse, "weight", all.data(), n_weights * sizeof(R)));
    EXPECT_OK(synfire_synapse_read(synapse, "bias", all.data() + n_weights, n_outputs * sizeof(R)));
    all.push_back(static_cast<R>(get_parameter(layer, "tau")[0]));
    return all;
  }

 private:
  void write(const char* name, const std::vector<R>& values) const {
    EXPECT_OK(synfire_synapse_write(synapse, name, values.data(), values.size() * sizeof(R)));
  }
  synfire_context context_;

 public:
  Synapse synapse;
  Layer layer;
  Buffer grad_tau;
};

void step(synfire_context context, synfire_optimizer optimizer,
          const synfire_optimizer_step_desc& desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT) {
  EXPECT_OK(synfire_optimizer_step(optimizer, &desc, nullptr));
  EXPECT_OK(synfire_context_synchronize(context));
}
template <typename T>
T read(synfire_optimizer optimizer, const char* name) {
  T value = {};
  EXPECT_OK(synfire_optimizer_read(optimizer, -1, name, &value, sizeof value));
  return value;
}
template <typename R>
std::vector<R> moments(synfire_optimizer optimizer, int32_t member, size_t count) {
  std::vector<R> first(count), second(count);
  EXPECT_OK(synfire_optimizer_read(optimizer, member, "moment1", first.data(), count * sizeof(R)));
  EXPECT_OK(synfire_optimizer_read(optimizer, member, "moment2", second.data(), count * sizeof(R)));
  return joined(first, second);
}

// ---- schedules ------------------------------------------------------------------------------------------------------

class OptimizerSchedule : public testing::Test {
 protected:
  const Context context_ = make_context();
  const Members<float> members_{context_};
  const Optimizer optimizer_ = make_optimizer(context_, SYNFIRE_OPTIMIZER_KIND_SGD);

  void SetUp() override {
    members_.join(optimizer_);
    members_.set_gradients(Random(1).values<float>(Members<float>::n_gradients(), -1e-3, 1e-3));
  }
};

synfire_optimizer_step_desc schedule_of(int32_t schedule, int64_t warmup, int64_t steps, double factor) {
  synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  desc.schedule = schedule;
  desc.warmup_steps = warmup;
  desc.schedule_steps = steps;
  desc.schedule_factor = factor;
  return desc;
}

double power(double base, int exponent) {
  double product = 1;
  for (double square = base; exponent > 0; exponent /= 2, square *= square)
    if (exponent % 2 == 1) product *= square;
  return product;
}

TEST_F(OptimizerSchedule, EachStepHasItsFactor) {
  const auto run = [&](const synfire_optimizer_step_desc& desc, int n_steps, auto expected, double error) {
    const uint64_t zero = 0;
    EXPECT_OK(synfire_optimizer_write(optimizer_, -1, "step_count", &zero, sizeof zero));
    for (int t = 0; t < n_steps; ++t) {
      step(context_, optimizer_, desc);
      EXPECT_NEAR(read<double>(optimizer_, "learning_rate"), 0.25 * expected(t), error) << t;
    }
  };
  const auto warmup = [](int t) { return (t + 1) / 7.0; };
  run(
      schedule_of(SYNFIRE_SCHEDULE_CONSTANT, 7, 0, 0), 10, [&](int t) { return t < 7 ? warmup(t) : 1; }, 0);
  const auto cosine = [&](int t) {
    const double s = std::min(t - 7, 11);
    return t < 7 ? warmup(t) : 0.125 + 0.875 * (0.5 + 0.5 * std::cos(3.141592653589793 * s / 11));
  };
  run(schedule_of(SYNFIRE_SCHEDULE_COSINE, 7, 11, 0.125), 22, cosine, 2e-16);
  run(
      schedule_of(SYNFIRE_SCHEDULE_STEP, 2, 3, 0.7), 60,
      [](int t) { return t < 2 ? (t + 1) / 2.0 : power(0.7, (t - 2) / 3); }, 0);
  run(
      schedule_of(SYNFIRE_SCHEDULE_STEP, 0, 1, 0), 4, [](int t) { return power(0.1, t); }, 0);
  // The ends of a cosine are exact.
  run(
      schedule_of(SYNFIRE_SCHEDULE_COSINE, 0, 5, 0.375), 9,
      [&](int t) { return t == 0   ? 1.0
                          : t >= 5 ? 0.375
                                   : read<double>(optimizer_, "learning_rate") * 4; }, 0);
}

// As a file may have them.
TEST_F(OptimizerSchedule, CountsOfStepsBeyondAllExactNumbers) {
  for (const uint64_t taken : {uint64_t{1} << 53, (uint64_t{1} << 63) - 1, uint64_t{1} << 63, UINT64_MAX - 1}) {
    SCOPED_TRACE(taken);
    const auto rate_after = [&](const synfire_optimizer_step_desc& desc) {
      EXPECT_OK(synfire_optimizer_write(optimizer_, -1, "step_count", &taken, sizeof taken));
      step(context_, optimizer_, desc);
      EXPECT_EQ(read<uint64_t>(optimizer_, "step_count"), taken + 1);
      return read<double>(optimizer_, "learning_rate");
    };
    EXPECT_EQ(rate_after(schedule_of(SYNFIRE_SCHEDULE_STEP, 0, 1, 0.5)), 0);
    if (taken > uint64_t{1} << 62) {
      EXPECT_EQ(rate_after(schedule_of(SYNFIRE_SCHEDULE_STEP, 0, 1, std::nextafter(1.0, 0.0))), 0);
    }
    EXPECT_EQ(rate_after(schedule_of(SYNFIRE_SCHEDULE_STEP, 5, 3, 1)), 0.25);
    EXPECT_EQ(rate_after(schedule_of(SYNFIRE_SCHEDULE_COSINE, 0, 7, 0.375)), 0.25 * 0.375);
  }
}

TEST_F(OptimizerSchedule, AReplayCountsTheStepsThatAreTaken) {
  const Graph graph = make_graph(context_);
  const synfire_optimizer_step_desc desc = schedule_of(SYNFIRE_SCHEDULE_STEP, 0, 2, 0.5);
  EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer_, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  const auto rate_after = [&](int n_replays) {
    for (int i = 0; i < n_replays; ++i) replay(graph);
    return read<double>(optimizer_, "learning_rate");
  };
  EXPECT_EQ(rate_after(2), 0.25);
  EXPECT_EQ(rate_after(1), 0.125);
  // A gradient that is not finite takes no step, and the schedule does not go on.
  upload(members_.grad_tau, std::vector<float>{std::numeric_limits<float>::infinity()});
  EXPECT_EQ(rate_after(3), 0.125);
  EXPECT_EQ(read<uint64_t>(optimizer_, "skipped"), 3u);
  upload(members_.grad_tau, std::vector<float>{1e-4F});
  EXPECT_EQ(rate_after(1), 0.125);
  EXPECT_EQ(rate_after(1), 0.0625);
  const auto set = [&](const char* name, double value) { EXPECT_OK(synfire_graph_set_value(graph, 0, name, value)); };
  set("learning_rate", 1);
  set("warmup_steps", 8);
  EXPECT_EQ(rate_after(1), 0.75);  // the sixth step
  set("warmup_steps", 0);
  set("schedule", SYNFIRE_SCHEDULE_COSINE);
  set("schedule_steps", 12);
  set("schedule_factor", 0);
  EXPECT_NEAR(rate_after(1), 0.5, 2e-16);
  set("schedule", SYNFIRE_SCHEDULE_CONSTANT);
  EXPECT_EQ(rate_after(1), 1);
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, double>>{{"schedule_steps", -1},
                                                                                         {"schedule_steps", 0.5},
                                                                                         {"warmup_steps", 1e17},
                                                                                         {"schedule", 1.5},
                                                                                         {"schedule", 3},
                                                                                         {"schedule_factor", 1.25}})
    EXPECT_FAILS(refused, WORDS("SYN-SCALAR-RANGE", name), synfire_graph_set_value(graph, 0, name, value));
  EXPECT_EQ(rate_after(1), 1);
  EXPECT_FAILS(refused, WORDS("SYN-GRAPH-VALUE", "warmup_step", "did you mean"),
               synfire_graph_set_value(graph, 0, "warmup_step", 1));
}

TEST_F(OptimizerSchedule, WhatIsNoScheduleIsRefused) {
  const std::vector<float> before = members_.values();
  const auto refuse = [&](int32_t schedule, int64_t warmup, int64_t steps, double factor, const char* word) {
    const synfire_optimizer_step_desc desc = schedule_of(schedule, warmup, steps, factor);
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-SCHEDULE", word), synfire_optimizer_step(optimizer_, &desc, nullptr));
    const Graph graph = make_graph(context_);
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-SCHEDULE", word),
                 synfire_graph_record_optimizer_step(graph, optimizer_, &desc));
  };
  refuse(3, 0, 1, 0, "_STEP (2)");
  refuse(-1, 0, 1, 0, "desc.schedule is -1");
  refuse(SYNFIRE_SCHEDULE_CONSTANT, -1, 0, 0, "desc.warmup_steps is -1");
  refuse(SYNFIRE_SCHEDULE_CONSTANT, (int64_t{1} << 53) + 1, 0, 0, "2^53");
  refuse(SYNFIRE_SCHEDULE_COSINE, 0, 0, 0, "desc.schedule_steps is 0");
  refuse(SYNFIRE_SCHEDULE_STEP, 3, -4, 0.5, "desc.schedule_steps is -4");
  refuse(SYNFIRE_SCHEDULE_STEP, 3, 4, 1.5, "desc.schedule_factor is 1.5");
  refuse(SYNFIRE_SCHEDULE_STEP, 3, 4, -0.5, "desc.schedule_factor is -0.5");
  refuse(SYNFIRE_SCHEDULE_STEP, 3, 4, nan_value, "from 0 to 1");
  EXPECT_TRUE(same_bits(members_.values(), before));
  EXPECT_EQ(read<uint64_t>(optimizer_, "step_count"), 0u);
}

// ---- several batches for a step -------------------------------------------------------------------------------------

template <typename Scalar>
class OptimizerBatches : public testing::Test {
 protected:
  static constexpr uint32_t n_batches = 3;
  const Context context_ = make_context(2);

  std::vector<std::vector<Scalar>> draw() {
    std::vector<std::vector<Scalar>> gradients;
    for (uint32_t i = 0; i < n_batches; ++i)
      gradients.push_back(random_.template values<Scalar>(Members<Scalar>::n_gradients(), -0.5, 0.5));
    return gradients;
  }
  static std::vector<Scalar> mean_of(const std::vector<std::vector<Scalar>>& gradients) {
    std::vector<Scalar> mean(gradients[0].size());
    const Scalar share = static_cast<Scalar>(1.0 / n_batches);
    for (const std::vector<Scalar>& one : gradients)
      for (size_t i = 0; i < mean.size(); ++i) mean[i] = std::fma(one[i], share, mean[i]);
    return mean;
  }

  Random random_{8};
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(OptimizerBatches, Scalars);

TYPED_TEST(OptimizerBatches, AStepTakesTheirMean) {
  using R = TypeParam;
  const Members<R> several(this->context_), one(this->context_);
  const Optimizer optimizer = make_optimizer(this->context_, SYNFIRE_OPTIMIZER_KIND_ADAM, this->n_batches, 0.5);
  const Optimizer plain = make_optimizer(this->context_, SYNFIRE_OPTIMIZER_KIND_ADAM, 1, 0.5);
  several.join(optimizer);
  one.join(plain);
  const Graph graph = make_graph(this->context_);
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (int i = 0; i < 4; ++i) {
    const auto gradients = this->draw();
    const std::vector<R> before = several.values();
    for (size_t batch = 0; batch < gradients.size(); ++batch) {
      EXPECT_TRUE(same_bits(several.values(), before)) << batch;
      EXPECT_EQ(read<uint64_t>(optimizer, "accumulated_batches"), batch);
      several.set_gradients(gradients[batch]);
      if (i % 2 == 0)
        replay(graph);
      else
        step(this->context_, optimizer);
    }
    EXPECT_EQ(read<uint64_t>(optimizer, "accumulated_batches"), 0u);
    one.set_gradients(this->mean_of(gradients));
    step(this->context_, plain);
    EXPECT_TRUE(same_bits(several.values(), one.values())) << i;
    EXPECT_EQ(read<double>(optimizer, "gradient_norm"), read<double>(plain, "gradient_norm"));
    for (int32_t member = 0; member < 3; ++member) {
      const size_t count = member == 0 ? Members<R>::n_weights : member == 1 ? Members<R>::n_outputs : 1;
      EXPECT_TRUE(same_bits(moments<R>(optimizer, member, count), moments<R>(plain, member, count))) << member;
    }
  }
  EXPECT_EQ(read<uint64_t>(optimizer, "step_count"), 4u);
  synfire_optimizer_memory memory = SYNFIRE_OPTIMIZER_MEMORY_INIT;
  EXPECT_OK(synfire_optimizer_query_memory(optimizer, &memory));
  EXPECT_EQ(memory.moment_bytes, 3 * Members<R>::n_gradients() * sizeof(R));
}

TYPED_TEST(OptimizerBatches, OneBatchThatIsNotFiniteLeavesTheStepOut) {
  using R = TypeParam;
  const Members<R> members(this->context_);
  const Optimizer optimizer = make_optimizer(this->context_, SYNFIRE_OPTIMIZER_KIND_ADAM, this->n_batches);
  members.join(optimizer);
  const std::vector<R> before = members.values();
  auto gradients = this->draw();
  gradients[1].back() = std::numeric_limits<R>::quiet_NaN();  // of the parameter: synapses take no such gradients
  const auto run = [&] {
    for (const auto& one : gradients) {
      members.set_gradients(one);
      step(this->context_, optimizer);
    }
  };
  run();
  EXPECT_TRUE(same_bits(members.values(), before));
  EXPECT_EQ(read<uint64_t>(optimizer, "skipped"), 1u);
  EXPECT_EQ(read<uint64_t>(optimizer, "step_count"), 0u);
  // The next ones are as if nothing had been.
  gradients = this->draw();
  run();
  const Members<R> fresh(this->context_);
  const Optimizer other = make_optimizer(this->context_, SYNFIRE_OPTIMIZER_KIND_ADAM, this->n_batches);
  fresh.join(other);
  for (const auto& one : gradients) {
    fresh.set_gradients(one);
    step(this->context_, other);
  }
  EXPECT_TRUE(same_bits(members.values(), fresh.values()));
  EXPECT_FALSE(same_bits(members.values(), before));
}

TYPED_TEST(OptimizerBatches, TheMeanSoFarCanBeTakenAlong) {
  using R = TypeParam;
  const Members<R> here(this->context_), there(this->context_);
  const Optimizer first = make_optimizer(this->context_, SYNFIRE_OPTIMIZER_KIND_ADAM, this->n_batches);
  const Optimizer second = make_optimizer(this->context_, SYNFIRE_OPTIMIZER_KIND_ADAM, this->n_batches);
  here.join(first);
  there.join(second);
  const auto gradients = this->draw();
  here.set_gradients(gradients[0]);
  step(this->context_, first);
  std::vector<R> mean(Members<R>::n_weights);
  const auto move = [&](int32_t member, size_t count) {
    EXPECT_OK(synfire_optimizer_read(first, member, "accumulated", mean.data(), count * sizeof(R)));
    EXPECT_OK(synfire_optimizer_write(second, member, "accumulated", mean.data(), count * sizeof(R)));
  };
  move(1, Members<R>::n_outputs);
  move(2, 1);
  move(0, Members<R>::n_weights);
  const uint64_t one = 1, too_many = this->n_batches;
  EXPECT_OK(synfire_optimizer_write(second, -1, "accumulated_batches", &one, sizeof one));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "accumulated_batches", "at most 2"),
               synfire_optimizer_write(second, -1, "accumulated_batches", &too_many, sizeof too_many));
  for (const size_t batch : std::initializer_list<size_t>{size_t{1}, size_t{2}}) {
    here.set_gradients(gradients[batch]);
    there.set_gradients(gradients[batch]);
    step(this->context_, first);
    step(this->context_, second);
  }
  EXPECT_TRUE(same_bits(here.values(), there.values()));
}

TEST(OptimizerBatchesRules, OthersAreRefused) {
  const Context context = make_context();
  synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  desc.batches_per_step = (1U << 20) + 1;
  synfire_optimizer handle = nullptr;
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "desc.batches_per_step is 1048577", "1048576"),
               synfire_optimizer_create(context, &desc, &handle));
  const Members<float> members(context);
  const Optimizer plain = make_optimizer(context, SYNFIRE_OPTIMIZER_KIND_ADAM);
  members.join(plain);
  std::vector<float> mean(Members<float>::n_weights);
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NAME", "\"moment1\", \"moment2\""),
               synfire_optimizer_read(plain, 0, "accumulated", mean.data(), mean.size() * sizeof mean[0]));
}

// ---- factors that change, and frozen members ------------------------------------------------------------------------

TYPED_TEST(OptimizerBatches, FactorsHoldFromTheNextStepOn) {
  using R = TypeParam;
  const Members<R> changed(this->context_), made(this->context_);
  const Optimizer optimizer = make_optimizer(this->context_, SYNFIRE_OPTIMIZER_KIND_ADAMW);
  const Optimizer other = make_optimizer(this->context_, SYNFIRE_OPTIMIZER_KIND_ADAMW);
  changed.join(optimizer);
  made.join(other, 0.5, 3);
  const Graph graph = make_graph(this->context_);
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_OK(synfire_optimizer_set_factors(optimizer, 0, 0.5, 3, 0));
  for (const auto& gradient : this->draw()) {
    changed.set_gradients(gradient);
    made.set_gradients(gradient);
    replay(graph);
    step(this->context_, other);
  }
  EXPECT_TRUE(same_bits(changed.values(), made.values()));
}

TYPED_TEST(OptimizerBatches, AFrozenMemberTakesNoPart) {
  using R = TypeParam;
  const Members<R> members(this->context_);
  const Optimizer optimizer = make_optimizer(this->context_, SYNFIRE_OPTIMIZER_KIND_ADAMW, 1, 0.3);
  members.join(optimizer);
  const Graph graph = make_graph(this->context_);
  const synfire_optimizer_step_desc desc = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  auto gradients = this->draw();
  members.set_gradients(gradients[0]);
  replay(graph);
  const size_t counts[] = {Members<R>::n_weights, Members<R>::n_outputs, 1};
  for (int32_t frozen = 0; frozen < 3; ++frozen) {
    SCOPED_TRACE(frozen);
    const size_t first = frozen == 0 ? 0 : frozen == 1 ? counts[0] : counts[0] + counts[1];
    EXPECT_OK(synfire_optimizer_set_factors(optimizer, frozen, 1, 1, 1));
    const std::vector<R> before = members.values(), of_moments = moments<R>(optimizer, frozen, counts[frozen]);
    std::vector<R> gradient = gradients[1];
    // Larger than those of which a step is taken.
    for (size_t i = 0; i < counts[frozen]; ++i) gradient[first + i] = sizeof(R) == 4 ? R(1e20) : R(1e155);
    members.set_gradients(gradient);
    const uint64_t taken = read<uint64_t>(optimizer, "step_count");
    replay(graph);
    EXPECT_EQ(read<uint64_t>(optimizer, "step_count"), taken + 1);
    EXPECT_TRUE(same_bits(moments<R>(optimizer, frozen, counts[frozen]), of_moments));
    const std::vector<R> after = members.values();
    double squares = 0;
    for (size_t i = 0; i < after.size(); ++i) {
      const bool is_frozen = i >= first && i < first + counts[frozen];
      EXPECT_EQ(after[i] == before[i], is_frozen) << i;
      if (!is_frozen) squares += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
    }
    EXPECT_NEAR(read<double>(optimizer, "gradient_norm"), std::sqrt(squares), 1e-12);
    EXPECT_OK(synfire_optimizer_set_factors(optimizer, frozen, 1, frozen == 0 ? 1 : 0, 0));
  }
  // It goes on with the moments that it had.
  members.set_gradients(gradients[2]);
  const std::vector<R> before = members.values();
  replay(graph);
  EXPECT_EQ(read<uint64_t>(optimizer, "skipped"), 0u);
  const std::vector<R> after = members.values();
  for (size_t i = 0; i < after.size(); ++i) EXPECT_NE(after[i], before[i]) << i;
}

// A factor of 0 is not the same: moments and norm go on.
TYPED_TEST(OptimizerBatches, AFactorOfZeroKeepsTheValuesAlone) {
  using R = TypeParam;
  const Members<R> members(this->context_);
  const Optimizer optimizer = make_optimizer(this->context_, SYNFIRE_OPTIMIZER_KIND_ADAM);
  members.join(optimizer);
  EXPECT_OK(synfire_optimizer_set_factors(optimizer, 0, 0, 0, 0));
  members.set_gradients(this->draw()[0]);
  const std::vector<R> before = members.values();
  step(this->context_, optimizer);
  EXPECT_TRUE(same_bits(slice(members.values(), 0, Members<R>::n_weights), slice(before, 0, Members<R>::n_weights)));
  EXPECT_FALSE(all_are(moments<R>(optimizer, 0, Members<R>::n_weights), R(0)));
}

TEST(OptimizerFactors, OthersAreRefused) {
  const Context context = make_context();
  const Members<float> members(context);
  const Optimizer optimizer = make_optimizer(context, SYNFIRE_OPTIMIZER_KIND_ADAM);
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-MEMBER", "member is 0", "0 members"),
               synfire_optimizer_set_factors(optimizer, 0, 1, 1, 0));
  members.join(optimizer);
  for (const int32_t member : {-1, 3})
    EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-MEMBER", "3 members"),
                 synfire_optimizer_set_factors(optimizer, member, 1, 1, 0));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "learning_rate_factor is -1"),
               synfire_optimizer_set_factors(optimizer, 0, -1, 1, 0));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-NUMBER", "weight_decay_factor is nan"),
               synfire_optimizer_set_factors(optimizer, 0, 1, nan_value, 0));
  EXPECT_FAILS(refused, WORDS("SYN-OPTIMIZER-FLAG", "frozen is 2"),
               synfire_optimizer_set_factors(optimizer, 0, 1, 1, 2));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("optimizer"), synfire_optimizer_set_factors(nullptr, 0, 1, 1, 0));
}

}  // namespace
}  // namespace synfire_test
