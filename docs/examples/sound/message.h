/* message.h - how the programs report errors: one way to print them to stderr, and the text of a failed call of the
 * library.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_MESSAGE_H
#define SOUND_MESSAGE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__MINGW32__) && !defined(__clang__)
#define SOUND_PRINTF __attribute__((format(gnu_printf, 1, 2))) /* C's formats, %zu among them */
#elif defined(__GNUC__)
#define SOUND_PRINTF __attribute__((format(printf, 1, 2)))
#else
#define SOUND_PRINTF
#endif

/* The name of the program in its messages: "hear" unless this was called. The text is kept, not copied. */
void complain_as(const char *name);

/* Prints "NAME: ..." and a line end to stderr. Always returns false, so that a function can `return complain(...)`. */
bool complain(const char *format, ...) SOUND_PRINTF;

/* Prints the library's own text about the last failed call on this thread, which names the function, the argument and
 * what is allowed. Always returns false. */
bool complain_about_call(void);

#ifdef __cplusplus
}
#endif

#endif
