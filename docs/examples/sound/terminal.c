/* terminal.c - see terminal.h.
 *
 * SPDX-License-Identifier: MIT */
#if defined(__linux__)
#define _GNU_SOURCE /* the size of a terminal is not part of POSIX */
#endif

#include "terminal.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/ioctl.h>
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

bool terminal_fits(int columns, int rows) {
#if defined(_WIN32)
  CONSOLE_SCREEN_BUFFER_INFO found;
  if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &found)) return true;
  return found.srWindow.Right - found.srWindow.Left + 1 >= columns &&
         found.srWindow.Bottom - found.srWindow.Top + 1 >= rows;
#elif defined(TIOCGWINSZ)
  struct winsize found;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) return true;
  return found.ws_col >= columns && found.ws_row >= rows;
#else
  (void)columns, (void)rows;
  return true;
#endif
}
