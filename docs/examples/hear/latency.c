/* latency.c - see latency.h.
 *
 * SPDX-License-Identifier: MIT */
#include "latency.h"

#include <math.h>
#include <stdlib.h>

#include "message.h"

bool latency_init(latency *self, size_t capacity) {
  self->count = 0;
  self->capacity = capacity;
  self->nanoseconds = calloc(capacity > 0 ? capacity : 1, sizeof *self->nanoseconds);
  return self->nanoseconds != NULL || complain("no memory for the latencies of %lu frames", (unsigned long)capacity);
}

void latency_add(latency *self, int64_t nanoseconds) {
  if (self->count < self->capacity) self->nanoseconds[self->count++] = nanoseconds;
}

static int compare(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left;
  const int64_t b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

void latency_sort(latency *self) {
  qsort(self->nanoseconds, self->count, sizeof *self->nanoseconds, compare);
}

double latency_percentile(const latency *self, double fraction) {
  double rank = ceil(fraction * (double)self->count - 1e-6); /* 0.999 * 1000 must be rank 999 despite rounding */
  if (self->count == 0) return 0.0;
  if (rank < 1.0) rank = 1.0;
  if (rank > (double)self->count) rank = (double)self->count;
  return (double)self->nanoseconds[(size_t)rank - 1] / 1000.0;
}

void latency_free(latency *self) {
  free(self->nanoseconds);
  self->nanoseconds = NULL;
  self->count = self->capacity = 0;
}
