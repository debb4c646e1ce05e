/* tuning.c - a trained body with a new head, the rate of a schedule, and the best of all weights.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>
enum { INPUTS = 41, HIDDEN = 53, CLASSES = 3, ROWS = 99 };
static void check(synfire_status status) {
  char text[512];
  if (status < 0 && synfire_last_error(text, sizeof text, NULL) > 0) fprintf(stderr, "%s\n", text);
  if (status < 0) exit(EXIT_FAILURE);
}
/* Spikes per step, and labels of as many classes: of two, the first is every other kind of row. */
static void set_data(synfire_context context, synfire_network network, int32_t set, uint32_t seed, uint32_t n_classes) {
  static float rates[ROWS * INPUTS];
  static uint32_t labels[ROWS];
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer inputs, classes;
  for (uint32_t i = 0; i < ROWS * INPUTS; ++i) {
    labels[i / INPUTS] = i / INPUTS % CLASSES % n_classes;
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
static synfire_network make(synfire_context context, uint32_t n_classes) {
  const synfire_network_desc desc = {.struct_size = sizeof desc, .n_steps = 20, .batch = 30};
  synfire_network network;
  check(synfire_network_create(context, &desc, &network));
  check(synfire_network_add_input(network, "rates", SYNFIRE_NETWORK_INPUT_RATES, INPUTS));
  check(synfire_network_add_synapse(network, "first", HIDDEN));
  check(synfire_network_add_neurons(network, "hidden", SYNFIRE_MODEL_LIF));
  check(synfire_network_add_synapse(network, "head", n_classes));
  check(synfire_network_add_neurons(network, "potentials", SYNFIRE_MODEL_LI));
  check(synfire_network_add_readout(network, "scores", SYNFIRE_READOUT_MEAN, 0));
  check(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
  check(synfire_network_add_optimizer(network, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01));
  check(synfire_network_set_value(network, "adam", "warmup_steps", 8));
  check(synfire_network_set_value(network, "adam", "schedule", SYNFIRE_SCHEDULE_STEP));
  check(synfire_network_set_value(network, "adam", "schedule_steps", 40));
  check(synfire_network_set_value(network, "adam", "schedule_factor", 0.5));
  check(synfire_network_build(network));
  set_data(context, network, SYNFIRE_DATA_TRAINING, 2654435761U, n_classes);
  set_data(context, network, SYNFIRE_DATA_EVALUATION, 2246822519U, n_classes);
  return network;
}
static double print(const char *what, synfire_status status, const synfire_network_result *result) {
  check(status);
  printf("%s: loss %.9f\n", what, result->loss);
  return result->loss;
}
int main(void) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  synfire_context context;
  check(synfire_context_create(NULL, &context)); /* a GPU if there is one, else the host */
  synfire_network body = make(context, CLASSES);
  print("body", synfire_network_train(body, 40, &result), &result);
  check(synfire_network_save(body, "body.safetensors"));
  /* [fine tuning] */
  synfire_array_source sources[] = {{.theirs = "first.weights"}, {.theirs = "first.bias"}};
  synfire_network network = make(context, 2); /* with a new head */
  check(synfire_network_load_arrays(network, "body.safetensors", sources, 2, 0));
  check(synfire_network_set_value(network, "first", "frozen", 1));
  print("head", synfire_network_train(network, 20, &result), &result);
  check(synfire_network_set_value(network, "first", "frozen", 0)); /* then all of it, the body slowly */
  check(synfire_network_set_value(network, "first", "learning_rate_factor", 0.1));
  print("both", synfire_network_train(network, 20, &result), &result);
  /* [fine tuning] */
  /* [best] */
  double best = INFINITY;
  uint64_t bytes = 0;
  void *file = NULL;
  for (int worse = 0; worse < 2;) {                    /* until two epochs in a row were no better */
    check(synfire_network_train(network, 0, &result)); /* an epoch */
    const double loss = print("epoch", synfire_network_evaluate(network, &result), &result);
    worse = loss < best ? 0 : worse + 1;
    if (worse > 0) continue;
    best = loss;
    check(synfire_network_save_to_memory(network, NULL, &bytes)); /* the size */
    free(file);
    if ((file = malloc(bytes)) == NULL) return EXIT_FAILURE;
    check(synfire_network_save_to_memory(network, file, &bytes));
  }
  check(synfire_network_load_from_memory(network, file, bytes));
  /* [best] */
  print("best", synfire_network_evaluate(network, &result), &result);
  free(file);
  synfire_network_destroy(network);
  synfire_network_destroy(body);
  synfire_context_destroy(context);
}
