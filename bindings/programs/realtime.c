/* realtime.c - the real-time loop that is an example of every binding, in C: a tick every millisecond that never
 * blocks.
 *
 * Every tick checks whether the previous tick's replay is done. If it is, the tick acts on its spikes and launches the
 * next replay. If not, it does nothing and lets the replay run on. Reports how long each tick took, as percentiles.
 *
 * The bindings' programs must reproduce its numbers of replays and spikes; its times are the reference for theirs.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>
#include <time.h>

enum { NEURONS = 128, STEPS = 16, WORDS = NEURONS / 32, LARGEST_TICKS = 1000000, NANOSECONDS_PER_SECOND = 1000000000 };

static void check(synfire_status status) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

static synfire_buffer make_buffer(synfire_context context, int32_t dtype, int n_elements, void **data) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.dtype = dtype;
  desc.n_elements = (uint64_t)n_elements;
  check(synfire_buffer_create(context, &desc, &buffer));
  check(synfire_buffer_get_data(buffer, data, NULL));
  return buffer;
}

static int64_t now(void) {
  struct timespec moment;
  clock_gettime(CLOCK_MONOTONIC, &moment);
  return (int64_t)moment.tv_sec * NANOSECONDS_PER_SECOND + (int64_t)moment.tv_nsec;
}

static void sleep_until(int64_t moment) {
  int64_t left;
  while ((left = moment - now()) > 0) {
    struct timespec pause;
    pause.tv_sec = 0;
    pause.tv_nsec = (long)(left < 1000000 ? left : 1000000);
    nanosleep(&pause, NULL);
  }
}

/* Input number k of neuron n: a wave that travels over the neurons. */
static void read_sensor(float *x, uint64_t k) {
  int t, n;
  for (t = 0; t < STEPS; ++t)
    for (n = 0; n < NEURONS; ++n)
      x[t * NEURONS + n] = (float)((k * STEPS + (uint64_t)t + 3 * (uint64_t)n) % 96) / 32.0F;
}

static int compare(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left;
  const int64_t b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

int main(int argc, char **argv) {
  static int64_t taken[LARGEST_TICKS];
  synfire_context_desc host = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_context context;
  synfire_layer layer;
  synfire_graph step;
  void *x, *words;
  const double tau = 4.0;
  const int ticks = argc > 1 ? atoi(argv[1]) : 1000;
  uint64_t ticket = 0, spikes = 0;
  int64_t start, p50, p99;
  int tick, late = 0;
  if (ticks < 1 || ticks > LARGEST_TICKS) return 2;

  host.backend = SYNFIRE_BACKEND_HOST;
  check(synfire_context_create(&host, &context));
  desc.n_neurons = NEURONS;
  desc.n_steps = STEPS;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));
  forward.x = make_buffer(context, SYNFIRE_DTYPE_F32, NEURONS * STEPS, &x);
  forward.spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, WORDS * STEPS, &words);
  forward.tape = SYNFIRE_TAPE_NONE;
  check(synfire_graph_create(context, NULL, &step));
  check(synfire_graph_record_forward(step, layer, &forward));
  check(synfire_graph_instantiate(step));

  start = now();
  for (tick = 0; tick < ticks; ++tick) {
    int64_t begin;
    synfire_status status = SYNFIRE_OK;
    int i;
    sleep_until(start + (int64_t)tick * 1000000);
    begin = now();
    if (ticket > 0) check(status = synfire_graph_poll(step, ticket));
    if (status == SYNFIRE_PENDING) {
      ++late;
    } else {
      if (ticket > 0)
        for (i = 0; i < WORDS * STEPS; ++i) {
          uint32_t word = ((const uint32_t *)words)[i];
          for (; word != 0; word &= word - 1) ++spikes;
        }
      read_sensor(x, ticket);
      check(synfire_graph_launch(step, NULL, &ticket));
    }
    taken[tick] = now() - begin;
  }
  qsort(taken, (size_t)ticks, sizeof *taken, compare);
  printf("%llu replays, %llu spikes read\n", (unsigned long long)ticket, (unsigned long long)spikes);
  p50 = taken[(ticks - 1) / 2];
  p99 = taken[(ticks - 1) * 99 / 100];
  printf("tick: p50 %.1f us, p99 %.1f us, max %.1f us; %d late\n", (double)p50 / 1e3, (double)p99 / 1e3,
         (double)taken[ticks - 1] / 1e3, late);

  synfire_graph_destroy(step);
  synfire_layer_destroy(layer);
  synfire_buffer_destroy(forward.x);
  synfire_buffer_destroy(forward.spikes);
  synfire_context_destroy(context);
  check(synfire_context_reclaim(NULL, NULL));
  return EXIT_SUCCESS;
}
