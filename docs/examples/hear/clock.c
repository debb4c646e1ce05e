/* clock.c - see clock.h.
 *
 * SPDX-License-Identifier: MIT */
#if defined(__linux__)
#define _GNU_SOURCE /* RUSAGE_THREAD */
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "clock.h"

#include <time.h>
#if defined(__linux__)
#include <sys/resource.h>
#endif

enum { NANOSECONDS_PER_SECOND = 1000000000 };

int64_t clock_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * NANOSECONDS_PER_SECOND + (int64_t)now.tv_nsec;
}

int64_t clock_preemptions(void) {
#if defined(__linux__)
  struct rusage used;
  if (getrusage(RUSAGE_THREAD, &used) == 0) return (int64_t)used.ru_nivcsw;
#endif
  return -1;
}

void clock_sleep_until(int64_t until) {
  int64_t left;
  while ((left = until - clock_now()) > 0) { /* a signal may interrupt the sleep */
    struct timespec pause;
    pause.tv_sec = (time_t)(left / NANOSECONDS_PER_SECOND);
    pause.tv_nsec = (long)(left % NANOSECONDS_PER_SECOND);
    nanosleep(&pause, NULL);
  }
}
