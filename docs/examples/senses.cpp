// senses.cpp - senses.c in C++. It prints the same.
#include <cstdio>
#include <synfire/synfire.hpp>

int main() {
  // Rates of 24 inputs, of which every third or second depends on the class of the row.
  std::vector<float> sound, touch;
  std::vector<std::uint32_t> what(96), where(96);
  for (std::uint32_t k = 0; k < 96 * 24; ++k) {
    what[k / 24] = k / 24 % 3, where[k / 24] = k / 24 / 3 % 2;
    sound.push_back(static_cast<float>((k % 24 % 3 == what[k / 24] ? 48U : 12U) + (2654435761U * k >> 28)) / 128);
    touch.push_back(static_cast<float>((k % 24 % 2 == where[k / 24] ? 48U : 12U) + (2654435761U * k >> 28)) / 128);
  }
  const synfire::Context context;  // a GPU if there is one, else the host
  synfire::Network network(context, synfire::network_desc(synfire::steps{20}, SYNFIRE_DTYPE_F32, 32));
  for (const bool second : {false, true}) {
    network.add_input(second ? "touch" : "sound", SYNFIRE_NETWORK_INPUT_RATES, 24);
    network.add_synapse(second ? "nerve" : "cochlea", 24);
    network.add_neurons(second ? "skin" : "ear", SYNFIRE_MODEL_LIF);
  }
  add_stage(network, synfire::Stage("concatenate", "both").reads("ear").reads("skin"));
  network.add_synapse("inner", 48);
  network.add_neurons("block", SYNFIRE_MODEL_LIF);
  // The shortcut goes around the block.
  add_stage(network, synfire::Stage("sum", "state").reads("block").reads("both"));
  for (const std::string head : {"what", "where"}) {
    add_stage(network, synfire::Stage("synapse", "to-" + head).reads("state").set("n_outputs", head == "what" ? 3 : 2));
    network.add_neurons((head + "-v").c_str(), SYNFIRE_MODEL_LI);
    network.add_readout(head.c_str(), SYNFIRE_READOUT_MEAN);
    network.add_loss((head + "-loss").c_str(), SYNFIRE_LOSS_CROSS_ENTROPY);
  }
  network.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01);
  network.build();
  set_arrays(context, network, SYNFIRE_DATA_TRAINING, 96,
             {{"sound", sound}, {"touch", touch}, {"what-loss", what}, {"where-loss", where}});
  for (int i = 0; i < 5; ++i)
    for (const synfire_stage_result& of : synfire::train(network, 15, {"what-loss", "where-loss"}).second)
      std::printf("%s %.9f, %u of 480\n", of.stage, of.loss, static_cast<unsigned>(of.n_correct));
}
