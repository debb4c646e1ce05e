/* recording.c - see recording.h and parser.h.
 *
 * SPDX-License-Identifier: MIT */
#include "recording.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

enum { LARGEST_SENSOR = 16384 };

/* ---- what the formats share ---------------------------------------------------------------------------------------
 */

bool parser_refuse(parser *from, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(from->error, RECORDING_ERROR, format, arguments);
  va_end(arguments);
  return false;
}

size_t parser_left(const parser *from) {
  return from->n_bytes - from->at;
}

bool parser_line(parser *from, char first, char *text, size_t size) {
  size_t end = from->at, length = 0;
  if (parser_left(from) == 0 || from->bytes[end] != (unsigned char)first) return false;
  for (; end < from->n_bytes && from->bytes[end] != '\n'; ++end) {
    const unsigned char letter = from->bytes[end];
    const bool is_end = letter == '\r' && end + 1 < from->n_bytes && from->bytes[end + 1] == '\n';
    if (!is_end && letter != '\t' && (letter < 0x20 || letter == 0x7F)) return false;
    if (!is_end && length + 1 < size) text[length++] = (char)letter;
  }
  if (end == from->n_bytes) return false;
  text[length] = '\0';
  from->at = end + 1;
  return true;
}

bool parser_set_sensor(parser *from, uint32_t width, uint32_t height, const char *whose) {
  if (from->result->width != 0) return true;
  if (width < 1 || height < 1 || width > LARGEST_SENSOR || height > LARGEST_SENSOR)
    return parser_refuse(from, "%s has %lu columns and %lu rows; allowed: 1 to %d", whose, (unsigned long)width,
                         (unsigned long)height, (int)LARGEST_SENSOR);
  from->result->width = width;
  from->result->height = height;
  return true;
}

bool parser_set_chip(parser *from, const char *name) {
  static const struct {
    const char *part;
    uint32_t width, height;
  } chips[] = {{"DVS128", 128, 128}, {"240", 240, 180}, {"346", 346, 260},
               {"640", 640, 480},    {"208", 208, 192}, {"DAVIS128", 128, 128}};
  size_t i;
  for (i = 0; i < sizeof chips / sizeof chips[0]; ++i)
    if (strstr(name, chips[i].part) != NULL) return parser_set_sensor(from, chips[i].width, chips[i].height, name);
  return true;
}

bool parser_has_sensor(parser *from) {
  return from->result->width != 0 ||
         parser_refuse(from, "the file does not say how large the sensor is; give its width and height");
}

bool parser_add(parser *from, uint64_t microseconds, uint32_t x, uint32_t y, uint32_t polarity) {
  recording *const to = from->result;
  const uint64_t event = recording_event(microseconds, x, y, polarity);
  if (x >= to->width || y >= to->height)
    return parser_refuse(from, "event %llu is at column %lu and row %lu; the sensor has %lu columns and %lu rows",
                         (unsigned long long)to->n_events, (unsigned long)x, (unsigned long)y, (unsigned long)to->width,
                         (unsigned long)to->height);
  if (to->n_events == from->capacity) {
    const size_t larger = 2 * from->capacity + 4096;
    uint64_t *const events = realloc(to->events, larger * sizeof *events);
    if (events == NULL)
      return parser_refuse(from, "no memory for more than %llu events", (unsigned long long)from->capacity);
    to->events = events;
    from->capacity = larger;
  }
  /* Times are compared modulo 2^32: a clock that wraps does not go backwards. */
  if (to->n_events > 0 && (uint32_t)event - (uint32_t)to->events[to->n_events - 1] >= 0x80000000u) ++to->n_backwards;
  to->events[to->n_events++] = event;
  return true;
}

/* ---- recordings ---------------------------------------------------------------------------------------------------
 */

uint64_t recording_event(uint64_t microseconds, uint32_t x, uint32_t y, uint32_t polarity) {
  return (microseconds & 0xFFFFFFFFu) | (uint64_t)(x & 0x3FFFu) << 32 | (uint64_t)(y & 0x3FFFu) << 46 |
         (uint64_t)(polarity & 1u) << 60;
}

