// Networks drawn at random, trained and evaluated on the backend under test with up to four threads, against one thread
// of the host backend: everything that is learnt and reported has the same bits. Shapes reach the kernels of a GPU for
// few rows and for many, in products, gradients of weights and parameters, and losses.
#include <algorithm>

#include "../sample.hpp"
#include "network_by_hand.hpp"

namespace synfire_test {
namespace {

constexpr uint64_t n_networks = 300;

// A plan, and choices that StagePlan does not have.
struct DrawnNetwork {
  StagePlan plan;
  bool class_weights = false, of_masks = false;
  int32_t gradient_bits = 0, surrogate = 0, reset = 0, tape = 0;
  int64_t n_evaluated = 5;
  int32_t n_threads = 1;
};
std::ostream& operator<<(std::ostream& out, const DrawnNetwork& n) {
  return out << n.plan << " class weights " << n.class_weights << " masks " << n.of_masks << " bits " << n.gradient_bits
             << " surrogate " << n.surrogate << " reset " << n.reset << " tape " << n.tape << " evaluated "
             << n.n_evaluated << " threads " << n.n_threads;
}

template <class T>
T one_of(Random& random, std::initializer_list<T> choices) {
  return choices.begin()[random.whole(0, static_cast<int64_t>(choices.size()) - 1)];
}
bool one_in(Random& random, int64_t count) {
  return random.whole(1, count) == 1;
}

DrawnNetwork draw(uint64_t seed) {
  Random random(seed);
  DrawnNetwork drawn;
  StagePlan& plan = drawn.plan;
  plan.seed = seed;
  plan.n_steps = one_in(random, 6) ? random.whole(33, 70) : random.whole(1, 12);
  // Up to a few thousand rows: a GPU has other kernels from 65, 257 and 1,025 rows on.
  plan.batch = one_in(random, 3) ? random.whole(100, 260) : random.whole(1, 20);
  if (plan.n_steps * plan.batch > 3000) plan.batch = 3000 / plan.n_steps;
  plan.n_rows = plan.batch + random.whole(0, 7);
  plan.drop_last = one_in(random, 3) ? 1 : 0;
  const auto width = [&] { return one_of<int64_t>(random, {1, 2, 7, 16, 31, 32, 33, 40, 63, 64, 65, 100}); };
  plan.sizes = {width()};
  for (int64_t n = random.whole(1, 3); n > 0; --n) plan.sizes.push_back(width());
  plan.input = one_of<int32_t>(random, {SYNFIRE_NETWORK_INPUT_RATES, SYNFIRE_NETWORK_INPUT_SPIKES,
                                        SYNFIRE_NETWORK_INPUT_VALUES, SYNFIRE_NETWORK_INPUT_VALUES});
  plan.input_dtype = plan.input == SYNFIRE_NETWORK_INPUT_SPIKES
                         ? one_of<int32_t>(random, {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8})
                         : SYNFIRE_DTYPE_F32;
  plan.hidden = one_of<int32_t>(random, {SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_PLIF, SYNFIRE_MODEL_IF});
  plan.last = one_of<int32_t>(random, {SYNFIRE_MODEL_LI, SYNFIRE_MODEL_LI, SYNFIRE_MODEL_LIF});
  plan.of_spikes = plan.last != SYNFIRE_MODEL_LI && one_in(random, 2);
  plan.readout = one_of<int32_t>(random, {SYNFIRE_READOUT_SUM, SYNFIRE_READOUT_MEAN, SYNFIRE_READOUT_MAX,
                                          SYNFIRE_READOUT_LAST, SYNFIRE_READOUT_STEPS, SYNFIRE_READOUT_STEPS});
  plan.loss = one_in(random, 3) ? SYNFIRE_LOSS_MEAN_SQUARED_ERROR : SYNFIRE_LOSS_CROSS_ENTROPY;
  plan.optimizer =
      one_of<int32_t>(random, {SYNFIRE_OPTIMIZER_KIND_SGD, SYNFIRE_OPTIMIZER_KIND_ADAM, SYNFIRE_OPTIMIZER_KIND_ADAMW});
  plan.rate = plan.optimizer == SYNFIRE_OPTIMIZER_KIND_SGD ? 0.1 : 0.01;
  plan.clip_norm = one_in(random, 3) ? 0.1 : 0;
  plan.decay = one_in(random, 3) ? 0.01 : 0;
  if (plan.loss == SYNFIRE_LOSS_CROSS_ENTROPY) plan.smoothing = one_in(random, 3) ? 0.1 : 0;
  plan.dropout = one_in(random, 3) ? 0.3 : 0;
  plan.hidden_dropout = plan.sizes.size() > 2 && one_in(random, 3) ? 0.3 : 0;
  const bool first_fires = plan.sizes.size() > 2 || plan.last != SYNFIRE_MODEL_LI;
  plan.rate_strength = first_fires && one_in(random, 4) ? 0.5 : 0;
  plan.train_tau = plan.model(0) == SYNFIRE_MODEL_LIF && one_in(random, 2);
  plan.freeze_first = plan.sizes.size() > 2 && one_in(random, 6);
  plan.lengths = one_in(random, 3);
  plan.sample_weights = one_in(random, 3);
  plan.dtype = one_in(random, 8) ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
  drawn.class_weights = one_in(random, 3);
  drawn.of_masks = one_in(random, 4);
  drawn.gradient_bits = one_of<int32_t>(random, {0, 0, 24, 32});
  drawn.surrogate = one_of<int32_t>(
      random, {SYNFIRE_SURROGATE_SIGMOID, SYNFIRE_SURROGATE_ATAN, SYNFIRE_SURROGATE_PIECEWISE_QUADRATIC});
  drawn.reset = one_of<int32_t>(random, {SYNFIRE_RESET_HARD, SYNFIRE_RESET_SOFT});
  drawn.tape = one_of<int32_t>(random, {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE});
  drawn.n_evaluated = random.whole(1, 9);
  drawn.n_threads = static_cast<int32_t>(random.whole(1, 4));
  return drawn;
}

Network build(synfire_context context, const DrawnNetwork& drawn) {
  const StagePlan& plan = drawn.plan;
  Network network = make_stages(context, plan);
  Random random(plan.seed + 1000);
  for (size_t i = 0; i < plan.n_pairs(); ++i) {
    const std::string synapse = numbered('s', i), neurons = numbered('n', i);
    require_ok(synfire_network_set_value(network, synapse.c_str(), "gradient_bits", drawn.gradient_bits));
    if (drawn.of_masks) {
      std::vector<uint8_t> mask(static_cast<size_t>(plan.sizes[i] * plan.sizes[i + 1]));
      for (uint8_t& connected : mask) connected = one_in(random, 4) ? 0 : 1;
      require_ok(synfire_network_set_mask(network, synapse.c_str(), mask.data(), mask.size()));
    }
    if (plan.model(i) == SYNFIRE_MODEL_LI) continue;
    require_ok(synfire_network_set_value(network, neurons.c_str(), "surrogate", drawn.surrogate));
    require_ok(synfire_network_set_value(network, neurons.c_str(), "reset", drawn.reset));
    require_ok(synfire_network_set_value(network, neurons.c_str(), "tape", drawn.tape));
  }
  if (drawn.class_weights) {
    const auto weights = random.values<float>(static_cast<size_t>(plan.sizes.back()), 0.1, 3);
    require_ok(synfire_network_set_class_weights(network, "loss", weights.data(), weights.size()));
  }
  require_ok(synfire_network_build(network));
  return network;
}

struct Outcome {
  bool learns;                  // some weights have changed
  std::vector<uint32_t> words;  // all that is learnt by some steps, and what training and evaluation report
};
Outcome outcome(synfire_context context, const DrawnNetwork& drawn) {
  const StagePlan& plan = drawn.plan;
  const Network network = build(context, drawn);
  set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(context, plan, plan.n_rows, plan.seed + 1));
  set_data(network, SYNFIRE_DATA_EVALUATION, drawn.n_evaluated,
           make_data(context, plan, drawn.n_evaluated, plan.seed + 2));
  const auto last_weights = [&] {
    synfire_synapse synapse = nullptr;
    require_ok(synfire_network_get_synapse(network, numbered('s', plan.n_pairs() - 1).c_str(), &synapse));
    const Synapse owned(synapse);
    const auto count = static_cast<size_t>(plan.sizes[plan.n_pairs() - 1] * plan.sizes[plan.n_pairs()]);
    std::vector<uint32_t> words(plan.dtype == SYNFIRE_DTYPE_F64 ? 2 * count : count);
    require_ok(synfire_synapse_read(synapse, "weight", words.data(), words.size() * sizeof(uint32_t)));
    return words;
  };
  const std::vector<uint32_t> before = last_weights();
  synfire_network_result trained = SYNFIRE_NETWORK_RESULT_INIT, evaluated = SYNFIRE_NETWORK_RESULT_INIT;
  require_ok(synfire_network_train(network, 3, &trained));
  require_ok(synfire_network_evaluate(network, &evaluated));
  Outcome found = {last_weights() != before, learnt(network, plan).words()};
  const auto add = [&](uint64_t word) {
    found.words.push_back(static_cast<uint32_t>(word));
    found.words.push_back(static_cast<uint32_t>(word >> 32));
  };
  for (const synfire_network_result* const result : {&trained, &evaluated}) {
    for (const double number : {result->loss, result->rate_loss}) add(bits_of(number));
    for (const uint64_t count : {result->n_correct, result->n_counted, result->n_skipped}) add(count);
  }
  return found;
}

TEST(RandomNetworks, HaveTheBitsOfOneThreadOfTheHost) {
  std::vector<Context> tested;
  for (int32_t threads = 1; threads <= 4; ++threads) tested.push_back(make_context(threads));
  const Context host = make_context_on(SYNFIRE_BACKEND_HOST, 1);
  uint64_t n_run = 0, n_learn = 0;
  for (uint64_t seed = 1; seed <= n_networks; ++seed) {
    if (!sampled(seed - 1)) continue;
    const DrawnNetwork drawn = draw(seed);
    SCOPED_TRACE(testing::Message() << drawn);
    const Outcome expected = outcome(host, drawn);
    ASSERT_EQ(outcome(tested[static_cast<size_t>(drawn.n_threads) - 1], drawn).words, expected.words);
    ++n_run;
    n_learn += expected.learns ? 1 : 0;
  }
  // A sample is too small for a bound on all of them: every second one of it learns.
  EXPECT_GE(10 * n_learn, (n_run == n_networks ? 8 : 5) * n_run) << "networks that learn nothing show nothing";
}

}  // namespace
}  // namespace synfire_test
