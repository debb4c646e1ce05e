// Training gives the same bits in every order that the operands allow.
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

}  // namespace
}  // namespace synfire_test