static bool begins_with(const parser *from, const char *text) {
  const size_t length = strlen(text);
  return from->n_bytes >= length && memcmp(from->bytes, text, length) == 0;
}

static recording_format format_of(const parser *from) {
  if (begins_with(from, "#!AER-DAT2.0")) return RECORDING_AEDAT_2;
  if (begins_with(from, "#!AER-DAT3.1")) return RECORDING_AEDAT_3;
  if (begins_with(from, "% ")) return RECORDING_DAT;
  return RECORDING_N_MNIST;
}

static bool parse(parser *from, recording_format format) {
  switch (format) {
    case RECORDING_AEDAT_2:
      return aedat2_parse(from);
    case RECORDING_AEDAT_3:
      return aedat3_parse(from);
    case RECORDING_N_MNIST:
      if (begins_with(from, "#!AER-DAT"))
        return parser_refuse(
            from, "the file begins with '%.9s' of another version; allowed: '#!AER-DAT2.0' and '#!AER-DAT3.1'",
            (const char *)from->bytes);
      return n_mnist_parse(from);
    case RECORDING_DAT:
      return dat_parse(from);
    case RECORDING_BY_CONTENT:
      break;
  }
  return parser_refuse(from, "format %d; allowed: %d to %d", (int)format, (int)RECORDING_BY_CONTENT,
                       (int)RECORDING_DAT);
}

bool recording_parse(const unsigned char *bytes, size_t n_bytes, const recording_options *options, recording *result,
                     char error[RECORDING_ERROR]) {
  parser from = {bytes, n_bytes, 0, result, 0, error};
  recording_format format = options != NULL ? options->format : RECORDING_BY_CONTENT;
  bool good = true;
  memset(result, 0, sizeof *result);
  error[0] = '\0';
  if (format == RECORDING_BY_CONTENT) format = format_of(&from);
  if (options != NULL && (options->width != 0 || options->height != 0))
    good = parser_set_sensor(&from, options->width, options->height, "the sensor that was given");
  good = good && parse(&from, format);
  if (!good) recording_free(result);
  return good;
}

/* The bytes of a file; null, with the error, if it cannot be read. */
static unsigned char *read_bytes(const char *path, size_t *n_bytes, char *error) {
  FILE *const file = fopen(path, "rb");
  unsigned char *bytes = NULL;
  size_t capacity = 0;
  *n_bytes = 0;
  if (file == NULL) {
    snprintf(error, RECORDING_ERROR, "cannot be opened: %s", strerror(errno));
    return NULL;
  }
  for (;;) {
    if (*n_bytes == capacity) {
      const size_t larger = 2 * capacity + 65536;
      unsigned char *const more = realloc(bytes, larger);
      if (more == NULL) {
        snprintf(error, RECORDING_ERROR, "no memory for more than %llu bytes", (unsigned long long)capacity);
        break;
      }
      bytes = more;
      capacity = larger;
    }
    *n_bytes += fread(bytes + *n_bytes, 1, capacity - *n_bytes, file);
    if (*n_bytes < capacity) {
      if (!ferror(file)) {
        fclose(file);
        return bytes;
      }
      snprintf(error, RECORDING_ERROR, "cannot be read");
      break;
    }
  }
  fclose(file);
  free(bytes);
  return NULL;
}

bool recording_read(const char *path, const recording_options *options, recording *result,
                    char error[RECORDING_ERROR]) {
  size_t n_bytes = 0;
  unsigned char *bytes;
  bool good;
  memset(result, 0, sizeof *result);
  error[0] = '\0';
  bytes = read_bytes(path, &n_bytes, error);
  if (bytes == NULL) return false;
  good = recording_parse(bytes, n_bytes, options, result, error);
  free(bytes);
  return good;
}

void recording_free(recording *result) {
  free(result->events);
  memset(result, 0, sizeof *result);
}
