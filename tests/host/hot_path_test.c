/* 10,000 launches and waits of a graph with both directions, a native node and slots allocate and lock nothing, and
 * neither does a graph with every operation of learning (../learning_graph.h). Nor do calls between replays that are
 * documented not to allocate (../counting.h counts). The same holds with several threads per replay, except for what
 * the threads' runtime does to synchronise. */
#define _GNU_SOURCE
#include <synfire/synfire.h>

#include <stdio.h>

enum { n_steps = 16, n_neurons = 128, n_replays = 10000 };

static volatile int counting = 0;
#define SYNFIRE_COUNTED() counting
#include "../counting.h"

static void require(synfire_status status, const char *what) {
  char text[512];
  if (status >= 0) return;
  counting = 0;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s: %s\n", what, text);
  exit(2);
}

#include "../learning_graph.h"

static synfire_context make_context(int32_t n_threads) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_context context = NULL;
  desc.backend = SYNFIRE_BACKEND_HOST;
  desc.n_threads = n_threads;
  require(synfire_context_create(&desc, &context), "context");
  return context;
}

static synfire_buffer make_buffer(synfire_context context, int32_t dtype, uint64_t n) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer = NULL;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.dtype = dtype;
  desc.n_elements = n;
  require(synfire_buffer_create(context, &desc, &buffer), "buffer");
  return buffer;
}

static synfire_status SYNFIRE_CALL native(void *user, const synfire_native_call *call) {
  *(uint64_t *)user += call->n_reads + call->n_writes;
  return SYNFIRE_OK;
}

/* Forward, backward, a fill and a native node, with three slots. */
struct replayed {
  synfire_graph graph;
  synfire_layer layer;
  synfire_buffer x;
};

static struct replayed make_replayed(int32_t n_threads, int64_t steps, int64_t neurons) {
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc bd = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  synfire_native_desc node = SYNFIRE_NATIVE_DESC_INIT;
  synfire_graph_desc gd = SYNFIRE_GRAPH_DESC_INIT;
  static uint64_t n_arrays = 0;
  const synfire_context context = make_context(n_threads);
  struct replayed replayed = {NULL, NULL, NULL};

  ld.n_steps = steps;
  ld.n_neurons = neurons;
  require(synfire_layer_create(context, &ld, &replayed.layer), "layer");
  replayed.x = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)(steps * neurons));
  fd.x = replayed.x;
  fd.spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, (uint64_t)(steps * neurons / 32));
  bd.grad_spike_seq = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)(steps * neurons));
  bd.grad_x_seq = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)(steps * neurons));
  fill.buffer = make_buffer(context, SYNFIRE_DTYPE_F32, 16);
  require(synfire_buffer_fill(fd.x, 0.9), "fill");
  gd.n_slots = 3;
  require(synfire_graph_create(context, &gd, &replayed.graph), "graph");
  require(synfire_graph_record_forward(replayed.graph, replayed.layer, &fd), "forward");
  require(synfire_graph_record_backward(replayed.graph, replayed.layer, &bd), "backward");
  require(synfire_graph_record_fill(replayed.graph, &fill), "fill");
  node.callback = native;
  node.user = &n_arrays;
  node.name = "a node with a name that no small string holds in place";
  node.reads = &fd.x;
  node.n_reads = 1;
  node.writes = &fill.buffer;
  node.n_writes = 1;
  require(synfire_graph_record_native(replayed.graph, &node), "native");
  require(synfire_graph_instantiate(replayed.graph), "instantiate");
  require(synfire_graph_launch(replayed.graph, NULL, NULL), "first launch"); /* takes the tape's references, once */
  return replayed;
}

static void replay(synfire_graph graph, int i) {
  uint64_t ticket = 0;
  require(synfire_graph_launch(graph, NULL, &ticket), "launch");
  require(synfire_graph_poll(graph, ticket), "poll");
  require(synfire_graph_wait(graph, ticket, i % 3, i % 2 == 0 ? 1000000000 : -1), "wait");
}

/* Allocations and locks of this many launches of a graph. */
struct counts {
  long allocations, locks;
};
static struct counts count(synfire_graph graph, int n) {
  struct counts found;
  int i;
  n_allocations = n_locks = 0;
  counting = 1;
  for (i = 0; i < n; ++i) replay(graph, i);
  counting = 0;
  found.allocations = n_allocations;
  found.locks = n_locks;
  return found;
}

/* Everything between two replays that is documented not to allocate. */
static void change(const struct replayed *replayed, int i) {
  synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
  void *data = NULL;
  uint64_t bytes = 0;
  require(synfire_graph_set_value(replayed->graph, 2, "value", i), "set_value");
  require(synfire_graph_set_enabled(replayed->graph, 1, i % 4 != 0), "set_enabled");
  require(synfire_graph_get_slot(replayed->graph, 0, replayed->x, &data, &bytes), "get_slot");
  require(synfire_graph_get_statistics(replayed->graph, &statistics), "get_statistics");
  if (i % 100 == 0) require(synfire_graph_reset_statistics(replayed->graph), "reset_statistics");
}

/* Checks that allocations and locks inside the library are counted, not only those of this file. */
static int library_counts(void) {
  long allocations, locks;
  counting = 1;
  make_replayed(1, n_steps, n_neurons);
  counting = 0;
  allocations = n_allocations, locks = n_locks;
  n_allocations = n_locks = 0;
  return allocations > 0 && locks > 0;
}

int main(void) {
  const struct learning_sizes few = {23, 5, 4, 37, 20, 3}, many = {200, 33, 70, 90, 140, 11};
  const struct replayed small = make_replayed(1, n_steps, n_neurons);
  const struct replayed large = make_replayed(2, 8, 131072); /* work for two threads */
  const struct learning learning = make_learning(make_context(1), few, 3);
  const struct learning threads_learning = make_learning(make_context(2), many, 1);
  struct counts one, step;
  long changing, parallel;
  int i;

  if (!library_counts()) return 4;
  counting = 1;
  if (!counters_work()) return 3;
  counting = 0;
  one = count(small.graph, n_replays);
  replay(learning.graph, 0); /* takes the references of the tapes, once */
  step = count(learning.graph, n_replays / 10);

  n_allocations = 0;
  counting = 1;
  for (i = 0; i < n_replays / 10; ++i) {
    change(&small, i);
    replay(small.graph, i);
    change_learning(&learning, i);
    replay(learning.graph, i);
  }
  counting = 0;
  changing = n_allocations;

  replay(large.graph, 0); /* creates the threads */
  replay(threads_learning.graph, 0);
  parallel = count(large.graph, 200).allocations + count(threads_learning.graph, 20).allocations;

  printf(
      "%d launches, %ld allocations, %ld locks; learning %ld allocations, %ld locks; %ld allocations with changes, "
      "%ld with two threads\n",
      n_replays, one.allocations, one.locks, step.allocations, step.locks, changing, parallel);
  return one.allocations == 0 && one.locks == 0 && step.allocations == 0 && step.locks == 0 && changing == 0 &&
                 parallel == 0
             ? 0
             : 1;
}
