/* listen.h - the loop: frame after frame of sound, through the cochlea, through the graph, to whoever wants the spikes.
 *
 * How many frames there are, when each begins and when it must be done, what happens when it is not.
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
#include "npy.h"
#include "options.h"
#include "raster.h"
#include "rates.h"
#include "timeline.h"
#include "wav.h"

/* How the run goes: passes over the sound, the last frame of each filled up with silence. */
typedef struct plan {
  uint32_t frame_samples; /* T = round(rate / 1000) */
  uint64_t pass_frames;   /* frames of one pass */
  uint64_t frames;        /* of the whole run */
  uint64_t keep_from;     /* frames [keep_from, keep_from + keep) go into raster.svg and spikes.npy */
  uint64_t keep;
} plan;

/* With --learn: one pass to measure, the learning, one pass to measure again. */
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
  learner *teacher; /* these four null when not wanted */
  rates *recent;
  raster *picture;
  npy *file;
  timeline *times; /* null when not wanted */

  uint64_t spikes, missed; /* results */
  int64_t elapsed;         /* nanoseconds */
  int64_t first_due;       /* when the first frame was */
  int64_t busy_until;      /* when the loop was ready to sleep until the latest frame */
  int64_t preemptions;     /* clock_preemptions() after the latest frame */
  double before, after;    /* mean |rate - target| over the first and the last pass */
} listener;

/* Runs all frames. On failure complains and answers false. */
bool listen(listener *self);

#endif
