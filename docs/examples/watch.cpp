// watch.cpp - watch.c in C++. It prints the same, and draws the same pictures.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <synfire/synfire.hpp>

#include "plots.h"

constexpr std::uint32_t inputs = 41, hidden_neurons = 53, classes = 3, rows = 99, batch = 33;
constexpr int steps = 20, rounds = 10, batches = 9;

// Spikes per step. Every third input is more active; which ones depends on the class of the row.
static std::vector<float> rates(std::uint32_t seed) {
  std::vector<float> all(std::size_t{rows} * inputs);
  for (std::uint32_t i = 0; i < rows * inputs; ++i)
    all[i] = static_cast<float>((i % inputs % classes == i / inputs % classes ? 24 : 12) + (seed * i >> 28)) / 128;
  return all;
}

static synfire::Network make(const synfire::Context& context) {
  synfire::Network network(context, synfire::network_desc(synfire::steps{steps}, SYNFIRE_DTYPE_F32, batch));
  network.add_input("rates", SYNFIRE_NETWORK_INPUT_RATES, inputs);
  network.add_synapse("first", hidden_neurons);
  network.add_neurons("hidden", SYNFIRE_MODEL_LIF);
  network.add_synapse("second", classes);
  network.add_neurons("potentials", SYNFIRE_MODEL_LI);
  network.add_readout("scores", SYNFIRE_READOUT_MEAN);
  network.add_loss("loss", SYNFIRE_LOSS_CROSS_ENTROPY);
  network.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.005);
  network.keep("hidden.spikes hidden.monitor first.monitor");
  network.build();
  return network;
}

// The spikes of the last batch's first row, and how often which class got which name.
static bool draw(const synfire::Context& context, synfire::Network& network) {
  const std::vector<float> scores = synfire::infer(context, network, rates(2246822519));
  std::array<std::size_t, std::size_t{classes} * classes> counts{};
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const own = &scores[row * classes];
    ++counts[row % classes * classes + static_cast<std::size_t>(std::max_element(own, own + classes) - own)];
  }
  const auto words = network.buffer("hidden.spikes").download<std::uint32_t>();
  const plots_spikes of_row = {words.data(), steps, std::size_t{batch} * 2};
  constexpr std::array<const char*, classes> names = {"first", "second", "third"};
  return plots_raster("spikes.svg", "Spikes of the hidden neurons", &of_row, hidden_neurons) &&
         plots_confusion("confusion.svg", "Which class is taken for which", "rows: the class; columns: the name",
                         names.data(), classes, counts.data());
}

int main() {
  const synfire::Context context;  // a GPU if there is one, else the host
  synfire::Network network = make(context);
  std::vector<std::uint32_t> labels;
  for (std::uint32_t i = 0; i < rows; ++i) labels.push_back(i % classes);
  synfire::set_data(context, network, SYNFIRE_DATA_TRAINING, rates(2654435761), labels);
  synfire::set_data(context, network, SYNFIRE_DATA_EVALUATION, rates(2246822519), labels);
  std::array<double, rounds> losses{}, other_losses{}, accuracies{};
  synfire_network_result learnt{}, tested{};
  synfire_network_monitor hidden{}, first{};
  const auto start = std::chrono::steady_clock::now();
  // [watch]
  for (int round = 1; round <= rounds; ++round) {
    learnt = network.train(batches);
    hidden = network.monitor("hidden"), first = network.monitor("first");  // of this call
    tested = network.evaluate();
    const double accuracy = synfire::accuracy(tested);
    const auto i = static_cast<std::size_t>(round - 1);
    losses[i] = learnt.loss, other_losses[i] = tested.loss, accuracies[i] = accuracy;
    const double each = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / round;
    std::fprintf(stderr, "\r%d of %d, loss %.4f, accuracy %.4f, rate %.4f, %.0f rows/s, %.1f s left ", round, rounds,
                 learnt.loss, accuracy, hidden.rate, batches * int{batch} / each, each * (rounds - round));
  }
  std::fputc('\n', stderr);
  // [watch]
  std::printf("loss %.9f, other rows %.9f, accuracy %.4f, rate %.9f, silent %.4f, weights %.9f, gradients %.9f\n",
              learnt.loss, tested.loss, synfire::accuracy(tested), hidden.rate, hidden.silent, first.weight_norm,
              first.gradient_norm);
  const std::array<plots_curve, 3> curves = {{{"loss", losses.data()},
                                              {"loss, other rows", other_losses.data()},
                                              {"accuracy, other rows", accuracies.data()}}};
  const bool drawn = plots_curves("curves.svg", "Loss and accuracy", "rounds", curves.data(), curves.size(), rounds);
  return drawn && draw(context, network) ? EXIT_SUCCESS : EXIT_FAILURE;
}
