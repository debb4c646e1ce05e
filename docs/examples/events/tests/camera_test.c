/* camera_test.c - the simulated camera: how many events a change of light makes, when, and of which pixels.
 *
 * SPDX-License-Identifier: MIT */
#include "../camera.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 7, HEIGHT = 5, N = WIDTH * HEIGHT, MOST = 200000 };

static int failures;

static void expect(bool good, const char *what) {
  if (good) return;
  ++failures;
  fprintf(stderr, "camera_test: %s\n", what);
}

static camera_settings exact(void) {
  camera_settings s = {WIDTH, HEIGHT, 0.2, 0, 0, 0, 1};
  return s;
}

static void paint(float *image, double intensity) {
  int i;
  for (i = 0; i < N; ++i) image[i] = (float)intensity;
}

static uint32_t time_of(uint64_t event) {
  return (uint32_t)(event & 0xFFFFFFFFu);
}

/* Looks twice and returns the number of events of the second look, which are copied. */
static size_t change(const camera_settings *settings, double from, double to, uint64_t at, uint64_t later,
                     uint64_t *copy) {
  float image[N];
  const uint64_t *events;
  size_t n = 0;
  camera *const eye = camera_create(settings);
  expect(eye != NULL, "a camera");
  if (eye == NULL) return 0;
  paint(image, from);
  expect(camera_look(eye, image, at, &events, &n) && n == 0, "the first look has no events");
  paint(image, to);
  expect(camera_look(eye, image, at + later, &events, &n), "the second look");
  if (n > MOST) n = MOST;
  if (n > 0) memcpy(copy, events, n * sizeof *copy);
  camera_destroy(eye);
  return n;
}

static uint64_t events[MOST], again[MOST];

/* The logarithm goes up by 5.5 thresholds: five events of each pixel, at even times. */
static void check_thresholds(void) {
  const camera_settings s = exact();
  size_t n = change(&s, 0.1, 0.1 * exp(1.1), 5000, 1100, events), i;
  expect(n == 5 * N, "five events of each pixel");
  for (i = 0; i < n; ++i) {
    const uint32_t expected = 5000 + 200 * (uint32_t)(1 + i / N), t = time_of(events[i]);
    expect(t + 1 >= expected && t <= expected + 1, "an event at each 200 microseconds");
    expect(events[i] >> 60 == 1, "it became brighter");
  }
  n = change(&s, 0.5, 0.5 * exp(-0.5), 0, 1000, events);
  expect(n == 2 * N, "two events of each pixel");
  for (i = 0; i < n; ++i) expect(events[i] >> 60 == 0, "it became darker");
  expect(change(&s, 0.5, 0.5, 0, 1000000, events) == 0, "nothing changed");
  expect(change(&s, 0.1, 0.1 * exp(0.19), 0, 1000, events) == 0, "less than a threshold");
  expect(change(&s, 0, -1, 0, 1000, events) == 0, "darker than dark");
  expect(change(&s, 0, (double)NAN, 0, 1000, events) == 0, "what is not a number is dark");
}

/* After each event a pixel is blind for a while, and then starts anew. */
static void check_refractory(void) {
  camera_settings s = exact();
  s.refractory = 300;
  /* Events at 200 after the start, then 200 after each refractory time. */
  expect(change(&s, 0.1, 0.1 * exp(1.1), 0, 1100, events) == 2 * N, "two events of each pixel, at 200 and at 700");
  expect(time_of(events[0]) <= 201 && time_of(events[N]) + 1 >= 700 && time_of(events[N]) <= 701, "other times");
}

/* A change while a pixel is blind does not count afterwards. */
static void check_blindness(void) {
  camera_settings s = exact();
  float image[N];
  const uint64_t *found;
  size_t n = 0;
  camera *eye;
  s.refractory = 1000;
  eye = camera_create(&s);
  paint(image, 0.1);
  camera_look(eye, image, 0, &found, &n);
  paint(image, 0.1 * exp(0.39)); /* an event at 51 of 100, and nearly another one while the pixel is blind */
  expect(camera_look(eye, image, 100, &found, &n) && n == N, "one event of each pixel");
  expect(camera_look(eye, image, 5000, &found, &n) && n == 0, "the light stays");
  paint(image, 0.1 * exp(0.5));
  expect(camera_look(eye, image, 6000, &found, &n) && n == 0, "0.11 above what the pixel saw when it began anew");
  paint(image, 0.1 * exp(0.6));
  expect(camera_look(eye, image, 7000, &found, &n) && n == N, "0.21 above it");
  camera_destroy(eye);
}

/* Thresholds that differ from pixel to pixel differ from seed to seed, and nothing else does. */
static void check_mismatch(void) {
  camera_settings s = exact();
  size_t n, m;
  s.mismatch = 0.1;
  n = change(&s, 0.1, 0.1 * exp(4.1), 0, 4100, events);
  m = change(&s, 0.1, 0.1 * exp(4.1), 0, 4100, again);
  expect(n == m && memcmp(events, again, n * sizeof *events) == 0, "the same seed, the same events");
  expect(n > 18 * N && n < 23 * N, "about twenty events of each pixel");
  s.seed = 2;
  m = change(&s, 0.1, 0.1 * exp(4.1), 0, 4100, again);
  expect(n != m || memcmp(events, again, n * sizeof *events) != 0, "another seed, other events");
}

/* 10 seconds of 35 pixels with 100 events per second: 35000, to 1 in 20. */
static void check_noise(void) {
  camera_settings s = exact();
  size_t n, i, brighter = 0;
  s.noise = 100;
  n = change(&s, 0.1, 0.1, 4290000000u, 10000000, events); /* times wrap */
  expect(n > 33000 && n < 37000, "the rate of the noise");
  for (i = 0; i < n; ++i) {
    brighter += events[i] >> 60 == 1 ? 1 : 0;
    expect((events[i] >> 32 & 0x3FFF) < WIDTH && (events[i] >> 46 & 0x3FFF) < HEIGHT, "a pixel of the sensor");
    expect(i == 0 || time_of(events[i]) - time_of(events[i - 1]) < 0x80000000u, "in the order of times");
  }
  expect(brighter > n * 9 / 20 && brighter < n * 11 / 20, "of both polarities");
}

static void check_settings(void) {
  camera_settings s = exact();
  s.threshold = 0;
  expect(camera_create(&s) == NULL, "no threshold");
  s = exact();
  s.width = 20000;
  expect(camera_create(&s) == NULL, "too wide");
  s = exact();
  s.noise = (double)NAN;
  expect(camera_create(&s) == NULL, "noise that is not a number");
}

int main(void) {
  check_thresholds();
  check_refractory();
  check_blindness();
  check_mismatch();
  check_noise();
  check_settings();
  return failures == 0 ? 0 : 1;
}
