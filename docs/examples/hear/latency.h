/* latency.h - how long every replay took, and percentiles of these times. Keeps one exact number per frame, and sorts
 * them when they are read.
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

/* All memory is allocated here, and none while the frames run. */
bool latency_init(latency *self, size_t capacity);

/* Adds one time; times beyond the capacity are ignored. */
void latency_add(latency *self, int64_t nanoseconds);

/* Sorts the times, so that percentiles can be read. */
void latency_sort(latency *self);

/* The smallest value that at least the share `fraction` of all values does not exceed (nearest rank), in microseconds;
 * 0 if there is none. Call latency_sort() first. */
double latency_percentile(const latency *self, double fraction);

void latency_free(latency *self);

#endif
