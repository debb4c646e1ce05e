/* progress.c - see progress.h.
 *
 * SPDX-License-Identifier: MIT */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif

#include "progress.h"

#include <stdio.h>
#include <string.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <unistd.h>
#endif

#include "clock.h"

static const int64_t TERMINAL_PERIOD = 100000000;
static const int64_t LOG_PERIOD = 5000000000;
enum { METER_WIDTH = 32 };

/* Whether stderr is a terminal that understands escape sequences. */
static bool is_terminal(void) {
#if defined(_WIN32)
  const HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
  DWORD mode = 0;
  return GetConsoleMode(console, &mode) && SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
#else
  return isatty(STDERR_FILENO) != 0;
#endif
}

void progress_start(progress *self, uint64_t total_frames) {
  memset(self, 0, sizeof *self);
  self->terminal = is_terminal();
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
