/* terminal.c - see terminal.h.
 *
 * SPDX-License-Identifier: MIT */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif

#include "terminal.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <unistd.h>
#endif

bool terminal_is_watched(void) {
#if defined(_WIN32)
  const HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
  DWORD mode = 0;
  return GetConsoleMode(console, &mode) && SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
#else
  return isatty(STDERR_FILENO) != 0;
#endif
}
