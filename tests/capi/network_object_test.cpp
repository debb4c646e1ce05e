// synfire_network: what it trains, evaluates and infers has the bits of the same network recorded by hand, and each
// stage, value and part is as it says.
#include <algorithm>
#include <cmath>

#include "network_by_hand.hpp"

namespace synfire_test {
namespace {

synfire_network_result train(synfire_network network, int64_t n_batches = 0) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_OK(synfire_network_train(network, n_batches, &result));
  return result;
}

synfire_network_result evaluate(synfire_network network) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_OK(synfire_network_evaluate(network, &result));
  return result;
}

testing::AssertionResult same_sums(const synfire_network_result& result, const Sums& sums) {
  const double rates = sums.rate_loss / static_cast<double>(result.n_batches);
  const double loss = (sums.divisor == 0 ? sums.loss : sums.loss / sums.divisor) + rates;
  if (bits_of(result.loss) != bits_of(loss) || bits_of(result.rate_loss) != bits_of(rates))
    return testing::AssertionFailure() << "loss " << result.loss << " against " << loss << ", of rates "
                                       << result.rate_loss << " against " << rates;
  if (result.n_correct != sums.n_correct || result.n_counted != sums.n_counted)
    return testing::AssertionFailure() << result.n_correct << " of " << result.n_counted << " against "
                                       << sums.n_correct << " of " << sums.n_counted;
  return testing::AssertionSuccess();
}

class NetworkObject : public testing::Test {
 protected:
  Context context = make_context(2);

  Network build(const StagePlan& plan, bool with_training = true) const {
    Network network = make_stages(context, plan, with_training);
    EXPECT_OK(synfire_network_build(network));
    return network;
  }

  // Trains for some epochs both ways, with an evaluation after each, and compares everything.
  void compare(const StagePlan& plan, int n_epochs = 3) const {
    SCOPED_TRACE(testing::Message() << plan);
    constexpr int64_t n_evaluated = 7;
    const Data training = make_data(context, plan, plan.n_rows, 3),
               evaluation = make_data(context, plan, n_evaluated, 4);
    const Network network = build(plan);
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, training);
    set_data(network, SYNFIRE_DATA_EVALUATION, n_evaluated, evaluation);
    ByHand by_hand(context, plan, training, evaluation, n_evaluated);
    ASSERT_EQ(learnt(network, plan).words(), by_hand.learnt().words()) << "before any step";
    const int64_t per_epoch = plan.drop_last ? plan.n_rows / plan.batch : (plan.n_rows + plan.batch - 1) / plan.batch;
    const int64_t evaluated = (n_evaluated + plan.batch - 1) / plan.batch;
    const std::vector<uint32_t> before = learnt(network, plan).words();
    for (int epoch = 0; epoch < n_epochs; ++epoch) {
      const synfire_network_result result = train(network);
      EXPECT_EQ(result.n_batches, static_cast<uint64_t>(per_epoch));
      EXPECT_EQ(result.epoch, static_cast<uint64_t>(epoch) + 1);
      EXPECT_EQ(result.batch, 0u);
      EXPECT_EQ(result.n_skipped, 0u);
      EXPECT_TRUE(std::isfinite(result.loss));
      ASSERT_TRUE(same_sums(result, by_hand.train(static_cast<int>(per_epoch)))) << "epoch " << epoch;
      ASSERT_EQ(learnt(network, plan).words(), by_hand.learnt().words()) << "after epoch " << epoch;
      ASSERT_TRUE(same_sums(evaluate(network), by_hand.evaluate(static_cast<int>(evaluated))));
    }
    EXPECT_NE(learnt(network, plan).words(), before);
  }
};

TEST_F(NetworkObject, HaveTheBitsOfTheClassifierRecordedByHand) {
  StagePlan plan;
  compare(plan);
}

TEST_F(NetworkObject, HaveTheBitsByHandForEveryInput) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8}) {
    StagePlan plan;
    plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    plan.input_dtype = dtype;
    plan.n_steps = 35;
    compare(plan, 2);
  }
  StagePlan plan;
  plan.input = SYNFIRE_NETWORK_INPUT_VALUES;
  compare(plan, 2);
  plan.lengths = true;
  compare(plan, 2);
}

TEST_F(NetworkObject, HaveTheBitsByHandForEveryReadout) {
  for (const int32_t readout :
       {SYNFIRE_READOUT_SUM, SYNFIRE_READOUT_MEAN, SYNFIRE_READOUT_MAX, SYNFIRE_READOUT_LAST, SYNFIRE_READOUT_STEPS})
    for (const bool of_spikes : {false, true}) {
      StagePlan plan;
      plan.readout = readout;
      plan.of_spikes = of_spikes;
      plan.last = of_spikes ? SYNFIRE_MODEL_LIF : SYNFIRE_MODEL_LI;
      plan.lengths = true;
      compare(plan, 1);
    }
}

