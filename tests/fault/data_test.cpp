// Data sets of networks whose copies fail half way.
#include "../capi/graph_support.hpp"
#include "fake_cuda.hpp"

namespace synfire_test {
namespace {

class DataThatFails : public testing::Test {
 protected:
  static constexpr int64_t n_rows = 6, n_inputs = 5, n_steps = 3;

  void SetUp() override {
    fake::install();
    context = make_context();
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = n_steps;
    desc.batch = 2;
    synfire_network made = nullptr;
    ASSERT_OK(synfire_network_create(context, &desc, &made));
    network = Network(made);
    ASSERT_OK(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_RATES, n_inputs));
    ASSERT_OK(synfire_network_add_synapse(network, "s", 4));
    ASSERT_OK(synfire_network_add_neurons(network, "n", SYNFIRE_MODEL_LIF));
    ASSERT_OK(synfire_network_add_readout(network, "r", SYNFIRE_READOUT_MEAN, 0));
    ASSERT_OK(synfire_network_add_loss(network, "l", SYNFIRE_LOSS_CROSS_ENTROPY));
    ASSERT_OK(synfire_network_add_optimizer(network, "o", SYNFIRE_OPTIMIZER_KIND_SGD, 0.1));
    ASSERT_OK(synfire_network_build(network));
  }
  synfire_status give(int32_t set, int32_t memory, float rate, uint32_t label, int64_t rows = n_rows) const {
    const Buffer inputs = make_frame(context, static_cast<uint64_t>(rows * n_inputs), memory);
    const Buffer labels = make_frame(context, static_cast<uint64_t>(rows), memory, SYNFIRE_DTYPE_U32);
    const std::vector<float> rates(static_cast<size_t>(rows * n_inputs), rate);
    const std::vector<uint32_t> all(static_cast<size_t>(rows), label);
    EXPECT_OK(synfire_buffer_upload(inputs, 0, rates.data(), rates.size() * sizeof rates[0]));
    EXPECT_OK(synfire_buffer_upload(labels, 0, all.data(), all.size() * sizeof all[0]));
    if (nth_copy > 0) fake::fail("cudaMemcpyAsync", cudaErrorInvalidValue, nth_copy);
    return synfire_network_set_data(network, set, rows, inputs, labels, nullptr, nullptr, nullptr);
  }
  synfire_status use(int32_t set) const {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    return set == SYNFIRE_DATA_TRAINING ? synfire_network_train(network, 1, &result)
                                        : synfire_network_evaluate(network, &result);
  }
  double loss() const {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    EXPECT_OK(synfire_network_evaluate(network, &result));
    return result.loss;
  }

  Context context;
  Network network;
  int nth_copy = 0;  // of a call, fails
};

TEST_F(DataThatFails, CopiesIntoTheSameArraysLeaveNoMixedData) {
  for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION}) {
    ASSERT_OK(give(set, SYNFIRE_MEMORY_PINNED, 0.25f, 1));
    for (nth_copy = 1; nth_copy <= 2; ++nth_copy) {
      EXPECT_FAILS(SYNFIRE_ERROR_CUDA, WORDS("no such data", "synfire_network_set_data"),
                   give(set, SYNFIRE_MEMORY_PINNED, 0.75f, 2));
      EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-NO-DATA", "incomplete"), use(set));
    }
    nth_copy = 0;
    EXPECT_OK(give(set, SYNFIRE_MEMORY_PINNED, 0.75f, 2));
    EXPECT_OK(use(set));
  }
}

TEST_F(DataThatFails, CopiesIntoNewArraysLeaveTheOldData) {
  ASSERT_OK(give(SYNFIRE_DATA_EVALUATION, SYNFIRE_MEMORY_PINNED, 0.25f, 1));
  const double before = loss();
  for (nth_copy = 1; nth_copy <= 2; ++nth_copy)
    EXPECT_FAILS(SYNFIRE_ERROR_CUDA, WORDS("cudaMemcpyAsync"),
                 give(SYNFIRE_DATA_EVALUATION, SYNFIRE_MEMORY_PINNED, 0.75f, 2, n_rows + 1));
  EXPECT_EQ(bits_of(loss()), bits_of(before));
}

}  // namespace
}  // namespace synfire_test
