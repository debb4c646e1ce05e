/* report.h - the table at the end.
 *
 * Printing the results on stdout.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_REPORT_H
#define HEAR_REPORT_H

#include <stdbool.h>

#include "listen.h"

/* `replays` must be sorted. Complains and answers false when stdout cannot be written. */
bool report_print(const listener *heard);

#endif
