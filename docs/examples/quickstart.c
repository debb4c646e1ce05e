/* quickstart.c - the shortest complete program: 128 leaky integrate-and-fire neurons, 16 steps a replay.
 *
 * The README's example, compiled and run by the tests. For sound input and learning, see hear/.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <synfire/synfire.h>

enum { FRAMES = 1000, STEPS = 16, NEURONS = 128, WORDS = NEURONS / 32 };

/* Stops at the first error; returns notes such as SYNFIRE_PENDING. */
static synfire_status check(synfire_status status) {
  char text[512];
  if (status >= 0) return status;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

/* Memory that host and GPU both access, for frames in and out. `data` receives its address. */
static synfire_buffer pinned(synfire_context context, int32_t dtype, int n_elements, void **data) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.dtype = dtype;
  desc.n_elements = (uint64_t)n_elements;
  check(synfire_buffer_create(context, &desc, &buffer));
  check(synfire_buffer_get_data(buffer, data, NULL));
  return buffer;
}

/* Stands for a microphone, a camera or a joint: every neuron gets a constant input, from 0 to twice the threshold. */
static void read_sensor(float *x) {
  int i;
  for (i = 0; i < STEPS * NEURONS; ++i) x[i] = 2.0F * (float)(i % NEURONS) / NEURONS;
}

static unsigned long spikes_seen;

/* Stands for a motor or a screen: counts spikes. Bit i of word w is neuron 32 w + i. */
static void act(const uint32_t *words) {
  int i, bit;
  for (i = 0; i < STEPS * WORDS; ++i)
    for (bit = 0; bit < 32; ++bit) spikes_seen += words[i] >> bit & 1u;
}

int main(void) {
  static uint32_t previous[STEPS * WORDS]; /* no spikes before the first frame */
  void *x, *words;
  int frame, late_frames = 0;

  /* [quickstart] */
  synfire_context context;
  synfire_layer lif;
  synfire_graph graph;
  uint64_t ticket;
  const double tau = 20.0; /* in steps: one value, or one per neuron */

  check(synfire_context_create(NULL, &context)); /* a GPU if one is usable, else the host */

  synfire_layer_desc layer = SYNFIRE_LAYER_DESC_INIT; /* zero means default: LIF, f32, hard reset ... */
  layer.n_steps = STEPS;
  layer.n_neurons = NEURONS;
  check(synfire_layer_create(context, &layer, &lif));
  check(synfire_layer_set_parameter(lif, "tau", &tau, 1));

  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = pinned(context, SYNFIRE_DTYPE_F32, STEPS * NEURONS, &x);         /* x [16, 128] */
  forward.spikes = pinned(context, SYNFIRE_DTYPE_BITS, STEPS * WORDS, &words); /* spikes [16, 4], 32 a word */
  check(synfire_graph_create(context, NULL, &graph));
  check(synfire_graph_record_forward(graph, lif, &forward)); /* the state continues from replay to replay */
  check(synfire_graph_instantiate(graph));                   /* everything slow happens here */

  for (frame = 0; frame < FRAMES; ++frame) {
    read_sensor(x);
    check(synfire_graph_launch(graph, NULL, &ticket)); /* one replay; then wait 1 ms at most */
    int late = check(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, 1000000)) == SYNFIRE_PENDING;
    act(late ? previous : words);                                              /* a late frame is your decision */
    if (late) check(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1)); /* before buffers are used again */
    memcpy(previous, words, sizeof previous);
    late_frames += late;
  }
  /* [quickstart] */

  printf("%d frames of %d steps: %lu spikes, %d late frames\n", (int)FRAMES, (int)STEPS, spikes_seen, late_frames);

  synfire_graph_destroy(graph); /* any order is valid */
  synfire_layer_destroy(lif);
  synfire_buffer_destroy(forward.x);
  synfire_buffer_destroy(forward.spikes);
  synfire_context_destroy(context);
  check(synfire_context_reclaim(NULL, NULL)); /* destroying only queues; this frees */
  return EXIT_SUCCESS;
}
