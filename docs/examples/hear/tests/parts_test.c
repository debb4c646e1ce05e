/* parts_test.c - tests the parts of `hear` that need no library: the cochlea, the percentiles, the rates. Prints what
 * failed, and exits with 1 if anything did.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cochlea.h"
#include "latency.h"
#include "rates.h"

static int failures;

static void expect(int good, const char *what, double found) {
  if (good) return;
  ++failures;
  fprintf(stderr, "failed: %s (found %g)\n", what, found);
}

static const double PI = 3.14159265358979323846;
static cochlea ear_canal;
static float response[48000 * COCHLEA_CHANNELS];

/* One second of a tone; returns the channel with the largest mean response in the second half. */
static int loudest_channel(double hz, uint32_t rate) {
  static float samples[48000];
  double sums[COCHLEA_CHANNELS] = {0.0};
  uint32_t n;
  int c, best = 0;
  for (n = 0; n < rate; ++n) samples[n] = (float)(0.1 * sin(2.0 * PI * hz * n / rate));
  cochlea_init(&ear_canal, rate, 1.0F);
  cochlea_hear(&ear_canal, samples, rate, response);
  for (n = rate / 2; n < rate; ++n)
    for (c = 0; c < COCHLEA_CHANNELS; ++c) sums[c] += (double)response[(size_t)n * COCHLEA_CHANNELS + (size_t)c];
  for (c = 1; c < COCHLEA_CHANNELS; ++c)
    if (sums[c] > sums[best]) best = c;
  return best;
}

static void test_cochlea(void) {
  static const uint32_t rates_hz[] = {4000, 8000, 16000, 48000};
  size_t r;
  int c, n;
  /* Glasberg and Moore 1990: 1 kHz is 15.6 on the ERB-number scale. */
  expect(fabs(cochlea_erb_number(1000.0) - 15.62) < 0.01, "ERB-number of 1 kHz is 15.62", cochlea_erb_number(1000.0));
  expect(fabs(cochlea_erb_number_to_hz(cochlea_erb_number(440.0)) - 440.0) < 1e-9, "and back", 0.0);
  for (r = 0; r < sizeof rates_hz / sizeof *rates_hz; ++r) {
    const double highest = fmin(7000.0, 0.45 * rates_hz[r]);
    cochlea_init(&ear_canal, rates_hz[r], 1.0F);
    expect(fabs(ear_canal.centre_hz[0] - 80.0) < 1e-6, "lowest channel is 80 Hz", ear_canal.centre_hz[0]);
    expect(fabs(ear_canal.centre_hz[127] - highest) < 1e-6, "highest channel", ear_canal.centre_hz[127]);
    for (c = 8; c < COCHLEA_CHANNELS; c += 17) { /* pre-emphasis shifts the peak by less than one ERB, 5 channels */
      const double hz = ear_canal.centre_hz[c];
      const int best = loudest_channel(hz, rates_hz[r]);
      expect(abs(best - c) <= 2, "a tone is loudest where it belongs", best - c);
    }
  }
  /* Unit gain at the centre: the peak is the square root of the amplitude after the pre-emphasis. */
  cochlea_init(&ear_canal, 16000, 1.0F);
  for (c = 10; c < COCHLEA_CHANNELS; c += 39) {
    double peak = 0.0;
    const double hz = ear_canal.centre_hz[c];
    const double angle = 2.0 * PI * hz / 16000.0;
    const double emphasis = sqrt(1.0 - 2.0 * 0.95 * cos(angle) + 0.95 * 0.95);
    loudest_channel(hz, 16000);
    for (n = 8000; n < 16000; ++n) peak = fmax(peak, (double)response[n * COCHLEA_CHANNELS + c]);
    expect(fabs(peak / sqrt(0.1 * emphasis) - 1.0) < 0.03, "a tone keeps its amplitude", peak / sqrt(0.1 * emphasis));
  }
  { /* two halves equal the whole: the state continues */
    static float noise[512], whole[512 * COCHLEA_CHANNELS];
    uint32_t seed = 1;
    for (n = 0; n < 512; ++n) {
      seed = seed * 1664525u + 1013904223u;
      noise[n] = (float)(seed >> 8) / 8388608.0F - 1.0F;
    }
    cochlea_init(&ear_canal, 16000, 0.5F);
    cochlea_hear(&ear_canal, noise, 512, whole);
    cochlea_init(&ear_canal, 16000, 0.5F);
    cochlea_hear(&ear_canal, noise, 100, response);
    cochlea_hear(&ear_canal, noise + 100, 412, response + (size_t)100 * COCHLEA_CHANNELS);
    for (n = 0; n < 512 * COCHLEA_CHANNELS; ++n)
      if (whole[n] != response[n] || !(whole[n] >= 0.0F)) {
        expect(0, "two halves are the whole", n);
        break;
      }
  }
  { /* loudness: an RMS of 0.1 for any input; silence stays silence */
    static float square[100], quiet[100];
    for (n = 0; n < 100; ++n) square[n] = n % 2 ? 0.5F : -0.5F;
    expect(fabs((double)cochlea_level(square, 100) - 0.2) < 1e-6, "level of RMS 0.5",
           (double)cochlea_level(square, 100));
    expect((double)cochlea_level(quiet, 100) == 100.0, "level of silence", (double)cochlea_level(quiet, 100));
  }
}

