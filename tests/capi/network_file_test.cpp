// A network that is saved, loaded and continued has the bits of one that went on: with everything that draws random
// numbers, in the middle of an epoch, whatever is loaded into what.
#include "network_file.hpp"

namespace synfire_test {
namespace {

StagePlan odd() {
  StagePlan plan;
  plan.n_steps = 7;
  plan.batch = 6;
  plan.sizes = {37, 19, 5};
  plan.n_rows = 25;
  return plan;
}

std::vector<StagePlan> plans() {
  std::vector<StagePlan> all;
  const auto add = [&](auto change) {
    StagePlan plan = odd();
    change(plan);
    all.push_back(plan);
  };
  add([](StagePlan&) {});
  add([](StagePlan& plan) {
    plan.dropout = 0.3;
    plan.hidden_dropout = 0.2;
    plan.train_tau = true;
    plan.rate_strength = 0.1;
    plan.clip_norm = 0.5;
    plan.lengths = plan.sample_weights = true;
  });
  add([](StagePlan& plan) {
    plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    plan.input_dtype = SYNFIRE_DTYPE_TIME_BITS;
    plan.optimizer = SYNFIRE_OPTIMIZER_KIND_SGD;
    plan.hidden = SYNFIRE_MODEL_IZHIKEVICH;
    plan.hidden_dropout = 0.5;
    plan.drop_last = 1;
  });
  add([](StagePlan& plan) {
    plan.input = SYNFIRE_NETWORK_INPUT_VALUES;
    plan.loss = SYNFIRE_LOSS_MEAN_SQUARED_ERROR;
    plan.optimizer = SYNFIRE_OPTIMIZER_KIND_ADAMW;
    plan.decay = 0.01;
    plan.freeze_first = true;
    plan.train_tau = true;
  });
  add([](StagePlan& plan) {
    plan.dtype = SYNFIRE_DTYPE_F64;
    plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    plan.input_dtype = SYNFIRE_DTYPE_BITS;
    plan.readout = SYNFIRE_READOUT_SUM;
    plan.last = SYNFIRE_MODEL_LIF;
    plan.of_spikes = true;
    plan.dropout = 0.1;
    plan.smoothing = 0.1;
  });
  return all;
}

class NetworkFile : public testing::Test {
 protected:
  Context context = make_context(2);

  Network build(const StagePlan& plan, bool momentum = true) const {
    Network network = make_stages(context, plan);
    if (momentum && plan.optimizer == SYNFIRE_OPTIMIZER_KIND_SGD)
      require_ok(synfire_network_set_value(network, "optimizer", "momentum", 0.9));
    require_ok(synfire_network_build(network));
    return network;
  }
  void set_training(synfire_network network, const StagePlan& plan) const {
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(context, plan, plan.n_rows, 3));
  }
};

TEST_F(NetworkFile, AStoppedRunGoesOnToTheBit) {
  for (const StagePlan& plan : plans())
    for (const int64_t stop : {0, 3, 4, 7}) {
      SCOPED_TRACE(testing::Message() << plan << " stopped after " << stop);
      const Network through = build(plan);
      set_training(through, plan);
      if (stop > 0) trained(through, stop);
      const File file = saved(through);
      const synfire_network_result expected = trained(through, 6);
      const File at_end = saved(through);

      // Into a network without data, into one that was trained otherwise, and into a new one.
      std::vector<Network> others;
      others.push_back(build(plan));
      EXPECT_OK(load(others.back(), file));
      EXPECT_EQ(saved(others.back()), file);
      set_training(others.back(), plan);
      others.push_back(build(plan));
      set_training(others.back(), plan);
      trained(others.back(), 5);
      EXPECT_OK(load(others.back(), file));
      others.push_back(created(context, file));
      EXPECT_EQ(saved(others.back()), file);
      set_training(others.back(), plan);
      for (const Network& other : others) {
        EXPECT_EQ(saved(other), file);
        const synfire_network_result result = trained(other, 6);
        EXPECT_EQ(result.loss, expected.loss);
        EXPECT_EQ(result.epoch, expected.epoch);
        EXPECT_EQ(result.batch, expected.batch);
        EXPECT_EQ(saved(other), at_end);
      }
    }
}

}  // namespace
}  // namespace synfire_test
