// pictures.cpp - pictures.c in C++. It prints the same.
#include <cstdio>
#include <synfire/synfire.hpp>

// A bar, a column, a frame or a cross of 7 x 7 pixels, and noise.
static float pixel(std::uint32_t i) {
  const auto mixed = [](std::uint32_t k) { return (k + 1) * 2654435761U >> 16; };
  const std::uint32_t row = i / 144, y = i / 12 % 12 - mixed(row) % 6, x = i % 12 - mixed(3 * row) % 6;
  const bool drawn[] = {y == 3, x == 3, y % 6 == 0 || x % 6 == 0, x == y || x + y == 6};
  return static_cast<float>((x < 7 && y < 7 && drawn[row % 4] ? 160U : 0U) + mixed(i) % 64) / 256;
}
int main() {
  const synfire::Context context;  // a GPU if there is one, else the host
  synfire::Network n(context, synfire::network_desc(synfire::steps{10}, SYNFIRE_DTYPE_F32, 32));
  add_stage(n,
            synfire::Stage("input", "in").set("kind", "rates").set("height", 12).set("width", 12).set("channels", 1));
  for (const std::string i : {"1", "2"}) {
    if (i == "2") add_stage(n, synfire::Stage("pool", "largest").set("kind", "max").set("window", 2));
    add_stage(n, synfire::Stage("conv2d", "conv" + i).set("output_channels", 12).set("kernel", 3));
    add_stage(n, synfire::Stage("normalization", "norm" + i));
    n.add_neurons(("lif" + i).c_str(), SYNFIRE_MODEL_LIF);
  }
  n.add_synapse("to-shapes", 4), n.add_neurons("v", SYNFIRE_MODEL_LI);
  n.add_readout("scores", SYNFIRE_READOUT_MEAN);
  n.add_loss("loss", SYNFIRE_LOSS_CROSS_ENTROPY);
  n.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01);
  n.build();
  for (const std::uint32_t first : {0U, 256U}) {
    std::vector<float> rows(std::size_t{256} * 144);
    std::vector<std::uint32_t> shapes(256);
    for (std::uint32_t i = 0; i < 256 * 144; ++i) rows[i] = pixel(first * 144 + i), shapes[i / 144] = i / 144 % 4;
    synfire::set_data(context, n, first ? SYNFIRE_DATA_EVALUATION : SYNFIRE_DATA_TRAINING, rows, shapes);
  }
  for (int i = 0; i < 6; ++i) {
    const synfire_network_result result = i < 5 ? n.train(24) : n.evaluate();
    std::printf("%s: loss %.9f, accuracy %.4f\n", i < 5 ? "train" : "test", result.loss, synfire::accuracy(result));
  }
}
