/* dat.c - Prophesee's .dat files: lines of text, the type and the size of an event, and events of 8 bytes,
 * little-endian. Theirs is the layout of events in Synfire.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "parser.h"

enum { EVENT_2D = 0x00, EVENT_CD = 0x0C, RECORD_BYTES = 8 };

static uint32_t u32_at(const unsigned char *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static bool read_header(parser *from) {
  char line[160];
  unsigned long width = 0, height = 0;
  unsigned type, size;
  while (parser_line(from, '%', line, sizeof line)) {
    sscanf(line, "%% Width %9lu", &width);
    sscanf(line, "%% Height %9lu", &height);
  }
  if (parser_left(from) < 2) return parser_refuse(from, "truncated: the file ends before the type of its events");
  type = from->bytes[from->at];
  size = from->bytes[from->at + 1];
  from->at += 2;
  if ((type != EVENT_CD && type != EVENT_2D) || size != RECORD_BYTES)
    return parser_refuse(from, "events of type %u with %u bytes; allowed: %d and %d with %d bytes", type, size,
                         (int)EVENT_2D, (int)EVENT_CD, (int)RECORD_BYTES);
  if (width != 0 || height != 0) return parser_set_sensor(from, (uint32_t)width, (uint32_t)height, "the header");
  return parser_has_sensor(from);
}

bool dat_parse(parser *from) {
  if (!read_header(from)) return false;
  if (parser_left(from) % RECORD_BYTES != 0)
    return parser_refuse(from, "truncated: %llu bytes of events; allowed: a multiple of %d",
                         (unsigned long long)parser_left(from), (int)RECORD_BYTES);
  for (; parser_left(from) > 0; from->at += RECORD_BYTES) {
    const uint32_t time = u32_at(from->bytes + from->at), word = u32_at(from->bytes + from->at + 4);
    if (word >> 28 > 1)
      return parser_refuse(from, "event %llu has the polarity %lu; allowed: 0 and 1",
                           (unsigned long long)from->result->n_events, (unsigned long)(word >> 28));
    if (!parser_add(from, time, word & 0x3FFFu, word >> 14 & 0x3FFFu, word >> 28)) return false;
  }
  return true;
}
