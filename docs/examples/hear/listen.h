/* listen.h - the loop: passes sound frame by frame through the cochlea and the graph to everything that uses spikes.
 *
 * It determines how many frames there are, when each begins and when it must be done, and what happens if it is late.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_LISTEN_H
#define HEAR_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "cochlea.h"
#include "ear.h"
#include "latency.h"
#include "learner.h"
#include "live.h"
#include "npy.h"
#include "options.h"
#include "raster.h"
#include "rates.h"
#include "timeline.h"
#include "wav.h"

/* The course of the run: passes over the sound. The last frame of each is padded with silence. */
typedef struct plan {
  uint32_t frame_samples; /* T = round(rate / 1000) */
  uint64_t pass_frames;   /* frames per pass */
  uint64_t frames;        /* frames in the whole run */
  uint64_t keep_from;     /* frames [keep_from, keep_from + keep) go into raster.svg and spikes.npy */
  uint64_t keep;
} plan;

/* With --learn: one pass to measure, the passes that learn, and one pass to measure again. */
void plan_make(plan *self, const options *chosen, const wav *sound);

/* Nanoseconds from the first sample to the end of frame number `frames`: exact, however many there are. */
int64_t plan_time(const plan *self, uint32_t rate, uint64_t frames);

typedef struct listener {
  const options *chosen;
  const wav *sound;
  const plan *course;
  cochlea *basilar;
  ear *ears;
  latency *replays;
  learner *teacher; /* these four are null if not wanted */
  rates *recent;
  raster *picture;
  npy *file;
  timeline *times; /* null if not wanted, and so is the next one */
  live *view;

  uint64_t spikes, missed;    /* results */
  uint64_t held_up;           /* frames that the system made late: without --realtime only */
  uint64_t held_up_preempted; /* of these, those in which it preempted the program */
  int64_t longest_held_up;    /* nanoseconds from the beginning of such a frame to its end */
  int64_t elapsed;            /* nanoseconds */
  int64_t first_due;          /* when the first frame was due */
  int64_t busy_until;         /* when the loop was ready to sleep until the latest frame */
  int64_t preemptions;        /* clock_preemptions() after the latest frame */
  double before, after;       /* mean |rate - target| over the first and the last pass */
} listener;

/* Runs all frames. On failure, reports the error and returns false. */
bool listen(listener *self);

#endif
