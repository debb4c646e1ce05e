/* Threads that the system refuses, and threads that remain: one case per argument, in a child process with its own
 * limits. Results are those of one thread, whatever happens to the others. Compiled twice: linked with the library,
 * and as a program that opens it (SYNFIRE_TEST_OPENS). */
#define _GNU_SOURCE
#include <synfire/synfire.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { n_steps = 16, n_neurons = 100000, n_words = n_steps * ((n_neurons + 31) / 32) };

/* ---- the system, or this test in its place, refuses threads ----------------------------------------------------- */

static int refuse_after = -1; /* threads that may still be created; -1: any number */
static int n_asked = 0, n_created = 0;

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*begin)(void *), void *argument) {
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
  int error;
  if (next == NULL) {
    void *const found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&next, &found, sizeof next);
  }
  ++n_asked;
  if (refuse_after == 0) return EAGAIN;
  error = next(thread, attributes, begin, argument);
  if (error == 0) {
    ++n_created;
    if (refuse_after > 0) --refuse_after;
  }
  return error;
}

/* ---- work for several threads ------------------------------------------------------------------------------------ */

/* The library, linked or opened at run time. */
struct library {
  synfire_status(SYNFIRE_CALL *context_create)(const synfire_context_desc *, synfire_context *);
  void(SYNFIRE_CALL *context_destroy)(synfire_context);
  synfire_status(SYNFIRE_CALL *context_reclaim)(synfire_context, uint64_t *);
  synfire_status(SYNFIRE_CALL *context_get_properties)(synfire_context, synfire_context_properties *);
  synfire_status(SYNFIRE_CALL *buffer_create)(synfire_context, const synfire_buffer_desc *, synfire_buffer *);
  void(SYNFIRE_CALL *buffer_destroy)(synfire_buffer);
  synfire_status(SYNFIRE_CALL *buffer_fill)(synfire_buffer, double);
  synfire_status(SYNFIRE_CALL *buffer_get_data)(synfire_buffer, void **, uint64_t *);
  synfire_status(SYNFIRE_CALL *layer_create)(synfire_context, const synfire_layer_desc *, synfire_layer *);
  void(SYNFIRE_CALL *layer_destroy)(synfire_layer);
  synfire_status(SYNFIRE_CALL *layer_reset_state)(synfire_layer, synfire_stream);
  synfire_status(SYNFIRE_CALL *graph_create)(synfire_context, const synfire_graph_desc *, synfire_graph *);
  void(SYNFIRE_CALL *graph_destroy)(synfire_graph);
  synfire_status(SYNFIRE_CALL *graph_record_forward)(synfire_graph, synfire_layer, const synfire_forward_desc *);
  synfire_status(SYNFIRE_CALL *graph_instantiate)(synfire_graph);
  synfire_status(SYNFIRE_CALL *graph_launch)(synfire_graph, synfire_stream, uint64_t *);
  uint64_t(SYNFIRE_CALL *last_error)(char *, uint64_t, int32_t *);
};

static const struct library *lib;

static void require(synfire_status status, const char *what) {
  char text[512];
  if (status >= 0) return;
  lib->last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s: %s\n", what, text);
  _exit(2);
}

struct work {
  synfire_context context;
  synfire_layer layer;
  synfire_buffer x, spikes;
  synfire_graph graph;
  const unsigned char *data;
  uint64_t bytes;
};

static synfire_buffer make_buffer(synfire_context context, int32_t dtype, uint64_t n) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.dtype = dtype;
  desc.n_elements = n;
  require(lib->buffer_create(context, &desc, &buffer), "buffer");
  return buffer;
}

static struct work make_work(int32_t n_threads) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
  struct work work;
  void *data;
  cd.backend = SYNFIRE_BACKEND_HOST;
  cd.n_threads = n_threads;
  require(lib->context_create(&cd, &work.context), "context");
  ld.n_steps = n_steps;
  ld.n_neurons = n_neurons;
  require(lib->layer_create(work.context, &ld, &work.layer), "layer");
  fd.x = work.x = make_buffer(work.context, SYNFIRE_DTYPE_F32, (uint64_t)n_steps * n_neurons);
  fd.spikes = work.spikes = make_buffer(work.context, SYNFIRE_DTYPE_BITS, n_words);
  require(lib->buffer_fill(fd.x, 0.9), "fill");
  require(lib->graph_create(work.context, NULL, &work.graph), "graph");
  require(lib->graph_record_forward(work.graph, work.layer, &fd), "record");
  require(lib->graph_instantiate(work.graph), "instantiate");
  require(lib->buffer_get_data(work.spikes, &data, &work.bytes), "data");
  work.data = data;
  return work;
}

static void free_work(const struct work *work) {
  lib->context_destroy(work->context);
  lib->graph_destroy(work->graph);
  lib->buffer_destroy(work->spikes);
  lib->buffer_destroy(work->x);
  lib->layer_destroy(work->layer);
  require(lib->context_reclaim(NULL, NULL), "reclaim");
}

static void launch(const struct work *work) {
  require(lib->layer_reset_state(work->layer, NULL), "reset");
  require(lib->graph_launch(work->graph, NULL, NULL), "launch");
}

