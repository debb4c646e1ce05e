/* recording_test.c - the readers of recordings, on files that are made here by the published layouts: `recording_test
 * DIR`. Every event must come back, whatever its format; files that end early, and those whose numbers lie, are refused
 * with a text that says so. It leaves DIR/moving.dat for bin-recording.
 *
 * SPDX-License-Identifier: MIT */
#include "../recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 1 << 16, N_EVENTS = 300 };

static unsigned char bytes[CAPACITY];
static size_t length;
static int failures;

static void expect(bool good, const char *what) {
  if (good) return;
  ++failures;
  fprintf(stderr, "recording_test: %s\n", what);
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

static void byte(unsigned value) {
  bytes[length++] = (unsigned char)(value & 0xFFu);
}
static void text(const char *words) {
  for (; *words != '\0'; ++words) byte((unsigned char)*words);
}
static void little(uint32_t value, int n_bytes) {
  for (; n_bytes > 0; --n_bytes, value >>= 8) byte(value);
}
static void big(uint32_t value, int n_bytes) {
  while (n_bytes-- > 0) byte(value >> 8 * n_bytes);
}

typedef struct event {
  uint32_t t, x, y, p;
} event;

/* Event i on a sensor of this size: the corners are among them. */
static event made(uint32_t i, uint32_t width, uint32_t height) {
  event e;
  e.t = 1000 + 17 * i;
  e.x = i % 3 == 0 ? width - 1 : i * 7 % width;
  e.y = i % 4 == 0 ? height - 1 : i * 5 % height;
  e.p = i / 2 % 2;
  return e;
}

static void aedat2_dvs128(void) {
  uint32_t i;
  length = 0;
  text("#!AER-DAT2.0\r\n# This is a raw AE data file - do not edit\r\n# created Thu Dec 03 14:47:00 CET 2015\r\n");
  for (i = 0; i < N_EVENTS; ++i) {
    const event e = made(i, 128, 128);
    big((127 - e.y) << 8 | e.x << 1 | e.p, 4);
    big(e.t, 4);
    if (i == 5) {
      big(0x8000u, 4); /* a signal from outside */
      big(e.t, 4);
    }
  }
}
static void aedat2_davis(void) {
  uint32_t i;
  length = 0;
  text(
      "#!AER-DAT2.0\r\n# HardwareInterface: DAVIS FX3 0002-INI\r\n# AEChip: "
      "eu.seebetter.ini.chips.davis.Davis346cBSI\r\n");
  for (i = 0; i < N_EVENTS; ++i) {
    const event e = made(i, 346, 260);
    big((259 - e.y) << 22 | e.x << 12 | e.p << 11, 4);
    big(e.t, 4);
    if (i == 5) {
      big(0x80000123u, 4); /* a pixel's intensity */
      big(e.t, 4);
    }
  }
}

static void packet(uint32_t type, uint32_t source, uint32_t size, uint32_t overflow, uint32_t number) {
  little(type, 2);
  little(source, 2);
  little(size, 4);
  little(4, 4);
  little(overflow, 4);
  little(number, 4);
  little(number, 4);
  little(number, 4);
}
static void aedat3(void) {
  uint32_t i, k;
  length = 0;
  text(
      "#!AER-DAT3.1\r\n#Format: RAW\r\n#Source 1: DAVIS240C\r\n#Start-Time: 2016-04-01 10:00:00 "
      "(TZ+0200)\r\n#!END-HEADER\r\n");
  for (i = 0; i < N_EVENTS; i += 100) {
    packet(0, 1, 8, 0, 1); /* a special event */
    little(2, 4);
    little(7, 4);
    packet(1, 1, 8, 0, 101);
    for (k = i; k < i + 100; ++k) {
      const event e = made(k, 240, 180);
      little(e.x << 17 | e.y << 2 | e.p << 1 | 1u, 4);
      little(e.t, 4);
    }
    little(3u << 17, 4); /* an invalid one */
    little(5, 4);
  }
}

static void n_mnist(void) {
  uint32_t i;
  length = 0;
  for (i = 0; i < N_EVENTS; ++i) {
    const event e = made(i, 34, 34);
    byte(e.x);
    byte(e.y);
    big(e.p << 23 | e.t, 3);
  }
}

static void dat_sized(uint32_t width, uint32_t height) {
  char line[64];
  uint32_t i;
  length = 0;
  text("% Data file containing CD events\n% Date 2020-09-14 14:18:29\n% Version 2\n");
  sprintf(line, "%% Width %u\n%% Height %u\n", width, height);
  text(line);
  byte(0x0C);
  byte(8);
  for (i = 0; i < N_EVENTS; ++i) {
    const event e = made(i, width, height);
    little(e.t, 4);
    little(e.x | e.y << 14 | e.p << 28, 4);
  }
}
static void dat(void) {
  dat_sized(1280, 720);
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

typedef struct format {
  const char *name;
  void (*make)(void);
  uint32_t width, height;
  size_t n_skipped;
  size_t record; /* bytes; a file cut within one is truncated */
} format;
static const format formats[] = {{"AEDAT 2.0 of a DVS128", aedat2_dvs128, 128, 128, 1, 8},
                                 {"AEDAT 2.0 of a DAVIS346", aedat2_davis, 346, 260, 1, 8},
                                 {"AEDAT 3.1", aedat3, 240, 180, 6, 0},
                                 {"N-MNIST", n_mnist, 34, 34, 0, 5},
                                 {"DAT", dat, 1280, 720, 0, 8}};

static bool parse(const recording_options *options, recording *result, char *error) {
  /* A copy of just the right size, so that tools that watch memory see each byte beyond the end. */
  unsigned char *const copy = malloc(length > 0 ? length : 1);
  bool good;
  memcpy(copy, bytes, length);
  good = recording_parse(copy, length, options, result, error);
  free(copy);
  expect(good == (error[0] == '\0'), "an error has a text, and a success has none");
  expect(good || (result->events == NULL && result->n_events == 0), "an error leaves nothing to free");
  return good;
}

static void check_format(const format *of) {
  recording got;
  char error[RECORDING_ERROR];
  uint32_t i;
  of->make();
  expect(parse(NULL, &got, error), of->name);
  expect(got.n_events == N_EVENTS && got.width == of->width && got.height == of->height, "other numbers");
  expect(got.n_skipped == of->n_skipped && got.n_backwards == 0, "other records");
  for (i = 0; i < N_EVENTS && i < got.n_events; ++i) {
    const event e = made(i, of->width, of->height);
    if (got.events[i] == recording_event(e.t, e.x, e.y, e.p)) continue;
    expect(false, "another event");
    break;
  }
  recording_free(&got);
}

/* A file that ends anywhere gives the events before that, or an error: never more, and it reads no byte beyond. */
static void check_truncated(const format *of) {
  size_t whole, n_refused = 0, n_taken = 0;
  of->make();
  whole = length;
  while (length-- > 0) {
    recording got;
    char error[RECORDING_ERROR];
    const bool good = parse(NULL, &got, error);
    expect(!good || got.n_events < N_EVENTS, "more events than the file has");
    if (good && of->record != 0 && length + 4 * of->record > whole)
      expect((whole - length) % of->record == 0, "a truncated file was taken");
    n_taken += good ? 1 : 0;
    n_refused += good ? 0 : 1;
    recording_free(&got);
  }
  expect(n_refused > n_taken, "truncated files are refused");
}

/* Any bytes at all: what is taken is within the sensor. */
static void check_hostile(const format *of) {
  uint32_t state = 1, round;
  for (round = 0; round < 2000; ++round) {
    recording got;
    char error[RECORDING_ERROR];
    uint32_t k;
    size_t i;
    of->make();
    for (k = 0; k < 1 + round % 4; ++k) {
      state = state * 1664525u + 1013904223u;
      i = state >> 8;
      bytes[round % 2 == 0 ? i % length : i % (length < 200 ? length : 200)] = (unsigned char)(state >> 24);
    }
    if (!parse(NULL, &got, error)) continue;
    for (i = 0; i < got.n_events; ++i)
      if ((got.events[i] >> 32 & 0x3FFF) >= got.width || (got.events[i] >> 46 & 0x3FFF) >= got.height ||
          got.events[i] >> 60 > 1) {
        expect(false, "an event outside of the sensor");
        break;
      }
    recording_free(&got);
  }
}

static void check_refused(const char *words, const recording_options *options) {
  recording got;
  char error[RECORDING_ERROR];
  expect(!parse(options, &got, error), words);
  expect(strstr(error, words) != NULL, words);
  if (strstr(error, words) == NULL) fprintf(stderr, "  but: %s\n", error);
}

static void check_refusals(void) {
  const recording_options small = {RECORDING_DAT, 8, 8}, huge = {RECORDING_DAT, 20000, 1};
  const recording_options unknown = {(recording_format)9, 0, 0};
  length = 0;
  check_refused("format 9", &unknown);
  dat();
  check_refused("the sensor has 8 columns", &small);
  check_refused("allowed: 1 to 16384", &huge);
  bytes[length - 1] = 0x20; /* polarity 2 */
  check_refused("the polarity 2", NULL);
  length = 0;
  text("% Width 0\n% Height 720\n");
  byte(0x0C);
  byte(8);
  check_refused("the header has 0 columns", NULL);
  length = 0;
  text("% Version 2\n");
  check_refused("truncated", NULL);
  byte(0x0C);
  byte(16);
  check_refused("events of type 12 with 16 bytes", NULL);
  bytes[length - 1] = 8;
  check_refused("how large the sensor is", NULL);
  length = 0;
  text("#!AER-DAT4.0\r\n");
  check_refused("of another version", NULL);
  length = 0;
  text("#!AER-DAT2.0\r\n# AEChip: ch.unizh.ini.jaer.chip.cochlea.CochleaAMS1c\r\n");
  check_refused("Cochlea", NULL);
  aedat2_dvs128();
  bytes[length - 8] = 1;
  check_refused("none of a DVS128", NULL);
  length = 0;
  text("#!AER-DAT3.1\r\n#Format: LZ4\r\n");
  check_refused("#Format: RAW", NULL);
  length = 0;
  text("#!AER-DAT3.1\r\n#Format: RAW\r\n#Source 0: DVS128\r\n");
  check_refused("#!END-HEADER", NULL);
  text("#!END-HEADER\r\n");
  packet(1, 0, 12, 0, 1);
  check_refused("polarity events of 12 bytes", NULL);
  length -= 28;
  packet(2, 0, 0x40000000u, 0, 0x40000000u);
  check_refused("truncated", NULL);
  length -= 28;
  packet(1, 0, 8, 0, 0xFFFFFFFFu);
  check_refused("a packet of -1 events", NULL);
  length -= 28;
  packet(1, 0, 8, 0, 1);
  little(1, 4);
  little(0x80000000u, 4);
  check_refused("allowed: 0 or more", NULL);
  n_mnist();
  byte(0);
  check_refused("a multiple of 5", NULL);
}

/* Times go on after 2^31 microseconds, and those that go backwards are counted. */
static void check_times(void) {
  recording got;
  char error[RECORDING_ERROR];
  uint32_t i;
  length = 0;
  text("#!AER-DAT3.1\r\n#Format: RAW\r\n#Source 0: DVS128\r\n#!END-HEADER\r\n");
  for (i = 0; i < 3; ++i) {
    packet(1, 0, 8, i, 1);
    little(1, 4);
    little(10 - i, 4);
  }
  packet(1, 0, 8, 2, 1);
  little(1, 4);
  little(3, 4);
  expect(parse(NULL, &got, error), "times beyond 2^31");
  expect(got.n_events == 4 && got.n_backwards == 1, "one event is older than the one before");
  expect(got.n_events == 4 && (uint32_t)got.events[1] == 0x80000009u && (uint32_t)got.events[2] == 8, "other times");
  recording_free(&got);
}

static void check_file(const char *folder) {
  char path[1024], error[RECORDING_ERROR];
  recording got;
  FILE *file;
  snprintf(path, sizeof path, "%s/moving.dat", folder);
  dat_sized(64, 48);
  file = fopen(path, "wb");
  expect(file != NULL && fwrite(bytes, 1, length, file) == length, "moving.dat cannot be written");
  if (file != NULL) fclose(file);
  expect(recording_read(path, NULL, &got, error) && got.n_events == N_EVENTS && got.width == 64, "moving.dat");
  recording_free(&got);
  snprintf(path, sizeof path, "%s/none.dat", folder);
  expect(!recording_read(path, NULL, &got, error) && strstr(error, "cannot be opened") != NULL,
         "a file that is not there");
}

int main(int argc, char **argv) {
  size_t i;
  if (argc != 2) return 2;
  for (i = 0; i < sizeof formats / sizeof formats[0]; ++i) {
    check_format(&formats[i]);
    check_truncated(&formats[i]);
    check_hostile(&formats[i]);
  }
  check_refusals();
  check_times();
  check_file(argv[1]);
  return failures == 0 ? 0 : 1;
}
