/* draw_recording.c - a recording to try the other programs with: draw-recording FILE [SECONDS [SEED]]
 *
 * A simulated camera of 128 x 128 pixels looks at a bright disc that circles over a grey background, once a second, and
 * what it sends is written as a file of Prophesee's format DAT.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "camera.h"

enum { SIDE = 128, LOOK = 1000 }; /* pixels; microseconds from one look to the next */

/* A disc with a soft edge. */
static void draw(float *image, double seconds) {
  const double turn = 6.283185307179586 * seconds, x = 64 + 36 * cos(turn), y = 64 + 36 * sin(turn);
  int row, column;
  for (row = 0; row < SIDE; ++row)
    for (column = 0; column < SIDE; ++column) {
      const double inside = 12 - hypot(column + 0.5 - x, row + 0.5 - y);
      const double part = inside < 0 ? 0 : inside > 1 ? 1 : inside;
      image[row * SIDE + column] = (float)(0.2 + 0.6 * part);
    }
}

static int write_event(FILE *out, uint64_t event) {
  int i;
  for (i = 0; i < 8; ++i)
    if (fputc((int)(event >> 8 * i & 0xFFu), out) == EOF) return 0;
  return 1;
}

static int record(camera *from, FILE *out, double seconds, unsigned long *n_written) {
  static float image[SIDE * SIDE];
  const uint64_t end = (uint64_t)(seconds * 1e6);
  uint64_t now;
  if (fprintf(out, "%% Data file containing CD events\n%% Version 2\n%% Width %d\n%% Height %d\n%c%c", (int)SIDE,
              (int)SIDE, 0x0C, 8) < 0)
    return 0;
  for (now = 0; now <= end; now += LOOK) {
    const uint64_t *events;
    size_t n_events, i;
    draw(image, (double)now * 1e-6);
    if (!camera_look(from, image, now, &events, &n_events)) return 0;
    for (i = 0; i < n_events; ++i)
      if (!write_event(out, events[i])) return 0;
    *n_written += (unsigned long)n_events;
  }
  return 1;
}

int main(int argc, char **argv) {
  const double seconds = argc > 2 ? atof(argv[2]) : 1;
  const camera_settings settings = {SIDE, SIDE, 0.2, 0.03, 0.1, 200, argc > 3 ? strtoull(argv[3], NULL, 10) : 1};
  unsigned long n_written = 0;
  camera *from;
  FILE *out;
  int good;
  if (argc < 2 || argc > 4 || !(seconds > 0 && seconds <= 3600)) {
    fprintf(stderr, "usage: draw-recording FILE [SECONDS [SEED]]\n");
    return 2;
  }
  from = camera_create(&settings);
  out = from != NULL ? fopen(argv[1], "wb") : NULL;
  good = out != NULL && record(from, out, seconds, &n_written);
  if (out != NULL && fclose(out) != 0) good = 0;
  camera_destroy(from);
  if (!good) {
    fprintf(stderr, "draw-recording: %s cannot be written\n", argv[1]);
    return 1;
  }
  printf("%lu events in %s\n", n_written, argv[1]);
  return 0;
}
