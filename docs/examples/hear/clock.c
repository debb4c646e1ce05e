/* clock.c - see clock.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "clock.h"

#include <time.h>

enum { NANOSECONDS_PER_SECOND = 1000000000 };

int64_t clock_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * NANOSECONDS_PER_SECOND + (int64_t)now.tv_nsec;
}

void clock_sleep_until(int64_t moment) {
  int64_t left;
  while ((left = moment - clock_now()) > 0) { /* a signal may end the sleep early */
    struct timespec pause;
    pause.tv_sec = (time_t)(left / NANOSECONDS_PER_SECOND);
    pause.tv_nsec = (long)(left % NANOSECONDS_PER_SECOND);
    nanosleep(&pause, NULL);
  }
}
