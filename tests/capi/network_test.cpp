// Whole networks, trained: the same bits on every backend, for any number of threads, and for synapses as operations of
// their own and of layers.
#include <cmath>

#include "support.hpp"
#include "trained_network.hpp"

namespace synfire_test {
namespace {

constexpr int n_replays = 100;
const uint64_t n_plans = is_sanitized() ? 5 : 25;  // sanitizers are much slower

void require(synfire_status status) {
  if (status < 0) throw std::runtime_error(last_error_text());
}

std::vector<float> trained(synfire_context context, const NetworkPlan& plan, int replays = n_replays) {
  TrainedNetwork network(context, plan, require);
  network.train(replays);
  return network.results();
}

int32_t one_of(Random& random, const std::vector<int32_t>& values) {
  return values[static_cast<size_t>(random.whole(0, static_cast<int64_t>(values.size()) - 1))];
}

NetworkPlan random_plan(uint64_t seed) {
  Random random(seed);
  NetworkPlan plan;
  plan.seed = seed;
  plan.sizes = {random.whole(1, 90)};
  for (int64_t i = random.whole(0, 2); i > 0; --i) plan.sizes.push_back(random.whole(1, 90));
  plan.sizes.push_back(random.whole(2, 12));
  plan.n_steps = random.whole(1, 40);
  plan.batch = random.whole(1, 12);
  plan.active = random.whole(0, 2) == 0 ? random.whole(1, plan.batch) : plan.batch;
  plan.rate = random.uniform(0.02, 1);
  plan.hidden = one_of(random, {SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_PLIF, SYNFIRE_MODEL_IF});
  plan.spikes = one_of(random, {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32});
  plan.tape = random.whole(0, 1) == 0 ? SYNFIRE_TAPE_RECOMPUTE : SYNFIRE_TAPE_STORE;
  plan.optimizer = static_cast<int32_t>(random.whole(0, 2));
  plan.gradient_bits = random.whole(0, 1) == 0 ? 24 : 32;
  plan.dropout = random.whole(0, 2) == 0;
  return plan;
}

class Networks : public testing::Test {
 protected:
  const Context context = make_context(3), host = make_context_on(SYNFIRE_BACKEND_HOST);
};

TEST_F(Networks, AHundredStepsAreTheSameOnBothBackends) {
  for (uint64_t seed = 1; seed <= n_plans; ++seed) {
    const NetworkPlan plan = random_plan(seed);
    SCOPED_TRACE(testing::Message() << plan);
    const std::vector<float> expected = trained(host, plan);
    for (const float value : expected) ASSERT_TRUE(std::isfinite(value));
    ASSERT_TRUE(same_bits(trained(context, plan), expected));
  }
}

// Weights have moved, and most of what is learnt is right.
TEST_F(Networks, Learn) {
  NetworkPlan plan;
  plan.sizes = {40, 50, 3};
  plan.n_steps = 20;
  plan.batch = plan.active = 30;
  plan.rate = 0.8;
  const std::vector<float> before = trained(context, plan, 0), after = trained(context, plan);
  EXPECT_FALSE(same_bits(before, after));
  EXPECT_GT(after.back(), 0.8F * n_replays * 30);
}

TEST_F(Networks, SynapsesOfLayersAreTheSameAsOperationsOfTheirOwn) {
  for (uint64_t seed = 101; seed <= 100 + n_plans / 2; ++seed) {
    NetworkPlan plan = random_plan(seed);
    plan.dropout = false;
    SCOPED_TRACE(testing::Message() << plan);
    const std::vector<float> apart = trained(context, plan, 20);
    plan.synapses_of_layers = true;
    ASSERT_TRUE(same_bits(trained(context, plan, 20), apart));
  }
}

TEST_F(Networks, AnyNumberOfThreadsIsTheSame) {
  NetworkPlan plan;
  plan.sizes = {300, 170, 45, 11};
  plan.n_steps = 37;
  plan.batch = plan.active = 25;
  plan.rate = 0.2;
  const std::vector<float> expected = trained(host, plan, 3);
  for (const int32_t n_threads : {1, 2, 5}) {
    const Context threaded = make_context(n_threads);
    EXPECT_TRUE(same_bits(trained(threaded, plan, 3), expected)) << n_threads << " threads";
  }
}

// A batch of which not all rows are active is a batch of as many rows, whatever the others hold.
TEST_F(Networks, ASmallerBatchIsABatchOfThatSize) {
  for (uint64_t seed = 201; seed <= 200 + n_plans; ++seed) {
    NetworkPlan plan = random_plan(seed);
    plan.synapses_of_layers = !plan.dropout && seed % 2 == 0;
    plan.active = Random(seed).whole(1, plan.batch);
    SCOPED_TRACE(testing::Message() << plan);
    const std::vector<float> padded = trained(context, plan, 10);
    plan.batch = plan.active;
    ASSERT_TRUE(same_bits(trained(context, plan, 10), padded));
  }
}

// The formats of spikes change nothing.
TEST_F(Networks, AnyFormatOfSpikesIsTheSame) {
  NetworkPlan plan = random_plan(7);
  plan.spikes = SYNFIRE_DTYPE_BITS;
  const std::vector<float> expected = trained(context, plan, 10);
  for (const int32_t format : {SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32}) {
    plan.spikes = format;
    EXPECT_TRUE(same_bits(trained(context, plan, 10), expected)) << "format " << format;
  }
}

}  // namespace
}  // namespace synfire_test
