/* live_test.c - tests the picture of `--live` as text: what the rows say, what is written when, on a terminal and
 * elsewhere. Usage: hear_live_test DIR
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

enum { CHANNELS = 32, POPULATION = 2, FRAME = 1000000 };

static int failures;
static double centre_hz[CHANNELS];
static char path[1024];

static void expect(int good, const char *what, const char *found) {
  if (good) return;
  ++failures;
  fprintf(stderr, "failed: %s; found \"%s\"\n", what, found);
}

static void expect_row(const live *view, size_t row, const char *wanted) {
  char text[LIVE_TEXT];
  live_row(view, row, text);
  expect(strcmp(text, wanted) == 0, wanted, text);
}

static live_subject subject_of(const char *sound, const char *title) {
  live_subject subject;
  size_t c;
  for (c = 0; c < CHANNELS; ++c) centre_hz[c] = 100.0 + 10.0 * (double)c;
  subject.sound = sound;
  subject.title = title;
  subject.device = "a test";
  subject.n_channels = CHANNELS;
  subject.population = POPULATION;
  subject.centre_hz = centre_hz;
  subject.n_frames = 2000;
  subject.frame_length = FRAME;
  return subject;
}

/* Both neurons of the lowest two channels fire in each of `n` frames, and no others. V is a tenth of the channel's
 * band. */
static void add(live *view, int n, int64_t latency, bool missed) {
  uint32_t counts[CHANNELS] = {POPULATION, POPULATION};
  float v[CHANNELS * POPULATION];
  size_t c, k;
  for (c = 0; c < CHANNELS; ++c)
    for (k = 0; k < POPULATION; ++k) {
      const size_t band = c / 2;
      v[c * POPULATION + k] = 0.1F * (float)band;
    }
  for (; n > 0; --n) live_add(view, counts, v, latency, missed);
}

static void test_rows(void) {
  const live_subject subject = subject_of("a.wav", "one two");
  static live view;
  live_start(&view, &subject, NULL, false);
  expect_row(&view, 0, "0.000 of 2.000 s  a.wav, \"one two\"");
  expect_row(&view, 1, "   Hz |spikes                                                    | V");
  expect_row(&view, 2, "  400 |                                                          |           |");
  expect_row(&view, LIVE_ROWS - 2, "latency 0.0 us, p50 0.0 us, p99 0.0 us, max 0.0 us; 0 of 0 late");

  add(&view, 25, 2000, false); /* two columns and a half: 1000 spikes a second each */
  expect_row(&view, 0, "0.025 of 2.000 s  a.wav, \"one two\"");
  expect_row(&view, 17, "  100 |                                                       @@@|           |");
  expect_row(&view, 16, "  120 |                                                          | #         |");
  expect_row(&view, 12, "  200 |                                                          | #####     |");
  expect_row(&view, 2, "  400 |                                                          | ##########|");
  expect_row(&view, 18, "   us |                                                       ...| ! is late");
  add(&view, 5, 500000, false);
  add(&view, 10, 1500000, true);
  expect_row(&view, 18, "   us |                                                      ..@!| ! is late");
  expect_row(&view, 19, "latency 1500.0 us, p50 2.0 us, p99 1500.0 us, max 1500.0 us; 10 of 40 late");
  expect_row(&view, 20, "160 spikes of 64 neurons, on a test");
  add(&view, 20000, 3000, false); /* the old columns have left */
  expect_row(&view, 17, "  100 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|           |");
  expect_row(&view, 18, "   us |..........................................................| ! is late");
  expect_row(&view, 19, "latency 3.0 us, p50 3.0 us, p99 3.0 us, max 1500.0 us; 10 of 20040 late");
}

/* Names that a terminal could obey, or that do not fit. */
static void test_names(void) {
  static live view;
  char text[LIVE_TEXT], name[400];
  size_t i;
  const live_subject odd = subject_of("\033[2J\x9b\r\xc2\x9b.wav", "");
  live_start(&view, &odd, NULL, false);
  live_row(&view, 0, text);
  expect(strchr(text, '\033') == NULL && strchr(text, '\r') == NULL, "no control characters", text);
  expect(strstr(text, "\xc2\x9b") == NULL && strchr(text, '\x9b') == NULL, "no C1 characters", text);
  for (i = 0; i + 3 < sizeof name; i += 2) memcpy(name + i, "\xc3\xbc", 2);
  name[i] = '\0';
  {
    const live_subject wide = subject_of(name, "");
    size_t width = 0;
    live_start(&view, &wide, NULL, false);
    live_row(&view, 0, text);
    for (i = 0; text[i] != '\0'; ++i) width += ((unsigned char)text[i] & 0xc0) != 0x80;
    expect(width <= LIVE_WIDTH && (unsigned char)text[strlen(text) - 1] == 0xbc, "cut between characters", text);
  }
}

/* Returns the output of `frames` frames, each followed by one row. */
static char *written(const char *folder, int frames, bool terminal) {
  static char text[1 << 18];
  static live view;
  const live_subject subject = subject_of("a.wav", "");
  FILE *file;
  size_t n;
  snprintf(path, sizeof path, "%s/live.txt", folder);
  file = fopen(path, "wb+");
  if (file == NULL) {
    expect(0, "a file", path);
    exit(EXIT_FAILURE);
  }
  live_start(&view, &subject, file, terminal);
  for (; frames > 0; --frames) {
    add(&view, 1, 2000, false);
    live_draw(&view);
  }
  live_end(&view);
  rewind(file);
  n = fread(text, 1, sizeof text - 1, file);
  text[n] = '\0';
  fclose(file);
  return text;
}

static int occurrences(const char *text, const char *wanted) {
  int n = 0;
  for (; (text = strstr(text, wanted)) != NULL; text += strlen(wanted)) ++n;
  return n;
}

static void test_writing(const char *folder) {
  const char *text = written(folder, 2500, false);
  expect(strchr(text, '\033') == NULL, "no escape sequence where no terminal is", text);
  expect(occurrences(text, "\n   Hz |") == 3, "a picture after each second, and one at the end", text);
  expect(occurrences(text, "\n") == 3 * LIVE_ROWS + 2, "rows", text);
  expect(strncmp(text, "1.000 of 2.000 s", 16) == 0, "the first picture is that of the first second", text);
  expect(occurrences(written(folder, 3, false), "\n") == LIVE_ROWS, "a short run has one picture", "");

  text = written(folder, 100, true);
  for (; *text == '\n'; ++text) {
  }
  expect(strncmp(text, "\033[21A\r0.001 of 2.000 s  a.wav\033[K\033[21B\r\033[20A\r   Hz |", 51) == 0,
         "a row a frame, and the cursor back below", text);
  /* Up as often as down by as much: the cursor never leaves the picture's end. */
  expect(occurrences(text, "A\r") == occurrences(text, "B\r") && occurrences(text, "\n") == 0, "the cursor", text);
  expect(occurrences(text, "\033[1A\r400 spikes of 64 neurons, on a test\033[K\033[1B\r") == 1,
         "the last picture is whole", text);
}

int main(int argc, char **argv) {
  if (argc != 2) return EXIT_FAILURE;
  test_rows();
  test_names();
  test_writing(argv[1]);
  if (failures > 0) return EXIT_FAILURE;
  puts("rows, names, terminal and plain text: as expected");
  return EXIT_SUCCESS;
}
