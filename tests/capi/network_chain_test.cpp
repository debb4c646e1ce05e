// Long chains of stages: what they take grows with their length, not with its square, and no chain is longer than what
// can be saved.
#include <cstdio>
#include <ctime>

#include "../times.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

// An input, that many synapses and neurons of one neuron each, and what training needs. `n_stages` is even.
Network chain_of(synfire_context context, int n_stages) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 1;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  require_ok(synfire_network_add_input(network, "input", SYNFIRE_NETWORK_INPUT_RATES, 1));
  const int n_pairs = (n_stages - 4) / 2;
  for (int i = 0; i < n_pairs; ++i) {
    const std::string synapse = numbered('s', static_cast<size_t>(i)), neurons = numbered('n', static_cast<size_t>(i));
    require_ok(synfire_network_add_synapse(network, synapse.c_str(), 1));
    require_ok(synfire_network_set_value(network, synapse.c_str(), "gain", 2));
    require_ok(synfire_network_add_neurons(network, neurons.c_str(), SYNFIRE_MODEL_LIF));
    require_ok(synfire_network_train_parameter(network, neurons.c_str(), "tau", 0, 1, 0, 1, 100));
  }
  require_ok(synfire_network_add_readout(network, "readout", SYNFIRE_READOUT_MEAN, 1));
  require_ok(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
  require_ok(synfire_network_add_optimizer(network, "optimizer", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01));
  return network;
}

// Seconds of this process's processors.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double build_and_load(synfire_context context, int n_stages) {
  const double start = processor_seconds();
  const Network network = chain_of(context, n_stages);
  require_ok(synfire_network_build(network));
  const Buffer inputs = make_buffer(context, SYNFIRE_DTYPE_F32, 3), labels = make_buffer(context, SYNFIRE_DTYPE_U32, 3);
  require_ok(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 3, inputs, labels, nullptr, nullptr, nullptr));
  const File file = saved(network);
  require_ok(load(network, file));
  const Network again = created(context, file);
  EXPECT_EQ(saved(again).size(), file.size());
  return processor_seconds() - start;
}

TEST(NetworkChains, TimeGrowsWithTheirLength) {
  const Context context = make_context(1);
  build_and_load(context, 100);  // what is made only once
  const double shorter = build_and_load(context, 500), longer = build_and_load(context, 4000);
  // 8 times as long. Its square would be 64, and each of several searches through a list took it beyond that.
  std::printf("%.3f s for 500 stages, %.3f s for 4000\n", shorter, longer);
  if (judges_times()) {
    EXPECT_LT(longer, 24 * shorter);
  }
}

TEST(NetworkChains, TheLongestIsSavedAndLoaded) {
  const Context context = make_context(1);
  const Network network = chain_of(context, 4096);
  require_ok(synfire_network_build(network));
  const File file = saved(network);
  EXPECT_OK(load(network, file));
  EXPECT_EQ(saved(created(context, file)), file);
}

}  // namespace
}  // namespace synfire_test