TEST_F(NetworkObject, HaveTheBitsByHandWithEverythingOn) {
  StagePlan plan;
  plan.sizes = {33, 20, 11, 5};
  plan.dropout = 0.2;
  plan.hidden_dropout = 0.3;
  plan.rate_strength = 0.5;
  plan.train_tau = true;
  plan.clip_norm = 0.1;
  plan.decay = 0.01;
  plan.smoothing = 0.1;
  plan.optimizer = SYNFIRE_OPTIMIZER_KIND_ADAMW;
  plan.lengths = plan.sample_weights = true;
  compare(plan);
  plan.drop_last = 1;
  plan.freeze_first = true;
  compare(plan, 2);
  plan.train_tau = false;
  compare(plan, 2);
}

TEST_F(NetworkObject, HaveTheBitsByHandForSquaredErrorsAndInF64) {
  StagePlan plan;
  plan.loss = SYNFIRE_LOSS_MEAN_SQUARED_ERROR;
  plan.optimizer = SYNFIRE_OPTIMIZER_KIND_SGD;
  plan.rate = 0.1;
  compare(plan, 2);
  plan.dtype = SYNFIRE_DTYPE_F64;
  compare(plan, 2);
  plan.input = SYNFIRE_NETWORK_INPUT_VALUES;
  plan.dropout = 0.25;
  compare(plan, 2);
}

TEST_F(NetworkObject, HaveTheBitsByHandForBatchesThatDoNotFit) {
  for (const int64_t n_rows : {1, 3, 4, 5, 8, 9})
    for (const int64_t batch : {1, 4}) {
      StagePlan plan;
      plan.n_rows = n_rows;
      plan.batch = batch;
      plan.sizes = {9, 3};
      plan.last = SYNFIRE_MODEL_LIF;
      compare(plan, 2);
    }
}

// ---- running --------------------------------------------------------------------------------------------------------

TEST_F(NetworkObject, BatchesAreTheSameInOneCallOrInMany) {
  StagePlan plan;
  plan.dropout = 0.2;
  const Data data = make_data(context, plan, plan.n_rows, 3);
  const Network one = build(plan), many = build(plan);
  set_data(one, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
  set_data(many, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
  const synfire_network_result all = train(one, 8);  // 3 batches an epoch
  EXPECT_EQ(all.epoch, 2u);
  EXPECT_EQ(all.batch, 2u);
  EXPECT_EQ(train(many, 1).batch, 1u);
  EXPECT_EQ(train(many).n_batches, 2u);  // the rest of the epoch
  EXPECT_EQ(train(many).n_batches, 3u);
  EXPECT_EQ(train(many, 2).batch, 2u);
  EXPECT_EQ(learnt(one, plan).words(), learnt(many, plan).words());
}

TEST_F(NetworkObject, EvaluationsAreRepeatable) {
  StagePlan plan;
  plan.dropout = 0.2;
  const Network network = build(plan);
  set_data(network, SYNFIRE_DATA_EVALUATION, 9, make_data(context, plan, 9, 5));
  const synfire_network_result first = evaluate(network), second = evaluate(network);
  EXPECT_EQ(first.n_counted, 9u);
  EXPECT_EQ(first.n_batches, 3u);
  EXPECT_EQ(bits_of(first.loss), bits_of(second.loss));
  EXPECT_EQ(first.n_correct, second.n_correct);
}

TEST_F(NetworkObject, TheStateIsResetAfterwards) {
  StagePlan plan;
  const Network network = build(plan);
  set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(context, plan, plan.n_rows, 5));
  train(network, 1);
  synfire_layer layer = nullptr;
  ASSERT_OK(synfire_network_get_layer(network, "n0", &layer));
  const Layer owned(layer);
  const auto count = static_cast<size_t>(plan.batch * plan.sizes[1]);
  EXPECT_TRUE(all_are(read_state<float>(layer, count), 0.0F));
}

// A gradient that is not finite: nothing is learnt, and the result says so.
TEST_F(NetworkObject, SkippedStepsAreCounted) {
  StagePlan plan;
  const Network network = build(plan);
  set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(context, plan, plan.n_rows, 5));
  EXPECT_OK(synfire_network_set_value(network, "loss", "gradient_scale", 1e300));
  const std::vector<uint32_t> before = learnt(network, plan).words();
  EXPECT_EQ(train(network, 2).n_skipped, 2u);
  EXPECT_OK(synfire_network_set_value(network, "loss", "gradient_scale", 1));
  EXPECT_EQ(train(network, 1).n_skipped, 0u);
  EXPECT_NE(learnt(network, plan).words(), before);
}

// A value is one number; a parameter that the program made one number per neuron is read from the layer.
TEST_F(NetworkObject, AValuePerNeuronIsReadFromItsLayer) {
  const StagePlan plan;
  const Network network = build(plan, false);
  synfire_layer found = nullptr;
  ASSERT_OK(synfire_network_get_layer(network, "n0", &found));
  const Layer layer(found);
  double value = 0;
  EXPECT_OK(synfire_network_get_value(network, "n0", "tau", &value));
  set_parameter(layer, "tau", std::vector<double>(static_cast<size_t>(plan.sizes[1]), 3.0));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT,
               WORDS("SYN-NETWORK-PER-NEURON", "tau", "n0", "synfire_layer_get_parameter"),
               synfire_network_get_value(network, "n0", "tau", &value));
}

}  // namespace
}  // namespace synfire_test
