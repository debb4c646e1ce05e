/* train.c - the training loop that every binding has as an example, in C: thresholds that learn how often to fire.
 *
 * 128 LIF neurons hear the same noise in every replay. A teacher with a threshold for each neuron says how many spikes
 * are wanted; the student starts with all thresholds 1 and follows the gradient of L = sum over neurons of (count -
 * wanted)^2. One graph holds forward and backward. The gradient that it reads is that of the replay before.
 *
 * What lives here: the numbers that the bindings' programs must reproduce, printed exactly. What does not: a lesson in
 * C (docs/examples).
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>

enum { NEURONS = 128, STEPS = 64, EPOCHS = 60, WORDS = NEURONS / 32 };

static const double LEARNING_RATE = 0.0002;

static void check(synfire_status status) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

static synfire_buffer make_buffer(synfire_context context, int32_t dtype, uint64_t n_elements, void **data) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.dtype = dtype;
  desc.n_elements = n_elements;
  check(synfire_buffer_create(context, &desc, &buffer));
  check(synfire_buffer_get_data(buffer, data, NULL));
  return buffer;
}

/* Noise in [0, 3): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX), so that every language has
 * the same. */
static void write_noise(float *x) {
  uint64_t seed = 1;
  int i;
  for (i = 0; i < NEURONS * STEPS; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x[i] = 3.0F * (float)(seed >> 40) / 16777216.0F;
  }
}

static void count_spikes(const uint32_t *words, int *counts) {
  int t, n;
  for (n = 0; n < NEURONS; ++n) counts[n] = 0;
  for (t = 0; t < STEPS; ++t)
    for (n = 0; n < NEURONS; ++n) counts[n] += (int)(words[t * WORDS + n / 32] >> n % 32 & 1u);
}

static void replay(synfire_graph graph) {
  uint64_t ticket;
  check(synfire_graph_launch(graph, NULL, &ticket));
  check(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1));
}

int main(void) {
  synfire_context_desc host = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_parameter_gradient gradient = {"v_threshold", NULL};
  synfire_context context;
  synfire_layer layer;
  synfire_graph step;
  void *x, *words, *rest, *grad_spikes, *grad_threshold;
  double threshold[NEURONS];
  const double tau = 4.0;
  int counts[NEURONS], wanted[NEURONS], epoch, n, t;

  host.backend = SYNFIRE_BACKEND_HOST;
  check(synfire_context_create(&host, &context));
  desc.n_neurons = NEURONS;
  desc.n_steps = STEPS;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));

  forward.x = make_buffer(context, SYNFIRE_DTYPE_F32, NEURONS * STEPS, &x);
  forward.spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, WORDS * STEPS, &words);
  forward.v_init = make_buffer(context, SYNFIRE_DTYPE_F32, NEURONS, &rest);
  backward.grad_spike_seq = make_buffer(context, SYNFIRE_DTYPE_F32, NEURONS * STEPS, &grad_spikes);
  gradient.gradient = make_buffer(context, SYNFIRE_DTYPE_F32, NEURONS, &grad_threshold);
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;
  check(synfire_graph_create(context, NULL, &step));
  check(synfire_graph_record_forward(step, layer, &forward));
  check(synfire_graph_record_backward(step, layer, &backward));
  check(synfire_graph_instantiate(step));

  write_noise(x);
  for (n = 0; n < NEURONS; ++n) threshold[n] = 0.6 + 0.8 * n / NEURONS; /* the teacher's */
  check(synfire_layer_set_parameter(layer, "v_threshold", threshold, NEURONS));
  replay(step);
  count_spikes(words, wanted);

  for (n = 0; n < NEURONS; ++n) threshold[n] = 1.0;
  for (epoch = 0; epoch < EPOCHS; ++epoch) {
    long loss = 0;
    check(synfire_layer_set_parameter(layer, "v_threshold", threshold, NEURONS));
    replay(step);
    for (n = 0; n < NEURONS && epoch > 0; ++n)
      threshold[n] -= LEARNING_RATE * (double)((const float *)grad_threshold)[n];
    count_spikes(words, counts);
    for (n = 0; n < NEURONS; ++n) {
      const int error = counts[n] - wanted[n];
      loss += (long)error * error;
      for (t = 0; t < STEPS; ++t) ((float *)grad_spikes)[t * NEURONS + n] = 2.0F * (float)error;
    }
    printf("%d %ld\n", epoch, loss);
  }
  for (n = 0; n < NEURONS; ++n) {
    union {
      double number;
      uint64_t bits;
    } exact;
    exact.number = threshold[n];
    printf("%016llx\n", (unsigned long long)exact.bits);
  }

  synfire_graph_destroy(step);
  synfire_layer_destroy(layer);
  synfire_buffer_destroy(forward.x);
  synfire_buffer_destroy(forward.spikes);
  synfire_buffer_destroy(forward.v_init);
  synfire_buffer_destroy(backward.grad_spike_seq);
  synfire_buffer_destroy(gradient.gradient);
  synfire_context_destroy(context);
  check(synfire_context_reclaim(NULL, NULL));
  return EXIT_SUCCESS;
}
