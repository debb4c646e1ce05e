/* latency.h - how long every replay took, and the percentiles of that.
 *
 * One number per frame, kept exactly, sorted when it is read.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_LATENCY_H
#define HEAR_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct latency {
  int64_t *nanoseconds; /* [capacity] */
  size_t count, capacity;
} latency;

/* All memory is taken here, none while the frames run. */
bool latency_init(latency *self, size_t capacity);

/* Notes one; what does not fit is ignored. */
void latency_add(latency *self, int64_t nanoseconds);

/* Sorts, so that percentiles can be read. */
void latency_sort(latency *self);

/* The smallest value that at least the share `fraction` of all values does not exceed (nearest rank), in microseconds;
 * 0 when there is none. After latency_sort(). */
double latency_percentile(const latency *self, double fraction);

void latency_free(latency *self);

#endif
