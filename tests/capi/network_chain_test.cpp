// Long chains of stages: what they take grows with their length, not with its square, and no chain is longer than what
// can be saved.
#include <cstdio>
#include <ctime>

#include "../times.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

// An input, as many synapses and neurons of one neuron each as that number of stages has, and what training needs.
// `keeps`: before each synapse a dropout, and arrays between the stages that are transient. The training then has
// arrays that are all in use at once: each from its stage in the forward to the same one in the backward.
Network chain_of(synfire_context context, int n_stages, bool keeps = false) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 1;
  desc.transient_arrays = keeps ? 1 : 0;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  require_ok(synfire_network_add_input(network, "input", SYNFIRE_NETWORK_INPUT_RATES, 1));
  const int n_pairs = (n_stages - 4) / (keeps ? 3 : 2);
  for (int i = 0; i < n_pairs; ++i) {
    const std::string synapse = numbered('s', static_cast<size_t>(i)), neurons = numbered('n', static_cast<size_t>(i));
    const std::string dropout = numbered('d', static_cast<size_t>(i));
    if (keeps) require_ok(synfire_network_add_dropout(network, dropout.c_str(), 0.5));
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

double build_and_load(synfire_context context, int n_stages, bool keeps) {
  const double start = processor_seconds();
  const Network network = chain_of(context, n_stages, keeps);
  require_ok(synfire_network_build(network));
  const Buffer inputs = make_buffer(context, SYNFIRE_DTYPE_F32, 3), labels = make_buffer(context, SYNFIRE_DTYPE_U32, 3);
  require_ok(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 3, inputs, labels, nullptr, nullptr, nullptr));
  synfire_graph made = nullptr;
  require_ok(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_TRAINING, &made));
  uint64_t bytes = 0;
  EXPECT_OK(synfire_graph_write_dot(Graph(made), nullptr, &bytes));
  EXPECT_OK(synfire_network_write_summary(network, nullptr, &bytes));
  const File file = saved(network);
  require_ok(load(network, file));
  const Network again = created(context, file);
  EXPECT_EQ(saved(again).size(), file.size());
  return processor_seconds() - start;
}

TEST(NetworkChains, TimeGrowsWithTheirLength) {
  const Context context = make_context(1);
  for (const bool keeps : {false, true}) {
    build_and_load(context, 100, keeps);  // what is made only once
    const double shorter = build_and_load(context, 500, keeps), longer = build_and_load(context, 4000, keeps);
    // 8 times as long. Its square would be 64, and each of several searches through a list took it beyond that.
    std::printf("%.3f s for 500 stages, %.3f s for 4000\n", shorter, longer);
    if (judges_times()) {
      EXPECT_LT(longer, 24 * shorter);
    }
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
