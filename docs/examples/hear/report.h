/* report.h - prints the table of results to stdout; some of its lines are those of other tables too.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_REPORT_H
#define HEAR_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "listen.h"

/* Where the replays run, and why not on a GPU. */
void report_device(const synfire_context_properties *properties);

/* The times must be sorted. */
void report_percentiles(const char *label, const latency *sorted);

/* Percentiles of the part of all frames' times that is at this offset in `moment`. Without memory for it, reports the
 * error and returns false. */
bool report_times(const timeline *times, const char *label, size_t offset);

/* The frames that the system made late, and why; nothing if there were none. */
void report_held_up(const listener *heard, FILE *out);

/* `replays` must be sorted. Reports an error and returns false if stdout cannot be written. */
bool report_print(const listener *heard);

#endif
