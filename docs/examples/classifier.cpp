// classifier.cpp - classifier.c in C++: two layers, trained by operations that are recorded one by one. It prints
// exactly the same numbers.
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
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.n_inputs = n_inputs;
  desc.n_outputs = n_outputs;
  desc.bias = 1;
  desc.gain = 2;
  desc.seed = seed;
  return {context, desc};
}

void run() {
  synfire_context_desc host = SYNFIRE_CONTEXT_DESC_INIT;
  host.backend = SYNFIRE_BACKEND_HOST;
  const synfire::Context context(host);
  const auto layer_desc = [](std::int32_t model, int neurons) {
    synfire_layer_desc desc = synfire::layer_desc(model, synfire::steps{steps}, synfire::neurons{neurons});
    desc.batch = batch;
    return desc;
  };
  const synfire::Synapse first = make_synapse(context, inputs, hidden_neurons, 1),
                         second = make_synapse(context, hidden_neurons, classes, 2);
  const synfire::Layer hidden(context, layer_desc(SYNFIRE_MODEL_LIF, hidden_neurons)),
      readout(context, layer_desc(SYNFIRE_MODEL_LI, classes));

  const auto buffer = [&context](std::int32_t dtype, int count) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.memory = SYNFIRE_MEMORY_PINNED;
    desc.n_elements = static_cast<std::uint64_t>(count);
    return synfire::Buffer(context, desc);
  };
  const auto sequence = [&](int neurons) { return buffer(SYNFIRE_DTYPE_F32, steps * batch * neurons); };
  const auto packed = [&](int neurons) { return buffer(SYNFIRE_DTYPE_BITS, steps * batch * ((neurons + 31) / 32)); };
  synfire::Buffer rates = buffer(SYNFIRE_DTYPE_F32, batch * inputs), labels = buffer(SYNFIRE_DTYPE_U32, batch),
                  loss = buffer(SYNFIRE_DTYPE_F32, 1), correct = buffer(SYNFIRE_DTYPE_U32, 1);
  const synfire::Buffer samples = packed(inputs), x = sequence(hidden_neurons), spikes = packed(hidden_neurons),
                        readout_x = sequence(classes), v = sequence(classes),
                        hidden_rest = buffer(SYNFIRE_DTYPE_F32, batch * hidden_neurons),
                        readout_rest = buffer(SYNFIRE_DTYPE_F32, batch * classes),
                        scores = buffer(SYNFIRE_DTYPE_F32, batch * classes),
                        grad_scores = buffer(SYNFIRE_DTYPE_F32, batch * classes), grad_v = sequence(classes),
                        grad_readout_x = sequence(classes), grad_spikes = sequence(hidden_neurons),
                        grad_x = sequence(hidden_neurons);
  write_samples(rates.data<float>(), labels.data<std::uint32_t>());

  synfire_optimizer_desc adam_desc = synfire::optimizer_desc(SYNFIRE_OPTIMIZER_KIND_ADAM, 0.02);
  synfire::Optimizer adam(context, adam_desc);
  for (const synfire::Synapse* const synapse : {&first, &second}) {
    adam.add_weights(*synapse, 1, 1);
    adam.add_bias(*synapse, 1, 0);
  }

  synfire_encode_bernoulli_desc encode = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
  encode.n_steps = steps;
  encode.n_neurons = inputs;
  encode.batch = batch;
  encode.rates = rates;
  encode.spikes = samples;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT, readout_forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.spikes = spikes;
  forward.v_init = hidden_rest;  // 0: every replay starts at rest
  readout_forward.x = readout_x;
  readout_forward.v_init = readout_rest;
  readout_forward.v_seq = v;
  synfire_loss_desc entropy = SYNFIRE_LOSS_DESC_INIT;
  entropy.n_classes = classes;
  entropy.batch = batch;
  entropy.source = scores;
  entropy.labels = labels;
  entropy.loss = loss;
  entropy.n_correct = correct;
  entropy.gradient = grad_scores;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT, readout_backward = SYNFIRE_BACKWARD_DESC_INIT;
  readout_backward.grad_v_seq = grad_v;
  readout_backward.grad_x_seq = grad_readout_x;
  backward.grad_spike_seq = grad_spikes;
  backward.grad_x_seq = grad_x;

  const synfire::steps t{steps};
  synfire::Graph step(context);
  step.record_encode_bernoulli(encode);
  step.record_synapse_forward(first, synfire::synapse_forward_desc(samples, x, t, batch));
  step.record_forward(hidden, forward);
  step.record_synapse_forward(second, synfire::synapse_forward_desc(spikes, readout_x, t, batch));
  step.record_forward(readout, readout_forward);
  step.record_reduce(
      synfire::reduce_desc(v, scores, SYNFIRE_REDUCE_MEAN, SYNFIRE_AXIS_STEPS, t, synfire::neurons{classes}, batch));
  step.record_loss(entropy);
  step.record_reduce_backward(synfire::reduce_backward_desc(grad_scores, grad_v, SYNFIRE_REDUCE_MEAN,
                                                            SYNFIRE_AXIS_STEPS, t, synfire::neurons{classes}, batch));
  step.record_backward(readout, readout_backward);
  step.record_synapse_backward(second, synfire::synapse_backward_desc(grad_readout_x, t, batch, spikes, grad_spikes));
  step.record_backward(hidden, backward);
  step.record_synapse_backward(first, synfire::synapse_backward_desc(grad_x, t, batch, samples));
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
