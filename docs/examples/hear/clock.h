/* clock.h - time, in nanoseconds that only ever grow.
 *
 * Reading the clock, sleeping until a moment, asking how often the thread was interrupted; the only
 * file that needs POSIX for time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_CLOCK_H
#define HEAR_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment. */
int64_t clock_now(void);

/* How often the system has preempted this thread; negative if it does not tell. */
int64_t clock_preemptions(void);

/* Returns when clock_now() has reached `moment`; at once when it already has. */
void clock_sleep_until(int64_t moment);

#endif
