/* network.c - a classifier of two layers, from its stages to its file and back. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>
enum { INPUTS = 41, HIDDEN = 53, CLASSES = 3, ROWS = 99 };
static void check(synfire_status status) {
  char text[512];
  if (status < 0 && synfire_last_error(text, sizeof text, NULL) > 0) fprintf(stderr, "%s\n", text);
  if (status < 0) exit(EXIT_FAILURE);
}
/* Spikes per step. Every third input is more active; which ones depends on the class. */
static void set_data(synfire_context context, synfire_network network, int32_t set, uint32_t seed) {
  static float rates[ROWS * INPUTS];
  static uint32_t labels[ROWS];
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer inputs, classes;
  for (uint32_t i = 0; i < ROWS * INPUTS; ++i) {
    labels[i / INPUTS] = i / INPUTS % CLASSES;
    rates[i] = (float)((i % INPUTS % CLASSES == i / INPUTS % CLASSES ? 20U : 12U) + (seed * i >> 28)) / 128.0F;
  }
  desc.memory = SYNFIRE_MEMORY_HOST, desc.data = rates, desc.n_elements = (uint64_t)ROWS * INPUTS;
  check(synfire_buffer_create(context, &desc, &inputs));
  desc.dtype = SYNFIRE_DTYPE_U32, desc.data = labels, desc.n_elements = ROWS;
  check(synfire_buffer_create(context, &desc, &classes));
  check(synfire_network_set_data(network, set, ROWS, inputs, classes, NULL, NULL, NULL));
  synfire_buffer_destroy(inputs);
  synfire_buffer_destroy(classes);
}
static void print(const char *what, synfire_status status, const synfire_network_result *result) {
  check(status);
  printf("%s: loss %.9f, accuracy %.4f\n", what, result->loss, (double)result->n_correct / (double)result->n_counted);
}
int main(void) {
  const synfire_network_desc desc = {.struct_size = sizeof desc, .n_steps = 20, .batch = 30};
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  synfire_context context;
  synfire_network network;
  check(synfire_context_create(NULL, &context)); /* a GPU if there is one, else the host */
  check(synfire_network_create(context, &desc, &network));
  check(synfire_network_add_input(network, "rates", SYNFIRE_NETWORK_INPUT_RATES, INPUTS));
  check(synfire_network_add_synapse(network, "first", HIDDEN));
  check(synfire_network_add_neurons(network, "hidden", SYNFIRE_MODEL_LIF));
  check(synfire_network_add_synapse(network, "second", CLASSES));
  check(synfire_network_add_neurons(network, "potentials", SYNFIRE_MODEL_LI));
  check(synfire_network_add_readout(network, "scores", SYNFIRE_READOUT_MEAN, 0));
  check(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
  check(synfire_network_add_optimizer(network, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01));
  check(synfire_network_build(network));
  set_data(context, network, SYNFIRE_DATA_TRAINING, 2654435761U);
  set_data(context, network, SYNFIRE_DATA_EVALUATION, 2246822519U);
  for (int i = 0; i < 5; ++i) print("5 epochs", synfire_network_train(network, 20, &result), &result);
  print("other rows", synfire_network_evaluate(network, &result), &result);
  check(synfire_network_save(network, "network.safetensors"));
  synfire_network_destroy(network);
  check(synfire_network_create_from_file(context, "network.safetensors", NULL, &network));
  set_data(context, network, SYNFIRE_DATA_EVALUATION, 2246822519U);
  print("loaded", synfire_network_evaluate(network, &result), &result);
  synfire_network_destroy(network);
  synfire_context_destroy(context);
}
