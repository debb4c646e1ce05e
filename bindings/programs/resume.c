/* resume.c - goes on with a training that another program has begun:
 *
 *     resume FILE_IN FILE_OUT BATCHES [host | cuda]
 *
 * The network of FILE_IN, or a new one for "new", is trained for BATCHES steps and becomes FILE_OUT. Every binding has
 * this program, for networks that are not new; check_resume.py passes one training from language to language and
 * compares its file with that of a training that was not stopped.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <synfire/synfire.h>

enum { INPUTS = 41, HIDDEN = 53, CLASSES = 3, ROWS = 99, STEPS = 20, BATCH = 30 };

static void check(synfire_status status) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

/* Everything that a training remembers: random inputs and dropout, moments, a parameter that learns, clipped steps. */
static synfire_network make_network(synfire_context context) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  synfire_network network;
  desc.n_steps = STEPS;
  desc.batch = BATCH;
  desc.seed = 7;
  check(synfire_network_create(context, &desc, &network));
  check(synfire_network_add_input(network, "rates", SYNFIRE_NETWORK_INPUT_RATES, INPUTS));
  check(synfire_network_add_synapse(network, "first", HIDDEN));
  check(synfire_network_add_neurons(network, "hidden", SYNFIRE_MODEL_PLIF));
  check(synfire_network_train_parameter(network, "hidden", "v_threshold", 1, 1.0, 0.0, 0.5, 2.0));
  check(synfire_network_add_dropout(network, "dropout", 0.25));
  check(synfire_network_add_synapse(network, "second", CLASSES));
  check(synfire_network_add_neurons(network, "potentials", SYNFIRE_MODEL_LI));
  check(synfire_network_add_readout(network, "scores", SYNFIRE_READOUT_MEAN, 0));
  check(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
  check(synfire_network_add_optimizer(network, "adam", SYNFIRE_OPTIMIZER_KIND_ADAMW, 0.01));
  check(synfire_network_set_value(network, "adam", "clip_norm", 0.5));
  check(synfire_network_build(network));
  return network;
}

static void set_data(synfire_context context, synfire_network network) {
  static float rates[ROWS * INPUTS];
  static uint32_t labels[ROWS];
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer inputs, classes;
  uint32_t i;
  for (i = 0; i < ROWS * INPUTS; ++i) {
    labels[i / INPUTS] = i / INPUTS % CLASSES;
    rates[i] = (float)((i % INPUTS % CLASSES == i / INPUTS % CLASSES ? 20U : 12U) + (2654435761U * i >> 28)) / 128.0F;
  }
  desc.memory = SYNFIRE_MEMORY_HOST;
  desc.data = rates;
  desc.n_elements = (uint64_t)ROWS * INPUTS;
  check(synfire_buffer_create(context, &desc, &inputs));
  desc.dtype = SYNFIRE_DTYPE_U32;
  desc.data = labels;
  desc.n_elements = ROWS;
  check(synfire_buffer_create(context, &desc, &classes));
  check(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, ROWS, inputs, classes, NULL, NULL, NULL));
  synfire_buffer_destroy(inputs);
  synfire_buffer_destroy(classes);
}

int main(int argc, char **argv) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  synfire_context context;
  synfire_network network;
  if (argc < 4) {
    fprintf(stderr, "usage: resume FILE_IN FILE_OUT BATCHES [host | cuda]\n");
    return 2;
  }
  desc.backend = argc > 4 && strcmp(argv[4], "cuda") == 0 ? SYNFIRE_BACKEND_CUDA : SYNFIRE_BACKEND_HOST;
  check(synfire_context_create(&desc, &context));
  if (strcmp(argv[1], "new") == 0)
    network = make_network(context);
  else
    check(synfire_network_create_from_file(context, argv[1], NULL, &network));
  set_data(context, network);
  check(synfire_network_train(network, strtoll(argv[3], NULL, 10), &result));
  check(synfire_network_save(network, argv[2]));
  printf("%s batches, loss %.9f\n", argv[3], result.loss);
  synfire_network_destroy(network);
  synfire_context_destroy(context);
  return EXIT_SUCCESS;
}
