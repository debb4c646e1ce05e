/* message.c - see message.h.
 *
 * SPDX-License-Identifier: MIT */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>

#include <synfire/synfire.h>

static const char *program = "hear";

void complain_as(const char *name) {
  program = name;
}

bool complain(const char *format, ...) {
  va_list arguments;
  fprintf(stderr, "%s: ", program);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  return false;
}

bool complain_about_call(void) {
  char text[512] = "";
  synfire_last_error(text, sizeof text, NULL);
  return complain("%s", text);
}
