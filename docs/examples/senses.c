/* senses.c - two inputs, a block with a shortcut around it, and two heads. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>
enum { INPUTS = 24, ROWS = 96 };
static void check(synfire_status status) {
  char text[512];
  if (status < 0 && synfire_last_error(text, sizeof text, NULL) > 0) fprintf(stderr, "%s\n", text);
  if (status < 0) exit(EXIT_FAILURE);
}
static void add(synfire_network n, const char *kind, const char *name, const char *from, const char *also, double k) {
  const synfire_stage_input inputs[] = {{from, NULL, 0}, {also, NULL, 0}};
  const synfire_stage_value value = {"n_outputs", NULL, k};
  const synfire_stage_desc desc = {sizeof desc, 0, kind, name, inputs, also ? 2U : 1U, &value, also ? 0U : 1U};
  check(synfire_network_add_stage(n, &desc));
}
int main(void) {
  static float x[2][ROWS * INPUTS]; /* rates of sounds and of touches: every third or second depends on the class */
  static uint32_t classes[2][ROWS];
  const synfire_network_desc desc = {.struct_size = sizeof desc, .n_steps = 20, .batch = 32};
  const char *const input[] = {"sound", "touch"}, *const loss[] = {"what-loss", "where-loss"};
  synfire_buffer_desc b = {.struct_size = sizeof b, .memory = SYNFIRE_MEMORY_HOST};
  synfire_network_array arrays[4] = {0};
  synfire_stage_result of[2] = {0};
  synfire_network_result all = SYNFIRE_NETWORK_RESULT_INIT;
  synfire_context context;
  synfire_network n;
  check(synfire_context_create(NULL, &context)), check(synfire_network_create(context, &desc, &n));
  for (uint32_t i = 0; i < 2; ++i) {
    check(synfire_network_add_input(n, input[i], SYNFIRE_NETWORK_INPUT_RATES, INPUTS));
    check(synfire_network_add_synapse(n, i ? "nerve" : "cochlea", 24));
    check(synfire_network_add_neurons(n, i ? "skin" : "ear", SYNFIRE_MODEL_LIF));
  }
  add(n, "concatenate", "both", "ear", "skin", 0);
  check(synfire_network_add_synapse(n, "inner", 48)), check(synfire_network_add_neurons(n, "block", SYNFIRE_MODEL_LIF));
  add(n, "sum", "state", "block", "both", 0); /* the shortcut goes around the block */
  for (uint32_t i = 0; i < 2; ++i) {
    add(n, "synapse", i ? "to-where" : "to-what", "state", NULL, i ? 2 : 3);
    check(synfire_network_add_neurons(n, i ? "where-v" : "what-v", SYNFIRE_MODEL_LI));
    check(synfire_network_add_readout(n, i ? "where" : "what", SYNFIRE_READOUT_MEAN, 0));
    check(synfire_network_add_loss(n, of[i].stage = loss[i], SYNFIRE_LOSS_CROSS_ENTROPY));
    for (uint32_t k = 0; k < ROWS * INPUTS; ++k) {
      const uint32_t row = k / INPUTS, noise = 2654435761U * k >> 28;
      classes[i][row] = i ? row / 3 % 2 : row % 3;
      x[i][k] = (float)((k % INPUTS % (3 - i) == classes[i][row] ? 48U : 12U) + noise) / 128.0F;
    }
    b.dtype = SYNFIRE_DTYPE_F32, b.data = x[i], b.n_elements = (uint64_t)ROWS * INPUTS, arrays[i].stage = input[i];
    check(synfire_buffer_create(context, &b, &arrays[i].buffer));
    b.dtype = SYNFIRE_DTYPE_U32, b.data = classes[i], b.n_elements = ROWS, arrays[2 + i].stage = loss[i];
    check(synfire_buffer_create(context, &b, &arrays[2 + i].buffer)), arrays[2 + i].role = SYNFIRE_ARRAY_LABELS;
  }
  check(synfire_network_add_optimizer(n, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01)), check(synfire_network_build(n));
  check(synfire_network_set_arrays(n, SYNFIRE_DATA_TRAINING, ROWS, arrays, 4));
  for (int i = 0; i < 5; ++i) {
    check(synfire_network_train_stages(n, 15, of, 2, &all));
    for (int h = 0; h < 2; ++h) printf("%s %.9f, %u of 480\n", of[h].stage, of[h].loss, (unsigned)of[h].n_correct);
  }
  synfire_network_destroy(n), synfire_context_destroy(context);
}
