/* live.c - see live.h.
 *
 * SPDX-License-Identifier: MIT */
#include "live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From nothing to all neurons of a cell firing as fast as they can. */
static const char SHADES[] = " .:-=+*#%@";
enum { N_SHADES = sizeof SHADES - 1, V_WIDTH = 10 };
static const double FIRST_SHADE_HZ = 3.0; /* each shade is for twice the rate of the one before */
static const int64_t PLAIN_PERIOD = 1000000000;

enum { ROW_SOUND, ROW_HEADS, ROW_BANDS, ROW_LATENCY = ROW_BANDS + LIVE_BANDS, ROW_NUMBERS, ROW_SPIKES, ROWS };
typedef char rows_are_counted[(int)ROWS == (int)LIVE_ROWS ? 1 : -1];

void live_start(live *self, const live_subject *subject, FILE *out, bool terminal) {
  memset(self, 0, sizeof *self);
  self->subject = *subject;
  self->out = out;
  self->terminal = terminal;
  self->next_row = LIVE_ROWS;
}

/* The band of a channel; every band has as many channels, or one more. */
static size_t band_of(const live *self, size_t channel) {
  return channel * LIVE_BANDS / self->subject.n_channels;
}

void live_add(live *self, const uint32_t *counts, const float *v, int64_t latency, bool missed) {
  const live_subject *const subject = &self->subject;
  const size_t column = (size_t)(self->frames / LIVE_FRAMES_PER_COLUMN % LIVE_COLUMNS);
  size_t neurons[LIVE_BANDS] = {0};
  size_t b, c, k;
  if (self->frames % LIVE_FRAMES_PER_COLUMN == 0) { /* a new column takes the place of the oldest one */
    for (b = 0; b < LIVE_BANDS; ++b) self->counts[b][column] = 0;
    self->slowest[column] = 0;
    self->late[column] = false;
  }
  for (b = 0; b < LIVE_BANDS; ++b) self->v[b] = 0.0;
  for (c = 0; c < subject->n_channels; ++c) {
    b = band_of(self, c);
    self->counts[b][column] += counts[c];
    self->spikes += counts[c];
    for (k = 0; k < subject->population; ++k) self->v[b] += (double)v[c * subject->population + k];
    neurons[b] += subject->population;
  }
  for (b = 0; b < LIVE_BANDS; ++b)
    if (neurons[b] > 0) self->v[b] /= (double)neurons[b];
  if (latency > self->slowest[column]) self->slowest[column] = latency;
  if (latency > self->longest) self->longest = latency;
  if (missed) self->late[column] = true;
  self->missed += missed;
  self->recent[self->frames % LIVE_RECENT] = self->latest = latency;
  ++self->frames;
}

/* How many columns there are, and the ring's index of the i-th from the left; the newest is at the right. */
static size_t n_columns(const live *self) {
  const uint64_t n = (self->frames + LIVE_FRAMES_PER_COLUMN - 1) / LIVE_FRAMES_PER_COLUMN;
  return n < LIVE_COLUMNS ? (size_t)n : LIVE_COLUMNS;
}
static size_t column_at(const live *self, size_t i) {
  const uint64_t n = (self->frames + LIVE_FRAMES_PER_COLUMN - 1) / LIVE_FRAMES_PER_COLUMN;
  return (size_t)((n - n_columns(self) + i) % LIVE_COLUMNS);
}

static char shade(double value, double first) {
  int level = 0;
  if (value <= 0.0) return SHADES[0];
  level = value < first ? 1 : 2 + (int)floor(log2(value / first));
  return SHADES[level < N_SHADES ? level : N_SHADES - 1];
}

/* Mean rate of the neurons of a band in a column, whose newest may have fewer frames. */
static double rate_hz(const live *self, size_t band, size_t column, bool newest) {
  const live_subject *const subject = &self->subject;
  const uint64_t rest = self->frames % LIVE_FRAMES_PER_COLUMN;
  const double frames = newest && rest > 0 ? (double)rest : LIVE_FRAMES_PER_COLUMN;
  size_t c, channels = 0;
  for (c = 0; c < subject->n_channels; ++c) channels += band_of(self, c) == band;
  if (channels == 0) return 0.0;
  return (double)self->counts[band][column] /
         ((double)(channels * subject->population) * frames * (double)subject->frame_length / 1e9);
}

static void band_row(const live *self, size_t band, char *text) {
  const size_t n = n_columns(self);
  char spikes[LIVE_COLUMNS + 1], v[V_WIDTH + 1];
  double hz = 0.0;
  size_t i, c;
  for (c = 0; c < self->subject.n_channels; ++c) /* the band's lowest channel */
    if (band_of(self, c) == band) {
      hz = self->subject.centre_hz[c];
      break;
    }
  for (i = 0; i < n; ++i) {
    const size_t column = column_at(self, i);
    spikes[i] = shade(rate_hz(self, band, column, i + 1 == n), FIRST_SHADE_HZ);
  }
  spikes[n] = '\0';
  for (i = 0; i < V_WIDTH; ++i) v[i] = self->v[band] * V_WIDTH >= (double)i + 0.5 ? '#' : ' ';
  v[V_WIDTH] = '\0';
  snprintf(text, LIVE_TEXT, "%5.0f |%*s%s| %s|", hz, (int)(LIVE_COLUMNS - n), "", spikes, v);
}

