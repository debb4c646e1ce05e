/* Watches the calls of the library in any program that is run with this library preloaded (x86-64, Linux). It puts
 * itself before every function of synfire.h and checks that
 *
 *  - the call needs at most 32 KiB of stack: it runs on a stack that was painted with a pattern, and how far down the
 *    pattern has changed is what the call took. SYNFIRE_WATCH_STACKS=0 leaves this out, for programs whose callbacks,
 *    which run on the same stack, need more;
 *  - the status that it returns is one that its documentation names (documented_statuses.py).
 *
 * What is wrong is printed when it happens; the process then ends with status 75. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "documented_statuses.h"

#define ALLOWED_BYTES ((size_t)32 << 10)
#define PAINTED_BYTES ((size_t)128 << 10)
#define STACK_BYTES ((size_t)1 << 20) /* what is below the painted part is for a program's own callbacks */

static const uint64_t pattern = 0x5AFE57ACC5AFE57Au;

/* In the order of the file that CMake makes. */
extern const char *const call_watch_names[];
extern const int call_watch_count;
void *call_watch_real[512];

static size_t deepest[512];
static int watches_stacks, n_faults;

static __thread char *stack; /* of this thread, or null */
static __thread int is_inside;

/* Returns the top of the stack on which a call is to run; null: the caller's own. */
__attribute__((visibility("hidden"))) void *call_watch_enter(int function) {
  if (!call_watch_real[function]) call_watch_real[function] = dlsym(RTLD_NEXT, call_watch_names[function]);
  if (is_inside) return NULL;
  if (!stack) {
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) abort();
    for (uint64_t *word = (uint64_t *)(stack + STACK_BYTES - PAINTED_BYTES); word < (uint64_t *)(stack + STACK_BYTES);
         ++word)
      *word = pattern;
  }
  is_inside = 1;
  return stack + STACK_BYTES;
}

/* Once for each function and status, or function and depth of a KiB. */
static void complain(int function, const char *what, long value, long allowed) {
  static unsigned char said[512][256];
  static int failed;
  unsigned char *const before = &said[function][(value / (allowed ? 1024 : 1)) & 255];
  __atomic_store_n(&failed, 1, __ATOMIC_RELAXED);
  n_faults = failed;
  if (__atomic_exchange_n(before, 1, __ATOMIC_RELAXED)) return;
  if (allowed)
    fprintf(stderr, "%s needs %ld bytes of %s; %ld are allowed\n", call_watch_names[function], value, what, allowed);
  else
    fprintf(stderr, "%s returned %ld, %s\n", call_watch_names[function], value, what);
}

__attribute__((visibility("hidden"))) void call_watch_leave(int function, int status) {
  uint64_t *const end = (uint64_t *)(stack + STACK_BYTES);
  uint64_t *word = (uint64_t *)(stack + STACK_BYTES - PAINTED_BYTES);
  while (word < end && *word == pattern) ++word;
  const size_t depth = (size_t)((char *)end - (char *)word);
  for (; word < end; ++word) *word = pattern;
  is_inside = 0;
  size_t before = __atomic_load_n(&deepest[function], __ATOMIC_RELAXED);
  while (depth > before &&
         !__atomic_compare_exchange_n(&deepest[function], &before, depth, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  if (depth > ALLOWED_BYTES && watches_stacks) complain(function, "stack", (long)depth, ALLOWED_BYTES);
  const int *const documented = documented_statuses[function];
  int found = documented[0] == 0;
  for (int i = 1; i <= documented[0]; ++i) found |= documented[i] == status;
  if (!found) complain(function, "which its documentation does not name", status, 0);
}

__attribute__((constructor)) static void begin(void) {
  const char *const wanted = getenv("SYNFIRE_WATCH_STACKS");
  watches_stacks = !wanted || strcmp(wanted, "0") != 0;
}

__attribute__((destructor)) static void end(void) {
  int most = 0;
  for (int i = 1; i < call_watch_count; ++i)
    if (deepest[i] > deepest[most]) most = i;
  if (getenv("SYNFIRE_WATCH_VERBOSE"))
    for (int i = 0; i < call_watch_count; ++i)
      if (deepest[i] > 6000) fprintf(stderr, "stack: %6zu bytes in %s\n", deepest[i], call_watch_names[i]);
  if (watches_stacks)
    fprintf(stderr, "stack: the deepest call, of %s, took %zu bytes\n", call_watch_names[most], deepest[most]);
  if (!n_faults) return;
  fflush(NULL);
  _exit(75);
}
