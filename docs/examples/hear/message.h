/* message.h - what `hear` tells its user when something is wrong.
 *
 * One way to complain on stderr, and the text behind a failed call of the library.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_MESSAGE_H
#define HEAR_MESSAGE_H

#include <stdbool.h>

#if defined(__GNUC__)
#define HEAR_PRINTF __attribute__((format(printf, 1, 2)))
#else
#define HEAR_PRINTF
#endif

/* Prints "hear: ..." and a line end on stderr. Always answers false, so that a function can `return complain(...)`. */
bool complain(const char *format, ...) HEAR_PRINTF;

/* Complains with the library's own text about the last failed call on this thread, which names the function, the
 * argument and what is allowed. Always answers false. */
bool complain_about_call(void);

#endif
