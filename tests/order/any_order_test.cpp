// Training gives the same bits in every order that the operands allow; and networks have one arena.
#include "any_order.hpp"
#include "../capi/network_by_hand.hpp"

namespace synfire_test {
namespace {

TEST(AnyOrder, TrainsToTheSameBits) {
  StagePlan plan;
  plan.sizes = {20, 15, 9, 4};
  plan.dropout = 0.25;
  plan.rate_strength = 0.1;
  plan.train_tau = true;
  plan.clip_norm = 1;
  const Context context = make_context();
  const Data data = make_data(context, plan, plan.n_rows, 3);
  std::vector<uint32_t> first;
  for (int trial = 0; trial < 20; ++trial) {
    const Network network = make_stages(context, plan);
    ASSERT_OK(synfire_network_build(network));
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    const uint64_t before = n_reordered();
    ASSERT_OK(synfire_network_train(network, 6, &result));
    EXPECT_GT(n_reordered(), before) << "every list ran in its own order";
    const std::vector<uint32_t> words = learnt(network, plan).words();
    if (trial == 0) first = words;
    EXPECT_EQ(words, first) << trial;
  }
}

// A network allocates its arena when it is built, with room for any data: the graphs of other data take no second one.
TEST(AnyOrder, DataOfAnySortUseTheArenaOfTheNetwork) {
  const Context context = make_context();
  const auto taken_by_data = [&](bool lengths, bool sample_weights) {
    StagePlan plan;
    plan.sizes = {20, 15, 9, 4};
    plan.rate_strength = 0.1;
    plan.lengths = lengths;
    plan.sample_weights = sample_weights;
    const Data data = make_data(context, plan, plan.n_rows, 3);
    const Network network = make_stages(context, plan);
    EXPECT_OK(synfire_network_build(network));
    const uint64_t before = allocated_device_bytes();
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    set_data(network, SYNFIRE_DATA_EVALUATION, plan.n_rows, data);
    return allocated_device_bytes() - before;
  };
  const uint64_t least = taken_by_data(false, false);
  const uint64_t rows = 2 * static_cast<uint64_t>(StagePlan{}.n_rows) * 4;  // of either array, in both data sets
  EXPECT_EQ(taken_by_data(true, false), least + rows);
  EXPECT_EQ(taken_by_data(false, true), least + rows);
  EXPECT_EQ(taken_by_data(true, true), least + 2 * rows);
}

}  // namespace
}  // namespace synfire_test
