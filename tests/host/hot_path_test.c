/* 10,000 launches and waits of a graph with both directions allocate nothing and lock nothing: every allocation function of
 * the C library, and pthread_mutex_lock, is replaced by one that counts. */
#define _GNU_SOURCE
#include <synfire/synfire.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>

enum { n_steps = 16, n_neurons = 128, n_replays = 10000 };

/* The C library's own allocator under its private names. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static volatile int counting = 0;
static volatile long n_allocations = 0, n_locks = 0;

void *malloc(size_t size) {
  n_allocations += counting;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  n_allocations += counting;
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  n_allocations += counting;
  return __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  n_allocations += counting;
  return __libc_memalign(alignment, size);
}
void *memalign(size_t alignment, size_t size) {
  n_allocations += counting;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  n_allocations += counting;
  *memory = __libc_memalign(alignment, size);
  return *memory == NULL ? 12 : 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  static int (*next)(pthread_mutex_t *) = NULL;
  n_locks += counting;
  if (next == NULL) {
    void *const found = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    memcpy(&next, &found, sizeof next);
  }
  return next(mutex);
}

static void require(synfire_status status, const char *what) {
  char text[512];
  if (status >= 0) return;
  counting = 0;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s: %s\n", what, text);
  exit(2);
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

int main(void) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc bd = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_context context = NULL;
  synfire_layer layer = NULL;
  synfire_graph graph = NULL;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  uint64_t ticket = 0;
  int i;

  cd.backend = SYNFIRE_BACKEND_HOST;
  require(synfire_context_create(&cd, &context), "context");
  ld.n_steps = n_steps;
  ld.n_neurons = n_neurons;
  require(synfire_layer_create(context, &ld, &layer), "layer");
  fd.x = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)n_steps * n_neurons);
  fd.spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, (uint64_t)n_steps * (n_neurons / 32));
  bd.grad_spike_seq = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)n_steps * n_neurons);
  bd.grad_x_seq = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)n_steps * n_neurons);
  require(synfire_buffer_fill(fd.x, 0.9), "fill");
  require(synfire_graph_create(context, NULL, &graph), "graph");
  require(synfire_graph_record_forward(graph, layer, &fd), "forward");
  require(synfire_graph_record_backward(graph, layer, &bd), "backward");
  require(synfire_graph_instantiate(graph), "instantiate");

  require(synfire_graph_launch(graph, NULL, &ticket), "first launch"); /* the tape's references are taken once */
  counting = 1;
  free(malloc(16)); /* the counter itself works */
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  if (n_allocations != 1 || n_locks != 1) return 3;
  n_allocations = n_locks = 0;
  for (i = 0; i < n_replays; ++i) {
    require(synfire_graph_launch(graph, NULL, &ticket), "launch");
    require(synfire_graph_poll(graph, ticket), "poll");
    require(synfire_graph_wait(graph, ticket, i % 3, 1000000000), "wait");
  }
  counting = 0;
  printf("%d launches, %ld allocations, %ld locks\n", n_replays, n_allocations, n_locks);
  return n_allocations == 0 && n_locks == 0 ? 0 : 1;
}
