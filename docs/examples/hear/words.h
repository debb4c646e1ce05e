/* words.h - `hear --words`: names the words of a sound or of a stream, millisecond by millisecond.
 *
 * Every frame of a millisecond goes through the nerve (nerve.h), which has spikes for every 10 ms;
 * these go through the network of the file at once, and what it says goes to the namer (namer.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_WORDS_H
#define HEAR_WORDS_H

#include <stdbool.h>

#include "options.h"

/* Prints a line for every word as soon as it has ended, then a table. On failure, reports the error and returns false.
 */
bool words_run(const options *chosen);

#endif