static unsigned char *expected = NULL; /* the spikes of one thread */

/* Creates the work, replays it a few times and compares the results. */
static struct work do_work(int32_t n_threads) {
  const struct work work = make_work(n_threads);
  int i;
  for (i = 0; i < 5; ++i) {
    launch(&work);
    if (memcmp(work.data, expected, work.bytes) != 0) {
      fprintf(stderr, "other spikes with %d threads\n", (int)n_threads);
      _exit(1);
    }
  }
  return work;
}

static void check(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "not so: %s\n", what);
  _exit(1);
}

/* The number of threads of this process. */
static int count_threads(void) {
  DIR *const folder = opendir("/proc/self/task");
  const struct dirent *entry;
  int n = 0;
  if (folder == NULL) return -1;
  while ((entry = readdir(folder)) != NULL) n += entry->d_name[0] != '.';
  closedir(folder);
  return n;
}

/* A joined thread may be listed for a moment longer. */
static int settles_at(int n) {
  const struct timespec nap = {0, 1000000};
  int i;
  for (i = 0; i < 2000; ++i) {
    if (count_threads() == n) return 1;
    nanosleep(&nap, NULL);
  }
  return 0;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

#ifdef SYNFIRE_TEST_OPENS
static void find(void *handle, void *function, const char *name) {
  void *const found = dlsym(handle, name);
  check(found != NULL, name);
  memcpy(function, &found, sizeof found);
}
#define FIND(name) find(handle, &library.name, "synfire_" #name)
#else
#define FIND(name) library.name = synfire_##name
#endif

static struct library find_all(void *handle) {
  struct library library;
  (void)handle;
  FIND(context_create);
  FIND(context_destroy);
  FIND(context_reclaim);
  FIND(context_get_properties);
  FIND(buffer_create);
  FIND(buffer_destroy);
  FIND(buffer_fill);
  FIND(buffer_get_data);
  FIND(layer_create);
  FIND(layer_destroy);
  FIND(layer_reset_state);
  FIND(graph_create);
  FIND(graph_destroy);
  FIND(graph_record_forward);
  FIND(graph_instantiate);
  FIND(graph_launch);
  FIND(last_error);
  return library;
}

static void expect_one_thread(void) {
  const struct work work = make_work(1);
  expected = malloc(work.bytes);
  check(expected != NULL, "memory");
  launch(&work);
  memcpy(expected, work.data, work.bytes);
  free_work(&work);
}

#ifndef SYNFIRE_TEST_OPENS

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* From the n-th thread on, creation fails: no call fails, and as many threads run as could be created. */
static void refused(void) {
  int n;
  for (n = 0; n < 4; ++n) {
    struct work work;
    refuse_after = n;
    n_asked = n_created = 0;
    work = do_work(8);
    check(n_created == n, "as many threads as allowed");
    if (n_asked != n + 1) fprintf(stderr, "%d threads were requested\n", n_asked);
    check(n_asked == n + 1, "one thread more than allowed was requested, and launches do not try again");
    check(count_threads() == 1 + n, "these threads live");
    /* The next graph tries again. */
    refuse_after = -1;
    free_work(&work);
    check(settles_at(1), "no thread is left");
    work = do_work(8);
    check(count_threads() == 8, "all threads, once the system allows them");
    free_work(&work);
    check(settles_at(1), "no thread is left");
  }
}

static struct rlimit at_most(rlim_t most) {
  const struct rlimit to = {most, most};
  return to;
}

static unsigned long address_space(void) {
  unsigned long pages = 0;
  FILE *const file = fopen("/proc/self/statm", "r");
  check(file != NULL && fscanf(file, "%lu", &pages) == 1, "/proc/self/statm");
  fclose(file);
  return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

/* First 1 GiB in all, then so little that only a few threads fit. */
static void small_address_space(void) {
  struct work work;
  struct rlimit space = at_most((rlim_t)1 << 30);
  check(setrlimit(RLIMIT_AS, &space) == 0, "setrlimit");
  work = do_work(1024);
  free_work(&work);
  check(settles_at(1), "no thread is left");
  space = at_most(address_space() + ((rlim_t)24 << 20));
  check(setrlimit(RLIMIT_AS, &space) == 0, "setrlimit");
  work = do_work(1024);
  check(count_threads() < 1024, "the limit had an effect");
  free_work(&work);
}

/* Two processes, where all threads of all the user's programs count. There is no limit for root. */
static void few_processes(void) {
  struct work work;
  if (getuid() == 0 && setuid(65534) != 0) {
    fprintf(stderr, "cannot become another user: %s\n", strerror(errno));
    _exit(77);
  }
  const struct rlimit processes = at_most(2);
  check(setrlimit(RLIMIT_NPROC, &processes) == 0, "setrlimit");
  work = do_work(8);
  check(count_threads() <= 2, "the limit had an effect");
  free_work(&work);
}

/* The number of threads named synfire-N. */
static int count_named(void) {
  DIR *const folder = opendir("/proc/self/task");
  const struct dirent *entry;
  int n = 0;
  while ((entry = readdir(folder)) != NULL) {
    char path[300], name[32] = "";
    FILE *file;
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    file = fopen(path, "r");
    if (file == NULL) continue;
    n +=
        fgets(name, sizeof name, file) != NULL && strncmp(name, "synfire-", 8) == 0 && name[8] >= '1' && name[8] <= '9';
    fclose(file);
  }
  closedir(folder);
  return n;
}

/* As many threads as requested, not before there is work for them, named, with signals blocked; none after the context
 * is destroyed. */
static volatile sig_atomic_t n_signals = 0;
static pthread_t main_thread;
static void on_signal(int signal) {
  (void)signal;
  if (pthread_equal(pthread_self(), main_thread)) ++n_signals; /* NOLINT(bugprone-signal-handler): compares numbers */
}

static void lives(void) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_context idle;
  struct work a, b;
  int named = 0, i;
  cd.backend = SYNFIRE_BACKEND_HOST;
  cd.n_threads = 4;
  require(lib->context_create(&cd, &idle), "context");
  check(count_threads() == 1, "a context without work has no threads");
  a = do_work(3);
  check(count_threads() == 3, "a context has the threads that it requests");
  b = do_work(5);
  check(count_threads() == 7, "each context has its own");
  for (i = 0; i < 2000 && named < 6; ++i) { /* a thread sets its name when it starts */
    const struct timespec nap = {0, 1000000};
    named = count_named();
    nanosleep(&nap, NULL);
  }
  check(named == 6, "threads are named synfire-N");
  main_thread = pthread_self();
  signal(SIGUSR1, on_signal);
  for (i = 0; i < 100; ++i) kill(getpid(), SIGUSR1);
  check(n_signals == 100, "signals are delivered to the program's own threads");
  free_work(&a);
  check(settles_at(5), "a context's threads end with it");
  free_work(&b);
  lib->context_destroy(idle);
  require(lib->context_reclaim(NULL, NULL), "reclaim");
  check(settles_at(1), "no thread is left");
  a = do_work(1);
  check(count_threads() == 1, "a single thread is the calling one");
  free_work(&a);
}

/* Automatic: the processors of the calling thread, unless OMP_NUM_THREADS gives a number. */
static int32_t automatic(void) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  synfire_context context;
  cd.backend = SYNFIRE_BACKEND_HOST;
  require(lib->context_create(&cd, &context), "context");
  require(lib->context_get_properties(context, &properties), "properties");
  lib->context_destroy(context);
  return properties.n_threads;
}

