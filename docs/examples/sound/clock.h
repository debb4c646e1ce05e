/* clock.h - monotonic time in nanoseconds.
 *
 * Reads the clock, waits until a given time, and counts preemptions of the thread. The only file that depends on the
 * system for time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_CLOCK_H
#define SOUND_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds since an arbitrary fixed time. */
int64_t clock_now(void);

/* How often the system has preempted this thread; negative if it does not report that. */
int64_t clock_preemptions(void);

/* Both return when clock_now() has reached `until`, immediately if it already has. Spinning keeps a processor busy, so
 * that the system has nothing to wake. */
void clock_sleep_until(int64_t until);
void clock_spin_until(int64_t until);

#ifdef __cplusplus
}
#endif

#endif
