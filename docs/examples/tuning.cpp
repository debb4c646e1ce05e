// tuning.cpp - tuning.c in C++. It prints the same.
#include <cstdio>
#include <limits>
#include <synfire/synfire.hpp>

constexpr std::uint32_t inputs = 41, classes = 3, rows = 99;

// Spikes per step. Every third input is more active; which ones depends on the row.
static std::vector<float> rates(std::uint32_t seed) {
  std::vector<float> all(std::size_t{rows} * inputs);
  for (std::uint32_t i = 0; i < rows * inputs; ++i)
    all[i] = static_cast<float>((i % inputs % classes == i / inputs % classes ? 20 : 12) + (seed * i >> 28)) / 128;
  return all;
}

static double print(const char* what, const synfire_network_result& result) {
  std::printf("%s: loss %.9f\n", what, result.loss);
  return result.loss;
}

static synfire::Network make(const synfire::Context& context, std::uint32_t n_classes) {
  synfire::Network network(context, synfire::network_desc(synfire::steps{20}, SYNFIRE_DTYPE_F32, 30));
  network.add_input("rates", SYNFIRE_NETWORK_INPUT_RATES, inputs);
  network.add_synapse("first", 53);
  network.add_neurons("hidden", SYNFIRE_MODEL_LIF);
  network.add_synapse("head", n_classes);
  network.add_neurons("potentials", SYNFIRE_MODEL_LI);
  network.add_readout("scores", SYNFIRE_READOUT_MEAN);
  network.add_loss("loss", SYNFIRE_LOSS_CROSS_ENTROPY);
  network.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01);
  network.set_value("adam", "warmup_steps", 8);
  network.set_value("adam", "schedule", SYNFIRE_SCHEDULE_STEP);
  network.set_value("adam", "schedule_steps", 40);
  network.set_value("adam", "schedule_factor", 0.5);
  network.build();
  std::vector<std::uint32_t> labels;
  for (std::uint32_t i = 0; i < rows; ++i) labels.push_back(i % classes % n_classes);
  synfire::set_data(context, network, SYNFIRE_DATA_TRAINING, rates(2654435761), labels);
  synfire::set_data(context, network, SYNFIRE_DATA_EVALUATION, rates(2246822519), labels);
  return network;
}

int main() {
  const synfire::Context context;  // a GPU if there is one, else the host
  synfire::Network body = make(context, classes);
  print("body", body.train(40));
  body.save("body.safetensors");
  // [fine tuning]
  synfire::Network network = make(context, 2);  // with a new head
  synfire::load_arrays(network, "body.safetensors",
                       {synfire::array_source("first.weights"), synfire::array_source("first.bias")});
  network.set_value("first", "frozen", 1);
  print("head", network.train(20));
  network.set_value("first", "frozen", 0);  // then all of it, the body slowly
  network.set_value("first", "learning_rate_factor", 0.1);
  print("both", network.train(20));
  // [fine tuning]
  // [best]
  double best = std::numeric_limits<double>::infinity();
  std::vector<unsigned char> file;
  for (int worse = 0; worse < 2;) {  // until two epochs in a row were no better
    network.train(0);                // an epoch
    const double loss = print("epoch", network.evaluate());
    worse = loss < best ? 0 : worse + 1;
    if (worse == 0) file = synfire::save_to_memory(network);
    if (worse == 0) best = loss;
  }
  synfire::load_from_memory(network, file);
  // [best]
  print("best", network.evaluate());
}
