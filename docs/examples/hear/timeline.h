/* timeline.h - when every frame woke up, was launched and was done, in the order of the frames.
 *
 * What lives here: one record per frame; the frames that missed their deadline, with what made them late; the records
 * as CSV and as a picture of latency over time. What does not: percentiles (latency.h), the clock (clock.h), when a
 * frame is due (listen.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_TIMELINE_H
#define HEAR_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Nanoseconds. A frame is due at some moment; the loop wakes up, prepares the input, launches, waits:
 *
 *     due --woke--> awake --input--> launched --replay--> done            whole = woke + input + replay
 */
typedef struct moment {
  int64_t due; /* since the first frame was */
  int64_t woke, input, replay, whole;
  int64_t behind;    /* the part of `woke` in which the loop was still busy with the frames before */
  int64_t preempted; /* how often the system took the processor away since the frame before; negative: not known */
  bool missed;
} moment;

typedef struct timeline {
  moment *moments; /* [capacity] */
  size_t count, capacity;
  int64_t deadline; /* a frame is missed when its `whole` is longer */
} timeline;

/* All memory is taken here, and touched, so that no frame pays for it. */
bool timeline_init(timeline *self, size_t capacity, int64_t deadline);

/* Notes the next frame; what does not fit is ignored. */
void timeline_add(timeline *self, const moment *frame);

/* What most of the frame's time went to: "woke late", "input" or "replay"; where that is waiting for the frames before,
 * the cause of the frame before. */
const char *timeline_cause(const timeline *self, size_t frame);

/* A line for each missed frame, `most` at most, and how many more there were. */
void timeline_print_missed(const timeline *self, FILE *out, size_t most);

/* Whether these files can be written: asked before a long run, not after it. Null: not wanted. Complains. */
bool timeline_can_write(const char *path);

/* frame, due, woke, behind, input, replay, whole (microseconds), missed (0 or 1), preempted (empty: not known). */
bool timeline_write_csv(const timeline *self, const char *path);

/* Latency over time, on a logarithmic scale: the range of each moment of the picture, and the frames that were missed.
 */
bool timeline_write_svg(const timeline *self, const char *path, const char *title);

void timeline_free(timeline *self);

#endif
