/* classifier.c - a classifier of two layers, trained by operations that are recorded one by one: synapses,
 * losses and an optimiser in one replay.
 *
 * Three classes of 40 firing rates each, 30 samples in a batch. In every replay the rates become new spikes; a synapse
 * and LIF neurons make 50 spike trains of them, another synapse and three leaky integrators the scores of the classes,
 * whose mean over time is the prediction. The rest of the step is the cross-entropy, all gradients, and Adam. The host
 * only launches, and prints the loss and the number of correct predictions.
 *
 * classifier.cpp, and the examples of the bindings for Rust, C# and Julia, print exactly the same numbers. There the
 * synapses are parts of the layers' passes, which need no buffers of X and dL/dX; here they are operations of their
 * own.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <synfire/synfire.h>

enum { INPUTS = 40, HIDDEN = 50, CLASSES = 3, STEPS = 20, BATCH = 30, EPOCHS = 40 };

static void check(synfire_status status) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

static synfire_buffer make_buffer(synfire_context context, int32_t dtype, int n_elements) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.dtype = dtype;
  desc.n_elements = (uint64_t)n_elements;
  check(synfire_buffer_create(context, &desc, &buffer));
  return buffer;
}

static void *data_of(synfire_buffer buffer) {
  void *data;
  check(synfire_buffer_get_data(buffer, &data, NULL));
  return data;
}

/* Each class has a rate for each input, from 0 to 0.5: the upper 24 bits of Knuth's 64-bit linear congruential
 * generator (MMIX), which is the same in every language. */
static void write_samples(float *rates, uint32_t *labels) {
  float of_class[CLASSES * INPUTS];
  uint64_t seed = 1;
  int i, b;
  for (i = 0; i < CLASSES * INPUTS; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    of_class[i] = 0.5F * (float)(seed >> 40) / 16777216.0F;
  }
  for (b = 0; b < BATCH; ++b) {
    labels[b] = (uint32_t)(b % CLASSES);
    for (i = 0; i < INPUTS; ++i) rates[b * INPUTS + i] = of_class[b % CLASSES * INPUTS + i];
  }
}

static synfire_synapse make_synapse(synfire_context context, int n_inputs, int n_outputs, uint64_t seed) {
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  synfire_synapse synapse;
  desc.n_inputs = n_inputs;
  desc.n_outputs = n_outputs;
  desc.bias = 1;
  desc.gain = 2.0;
  desc.seed = seed;
  check(synfire_synapse_create(context, &desc, &synapse));
  return synapse;
}

static synfire_layer make_layer(synfire_context context, int32_t model, int n_neurons) {
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_layer layer;
  desc.model = model;
  desc.n_neurons = n_neurons;
  desc.n_steps = STEPS;
  desc.batch = BATCH;
  check(synfire_layer_create(context, &desc, &layer));
  return layer;
}

static void record_synapse(synfire_graph graph, synfire_synapse synapse, synfire_buffer input, synfire_buffer output) {
  synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  desc.n_steps = STEPS;
  desc.batch = BATCH;
  desc.input = input;
  desc.output = output;
  check(synfire_graph_record_synapse_forward(graph, synapse, &desc));
}

static void record_synapse_gradients(synfire_graph graph, synfire_synapse synapse, synfire_buffer grad_output,
                                     synfire_buffer input, synfire_buffer grad_input) {
  synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
  desc.n_steps = STEPS;
  desc.batch = BATCH;
  desc.grad_output = grad_output;
  desc.input = input;
  desc.grad_input = grad_input;
  check(synfire_graph_record_synapse_backward(graph, synapse, &desc));
}