static void test_latency(void) {
  latency times;
  int64_t i;
  expect(latency_init(&times, 1000), "memory", 0.0);
  expect(latency_percentile(&times, 0.5) == 0.0, "no value, no percentile", latency_percentile(&times, 0.5));
  for (i = 1000; i >= 1; --i) latency_add(&times, 1000 * i); /* 1 to 1000 microseconds */
  latency_add(&times, 5000000);                              /* one too many */
  latency_sort(&times);
  expect(latency_percentile(&times, 0.5) == 500.0, "p50", latency_percentile(&times, 0.5));
  expect(latency_percentile(&times, 0.99) == 990.0, "p99", latency_percentile(&times, 0.99));
  expect(latency_percentile(&times, 0.999) == 999.0, "p99.9", latency_percentile(&times, 0.999));
  expect(latency_percentile(&times, 1.0) == 1000.0, "max", latency_percentile(&times, 1.0));
  expect(latency_percentile(&times, 0.0) == 1.0, "min", latency_percentile(&times, 0.0));
  latency_free(&times);
}

static void test_rates(void) {
  /* 2 steps, 5 channels of 7 neurons: 35 neurons in 2 words. */
  const uint32_t spikes[4] = {0x80000001u, 0x4u, 0x80u, 0x0u}; /* neurons 0, 31, 34; then 7 */
  uint32_t counts[5], i;
  rates recent;
  rates_count(spikes, 2, 2, 7, 5, counts);
  expect(counts[0] == 1 && counts[1] == 1 && counts[2] == 0 && counts[3] == 0 && counts[4] == 2, "counts by channel",
         counts[4]);
  for (i = 0; i < 32; ++i) {
    const uint32_t word = 1u << i;
    uint32_t each[32];
    rates_count(&word, 1, 1, 1, 32, each);
    expect(each[i] == 1, "every bit is found where it is", i);
  }
  expect(rates_init(&recent, 5, 4, 0.001, 7), "memory", 0.0);
  expect(rates_hz(&recent, 0) == 0.0, "nothing yet", rates_hz(&recent, 0));
  for (i = 0; i < 6; ++i) rates_add(&recent, counts); /* more frames than fit into the window */
  expect(fabs(rates_hz(&recent, 4) - 2.0 / 7.0 / 0.001) < 1e-9, "rate of a window", rates_hz(&recent, 4));
  for (i = 0; i < 5; ++i) counts[i] = 0;
  for (i = 0; i < 4; ++i) rates_add(&recent, counts);
  expect(rates_hz(&recent, 4) == 0.0, "a window forgets", rates_hz(&recent, 4));
  rates_free(&recent);
}

int main(void) {
  test_cochlea();
  test_latency();
  test_rates();
  if (failures > 0) return EXIT_FAILURE;
  puts("cochlea, latency, rates: as expected");
  return EXIT_SUCCESS;
}
