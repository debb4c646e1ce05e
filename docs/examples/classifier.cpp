// classifier.cpp - classifier.c in C++: two layers, trained by operations that are recorded one by one, with the
// synapses as parts of the layers' passes. It prints exactly the same numbers.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <synfire/synfire.hpp>
#include <vector>

namespace {

constexpr int inputs = 40, hidden_neurons = 50, classes = 3, steps = 20, batch = 30, epochs = 40;

// Each class has a rate for each input: Knuth's 64-bit linear congruential generator (MMIX).
void write_samples(synfire::View<float> rates, synfire::View<std::uint32_t> labels) {
  std::vector<float> of_class;
  std::uint64_t seed = 1;
  for (int i = 0; i < classes * inputs; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    of_class.push_back(0.5F * static_cast<float>(seed >> 40) / 16777216.0F);
  }
  for (std::size_t b = 0; b < batch; ++b) {
    const std::size_t label = b % classes;
    labels[b] = static_cast<std::uint32_t>(label);
    for (std::size_t k = 0; k < inputs; ++k) rates[b * inputs + k] = of_class[label * inputs + k];
  }
}

std::uint32_t bits_of(float number) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

synfire::Synapse make_synapse(const synfire::Context& context, int n_inputs, int n_outputs, std::uint64_t seed) {
  synfire_synapse_desc desc = synfire::synapse_desc(n_inputs, n_outputs);
  desc.bias = 1;
  desc.gain = 2;
  desc.seed = seed;
  return {context, desc};
}

void run() {
  const synfire::Context context(synfire::context_desc(SYNFIRE_BACKEND_HOST));
  constexpr synfire::steps t{steps};
  const synfire::Synapse first = make_synapse(context, inputs, hidden_neurons, 1),
                         second = make_synapse(context, hidden_neurons, classes, 2);
  const synfire::Layer hidden(context,
                              synfire::layer_desc(SYNFIRE_MODEL_LIF, t, synfire::neurons{hidden_neurons}, batch)),
      readout(context, synfire::layer_desc(SYNFIRE_MODEL_LI, t, synfire::neurons{classes}, batch));

  constexpr std::int32_t pinned = SYNFIRE_MEMORY_PINNED;
  synfire::Buffer rates(context, synfire::buffer_desc<float>({batch, inputs}, pinned)),
      labels(context, synfire::counts_desc(batch, pinned)), loss(context, synfire::buffer_desc<float>(1, pinned)),
      correct(context, synfire::counts_desc(1, pinned));
  const synfire::Buffer samples(context,
                                synfire::buffer_desc<std::uint32_t>({steps, batch, (inputs + 31) / 32}, pinned)),
      spikes = hidden.make_spikes(pinned), grad_spikes = hidden.make_sequence<float>(pinned),
      v = readout.make_sequence<float>(pinned), grad_v = readout.make_sequence<float>(pinned),
      scores = readout.make_state<float>(pinned), grad_scores = readout.make_state<float>(pinned),
      hidden_rest = hidden.make_state<float>(pinned),  // 0: every replay starts at rest
      readout_rest = readout.make_state<float>(pinned);
  write_samples(rates.data<float>(), labels.data<std::uint32_t>());

  synfire::Optimizer adam(context, synfire::optimizer_desc(SYNFIRE_OPTIMIZER_KIND_ADAM, 0.02));
  for (const synfire::Synapse* const synapse : {&first, &second}) {
    adam.add_weights(*synapse, 1, 1);
    adam.add_bias(*synapse, 1, 0);
  }

  synfire_forward_desc forward = synfire::forward_desc(first, samples, spikes),
                       readout_forward = synfire::forward_desc(second, spikes);
  forward.v_init = hidden_rest;
  readout_forward.v_init = readout_rest;
  readout_forward.v_seq = v;
  synfire_loss_desc entropy = synfire::loss_desc(scores, labels, classes);
  entropy.batch = batch;
  entropy.loss = loss;
  entropy.n_correct = correct;
  entropy.gradient = grad_scores;
  synfire_backward_desc readout_backward = synfire::backward_desc();
  readout_backward.grad_v_seq = grad_v;
  readout_backward.grad_synapse_input = grad_spikes;

  synfire::Graph step(context);
  step.record_encode_bernoulli(synfire::encode_bernoulli_desc(rates, samples, t, synfire::neurons{inputs}, batch));
  step.record_forward(hidden, forward);
  step.record_forward(readout, readout_forward);
  step.record_reduce(
      synfire::reduce_desc(v, scores, t, synfire::neurons{classes}, SYNFIRE_REDUCE_MEAN, SYNFIRE_AXIS_STEPS, batch));
  step.record_loss(entropy);
  step.record_reduce_backward(synfire::reduce_backward_desc(grad_scores, grad_v, t, synfire::neurons{classes},
                                                            SYNFIRE_REDUCE_MEAN, SYNFIRE_AXIS_STEPS, batch));
  step.record_backward(readout, readout_backward);
  step.record_backward(hidden, synfire::backward_desc(grad_spikes));
  step.record_optimizer_step(adam, synfire::optimizer_step_desc());
  step.instantiate();

  for (int epoch = 0; epoch < epochs; ++epoch) {
    step.wait(step.launch());
    std::printf("%d %08x %u\n", epoch, static_cast<unsigned>(bits_of(loss.data<float>()[0])),
                static_cast<unsigned>(correct.data<std::uint32_t>()[0]));
  }
  std::vector<float> weights(std::size_t{classes} * hidden_neurons);
  synfire::read(second, "weight", weights);
  for (const float weight : weights) std::printf("%08x\n", static_cast<unsigned>(bits_of(weight)));
}

}  // namespace

int main() {
  try {
    run();
    return EXIT_SUCCESS;
  } catch (const synfire::error& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    return EXIT_FAILURE;
  }
}
