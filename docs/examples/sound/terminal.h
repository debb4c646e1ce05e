/* terminal.h - whether somebody watches: progress bars are for terminals, lines for logs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_TERMINAL_H
#define SOUND_TERMINAL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether stderr is a terminal that understands escape sequences. */
bool terminal_is_watched(void);

#ifdef __cplusplus
}
#endif

#endif
