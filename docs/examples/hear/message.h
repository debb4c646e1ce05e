/* message.h - how `hear` reports errors: one way to print them to stderr, and the text of a failed call of the
 * library.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_MESSAGE_H
#define HEAR_MESSAGE_H

#include <stdbool.h>

#if defined(__MINGW32__) && !defined(__clang__)
#define HEAR_PRINTF __attribute__((format(gnu_printf, 1, 2))) /* C's formats, %zu among them */
#elif defined(__GNUC__)
#define HEAR_PRINTF __attribute__((format(printf, 1, 2)))
#else
#define HEAR_PRINTF
#endif

/* Prints "hear: ..." and a line end to stderr. Always returns false, so that a function can `return complain(...)`. */
bool complain(const char *format, ...) HEAR_PRINTF;

/* Prints the library's own text about the last failed call on this thread, which names the function, the argument and
 * what is allowed. Always returns false. */
bool complain_about_call(void);

#endif
