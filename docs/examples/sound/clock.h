/* clock.h - monotonic time in nanoseconds.
 *
 * Reads the clock, waits until a given time, and counts preemptions of the thread. The only file that depends on the
 * system for time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_CLOCK_H
#define SOUND_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds since an arbitrary fixed time. */
int64_t clock_now(void);

/* How often the system has preempted this thread; negative if it does not report that. */
int64_t clock_preemptions(void);

/* Returns when clock_now() has reached `until`, immediately if it already has. Sleeps, or spins, which keeps a
 * processor busy, so that the system has nothing to wake. */
void clock_wait_until(int64_t until, bool spins);

#ifdef __cplusplus
}
#endif

#endif
