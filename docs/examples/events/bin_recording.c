/* bin_recording.c - a recording, replayed as a camera would send it: bin-recording FILE [MILLISECONDS [WIDTH HEIGHT]]
 *
 * Each millisecond's events go into the next slot of a graph, which counts them in cells of 8 x 8 pixels. A network
 * would read the counts in the same replay. The program prints what each step had.
 *
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <synfire/synfire.h>

#include "recording.h"

enum { CAPACITY = 1 << 16, CELL = 8, FAULTS = 5 };

static int check(synfire_status status) {
  char text[512] = "";
  if (status >= 0) return 1;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "bin-recording: %s\n", text);
  return 0;
}

typedef struct loop {
  synfire_context context;
  synfire_buffer events, event_counts, window, counts, faults;
  synfire_graph graph;
  uint64_t n_counts;
} loop;

static int make_frame(loop *of, int32_t dtype, uint64_t n_elements, synfire_buffer *buffer) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.dtype = dtype;
  desc.n_elements = n_elements;
  return check(synfire_buffer_create(of->context, &desc, buffer));
}

static int make_loop(loop *of, uint32_t width, uint32_t height) {
  synfire_bin_events_desc desc = SYNFIRE_BIN_EVENTS_DESC_INIT;
  of->n_counts = (uint64_t)((width + CELL - 1) / CELL) * ((height + CELL - 1) / CELL) * 2;
  if (!check(synfire_context_create(NULL, &of->context)) || !make_frame(of, SYNFIRE_DTYPE_U64, CAPACITY, &of->events) ||
      !make_frame(of, SYNFIRE_DTYPE_U32, 1, &of->event_counts) || !make_frame(of, SYNFIRE_DTYPE_U32, 2, &of->window) ||
      !make_frame(of, SYNFIRE_DTYPE_U8, of->n_counts, &of->counts) ||
      !make_frame(of, SYNFIRE_DTYPE_U32, FAULTS, &of->faults) ||
      !check(synfire_graph_create(of->context, NULL, &of->graph)))
    return 0;
  /* [record] */
  desc.n_steps = 1;
  desc.capacity = CAPACITY;
  desc.keep = SYNFIRE_EVENTS_KEEP_NEWEST; /* of more events than fit */
  desc.sensor_width = width;
  desc.sensor_height = height;
  desc.downsample_x = desc.downsample_y = CELL;
  desc.count_bound = 255;
  desc.events = of->events;
  desc.event_counts = of->event_counts;
  desc.window = of->window;
  desc.destination = of->counts;
  desc.faults = of->faults;
  if (!check(synfire_graph_record_bin_events(of->graph, &desc))) return 0;
  /* [record] */
  return check(synfire_graph_instantiate(of->graph));
}

static void *slot(const loop *of, uint64_t ticket, synfire_buffer buffer) {
  void *data = NULL;
  check(synfire_graph_get_slot(of->graph, ticket, buffer, &data, NULL));
  return data;
}

/* One step: the events that came since the last one, of which the first is at the time `start`. */
/* [step] */
static int step(const loop *of, const uint64_t *events, uint32_t n_events, uint32_t start, uint32_t ticks,
                uint64_t *ticket) {
  uint64_t *const ring = slot(of, 0, of->events);
  uint32_t *const window = slot(of, 0, of->window), *const count = slot(of, 0, of->event_counts);
  uint32_t i;
  if (ring == NULL || window == NULL || count == NULL) return 0;
  for (i = 0; i < n_events; ++i) ring[i % CAPACITY] = events[i];
  count[0] = n_events;
  window[0] = start;
  window[1] = ticks;
  return check(synfire_graph_launch(of->graph, NULL, ticket)) &&
         check(synfire_graph_wait(of->graph, *ticket, SYNFIRE_WAIT_SPIN, -1));
}
/* [step] */

static int run(const loop *of, const recording *from, uint32_t ticks) {
  uint64_t first = 0, number = 0;
  uint32_t start = from->n_events > 0 ? (uint32_t)from->events[0] : 0;
  printf("step events darker brighter cells left_out not_held bounded\n");
  for (; first < from->n_events; ++number, start += ticks) {
    uint64_t last = first, ticket = 0, i;
    uint32_t sums[2] = {0, 0}, cells = 0;
    const uint8_t *counts;
    const uint32_t *faults;
    while (last < from->n_events && (uint32_t)from->events[last] - start < ticks) ++last;
    if (last == first && (uint32_t)from->events[first] - start >= 0x80000000u) last = first + 1; /* it came too late */
    if (!step(of, from->events + first, (uint32_t)(last - first), start, ticks, &ticket)) return 0;
    counts = slot(of, ticket, of->counts);
    faults = slot(of, ticket, of->faults);
    if (counts == NULL || faults == NULL) return 0;
    for (i = 0; i < of->n_counts; ++i) {
      sums[i % 2] += counts[i];
      cells += counts[i] != 0;
    }
    if (last > first)
      printf("%" PRIu64 " %" PRIu64 " %u %u %u %u %u %u\n", number, last - first, sums[0], sums[1], cells,
             faults[SYNFIRE_EVENTS_FAULT_WINDOW], faults[SYNFIRE_EVENTS_FAULT_CAPACITY],
             faults[SYNFIRE_EVENTS_FAULT_BOUND]);
    first = last;
  }
  return 1;
}

static void end_loop(loop *of) {
  synfire_graph_destroy(of->graph);
  synfire_buffer_destroy(of->events);
  synfire_buffer_destroy(of->event_counts);
  synfire_buffer_destroy(of->window);
  synfire_buffer_destroy(of->counts);
  synfire_buffer_destroy(of->faults);
  synfire_context_destroy(of->context);
  synfire_context_reclaim(NULL, NULL);
}

int main(int argc, char **argv) {
  const double milliseconds = argc > 2 ? atof(argv[2]) : 1;
  recording_options options = {RECORDING_BY_CONTENT, 0, 0};
  recording from;
  loop of;
  char error[RECORDING_ERROR];
  int good;
  if (argc < 2 || argc > 5 || argc == 4 || !(milliseconds >= 0.001 && milliseconds <= 1e6)) {
    fprintf(stderr, "usage: bin-recording FILE [MILLISECONDS [WIDTH HEIGHT]]\n");
    return 2;
  }
  if (argc == 5) {
    options.width = (uint32_t)atoi(argv[3]);
    options.height = (uint32_t)atoi(argv[4]);
  }
  if (!recording_read(argv[1], &options, &from, error)) {
    fprintf(stderr, "bin-recording: %s: %s\n", argv[1], error);
    return 1;
  }
  printf("%llu events of a sensor of %u x %u; %llu of them older than the one before, %llu other records\n",
         (unsigned long long)from.n_events, from.width, from.height, (unsigned long long)from.n_backwards,
         (unsigned long long)from.n_skipped);
  memset(&of, 0, sizeof of);
  good = make_loop(&of, from.width, from.height) && run(&of, &from, (uint32_t)(milliseconds * 1000));
  end_loop(&of);
  recording_free(&from);
  return good ? 0 : 1;
}
