/* control_loop.c - a controller at 1 kHz: sense, one replay, act, on time or with the last command held.
 *
 * The listings of the page on control loops, as a program: control_loop [TICKS [CPU PRIORITY]]. With CPU and PRIORITY
 * it asks the system for a processor of its own and for SCHED_FIFO, and continues without anything that is refused.
 * Sensors and motors are stand-ins.
 *
 * SPDX-License-Identifier: MIT */
#if defined(__linux__)
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#else
#define _POSIX_C_SOURCE 200809L
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <synfire/synfire.h>

enum { n_steps = 8, n_neurons = 256, n_warm_up = 50, n_slots = 2, most_late_in_a_row = 3 };

static const int64_t period = 1000000; /* ns */
static const int64_t budget = 600000;  /* ns from the start of a tick until the command must be known */

static void require(synfire_status status) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Sleeps until a point in time, not for a duration, so that delays do not add up. */
static void sleep_until(int64_t moment) {
#if defined(__linux__)
  struct timespec until;
  until.tv_sec = (time_t)(moment / 1000000000);
  until.tv_nsec = (long)(moment % 1000000000);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
  }
#else
  int64_t left;
  while ((left = moment - now()) > 0) {
    struct timespec pause;
    pause.tv_sec = (time_t)(left / 1000000000);
    pause.tv_nsec = (long)(left % 1000000000);
    nanosleep(&pause, NULL);
  }
#endif
}

/* ---- The robot's stand-ins -------------------------------------------------------------------------------------- */

static void read_sensors(float *x, int64_t tick) {
  int i;
  for (i = 0; i < n_steps * n_neurons; ++i) x[i] = 0.3F * (float)((i + tick) % 7);
}

static double decode(const float *spikes) {
  double sum = 0.0;
  int i;
  for (i = 0; i < n_steps * n_neurons; ++i) sum += spikes[i];
  return sum / (n_steps * n_neurons);
}

static double actuated;
static void actuate(double command) {
  actuated = command;
}

/* ---- Synfire ----------------------------------------------------------------------------------------------------- */

typedef struct controller {
  synfire_context context;
  synfire_layer layer;
  synfire_buffer x, spikes;
  synfire_graph graph;
} controller;

static synfire_buffer make_pinned(synfire_context context) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.n_elements = (uint64_t)n_steps * n_neurons;
  require(synfire_buffer_create(context, &desc, &buffer));
  return buffer;
}

/* [prepare] */
static void prepare(controller *c) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  synfire_graph_desc gd = SYNFIRE_GRAPH_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  cd.n_threads = 1;         /* on the host: only the controller's own thread */
  cd.stream_priority = -10; /* on a GPU: ahead of this process's other work; clamped to the device's range */
  require(synfire_context_create(&cd, &c->context));
  ld.n_steps = n_steps;
  ld.n_neurons = n_neurons;
  require(synfire_layer_create(c->context, &ld, &c->layer));
  c->x = make_pinned(c->context);
  c->spikes = make_pinned(c->context);
  gd.n_slots = n_slots; /* a late replay keeps its frames while the next one runs */
  require(synfire_graph_create(c->context, &gd, &c->graph));
  forward.x = c->x;
  forward.spikes = c->spikes;
  require(synfire_graph_record_forward(c->graph, c->layer, &forward));
  require(synfire_graph_instantiate(c->graph)); /* everything slow happens here */
}
/* [prepare] */

/* [warm up] */
static void warm_up(controller *c) {
  int i;
  for (i = 0; i < n_warm_up; ++i) {
    uint64_t ticket;
    void *x;
    require(synfire_graph_get_slot(c->graph, 0, c->x, &x, NULL));
    read_sensors(x, i);
    require(synfire_graph_launch(c->graph, NULL, &ticket));
    require(synfire_graph_wait(c->graph, ticket, SYNFIRE_WAIT_SPIN, -1));
  }
  require(synfire_layer_reset_state(c->layer, NULL)); /* forget the warm-up's state */
  require(synfire_graph_reset_statistics(c->graph));
}
/* [warm up] */

