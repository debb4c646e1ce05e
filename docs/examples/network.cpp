// network.cpp - network.c in C++. It prints the same.
#include <cstdio>
#include <synfire/synfire.hpp>

constexpr std::uint32_t inputs = 41, classes = 3, rows = 99;

// Spikes per step. Every third input is more active; which ones depends on the class of the row.
static std::vector<float> rates(std::uint32_t seed) {
  std::vector<float> all(std::size_t{rows} * inputs);
  for (std::uint32_t i = 0; i < rows * inputs; ++i)
    all[i] = static_cast<float>((i % inputs % classes == i / inputs % classes ? 20 : 12) + (seed * i >> 28)) / 128;
  return all;
}

static void print(const char* what, const synfire_network_result& result) {
  std::printf("%s: loss %.9f, accuracy %.4f\n", what, result.loss, synfire::accuracy(result));
}

int main() {
  const synfire::Context context;  // a GPU if there is one, else the host
  synfire::Network network(context, synfire::network_desc(synfire::steps{20}, SYNFIRE_DTYPE_F32, 30));
  network.add_input("rates", SYNFIRE_NETWORK_INPUT_RATES, inputs);
  network.add_synapse("first", 53);
  network.add_neurons("hidden", SYNFIRE_MODEL_LIF);
  network.add_synapse("second", classes);
  network.add_neurons("potentials", SYNFIRE_MODEL_LI);
  network.add_readout("scores", SYNFIRE_READOUT_MEAN);
  network.add_loss("loss", SYNFIRE_LOSS_CROSS_ENTROPY);
  network.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01);
  network.build();
  std::vector<std::uint32_t> labels;
  for (std::uint32_t i = 0; i < rows; ++i) labels.push_back(i % classes);
  synfire::set_data(context, network, SYNFIRE_DATA_TRAINING, rates(2654435761), labels);
  synfire::set_data(context, network, SYNFIRE_DATA_EVALUATION, rates(2246822519), labels);
  for (int i = 0; i < 5; ++i) print("5 epochs", network.train(20));
  print("other rows", network.evaluate());
  network.save("network.safetensors");
  synfire::Network loaded = synfire::network_from_file(context, "network.safetensors");
  synfire::set_data(context, loaded, SYNFIRE_DATA_EVALUATION, rates(2246822519), labels);
  print("loaded", loaded.evaluate());
}