int main(void) {
  synfire_context_desc host = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_encode_bernoulli_desc encode = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT, readout_forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_reduce_desc mean = SYNFIRE_REDUCE_DESC_INIT;
  synfire_loss_desc loss = SYNFIRE_LOSS_DESC_INIT;
  synfire_reduce_backward_desc spread = SYNFIRE_REDUCE_BACKWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT, readout_backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_optimizer_desc adam_desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  synfire_optimizer_step_desc adam_step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  synfire_context context;
  synfire_synapse first, second;
  synfire_layer hidden, readout;
  synfire_optimizer adam;
  synfire_graph step;
  float weights[CLASSES * HIDDEN];
  int epoch, i;

  host.backend = SYNFIRE_BACKEND_HOST;
  check(synfire_context_create(&host, &context));
  first = make_synapse(context, INPUTS, HIDDEN, 1);
  second = make_synapse(context, HIDDEN, CLASSES, 2);
  hidden = make_layer(context, SYNFIRE_MODEL_LIF, HIDDEN);
  readout = make_layer(context, SYNFIRE_MODEL_LI, CLASSES);

  encode.n_steps = STEPS;
  encode.n_neurons = INPUTS;
  encode.batch = BATCH;
  encode.rates = make_buffer(context, SYNFIRE_DTYPE_F32, BATCH * INPUTS);
  encode.spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, STEPS * BATCH * ((INPUTS + 31) / 32));
  forward.x = make_buffer(context, SYNFIRE_DTYPE_F32, STEPS * BATCH * HIDDEN);
  forward.spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, STEPS * BATCH * ((HIDDEN + 31) / 32));
  forward.v_init = make_buffer(context, SYNFIRE_DTYPE_F32, BATCH * HIDDEN); /* 0: every replay starts at rest */
  readout_forward.x = make_buffer(context, SYNFIRE_DTYPE_F32, STEPS * BATCH * CLASSES);
  readout_forward.v_init = make_buffer(context, SYNFIRE_DTYPE_F32, BATCH * CLASSES);
  readout_forward.v_seq = make_buffer(context, SYNFIRE_DTYPE_F32, STEPS * BATCH * CLASSES);
  mean.reduction = SYNFIRE_REDUCE_MEAN;
  mean.n_steps = STEPS;
  mean.n_neurons = CLASSES;
  mean.batch = BATCH;
  mean.source = readout_forward.v_seq;
  mean.destination = make_buffer(context, SYNFIRE_DTYPE_F32, BATCH * CLASSES);
  loss.n_classes = CLASSES;
  loss.batch = BATCH;
  loss.source = mean.destination;
  loss.labels = make_buffer(context, SYNFIRE_DTYPE_U32, BATCH);
  loss.loss = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  loss.n_correct = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
  loss.gradient = make_buffer(context, SYNFIRE_DTYPE_F32, BATCH * CLASSES);
  spread.reduction = SYNFIRE_REDUCE_MEAN;
  spread.n_steps = STEPS;
  spread.n_neurons = CLASSES;
  spread.batch = BATCH;
  spread.grad_destination = loss.gradient;
  spread.grad_source = make_buffer(context, SYNFIRE_DTYPE_F32, STEPS * BATCH * CLASSES);
  readout_backward.grad_v_seq = spread.grad_source;
  readout_backward.grad_x_seq = make_buffer(context, SYNFIRE_DTYPE_F32, STEPS * BATCH * CLASSES);
  backward.grad_spike_seq = make_buffer(context, SYNFIRE_DTYPE_F32, STEPS * BATCH * HIDDEN);
  backward.grad_x_seq = make_buffer(context, SYNFIRE_DTYPE_F32, STEPS * BATCH * HIDDEN);
  write_samples(data_of(encode.rates), data_of(loss.labels));

  adam_desc.kind = SYNFIRE_OPTIMIZER_KIND_ADAM;
  adam_desc.learning_rate = 0.02;
  check(synfire_optimizer_create(context, &adam_desc, &adam));
  check(synfire_optimizer_add_weights(adam, first, 1.0, 1.0));
  check(synfire_optimizer_add_bias(adam, first, 1.0, 0.0));
  check(synfire_optimizer_add_weights(adam, second, 1.0, 1.0));
  check(synfire_optimizer_add_bias(adam, second, 1.0, 0.0));

  check(synfire_graph_create(context, NULL, &step));
  check(synfire_graph_record_encode_bernoulli(step, &encode));
  record_synapse(step, first, encode.spikes, forward.x);
  check(synfire_graph_record_forward(step, hidden, &forward));
  record_synapse(step, second, forward.spikes, readout_forward.x);
  check(synfire_graph_record_forward(step, readout, &readout_forward));
  check(synfire_graph_record_reduce(step, &mean));
  check(synfire_graph_record_loss(step, &loss));
  check(synfire_graph_record_reduce_backward(step, &spread));
  check(synfire_graph_record_backward(step, readout, &readout_backward));
  record_synapse_gradients(step, second, readout_backward.grad_x_seq, forward.spikes, backward.grad_spike_seq);
  check(synfire_graph_record_backward(step, hidden, &backward));
  record_synapse_gradients(step, first, backward.grad_x_seq, encode.spikes, NULL);
  check(synfire_graph_record_optimizer_step(step, adam, &adam_step));
  check(synfire_graph_instantiate(step));

  for (epoch = 0; epoch < EPOCHS; ++epoch) {
    uint64_t ticket;
    uint32_t bits;
    check(synfire_graph_launch(step, NULL, &ticket));
    check(synfire_graph_wait(step, ticket, SYNFIRE_WAIT_SPIN, -1));
    memcpy(&bits, data_of(loss.loss), sizeof bits);
    printf("%d %08x %u\n", epoch, (unsigned)bits, (unsigned)*(const uint32_t *)data_of(loss.n_correct));
  }
  check(synfire_synapse_read(second, "weight", weights, sizeof weights));
  for (i = 0; i < CLASSES * HIDDEN; ++i) {
    uint32_t bits;
    memcpy(&bits, weights + i, sizeof bits);
    printf("%08x\n", (unsigned)bits);
  }

  synfire_graph_destroy(step); /* what it uses is kept alive until here */
  synfire_optimizer_destroy(adam);
  synfire_synapse_destroy(first);
  synfire_synapse_destroy(second);
  synfire_layer_destroy(hidden);
  synfire_layer_destroy(readout);
  {
    const synfire_buffer buffers[] = {encode.rates,
                                      encode.spikes,
                                      forward.x,
                                      forward.spikes,
                                      forward.v_init,
                                      readout_forward.x,
                                      readout_forward.v_init,
                                      readout_forward.v_seq,
                                      mean.destination,
                                      loss.labels,
                                      loss.loss,
                                      loss.n_correct,
                                      loss.gradient,
                                      spread.grad_source,
                                      readout_backward.grad_x_seq,
                                      backward.grad_spike_seq,
                                      backward.grad_x_seq,
                                      NULL};
    for (i = 0; buffers[i] != NULL; ++i) synfire_buffer_destroy(buffers[i]);
  }
  synfire_context_destroy(context);
  check(synfire_context_reclaim(NULL, NULL));
  return EXIT_SUCCESS;
}
