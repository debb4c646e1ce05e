/* 10,000 launches and waits of a graph with both directions and slots allocate nothing and lock nothing, nor do calls
 * between replays that are documented to allocate nothing: every allocation function of the C library, and every
 * function of its threads that takes a lock, is replaced by one that counts. With several threads to a replay likewise;
 * what the threads' runtime does to meet is its own. */
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

static void find(void *function, const char *name) {
  void *const found = dlsym(RTLD_NEXT, name);
  memcpy(function, &found, sizeof found);
}

#define COUNTING_LOCK(name, type)              \
  int name(type *lock) {                       \
    static int (*next)(type *) = NULL;         \
    n_locks += counting;                       \
    if (next == NULL) find(&next, #name);      \
    return next(lock);                         \
  }
#define COUNTING_TIMED_LOCK(name, type)                              \
  int name(type *lock, const struct timespec *until) {               \
    static int (*next)(type *, const struct timespec *) = NULL;      \
    n_locks += counting;                                             \
    if (next == NULL) find(&next, #name);                            \
    return next(lock, until);                                        \
  }
COUNTING_LOCK(pthread_mutex_lock, pthread_mutex_t)
COUNTING_LOCK(pthread_mutex_trylock, pthread_mutex_t)
COUNTING_TIMED_LOCK(pthread_mutex_timedlock, pthread_mutex_t)
COUNTING_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
COUNTING_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
COUNTING_LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t)
COUNTING_LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t)
COUNTING_LOCK(pthread_spin_lock, pthread_spinlock_t)
COUNTING_LOCK(pthread_spin_trylock, pthread_spinlock_t)

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

/* Forward, backward and a fill, with three slots. */
struct step {
  synfire_graph graph;
  synfire_layer layer;
  synfire_buffer x;
};

static struct step make_step(int32_t n_threads, int64_t steps, int64_t neurons) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc bd = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  synfire_graph_desc gd = SYNFIRE_GRAPH_DESC_INIT;
  synfire_context context = NULL;
  struct step step = {NULL, NULL, NULL};

  cd.backend = SYNFIRE_BACKEND_HOST;
  cd.n_threads = n_threads;
  require(synfire_context_create(&cd, &context), "context");
  ld.n_steps = steps;
  ld.n_neurons = neurons;
  require(synfire_layer_create(context, &ld, &step.layer), "layer");
  step.x = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)(steps * neurons));
  fd.x = step.x;
  fd.spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, (uint64_t)(steps * neurons / 32));
  bd.grad_spike_seq = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)(steps * neurons));
  bd.grad_x_seq = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)(steps * neurons));
  fill.buffer = make_buffer(context, SYNFIRE_DTYPE_F32, 16);
  require(synfire_buffer_fill(fd.x, 0.9), "fill");
  gd.n_slots = 3;
  require(synfire_graph_create(context, &gd, &step.graph), "graph");
  require(synfire_graph_record_forward(step.graph, step.layer, &fd), "forward");
  require(synfire_graph_record_backward(step.graph, step.layer, &bd), "backward");
  require(synfire_graph_record_fill(step.graph, &fill), "fill");
  require(synfire_graph_instantiate(step.graph), "instantiate");
  require(synfire_graph_launch(step.graph, NULL, NULL), "first launch"); /* the tape's references are taken once */
  return step;
}

static void replay(const struct step *step, int i) {
  uint64_t ticket = 0;
  require(synfire_graph_launch(step->graph, NULL, &ticket), "launch");
  require(synfire_graph_poll(step->graph, ticket), "poll");
  require(synfire_graph_wait(step->graph, ticket, i % 3, i % 2 == 0 ? 1000000000 : -1), "wait");
}

/* Everything between two replays that is documented to allocate nothing. */
static void change(const struct step *step, int i) {
  synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
  void *data = NULL;
  uint64_t bytes = 0;
  require(synfire_graph_set_value(step->graph, 2, "value", i), "set_value");
  require(synfire_graph_set_enabled(step->graph, 1, i % 4 != 0), "set_enabled");
  require(synfire_graph_get_slot(step->graph, 0, step->x, &data, &bytes), "get_slot");
  require(synfire_graph_get_statistics(step->graph, &statistics), "get_statistics");
  if (i % 100 == 0) require(synfire_graph_reset_statistics(step->graph), "reset_statistics");
}

int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  const struct step small = make_step(1, n_steps, n_neurons);
  const struct step large = make_step(2, 8, 131072); /* work for two threads */
  long allocations, locks, changing, parallel;
  int i;

  counting = 1;
  free(malloc(16)); /* the counters themselves work */
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  if (n_allocations != 1 || n_locks != 2) return 3;
  n_allocations = n_locks = 0;
  for (i = 0; i < n_replays; ++i) replay(&small, i);
  counting = 0;
  allocations = n_allocations, locks = n_locks;

  n_allocations = 0;
  counting = 1;
  for (i = 0; i < n_replays / 10; ++i) {
    change(&small, i);
    replay(&small, i);
  }
  counting = 0;
  changing = n_allocations;

  replay(&large, 0); /* the threads are made */
  n_allocations = 0;
  counting = 1;
  for (i = 0; i < 200; ++i) replay(&large, i);
  counting = 0;
  parallel = n_allocations;

  printf("%d launches, %ld allocations, %ld locks; %ld allocations with changes, %ld with two threads\n", n_replays,
         allocations, locks, changing, parallel);
  return allocations == 0 && locks == 0 && changing == 0 && parallel == 0 ? 0 : 1;
}
