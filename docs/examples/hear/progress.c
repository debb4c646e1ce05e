/* progress.c - see progress.h.
 *
 * SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "terminal.h"

static const int64_t TERMINAL_PERIOD = 100000000;
static const int64_t LOG_PERIOD = 5000000000;
enum { METER_WIDTH = 32 };

void progress_start(progress *self, uint64_t total_frames) {
  memset(self, 0, sizeof *self);
  self->terminal = terminal_is_watched();
  self->total = total_frames;
  self->distance = -1.0;
  self->next = clock_now() + (self->terminal ? 0 : LOG_PERIOD);
}

void progress_hear(progress *self, double share_firing) {
  self->level += 0.02 * (share_firing - self->level);
}

void progress_frame(progress *self, uint64_t frames_done) {
  const int64_t now = clock_now();
  if (now < self->next) return;
  self->next = now + (self->terminal ? TERMINAL_PERIOD : LOG_PERIOD);
  fprintf(stderr, "%sframe %llu of %llu", self->terminal ? "\r\033[K" : "hear: ", (unsigned long long)frames_done,
          (unsigned long long)self->total);
  if (self->distance >= 0.0) fprintf(stderr, "  mean |rate - target| %.1f Hz", self->distance);
  if (self->terminal) {
    int i;
    fputs("  |", stderr);
    for (i = 0; i < METER_WIDTH; ++i) fputc((double)i < 2.0 * self->level * METER_WIDTH ? '#' : ' ', stderr);
    fputc('|', stderr);
    fflush(stderr);
  } else {
    fputc('\n', stderr);
  }
}

void progress_end(progress *self) {
  if (self->terminal) fputs("\r\033[K", stderr);
}
