/* live.h - `--live`: spikes, V and latency as text while the frames run.
 *
 * On a terminal one picture that is drawn over and over; elsewhere the same picture once a second, as lines without
 * escape sequences. One row is written after each frame, so that no frame waits for a whole picture. All characters are
 * ASCII but for the name of the sound.
 *
 *      Hz |   spikes: a column for 10 ms, a row for 8 channels, low ones at the bottom     | V, from 0 to the threshold
 *      us |   latency: the slowest replay of the column
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_LIVE_H
#define HEAR_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
  LIVE_BANDS = 16,
  LIVE_COLUMNS = 58,
  LIVE_ROWS = LIVE_BANDS + 5,
  LIVE_WIDTH = 79,            /* characters in a row, at most */
  LIVE_TEXT = LIVE_WIDTH * 4, /* bytes of a row, with its end */
  LIVE_FRAMES_PER_COLUMN = 10,
  LIVE_RECENT = LIVE_COLUMNS * LIVE_FRAMES_PER_COLUMN
};

/* Values that do not change while the frames run. The texts are kept, not copied. */
typedef struct live_subject {
  const char *sound, *title, *device; /* the title may be empty */
  size_t n_channels, population;
  const double *centre_hz; /* [n_channels], ascending */
  uint64_t n_frames;
  int64_t frame_length; /* nanoseconds; also the deadline */
} live_subject;

typedef struct live {
  live_subject subject;
  FILE *out;
  bool terminal;
  size_t next_row;   /* the row that is written next; LIVE_ROWS: the picture is complete */
  uint64_t pictures; /* complete ones */
  uint64_t frames, spikes, missed;
  uint32_t counts[LIVE_BANDS][LIVE_COLUMNS]; /* a ring of columns, as are the next two */
  int64_t slowest[LIVE_COLUMNS];
  bool late[LIVE_COLUMNS];
  double v[LIVE_BANDS]; /* mean of the latest frame */
  int64_t recent[LIVE_RECENT], latest, longest;
} live;

/* `out` is where the rows go; `terminal` says whether it is a terminal that understands escape sequences. */
void live_start(live *self, const live_subject *subject, FILE *out, bool terminal);

/* Takes a frame in: spikes by channel [n_channels], V of every neuron after it [n_channels * population], how long the
 * replay took, and whether the frame missed its deadline. */
void live_add(live *self, const uint32_t *counts, const float *v, int64_t latency, bool missed);

/* Writes the next row, if one is due. */
void live_draw(live *self);

/* The text of one row, without a line end. */
void live_row(const live *self, size_t row, char text[LIVE_TEXT]);

/* Writes the last picture, whole. */
void live_end(live *self);

#endif