static void counts_processors(void) {
  cpu_set_t all, one;
  size_t i;
  unsetenv("OMP_NUM_THREADS");
  check(sched_getaffinity(0, sizeof all, &all) == 0, "sched_getaffinity");
  check(automatic() >= 1 && automatic() <= CPU_COUNT(&all), "at most the processors of this thread");
  CPU_ZERO(&one);
  for (i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  check(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
  check(automatic() == 1, "one processor, one thread");
  setenv("OMP_NUM_THREADS", "3,2", 1);
  check(automatic() == 3, "OMP_NUM_THREADS");
  setenv("OMP_NUM_THREADS", "99999999999999999999", 1);
  check(automatic() == 1024, "a large OMP_NUM_THREADS");
  setenv("OMP_NUM_THREADS", "-3", 1);
  check(automatic() == 1, "an invalid OMP_NUM_THREADS");
  setenv("OMP_NUM_THREADS", "many", 1);
  check(automatic() == 1, "an invalid OMP_NUM_THREADS");
}

static int in_child(void (*body)(void)) {
  int status = 0;
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    body();
    _exit(0);
  }
  if (waitpid(child, &status, 0) != child) return 2;
  if (WIFSIGNALED(status)) fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
  const struct library library = find_all(NULL);
  const char *const name = argc > 1 ? argv[1] : "";
  lib = &library;
  expect_one_thread();
  if (strcmp(name, "refused") == 0) return in_child(refused);
  if (strcmp(name, "address_space") == 0) return in_child(small_address_space);
  if (strcmp(name, "processes") == 0) return in_child(few_processes);
  if (strcmp(name, "lives") == 0) return in_child(lives);
  if (strcmp(name, "processors") == 0) return in_child(counts_processors);
  fprintf(stderr, "usage: %s refused|address_space|processes|lives|processors\n", argv[0]);
  return 2;
}

#else

/* Opened, used and closed repeatedly. */
int main(int argc, char **argv) {
  int i;
  check(argc > 1, "usage: PROGRAM LIBRARY");
  for (i = 0; i < 20; ++i) {
    struct library library;
    struct work work;
    void *const handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) fprintf(stderr, "%s\n", dlerror());
    check(handle != NULL, "dlopen");
    library = find_all(handle);
    lib = &library;
    if (expected == NULL) expect_one_thread();
    work = do_work(4);
    check(count_threads() == 4, "the threads live");
    free_work(&work);
    check(settles_at(1), "no thread is left");
    check(dlclose(handle) == 0, "dlclose");
    lib = NULL;
  }
  return 0;
}

#endif
