/* report.h - prints the table of results to stdout.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_REPORT_H
#define HEAR_REPORT_H

#include <stdbool.h>

#include "listen.h"

/* `replays` must be sorted. Reports an error and returns false if stdout cannot be written. */
bool report_print(const listener *heard);

#endif
