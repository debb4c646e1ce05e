/* Counts allocations and locks of a program by replacing every allocation function of the C library, and every
 * function of its threads that takes a lock. For C and C++, in one source file of a program that is compiled with
 * -fno-builtin and linked with the library of dlsym. The file must first define SYNFIRE_COUNTED(): 1 while events on
 * the calling thread count, else 0. */
#ifndef SYNFIRE_TESTS_COUNTING_H
#define SYNFIRE_TESTS_COUNTING_H

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static long n_allocations = 0, n_locks = 0;

static inline void add_counted(long *count) {
  __atomic_fetch_add(count, SYNFIRE_COUNTED(), __ATOMIC_RELAXED);
}
static inline void find_next(void *function, const char *name) {
  void *const found = dlsym(RTLD_NEXT, name);
  memcpy(function, &found, sizeof found);
}

#ifdef __cplusplus
extern "C" {
#endif

/* Exported in any build, so that a shared library's calls come here too. Included once in a program.
 * NOLINTBEGIN(misc-definitions-in-headers) */
#pragma GCC visibility push(default)

/* The C library's own allocator by its private names. NOLINTBEGIN(clang-diagnostic-reserved-identifier) */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
/* NOLINTEND(clang-diagnostic-reserved-identifier) */

void *malloc(size_t size) {
  add_counted(&n_allocations);
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  add_counted(&n_allocations);
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  add_counted(&n_allocations);
  return __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  add_counted(&n_allocations);
  return __libc_memalign(alignment, size);
}
void *memalign(size_t alignment, size_t size) {
  add_counted(&n_allocations);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  add_counted(&n_allocations);
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : 12;
}

/* NOLINTBEGIN(bugprone-macro-parentheses): `type` is a type */
#define COUNTING_LOCK(name, type)              \
  int name(type *lock) {                       \
    static int (*next)(type *) = NULL;         \
    add_counted(&n_locks);                     \
    if (next == NULL) find_next(&next, #name); \
    return next(lock);                         \
  }
#define COUNTING_TIMED_LOCK(name, type)                         \
  int name(type *lock, const struct timespec *until) {          \
    static int (*next)(type *, const struct timespec *) = NULL; \
    add_counted(&n_locks);                                      \
    if (next == NULL) find_next(&next, #name);                  \
    return next(lock, until);                                   \
  }
/* NOLINTEND(bugprone-macro-parentheses) */
COUNTING_LOCK(pthread_mutex_lock, pthread_mutex_t)
COUNTING_LOCK(pthread_mutex_trylock, pthread_mutex_t)
COUNTING_TIMED_LOCK(pthread_mutex_timedlock, pthread_mutex_t)
COUNTING_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
COUNTING_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
COUNTING_LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t)
COUNTING_LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t)
COUNTING_LOCK(pthread_spin_lock, pthread_spinlock_t)
COUNTING_LOCK(pthread_spin_trylock, pthread_spinlock_t)

#pragma GCC visibility pop
/* NOLINTEND(misc-definitions-in-headers) */

#ifdef __cplusplus
}
#endif

/* Returns true if the counters register one allocation and two locks; resets them to 0. Call it while counting is
 * enabled. */
static inline int counters_work(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  const long allocations = n_allocations, locks = n_locks;
  int work;
  free(malloc(16));
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  work = n_allocations - allocations == 1 && n_locks - locks == 2;
  n_allocations = n_locks = 0;
  return work;
}

#endif
