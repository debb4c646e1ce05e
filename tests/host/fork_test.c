/* A process that has used several threads forks. The child, which has only one thread, still replays, with the same
 * result. Then it forks many children while another thread creates, changes, launches and destroys: no child hangs,
 * whatever the other thread was doing. Compiled a second time with OpenMP, whose threads the program uses first. */
#define _POSIX_C_SOURCE 200809L
#include <synfire/synfire.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { n_steps = 16, n_neurons = 100000 };

static void require(synfire_status status, const char *what) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s: %s\n", what, text);
  exit(2);
}

static synfire_buffer make_buffer(synfire_context context, int32_t dtype, uint64_t n) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.dtype = dtype;
  desc.n_elements = n;
  require(synfire_buffer_create(context, &desc, &buffer), "buffer");
  return buffer;
}

/* Objects that a child creates for itself, or that the other thread creates repeatedly. */
static void make_and_free(int32_t n_threads) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
  synfire_context context;
  synfire_layer layer;
  synfire_graph graph;
  cd.backend = SYNFIRE_BACKEND_HOST;
  cd.n_threads = n_threads;
  require(synfire_context_create(&cd, &context), "context");
  ld.n_steps = n_steps;
  ld.n_neurons = 33000; /* work for several threads */
  require(synfire_layer_create(context, &ld, &layer), "layer");
  fd.x = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)n_steps * 33000);
  fd.spikes = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)n_steps * 33000);
  require(synfire_graph_create(context, NULL, &graph), "graph");
  require(synfire_graph_record_forward(graph, layer, &fd), "record");
  require(synfire_graph_instantiate(graph), "instantiate");
  require(synfire_graph_launch(graph, NULL, NULL), "launch");
  synfire_graph_destroy(graph);
  synfire_layer_destroy(layer);
  synfire_buffer_destroy(fd.x);
  synfire_buffer_destroy(fd.spikes);
  synfire_context_destroy(context);
  require(synfire_context_reclaim(NULL, NULL), "reclaim");
}

/* A layer that the other thread changes continuously. */
static synfire_layer busy;
static int ending = 0;

static void *keep_busy(void *unused) {
  double values[64];
  int i;
  for (i = 0; i < 64; ++i) values[i] = 2 + i;
  while (!__atomic_load_n(&ending, __ATOMIC_RELAXED)) {
    make_and_free(2);
    for (i = 0; i < 2000; ++i) {
      synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
      synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
      synfire_context context;
      cd.backend = SYNFIRE_BACKEND_HOST;
      require(synfire_layer_set_parameter(busy, "tau", values, 64), "set_parameter");
      require(synfire_context_create(&cd, &context), "context");
      desc.dtype = SYNFIRE_DTYPE_F32;
      desc.n_elements = 1;
      {
        synfire_buffer buffer;
        require(synfire_buffer_create(context, &desc, &buffer), "buffer");
        synfire_buffer_destroy(buffer);
      }
      synfire_context_destroy(context);
    }
  }
  return unused;
}

/* The state in which a child may find an object that another thread was using. */
static int is_fine(synfire_status status) {
  static const char rule[] = "[SYN-FORK-BUSY]";
  char text[512];
  if (status >= 0) return 1;
  synfire_last_error(text, sizeof text, NULL);
  return status == SYNFIRE_ERROR_BUSY && strncmp(text, rule, sizeof rule - 1) == 0;
}

static int live_as_child(synfire_graph graph, synfire_layer layer, const void *data, const void *before,
                         uint64_t bytes) {
  double value = 2, values[64];
  int i;
  alarm(60); /* ends a child that hangs */
  require(synfire_layer_reset_state(layer, NULL), "reset");
  require(synfire_graph_launch(graph, NULL, NULL), "launch in the child");
  if (memcmp(before, data, bytes) != 0) return 3;
  for (i = 0; i < 3; ++i) make_and_free(2); /* with threads of its own */
  if (!is_fine(synfire_layer_get_parameter(busy, "tau", values, 64))) return 4;
  if (!is_fine(synfire_layer_set_parameter(busy, "tau", &value, 1))) return 5;
  synfire_layer_destroy(busy);
  synfire_graph_destroy(graph);
  require(synfire_context_reclaim(NULL, NULL), "reclaim");
  return 0;
}

static int fork_many(synfire_context context, synfire_graph graph, synfire_layer layer, const void *data,
                     const void *before, uint64_t bytes) {
  enum { n_children = 300 };
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  pthread_t other;
  int i, failed = 0;
  ld.n_neurons = 64;
  ld.n_steps = 1;
  require(synfire_layer_create(context, &ld, &busy), "layer");
  if (pthread_create(&other, NULL, keep_busy, NULL) != 0) return 2;
  for (i = 0; i < n_children && failed == 0; ++i) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) _exit(live_as_child(graph, layer, data, before, bytes));
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    if (WIFSIGNALED(status))
      fprintf(stderr, "child %d was ended by signal %d\n", i, WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
      fprintf(stderr, "child %d returned %d\n", i, WEXITSTATUS(status));
    failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  __atomic_store_n(&ending, 1, __ATOMIC_RELAXED);
  pthread_join(other, NULL);
  return failed;
}

int main(void) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
  synfire_context context;
  synfire_layer layer;
  synfire_graph graph;
  void *data;
  uint64_t bytes;
  unsigned char *before;
  pid_t child;
  int status = 0;

#ifdef _OPENMP
  {
    int n = 0;
#pragma omp parallel num_threads(4) reduction(+ : n)
    ++n;
    if (n != 4) fprintf(stderr, "%d threads of OpenMP\n", n);
  }
#endif
  cd.backend = SYNFIRE_BACKEND_HOST;
  cd.n_threads = 2;
  require(synfire_context_create(&cd, &context), "context");
  ld.n_steps = n_steps;
  ld.n_neurons = n_neurons;
  require(synfire_layer_create(context, &ld, &layer), "layer");
  fd.x = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)n_steps * n_neurons);
  fd.spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, (uint64_t)n_steps * ((n_neurons + 31) / 32));
  require(synfire_buffer_fill(fd.x, 0.9), "fill");
  require(synfire_layer_forward(layer, &fd, NULL), "forward");
  require(synfire_buffer_get_data(fd.spikes, &data, &bytes), "data");
  before = malloc(bytes);
  if (before == NULL) return 2;
  memcpy(before, data, bytes);

  child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    require(synfire_layer_reset_state(layer, NULL), "reset");
    require(synfire_layer_forward(layer, &fd, NULL), "forward in the child");
    _exit(memcmp(before, data, bytes) == 0 ? 0 : 1);
  }
  if (waitpid(child, &status, 0) != child) return 2;
  require(synfire_layer_reset_state(layer, NULL), "reset");
  require(synfire_layer_forward(layer, &fd, NULL), "forward in the parent");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;

  require(synfire_graph_create(context, NULL, &graph), "graph");
  require(synfire_graph_record_forward(graph, layer, &fd), "record");
  require(synfire_graph_instantiate(graph), "instantiate");
  require(synfire_layer_reset_state(layer, NULL), "reset");
  require(synfire_graph_launch(graph, NULL, NULL), "launch");
  memcpy(before, data, bytes);
  status = fork_many(context, graph, layer, data, before, bytes);
  free(before);
  return status;
}
