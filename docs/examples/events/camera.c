/* camera.c - see camera.h.
 *
 * SPDX-License-Identifier: MIT */
#include "camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"

enum { LARGEST_SENSOR = 16384 };
static const double SMALLEST_THRESHOLD = 0.01;
static const double DARKEST = 1e-3, BRIGHTEST = 1e30; /* a pixel's own current hides less light than the first */

typedef struct pixel {
  double remembered, seen; /* logarithms: at the last event, and at the last look */
  double threshold_up, threshold_down;
  double ready; /* the time, since the last look, at which the refractory time ends */
} pixel;

struct camera {
  camera_settings settings;
  pixel *pixels;
  uint64_t *events;
  size_t n_events, capacity;
  uint64_t time; /* of the last look */
  double next_noise;
  bool has_looked;
  uint64_t random;
};

/* ---- random numbers: SplitMix64 (Steele, Lea and Flood 2014)
 * --------------------------------------------------------- */

static uint64_t draw(camera *from) {
  uint64_t z = (from->random += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
/* Within (0, 1). */
static double draw_part(camera *from) {
  return ((double)(draw(from) >> 12) + 0.5) / 4503599627370496.0;
}
/* Nearly normal: the sum of twelve, whose variance is 1. */
static double draw_normal(camera *from) {
  double sum = -6.0;
  int i;
  for (i = 0; i < 12; ++i) sum += draw_part(from);
  return sum;
}

/* ---- the logarithm ------------------------------------------------------------------------------------------------
 */

/* ln(x) of a number above 0, by additions, products and quotients of doubles in this order: the logarithms of systems'
 * libraries differ in their last bits, and a camera sends the same events on every machine. x = m * 2^e with m from 0.7
 * to 1.4, and ln(m) = 2 (s + s^3 / 3 + s^5 / 5 ..) with s = (m - 1) / (m + 1), |s| < 0.18. */
static double logarithm_of(double x) {
  int e, k;
  double m = frexp(x, &e), s, square, sum = 0;
  if (m < 0.70710678118654752) {
    m *= 2;
    --e;
  }
  s = (m - 1) / (m + 1);
  square = s * s;
  for (k = 17; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return (double)e * 0.69314718055994531 + 2 * s * sum;
}

/* ---- events ---------------------------------------------------------------------------------------------------------
 */

/* Adds an event at a time since the last look. */
static bool send(camera *from, double time, size_t at, uint32_t polarity) {
  const uint32_t width = from->settings.width;
  if (from->n_events == from->capacity) {
    const size_t larger = 2 * from->capacity + 4096;
    uint64_t *const events = realloc(from->events, larger * sizeof *events);
    if (events == NULL) return false;
    from->events = events;
    from->capacity = larger;
  }
  from->events[from->n_events++] =
      recording_event((uint64_t)time, (uint32_t)(at % width), (uint32_t)(at / width), polarity);
  return true;
}

/* Sends what a pixel sends while its logarithm goes evenly from `seen` to `now`, in the time from 0 to `end`. */
static bool follow(camera *from, size_t at, double now, double end) {
  pixel *const p = &from->pixels[at];
  const double slope = (now - p->seen) / end;
  double begin = 0;
  while (p->ready <= end) {
    const uint32_t polarity = slope > 0 ? 1 : 0;
    double level, time;
    if (p->ready > begin) { /* it begins anew with what it sees then */
      begin = p->ready;
      p->remembered = now - slope * (end - begin);
    }
    if (slope == 0) break;
    level = p->remembered + (polarity == 1 ? p->threshold_up : -p->threshold_down);
    if (polarity == 1 ? now < level : now > level) break;
    time = end - (now - level) / slope;
    if (time < begin) time = begin;
    p->remembered = level;
    p->ready = time + from->settings.refractory;
    if (from->settings.refractory == 0) p->ready = begin;
    if (!send(from, time, at, polarity)) return false;
  }
  p->seen = now;
  p->ready -= end;
  return true;
}

static bool add_noise(camera *from, double end) {
  const size_t n_pixels = (size_t)from->settings.width * from->settings.height;
  const double rate = from->settings.noise * (double)n_pixels * 1e-6; /* per microsecond */
  if (rate == 0) return true;
  while (from->next_noise < end) {
    const size_t at = (size_t)(draw_part(from) * (double)n_pixels);
    if (!send(from, from->next_noise, at, (uint32_t)(draw(from) >> 63))) return false;
    from->next_noise -= logarithm_of(draw_part(from)) / rate;
  }
  from->next_noise -= end;
  return true;
}

static int by_time(const void *a, const void *b) {
  const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
  if ((uint32_t)one != (uint32_t)other) return (uint32_t)one < (uint32_t)other ? -1 : 1;
  return one < other ? -1 : one > other ? 1 : 0;
}

/* ---- the camera -----------------------------------------------------------------------------------------------------
 */

static bool is_allowed(const camera_settings *s) {
  return s->width >= 1 && s->width <= LARGEST_SENSOR && s->height >= 1 && s->height <= LARGEST_SENSOR &&
         s->threshold > 0 && s->threshold <= 100 && s->mismatch >= 0 && s->mismatch <= 1 && s->noise >= 0 &&
         s->noise <= 1e6 && s->refractory >= 0 && s->refractory <= 1e9;
}

static double drawn_threshold(camera *from) {
  const double drawn = from->settings.threshold * (1 + from->settings.mismatch * draw_normal(from));
  return drawn > SMALLEST_THRESHOLD ? drawn : SMALLEST_THRESHOLD;
}

camera *camera_create(const camera_settings *settings) {
  const size_t n_pixels = (size_t)settings->width * settings->height;
  camera *const made = is_allowed(settings) ? calloc(1, sizeof *made) : NULL;
  size_t i;
  if (made == NULL) return NULL;
  made->settings = *settings;
  made->random = settings->seed;
  made->pixels = calloc(n_pixels, sizeof *made->pixels);
  if (made->pixels == NULL) {
    camera_destroy(made);
    return NULL;
  }
  for (i = 0; i < n_pixels; ++i) {
    made->pixels[i].threshold_up = drawn_threshold(made);
    made->pixels[i].threshold_down = drawn_threshold(made);
  }
  return made;
}

/* The logarithm of an intensity; what is not a number is dark. */
static double logarithm(float intensity) {
  const double value = (double)intensity;
  return logarithm_of(value > DARKEST ? value < BRIGHTEST ? value : BRIGHTEST : DARKEST);
}

bool camera_look(camera *from, const float *intensities, uint64_t microseconds, const uint64_t **events,
                 size_t *n_events) {
  const size_t n_pixels = (size_t)from->settings.width * from->settings.height;
  const uint64_t before = from->time;
  const bool is_first = !from->has_looked;
  const double end = microseconds > before ? (double)(microseconds - before) : 0;
  size_t i;
  from->n_events = 0;
  *events = NULL;
  *n_events = 0;
  if (!is_first && end == 0) return true;
  for (i = 0; i < n_pixels; ++i) {
    const double now = logarithm(intensities[i]);
    if (is_first)
      from->pixels[i].remembered = from->pixels[i].seen = now;
    else if (!follow(from, i, now, end))
      return false;
  }
  if (!is_first && !add_noise(from, end)) return false;
  from->has_looked = true;
  from->time = microseconds;
  if (from->n_events == 0) return true;
  qsort(from->events, from->n_events, sizeof *from->events, by_time);
  for (i = 0; i < from->n_events; ++i) {
    const uint64_t e = from->events[i];
    from->events[i] = (e & ~(uint64_t)0xFFFFFFFFu) | ((e + before) & 0xFFFFFFFFu);
  }
  *events = from->events;
  *n_events = from->n_events;
  return true;
}

void camera_destroy(camera *from) {
  if (from == NULL) return;
  free(from->pixels);
  free(from->events);
  free(from);
}
