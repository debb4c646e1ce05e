/* progress.h - signs of life on stderr while the frames run.
 *
 * On a terminal one line that is rewritten ten times a second, with a level meter; elsewhere a line
 * every five seconds.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_PROGRESS_H
#define HEAR_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
  bool terminal;
  uint64_t total;
  int64_t next;    /* clock_now() of the next sign of life */
  double level;    /* share of the channels that fire, smoothed over some 50 frames */
  double distance; /* mean |rate - target|, shown when >= 0 */
} progress;

void progress_start(progress *self, uint64_t total_frames);

/* Acts on the spikes at hand: moves the meter by the share [0, 1] of the channels that fired. */
void progress_hear(progress *self, double share_firing);

/* After every frame. */
void progress_frame(progress *self, uint64_t frames_done);

/* Leaves the line, so that other output can follow. */
void progress_end(progress *self);

#endif