/* [real time] */
/* The system may refuse each of these; the loop then still runs, with a longer tail. Call it after prepare() and
 * warm_up(): threads that CUDA or a pool has already started do not inherit the settings, and the loop's pages are
 * resident. */
static void become_real_time(int cpu, int priority) {
#if defined(__linux__)
  struct sched_param wanted;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET((size_t)cpu, &mask);
  if (sched_setaffinity(0, sizeof mask, &mask) != 0) fprintf(stderr, "processor %d: %s\n", cpu, strerror(errno));
  memset(&wanted, 0, sizeof wanted);
  wanted.sched_priority = priority;
  if (sched_setscheduler(0, SCHED_FIFO, &wanted) != 0)
    fprintf(stderr, "SCHED_FIFO %d: %s\n", priority, strerror(errno));
#if defined(MCL_ONFAULT) /* locks pages that are touched, and leaves those alone that CUDA has only reserved */
  if (mlockall(MCL_CURRENT | MCL_ONFAULT) != 0) fprintf(stderr, "mlockall: %s\n", strerror(errno));
#endif
#else
  (void)cpu, (void)priority;
#endif
}
/* [real time] */

/* [loop] */
/* Returns the number of ticks without a command of their own. */
static int64_t control(controller *c, int64_t n_ticks) {
  int64_t due = now(), tick, n_held = 0;
  int late_in_a_row = 0;
  double command = 0.0;
  for (tick = 0; tick < n_ticks; ++tick) {
    uint64_t ticket = 0;
    synfire_status status;
    void *frame;
    sleep_until(due += period);
    status = synfire_graph_get_slot(c->graph, 0, c->x, &frame, NULL);
    if (status == SYNFIRE_OK) { /* otherwise SYNFIRE_PENDING: late replays use every slot */
      read_sensors(frame, tick);
      require(synfire_graph_launch(c->graph, NULL, &ticket));
      const int64_t left = due + budget - now();
      status = synfire_graph_wait(c->graph, ticket, SYNFIRE_WAIT_SPIN, left > 0 ? left : 0);
    }
    if (status < 0) { /* an error, such as a lost device: waiting cannot help */
      actuate(0.0);
      require(status);
    }
    if (status == SYNFIRE_OK) {
      require(synfire_graph_get_slot(c->graph, ticket, c->spikes, &frame, NULL));
      command = decode(frame);
      late_in_a_row = 0;
    } else { /* late: hold the last command for a while, then the safe one */
      ++n_held;
      if (++late_in_a_row > most_late_in_a_row) command = 0.0;
    }
    actuate(command);
  }
  return n_held;
}
/* [loop] */

/* [measure] */
static void print_statistics(const controller *c) {
  synfire_graph_statistics s = SYNFIRE_GRAPH_STATISTICS_INIT;
  require(synfire_graph_get_statistics(c->graph, &s));
  printf("launch to done: p50 %.1f us, p99 %.1f us, p99.9 %.1f us, longest %.1f us; late waits: %llu\n",
         (double)s.p50_ns / 1e3, (double)s.p99_ns / 1e3, (double)s.p999_ns / 1e3, (double)s.max_ns / 1e3,
         (unsigned long long)s.n_late_waits);
}
/* [measure] */

int main(int argc, char **argv) {
  const int64_t n_ticks = argc > 1 ? atoll(argv[1]) : 1000;
  controller c;
  int64_t n_held;
  if ((argc != 1 && argc != 2 && argc != 4) || n_ticks < 1) {
    fprintf(stderr, "usage: control_loop [TICKS [CPU PRIORITY]]\n");
    return 2;
  }
  prepare(&c);
  warm_up(&c);
  if (argc == 4) become_real_time(atoi(argv[2]), atoi(argv[3]));
  n_held = control(&c, n_ticks);
  printf("%lld ticks of %.1f ms, %lld with the command before; the last command is %.3f\n", (long long)n_ticks,
         (double)period / 1e6, (long long)n_held, actuated);
  print_statistics(&c);
  synfire_context_destroy(c.context); /* and everything that belongs to it */
  require(synfire_context_reclaim(NULL, NULL));
  return EXIT_SUCCESS;
}
