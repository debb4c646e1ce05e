/* watch.c - a network that one watches while it learns: progress, monitors of its stages, and pictures.
 *
 * It shows how far it is on the error stream, and prints the last numbers. Then it draws what it has learnt
 * (curves.svg), what its neurons do (spikes.svg), and which class it takes for which (confusion.svg).
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>

#include "clock.h"
#include "plots.h"

enum { INPUTS = 41, HIDDEN = 53, CLASSES = 3, ROWS = 99, STEPS = 20, BATCH = 33, ROUNDS = 10, BATCHES = 9 };

static void check(synfire_status status) {
  char text[512];
  if (status < 0 && synfire_last_error(text, sizeof text, NULL) > 0) fprintf(stderr, "%s\n", text);
  if (status < 0) exit(EXIT_FAILURE);
}

static synfire_buffer wrap(synfire_context context, int32_t dtype, void *data, uint64_t n_elements) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.memory = SYNFIRE_MEMORY_HOST, desc.dtype = dtype, desc.data = data, desc.n_elements = n_elements;
  check(synfire_buffer_create(context, &desc, &buffer));
  return buffer;
}

/* Spikes per step. Every third input is more active; which ones depends on the class, which the row decides. */
static void make_rates(float *rates, uint32_t seed) {
  for (uint32_t i = 0; i < ROWS * INPUTS; ++i)
    rates[i] = (float)((i % INPUTS % CLASSES == i / INPUTS % CLASSES ? 24U : 12U) + (seed * i >> 28)) / 128.0F;
}

static void set_data(synfire_context context, synfire_network network, int32_t set, float *rates) {
  uint32_t labels[ROWS];
  for (uint32_t row = 0; row < ROWS; ++row) labels[row] = row % CLASSES;
  synfire_buffer inputs = wrap(context, SYNFIRE_DTYPE_F32, rates, (uint64_t)ROWS * INPUTS);
  synfire_buffer classes = wrap(context, SYNFIRE_DTYPE_U32, labels, ROWS);
  check(synfire_network_set_data(network, set, ROWS, inputs, classes, NULL, NULL, NULL));
  synfire_buffer_destroy(inputs);
  synfire_buffer_destroy(classes);
}

static synfire_network make(synfire_context context) {
  const synfire_network_desc desc = {.struct_size = sizeof desc, .n_steps = STEPS, .batch = BATCH};
  synfire_network network;
  check(synfire_network_create(context, &desc, &network));
  check(synfire_network_add_input(network, "rates", SYNFIRE_NETWORK_INPUT_RATES, INPUTS));
  check(synfire_network_add_synapse(network, "first", HIDDEN));
  check(synfire_network_add_neurons(network, "hidden", SYNFIRE_MODEL_LIF));
  check(synfire_network_add_synapse(network, "second", CLASSES));
  check(synfire_network_add_neurons(network, "potentials", SYNFIRE_MODEL_LI));
  check(synfire_network_add_readout(network, "scores", SYNFIRE_READOUT_MEAN, 0));
  check(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
  check(synfire_network_add_optimizer(network, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.005));
  check(synfire_network_keep(network, "hidden.spikes hidden.monitor first.monitor"));
  check(synfire_network_build(network));
  return network;
}

static double accuracy(const synfire_network_result *result) {
  return (double)result->n_correct / (double)result->n_counted;
}

static double seconds(void) {
  return 1e-9 * (double)clock_now();
}

/* The spikes of the last batch's first row, and how often which class got which name. */
static void draw(synfire_context context, synfire_network network, float *rates) {
  static const char *const names[CLASSES] = {"first", "second", "third"};
  static uint32_t words[STEPS * BATCH * 2];
  static float scores[ROWS * CLASSES];
  size_t counts[CLASSES * CLASSES] = {0};
  synfire_buffer inputs = wrap(context, SYNFIRE_DTYPE_F32, rates, (uint64_t)ROWS * INPUTS);
  synfire_buffer outputs = wrap(context, SYNFIRE_DTYPE_F32, scores, (uint64_t)ROWS * CLASSES), spikes;
  check(synfire_network_infer(network, inputs, ROWS, outputs));
  for (size_t row = 0; row < ROWS; ++row) {
    size_t best = 0;
    for (size_t c = 1; c < CLASSES; ++c)
      if (scores[row * CLASSES + c] > scores[row * CLASSES + best]) best = c;
    ++counts[row % CLASSES * CLASSES + best];
  }
  check(synfire_network_get_buffer(network, "hidden.spikes", &spikes));
  check(synfire_buffer_download(spikes, 0, words, sizeof words));
  const plots_spikes of_row = {words, STEPS, (size_t)BATCH * 2};
  if (!plots_raster("spikes.svg", "Spikes of the hidden neurons", &of_row, HIDDEN) ||
      !plots_confusion("confusion.svg", "Which class is taken for which", "rows: the class; columns: the name", names,
                       CLASSES, counts))
    exit(EXIT_FAILURE);
  synfire_buffer_destroy(spikes);
  synfire_buffer_destroy(outputs);
  synfire_buffer_destroy(inputs);
}

int main(void) {
  static float training[ROWS * INPUTS], others[ROWS * INPUTS];
  double losses[ROUNDS], other_losses[ROUNDS], accuracies[ROUNDS];
  const plots_curve curves[] = {
      {"loss", losses}, {"loss, other rows", other_losses}, {"accuracy, other rows", accuracies}};
  synfire_network_result learnt = SYNFIRE_NETWORK_RESULT_INIT, tested = SYNFIRE_NETWORK_RESULT_INIT;
  synfire_network_monitor hidden = SYNFIRE_NETWORK_MONITOR_INIT, first = SYNFIRE_NETWORK_MONITOR_INIT;
  synfire_context context;
  check(synfire_context_create(NULL, &context)); /* a GPU if there is one, else the host */
  synfire_network network = make(context);
  make_rates(training, 2654435761U);
  make_rates(others, 2246822519U);
  set_data(context, network, SYNFIRE_DATA_TRAINING, training);
  set_data(context, network, SYNFIRE_DATA_EVALUATION, others);
  const double start = seconds();
  /* [watch] */
  for (int round = 0; round < ROUNDS; ++round) {
    check(synfire_network_train(network, BATCHES, &learnt));
    check(synfire_network_get_monitor(network, "hidden", 0, &hidden)); /* of this call */
    check(synfire_network_get_monitor(network, "first", 0, &first));
    check(synfire_network_evaluate(network, &tested));
    losses[round] = learnt.loss, other_losses[round] = tested.loss, accuracies[round] = accuracy(&tested);
    const double each = (seconds() - start) / (round + 1);
    fprintf(stderr, "\r%d of %d, loss %.4f, accuracy %.4f, rate %.4f, %.0f rows/s, %.1f s left ", round + 1,
            (int)ROUNDS, learnt.loss, accuracy(&tested), hidden.rate, BATCHES * BATCH / each,
            each * (ROUNDS - round - 1));
  }
  fputc('\n', stderr);
  /* [watch] */
  printf("loss %.9f, other rows %.9f, accuracy %.4f, rate %.9f, silent %.4f, weights %.9f, gradients %.9f\n",
         learnt.loss, tested.loss, accuracy(&tested), hidden.rate, hidden.silent, first.weight_norm,
         first.gradient_norm);
  if (!plots_curves("curves.svg", "Loss and accuracy", "rounds", curves, sizeof curves / sizeof *curves, ROUNDS))
    return EXIT_FAILURE;
  draw(context, network, others);
  synfire_network_destroy(network);
  synfire_context_destroy(context);
}
