/* clock.c - see clock.h.
 *
 * SPDX-License-Identifier: MIT */
#if defined(__linux__)
#define _GNU_SOURCE /* RUSAGE_THREAD */
#elif !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif

#include "clock.h"

enum { NANOSECONDS_PER_SECOND = 1000000000 };

#if defined(_WIN32)

#include <windows.h>

/* Windows 10 (1803) and newer have this; older ones wake at the next tick of 1 to 16 ms. */
#if !defined(CREATE_WAITABLE_TIMER_HIGH_RESOLUTION)
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 0x00000002
#endif

int64_t clock_now(void) {
  LARGE_INTEGER frequency, count;
  QueryPerformanceFrequency(&frequency);
  QueryPerformanceCounter(&count);
  return count.QuadPart / frequency.QuadPart * NANOSECONDS_PER_SECOND +
         count.QuadPart % frequency.QuadPart * NANOSECONDS_PER_SECOND / frequency.QuadPart;
}

int64_t clock_preemptions(void) {
  return -1;
}

static void sleep_until(int64_t until) {
  HANDLE timer = CreateWaitableTimerExW(NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS);
  int64_t left;
  if (timer == NULL) timer = CreateWaitableTimerW(NULL, TRUE, NULL);
  while ((left = until - clock_now()) > 0) {
    LARGE_INTEGER due;
    due.QuadPart = -((left + 99) / 100); /* negative: from now on, in units of 100 ns */
    if (timer == NULL || !SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE) ||
        WaitForSingleObject(timer, INFINITE) != WAIT_OBJECT_0)
      Sleep((DWORD)((left + 999999) / 1000000));
  }
  if (timer != NULL) CloseHandle(timer);
}

#else

#include <time.h>
#if defined(__linux__)
#include <sys/resource.h>
#endif

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

static void sleep_until(int64_t until) {
  int64_t left;
  while ((left = until - clock_now()) > 0) { /* a signal may interrupt the sleep */
    struct timespec pause;
    pause.tv_sec = (time_t)(left / NANOSECONDS_PER_SECOND);
    pause.tv_nsec = (long)(left % NANOSECONDS_PER_SECOND);
    nanosleep(&pause, NULL);
  }
}

#endif

void clock_wait_until(int64_t until, bool spins) {
  if (!spins) sleep_until(until);
  while (clock_now() < until) continue;
}
