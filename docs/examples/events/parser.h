/* parser.h - what the readers of all formats share: the bytes of a file, its lines, and the events found so far.
 *
 * SPDX-License-Identifier: MIT */
#ifndef EVENTS_PARSER_H
#define EVENTS_PARSER_H

#include "recording.h"

#if defined(__MINGW32__) && !defined(__clang__)
#define EVENTS_PRINTF __attribute__((format(gnu_printf, 2, 3)))
#elif defined(__GNUC__)
#define EVENTS_PRINTF __attribute__((format(printf, 2, 3)))
#else
#define EVENTS_PRINTF
#endif

typedef struct parser {
  const unsigned char *bytes;
  size_t n_bytes, at;
  recording *result;
  size_t capacity; /* of the result's events */
  char *error;     /* [RECORDING_ERROR] */
} parser;

/* Writes the error. Always returns false. */
bool parser_refuse(parser *from, const char *format, ...) EVENTS_PRINTF;

size_t parser_left(const parser *from);

/* The text of a line that begins with `first` and ends with a line feed, without that and a carriage return before it;
 * then the parser is after it. False, and nothing happens, if there is none here, or it has other bytes than printable
 * ones and tabs: then it is not text. `text` is cut to its size. */
bool parser_line(parser *from, char first, char *text, size_t size);

/* Sets the size of the sensor, unless the caller gave it. False, with the error, if it is none: 1 to 16384 are. */
bool parser_set_sensor(parser *from, uint32_t width, uint32_t height, const char *whose);
/* The same for a chip or a camera of iniVation, by its name; an unknown one changes nothing. */
bool parser_set_chip(parser *from, const char *name);
bool parser_has_sensor(parser *from);

/* Adds an event. False, with the error, outside of the sensor, and without memory. */
bool parser_add(parser *from, uint64_t microseconds, uint32_t x, uint32_t y, uint32_t polarity);

/* The readers, from the first byte to the last. */
bool aedat2_parse(parser *from);
bool aedat3_parse(parser *from);
bool n_mnist_parse(parser *from);
bool dat_parse(parser *from);

#endif
