/* An added model and an added surrogate, found by their names. Gradient descent fits the k of a KLIF neuron until it
 * fires as often as a teacher with k = 1.5.
 *
 * Shows synfire_model_id() and synfire_surrogate_id(), and that an added model is used like a built-in one. */
#include <synfire/synfire.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 64, NEURONS = 32, ELEMENTS = STEPS * NEURONS };

static void check(synfire_status status) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(1);
}

static synfire_buffer make_buffer(synfire_context context, uint64_t n_elements) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.n_elements = n_elements;
  desc.dtype = SYNFIRE_DTYPE_F32;
  check(synfire_buffer_create(context, &desc, &buffer));
  return buffer;
}

/* Runs the layer from rest with this k. Returns its spikes per element. */
static double rate_of(synfire_layer layer, double k, const synfire_forward_desc *forward, float *spikes) {
  double sum = 0;
  int i;
  check(synfire_layer_set_parameter(layer, "relu_k", &k, 1));
  check(synfire_layer_reset_state(layer, NULL));
  check(synfire_layer_forward(layer, forward, NULL));
  check(synfire_buffer_download(forward->spikes, 0, spikes, ELEMENTS * sizeof(float)));
  for (i = 0; i < ELEMENTS; ++i) sum += (double)spikes[i];
  return sum / ELEMENTS;
}

int main(void) {
  static float x[ELEMENTS], spikes[ELEMENTS], grad[ELEMENTS];
  synfire_context context;
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_parameter_gradient gradient;
  uint32_t random = 1;
  double k = 0.8, wanted, first_error = 0, error = 0;
  int i, round;

  check(synfire_context_create(NULL, &context));

  /* [added models] */
  check(synfire_model_id("klif", &desc.model));
  check(synfire_surrogate_id("side_lobes", &desc.surrogate));
  desc.n_steps = STEPS;
  desc.n_neurons = NEURONS;
  check(synfire_layer_create(context, &desc, &layer));
  /* [added models] */

  for (i = 0; i < ELEMENTS; ++i) {
    random = random * 1664525u + 1013904223u;
    x[i] = (float)(random >> 8) / 8388608.0f - 0.25f; /* -0.25 to 1.75 */
  }
  forward.x = make_buffer(context, ELEMENTS);
  forward.spikes = make_buffer(context, ELEMENTS);
  backward.grad_spike_seq = make_buffer(context, ELEMENTS);
  gradient.name = "relu_k";
  gradient.gradient = make_buffer(context, 1);
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;
  check(synfire_buffer_upload(forward.x, 0, x, sizeof x));

  wanted = rate_of(layer, 1.5, &forward, spikes);
  for (round = 0; round < 60; ++round) {
    float slope;
    error = rate_of(layer, k, &forward, spikes) - wanted;
    if (round == 0) first_error = error;
    /* d(error^2/2)/dS is error/ELEMENTS for every spike. */
    for (i = 0; i < ELEMENTS; ++i) grad[i] = (float)(error / ELEMENTS);
    check(synfire_buffer_upload(backward.grad_spike_seq, 0, grad, sizeof grad));
    check(synfire_layer_backward(layer, &backward, NULL));
    check(synfire_buffer_download(gradient.gradient, 0, &slope, sizeof slope));
    k -= 4.0 * (double)slope;
  }
  error = rate_of(layer, k, &forward, spikes) - wanted;
  printf("relu_k %.3f: %.4f spikes a step, the teacher has %.4f\n", k, wanted + error, wanted);

  synfire_buffer_destroy(gradient.gradient);
  synfire_buffer_destroy(backward.grad_spike_seq);
  synfire_buffer_destroy(forward.spikes);
  synfire_buffer_destroy(forward.x);
  synfire_layer_destroy(layer);
  synfire_context_destroy(context);
  return error * error < 0.01 * first_error * first_error ? 0 : 1;
}
