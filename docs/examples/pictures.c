/* pictures.c - convolutions tell four shapes apart, which are drawn at any place. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>
enum { SIDE = 12, PIXELS = SIDE * SIDE, ROWS = 256 };
static void check(synfire_status status) {
  char text[512];
  if (status < 0 && synfire_last_error(text, sizeof text, NULL) > 0) fprintf(stderr, "%s\n", text);
  if (status < 0) exit(EXIT_FAILURE);
}
/* A bar, a column, a frame or a cross of 7 x 7 pixels, and noise. */
static float pixel(uint32_t i) {
  const uint32_t mix = 2654435761U, row = i / PIXELS, y = i / SIDE % SIDE - ((row + 1) * mix >> 16) % 6,
                 x = i % SIDE - ((3 * row + 1) * mix >> 16) % 6, noise = ((i + 1) * mix >> 16) % 64;
  const int drawn[] = {y == 3, x == 3, y % 6 == 0 || x % 6 == 0, x == y || x + y == 6};
  return (float)((x < 7 && y < 7 && drawn[row % 4] ? 160U : 0U) + noise) / 256.0F;
}
static void set_data(synfire_context context, synfire_network n, int32_t set, uint32_t first) {
  static float pictures[ROWS * PIXELS];
  static uint32_t shapes[ROWS];
  synfire_buffer_desc desc = {.struct_size = sizeof desc, .memory = SYNFIRE_MEMORY_HOST};
  synfire_buffer rows, labels;
  for (uint32_t i = 0; i < ROWS * PIXELS; ++i)
    pictures[i] = pixel(first * PIXELS + i), shapes[i / PIXELS] = i / PIXELS % 4;
  desc.data = pictures, desc.n_elements = (uint64_t)ROWS * PIXELS, check(synfire_buffer_create(context, &desc, &rows));
  desc.dtype = SYNFIRE_DTYPE_U32, desc.data = shapes, desc.n_elements = ROWS;
  check(synfire_buffer_create(context, &desc, &labels));
  check(synfire_network_set_data(n, set, ROWS, rows, labels, NULL, NULL, NULL));
  synfire_buffer_destroy(rows), synfire_buffer_destroy(labels);
}
static void add(synfire_network n, const char *kind, const char *name, const synfire_stage_value *values, uint64_t k) {
  const synfire_stage_desc desc = {sizeof desc, 0, kind, name, NULL, 0, values, k};
  check(synfire_network_add_stage(n, &desc));
}
int main(void) {
  const synfire_network_desc desc = {.struct_size = sizeof desc, .n_steps = 10, .batch = 32};
  const synfire_stage_value map[] = {{"kind", "rates", 0}, {"height", 0, SIDE}, {"width", 0, SIDE}, {"channels", 0, 1}};
  const synfire_stage_value conv[] = {{"output_channels", 0, 12}, {"kernel", 0, 3}},
                            pool[] = {{"kind", "max", 0}, {"window", 0, 2}};
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  synfire_context context;
  synfire_network n;
  check(synfire_context_create(NULL, &context)), check(synfire_network_create(context, &desc, &n));
  add(n, "input", "in", map, 4), add(n, "conv2d", "conv1", conv, 2), add(n, "normalization", "norm1", NULL, 0);
  check(synfire_network_add_neurons(n, "lif1", SYNFIRE_MODEL_LIF));
  add(n, "pool", "largest", pool, 2), add(n, "conv2d", "conv2", conv, 2), add(n, "normalization", "norm2", NULL, 0);
  check(synfire_network_add_neurons(n, "lif2", SYNFIRE_MODEL_LIF));
  check(synfire_network_add_synapse(n, "to-shapes", 4)), check(synfire_network_add_neurons(n, "v", SYNFIRE_MODEL_LI));
  check(synfire_network_add_readout(n, "scores", SYNFIRE_READOUT_MEAN, 0));
  check(synfire_network_add_loss(n, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
  check(synfire_network_add_optimizer(n, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01)), check(synfire_network_build(n));
  set_data(context, n, SYNFIRE_DATA_TRAINING, 0), set_data(context, n, SYNFIRE_DATA_EVALUATION, ROWS);
  for (int i = 0; i < 6; ++i) {
    check(i < 5 ? synfire_network_train(n, 24, &result) : synfire_network_evaluate(n, &result));
    printf("%s: loss %.9f, accuracy %.4f\n", i < 5 ? "train" : "test", result.loss,
           (double)result.n_correct / (double)result.n_counted);
  }
  synfire_network_destroy(n), synfire_context_destroy(context);
}