static void latency_row(const live *self, char *text) {
  const size_t n = n_columns(self);
  char bars[LIVE_COLUMNS + 1];
  size_t i;
  for (i = 0; i < n; ++i) {
    const size_t column = column_at(self, i);
    /* The darkest shade begins at half the deadline. */
    bars[i] = '!';
    if (!self->late[column]) bars[i] = shade((double)self->slowest[column], (double)self->subject.frame_length / 256.0);
  }
  bars[n] = '\0';
  snprintf(text, LIVE_TEXT, "   us |%*s%s| ! is late", (int)(LIVE_COLUMNS - n), "", bars);
}

static int compare(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* Nearest rank over the frames that the picture shows. */
static void numbers_row(const live *self, char *text) {
  const size_t n = self->frames < LIVE_RECENT ? (size_t)self->frames : LIVE_RECENT;
  const size_t p50 = n > 0 ? (n * 50 + 99) / 100 - 1 : 0, p99 = n > 0 ? (n * 99 + 99) / 100 - 1 : 0;
  int64_t sorted[LIVE_RECENT] = {0};
  memcpy(sorted, self->recent, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, compare);
  snprintf(text, LIVE_TEXT, "latency %.1f us, p50 %.1f us, p99 %.1f us, max %.1f us; %llu of %llu late",
           (double)self->latest / 1e3, (double)sorted[p50] / 1e3, (double)sorted[p99] / 1e3,
           (double)self->longest / 1e3, (unsigned long long)self->missed, (unsigned long long)self->frames);
}

/* Cuts a text to the width, between characters, and takes out what a terminal could obey. */
static void tame(char *text) {
  size_t width = 0;
  int following = 0; /* bytes of this character that are still to come */
  char *end;
  for (end = text; *end != '\0'; ++end) {
    const unsigned char byte = (unsigned char)*end;
    const bool follows = (byte & 0xc0) == 0x80 && following > 0;
    if (follows)
      --following;
    else if (++width > LIVE_WIDTH)
      break;
    else
      following = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
    if (byte < 0x20 || byte == 0x7f || ((byte & 0xc0) == 0x80 && !follows)) *end = '?';
    if (byte == 0xc2 && (unsigned char)end[1] < 0xa0 && end[1] != '\0') end[1] = (char)0xbf; /* C1 becomes "¿" */
  }
  *end = '\0';
}

void live_row(const live *self, size_t row, char text[LIVE_TEXT]) {
  const live_subject *const subject = &self->subject;
  const double second = (double)subject->frame_length / 1e9;
  if (row == ROW_SOUND)
    snprintf(text, LIVE_TEXT, "%.3f of %.3f s  %s%s%s%s", (double)self->frames * second,
             (double)subject->n_frames * second, subject->sound, subject->title[0] != '\0' ? ", \"" : "",
             subject->title, subject->title[0] != '\0' ? "\"" : "");
  else if (row == ROW_HEADS)
    snprintf(text, LIVE_TEXT, "   Hz |%-*s| V", (int)LIVE_COLUMNS, "spikes");
  else if (row < ROW_LATENCY)
    band_row(self, LIVE_BANDS - 1 - (row - ROW_BANDS), text);
  else if (row == ROW_LATENCY)
    latency_row(self, text);
  else if (row == ROW_NUMBERS)
    numbers_row(self, text);
  else
    snprintf(text, LIVE_TEXT, "%llu spikes of %lu neurons, on %s", (unsigned long long)self->spikes,
             (unsigned long)(subject->n_channels * subject->population), subject->device);
  tame(text);
}

/* The cursor rests below the picture, so that anything may end the program at any time. */
static void write_row(live *self) {
  char text[LIVE_TEXT];
  live_row(self, self->next_row, text);
  if (self->terminal)
    fprintf(self->out, "\033[%dA\r%s\033[K\033[%dB\r", (int)(LIVE_ROWS - self->next_row), text,
            (int)(LIVE_ROWS - self->next_row));
  else
    fprintf(self->out, "%s\n", text);
  fflush(self->out);
  if (++self->next_row == LIVE_ROWS) ++self->pictures;
}

/* Room for the first picture on a terminal; a line between two of them elsewhere. */
static void begin_picture(live *self) {
  int row;
  if (self->terminal && self->pictures == 0)
    for (row = 0; row < LIVE_ROWS; ++row) fputc('\n', self->out);
  if (!self->terminal && self->pictures > 0) fputc('\n', self->out);
  self->next_row = 0;
}

void live_draw(live *self) {
  if (self->next_row == LIVE_ROWS) {
    const int64_t time = (int64_t)self->frames * self->subject.frame_length;
    if (!self->terminal && time < (int64_t)(self->pictures + 1) * PLAIN_PERIOD) return;
    begin_picture(self);
  }
  write_row(self);
}

void live_end(live *self) {
  while (self->next_row < LIVE_ROWS && !self->terminal) write_row(self);
  begin_picture(self);
  while (self->next_row < LIVE_ROWS) write_row(self);
}
