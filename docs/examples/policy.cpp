// policy.cpp - policy.c in C++. It prints the same.
#include <array>
#include <cmath>
#include <cstdio>
#include <synfire/synfire.hpp>

constexpr std::size_t carts = 16, ticks = 24;
constexpr int episodes = 300;

// Numbers from 0 to 1, the same in every language.
static double drawn(std::uint32_t &state) {
  state = state * 1664525U + 1013904223U;
  return static_cast<double>(state >> 8) / 16777216.0;
}

// A push to the right: its probability, and the slope of that.
struct Right {
  double probability, slope;
  explicit Right(float z)
      : probability(0.5 + 0.5 * (static_cast<double>(z) / size(z))), slope(0.5 / (size(z) * size(z))) {}
  static double size(float z) { return 1 + std::fabs(static_cast<double>(z)); }
};

int main() {
  const synfire::Context context;  // a GPU if there is one, else the host
  auto desc = synfire::network_desc(synfire::steps{8}, SYNFIRE_DTYPE_F32, carts);
  desc.own_loss = SYNFIRE_OWN_LOSS_STARTS;
  synfire::Network network(context, desc);
  add_stage(network, synfire::Stage("input", "cart").set("kind", "values").set("n_features", 2).set("n_steps", 1));
  network.add_synapse("first", 32);
  network.set_value("first", "gain", 3);
  network.add_neurons("hidden", SYNFIRE_MODEL_LIF);
  network.add_synapse("second", 1);
  network.add_neurons("potential", SYNFIRE_MODEL_LI);
  network.add_readout("push", SYNFIRE_READOUT_MEAN);
  network.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.003);
  network.build();
  synfire::Graph forward = network.graph(SYNFIRE_NETWORK_GRAPH_FORWARD),
                 backward = network.graph(SYNFIRE_NETWORK_GRAPH_BACKWARD);
  synfire::Buffer input = network.buffer("input"), output = network.buffer("output"),
                  pushes = network.buffer("push.gradient");
  const synfire::View<float> in = input.data<float>(), out = output.data<float>(), gradient = pushes.data<float>();
  using Row = std::array<double, carts>;
  static std::array<std::array<float, 2 * carts>, ticks> frames;
  static std::array<std::array<bool, carts>, ticks> pushed;
  static std::array<Row, ticks + 1> rewards;
  static std::array<double, ticks> baseline;
  std::uint32_t state = 1;
  double sum = 0;
  for (int episode = 1; episode <= episodes; ++episode) {
    Row x, v;
    for (std::size_t i = 0; i < carts; ++i) x[i] = 2 * drawn(state) - 1, v[i] = drawn(state) - 0.5;
    for (std::size_t t = 0; t < ticks; ++t) {
      for (std::size_t i = 0; i < carts; ++i) frames[t][2 * i] = static_cast<float>(x[i]);
      for (std::size_t i = 0; i < carts; ++i) frames[t][2 * i + 1] = static_cast<float>(v[i]);
      std::copy(frames[t].begin(), frames[t].end(), in.data());
      forward.wait(forward.launch());
      for (std::size_t i = 0; i < carts; ++i) {
        pushed[t][i] = drawn(state) < Right(out[i]).probability;
        v[i] = 0.95 * v[i] + (pushed[t][i] ? 0.15 : -0.15);
        x[i] += 0.2 * v[i];
        sum += rewards[t][i] = -(x[i] * x[i]);
      }
    }
    for (std::size_t t = ticks; t-- > 0;) {  // the reward of a push is all that follows it: from the last to the first
      double mean = 0;
      for (std::size_t i = 0; i < carts; ++i) rewards[t][i] += 0.8 * rewards[t + 1][i], mean += rewards[t][i] / carts;
      baseline[t] = episode == 1 ? mean : 0.9 * baseline[t] + 0.1 * mean;
      std::copy(frames[t].begin(), frames[t].end(), in.data());
      forward.wait(forward.launch());
      for (std::size_t i = 0; i < carts; ++i) {
        const Right right(out[i]);
        const double of_push = pushed[t][i] ? right.slope / right.probability : -right.slope / (1 - right.probability);
        gradient[i] = static_cast<float>(-(rewards[t][i] - baseline[t]) * of_push / carts);
      }
      backward.wait(backward.launch());
    }
    if (episode % 50 != 0) continue;
    std::printf("episodes to %d: reward %.9f\n", episode, sum / (50.0 * ticks * carts));
    sum = 0;
  }
}
