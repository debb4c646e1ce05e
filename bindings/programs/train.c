/* train.c - the training loop that is an example of every binding, in C: thresholds that learn when to fire.
 *
 * 128 LIF neurons receive the same noise in every replay. A teacher with one threshold per neuron determines at which
 * steps each neuron should fire. The student starts with all thresholds at 1 and follows the gradient of L = sum over
 * steps and neurons of (S - wanted)^2. One graph holds the whole training step: forward, dL/dS = 2 S - 2 wanted,
 * backward, and the update of the thresholds. Between replays the host reads the spikes to print the loss, and lowers
 * the learning rate.
 *
 * The bindings' programs must print exactly the same numbers.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>

enum { NEURONS = 128, STEPS = 64, EPOCHS = 60 };

static void check(synfire_status status) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

static synfire_buffer make_buffer(synfire_context context, int n_elements, void **data) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.n_elements = (uint64_t)n_elements;
  check(synfire_buffer_create(context, &desc, &buffer));
  check(synfire_buffer_get_data(buffer, data, NULL));
  return buffer;
}

/* Noise in [0, 3): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX), which is the same in
 * every language. */
static void write_noise(float *x) {
  uint64_t seed = 1;
  int i;
  for (i = 0; i < NEURONS * STEPS; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x[i] = 3.0F * (float)(seed >> 40) / 16777216.0F;
  }
}

static void record_scale_add(synfire_graph graph, double scale, synfire_buffer source, double keep,
                             synfire_buffer destination) {
  synfire_scale_add_desc desc = SYNFIRE_SCALE_ADD_DESC_INIT;
  desc.source = source;
  desc.destination = destination;
  desc.scale = scale;
  desc.keep = keep;
  check(synfire_graph_record_scale_add(graph, &desc));
}

int main(void) {
  synfire_context_desc host = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_update_parameter_desc update = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
  synfire_parameter_gradient gradient = {"v_threshold", NULL};
  synfire_context context;
  synfire_layer layer;
  synfire_graph step;
  synfire_buffer wanted;
  void *x, *spikes, *wanted_spikes, *ignored;
  double threshold[NEURONS], learning_rate = 0.04;
  const double tau = 4.0, alpha = 1.5;
  int32_t learn;
  int epoch, i;

  host.backend = SYNFIRE_BACKEND_HOST;
  check(synfire_context_create(&host, &context));
  desc.n_neurons = NEURONS;
  desc.n_steps = STEPS;
  desc.detach_reset = 1;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));
  check(synfire_layer_set_parameter(layer, "alpha", &alpha, 1));

  forward.x = make_buffer(context, NEURONS * STEPS, &x);
  forward.spikes = make_buffer(context, NEURONS * STEPS, &spikes);
  forward.v_init = make_buffer(context, NEURONS, &ignored);
  wanted = make_buffer(context, NEURONS * STEPS, &wanted_spikes);
  backward.grad_spike_seq = make_buffer(context, NEURONS * STEPS, &ignored);
  gradient.gradient = make_buffer(context, NEURONS, &ignored);
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;

  write_noise(x);
  for (i = 0; i < NEURONS; ++i) threshold[i] = 0.6 + 0.8 * i / NEURONS; /* the teacher's */
  check(synfire_layer_set_parameter(layer, "v_threshold", threshold, NEURONS));
  check(synfire_layer_forward(layer, &forward, NULL));
  for (i = 0; i < NEURONS * STEPS; ++i) ((float *)wanted_spikes)[i] = ((const float *)spikes)[i];

  for (i = 0; i < NEURONS; ++i) threshold[i] = 1.0;
  check(synfire_layer_set_parameter(layer, "v_threshold", threshold, NEURONS));
  check(synfire_graph_create(context, NULL, &step));
  check(synfire_graph_record_forward(step, layer, &forward));
  record_scale_add(step, 2.0, forward.spikes, 0.0, backward.grad_spike_seq);
  record_scale_add(step, -2.0, wanted, 1.0, backward.grad_spike_seq);
  check(synfire_graph_record_backward(step, layer, &backward));
  update.name = "v_threshold";
  update.gradient = gradient.gradient;
  update.learning_rate = learning_rate;
  check(synfire_graph_record_update_parameter(step, layer, &update));
  check(synfire_graph_get_last_operation(step, &learn));
  check(synfire_graph_instantiate(step));

  for (epoch = 0; epoch < EPOCHS; ++epoch) {
    uint64_t ticket;
    int loss = 0;
    check(synfire_graph_launch(step, NULL, &ticket));
    check(synfire_graph_wait(step, ticket, SYNFIRE_WAIT_SPIN, -1));
    for (i = 0; i < NEURONS * STEPS; ++i) loss += ((const float *)spikes)[i] != ((const float *)wanted_spikes)[i];
    printf("%d %d\n", epoch, loss);
    learning_rate *= 0.95;
    check(synfire_graph_set_value(step, learn, "learning_rate", learning_rate));
  }
  check(synfire_layer_get_parameter(layer, "v_threshold", threshold, NEURONS));
  for (i = 0; i < NEURONS; ++i) {
    union {
      double number;
      uint64_t bits;
    } exact;
    exact.number = threshold[i];
    printf("%016llx\n", (unsigned long long)exact.bits);
  }

  synfire_graph_destroy(step);
  synfire_layer_destroy(layer);
  synfire_buffer_destroy(forward.x);
  synfire_buffer_destroy(forward.spikes);
  synfire_buffer_destroy(forward.v_init);
  synfire_buffer_destroy(wanted);
  synfire_buffer_destroy(backward.grad_spike_seq);
  synfire_buffer_destroy(gradient.gradient);
  synfire_context_destroy(context);
  check(synfire_context_reclaim(NULL, NULL));
  return EXIT_SUCCESS;
}
