/* terminal.h - whether somebody watches, and how much fits: progress bars are for terminals, lines for logs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_TERMINAL_H
#define SOUND_TERMINAL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* True if stderr is a terminal that understands escape sequences. */
bool terminal_is_watched(void);

/* True if this many columns and rows fit; true if the terminal does not say how large it is. */
bool terminal_fits(int columns, int rows);

#ifdef __cplusplus
}
#endif

#endif
