/* progress.h - progress on stderr while the frames run: on a terminal one line with a level meter, rewritten ten times
 * a second; elsewhere one line every five seconds.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_PROGRESS_H
#define HEAR_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
  bool terminal;
  uint64_t total;
  int64_t next;    /* clock_now() of the next update */
  double level;    /* share of the channels that fire, smoothed over some 50 frames */
  double distance; /* mean |rate - target|, shown when >= 0 */
} progress;

void progress_start(progress *self, uint64_t total_frames);

/* Uses the available spikes: moves the meter to the share [0, 1] of the channels that fired. */
void progress_hear(progress *self, double share_firing);

/* Call after every frame. */
void progress_frame(progress *self, uint64_t frames_done);

/* Ends the line, so that other output can follow. */
void progress_end(progress *self);

#endif
