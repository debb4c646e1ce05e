/* overhead.c - the cost of launching and polling one replay from C: the figure that the bindings are compared with.
 *
 *   overhead [REPLAYS]     prints nanoseconds: the smallest mean of 20 rounds
 *
 * The layer is so small that the calls dominate. SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>
#include <time.h>

static void check(synfire_status status) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

static double now(void) {
  struct timespec moment;
  clock_gettime(CLOCK_MONOTONIC, &moment);
  return (double)moment.tv_sec * 1e9 + (double)moment.tv_nsec;
}

int main(int argc, char **argv) {
  synfire_context_desc host = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_buffer_desc memory = SYNFIRE_BUFFER_DESC_INIT;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_context context;
  synfire_layer layer;
  synfire_graph step;
  const int replays = argc > 1 ? atoi(argv[1]) : 20000;
  double best = 1e300;
  int round, i;
  host.backend = SYNFIRE_BACKEND_HOST;
  host.n_threads = 1;
  check(synfire_context_create(&host, &context));
  desc.n_neurons = desc.n_steps = 1;
  check(synfire_layer_create(context, &desc, &layer));
  memory.n_elements = 1;
  check(synfire_buffer_create(context, &memory, &forward.x));
  forward.tape = SYNFIRE_TAPE_NONE;
  check(synfire_graph_create(context, NULL, &step));
  check(synfire_graph_record_forward(step, layer, &forward));
  check(synfire_graph_instantiate(step));
  for (round = 0; round < 20; ++round) {
    const double begin = now();
    double mean;
    for (i = 0; i < replays; ++i) {
      uint64_t ticket;
      check(synfire_graph_launch(step, NULL, &ticket));
      check(synfire_graph_wait(step, ticket, SYNFIRE_WAIT_SPIN, -1));
    }
    mean = (now() - begin) / replays;
    if (mean < best) best = mean;
  }
  printf("%.1f\n", best);
  return EXIT_SUCCESS;
}
