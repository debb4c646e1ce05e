/* timeline.h - when every frame woke up, was launched and was done, in the order of the frames.
 *
 * Keeps one record per frame. Reports the frames that missed their deadline, and what made them late. Writes the
 * records as CSV and as a picture of latency over time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_TIMELINE_H
#define HEAR_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* In nanoseconds. A frame becomes due; the loop wakes up, prepares the input, launches, waits:
 *
 *     due --woke--> awake --input--> launched --replay--> done            whole = woke + input + replay
 */
typedef struct moment {
  int64_t due; /* since the first frame was due */
  int64_t woke, input, replay, whole;
  int64_t behind;    /* the part of `woke` in which the loop was still busy with earlier frames */
  int64_t preempted; /* preemptions since the previous frame; negative: not known */
  bool missed;
} moment;

typedef struct timeline {
  moment *moments; /* [capacity] */
  size_t count, capacity;
  int64_t deadline; /* a frame is missed if its `whole` is longer */
} timeline;

/* Allocates and touches all memory, so that no frame has to. */
bool timeline_init(timeline *self, size_t capacity, int64_t deadline);

/* Records the next frame; frames beyond the capacity are ignored. */
void timeline_add(timeline *self, const moment *frame);

/* The cause of most of the frame's time: "woke late", "input" or "replay". If it mostly waited for earlier frames, the
 * cause of the previous frame. */
const char *timeline_cause(const timeline *self, size_t frame);

/* Prints a line for each missed frame, at most `most`, and how many more there are. */
void timeline_print_missed(const timeline *self, FILE *out, size_t most);

/* Returns true if these files can be written, to find out before a long run. Null: not wanted. Reports errors. */
bool timeline_can_write(const char *path);

/* Columns: the number of the frame, its times as above in microseconds, missed (0 or 1), preempted (empty: not known).
 * */
bool timeline_write_csv(const timeline *self, const char *path);

/* Latency over time, on a logarithmic scale: the range of each moment of the picture, and the frames that were missed.
 */
bool timeline_write_svg(const timeline *self, const char *path, const char *title);

void timeline_free(timeline *self);

#endif
