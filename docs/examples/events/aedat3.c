/* aedat3.c - AEDAT 3.1: lines of text, then packets, little-endian: a header of 28 bytes, and records of one type.
 * Those of polarity events are read; the sizes of the others are enough to skip them.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "parser.h"

enum { HEADER_BYTES = 28, POLARITY = 1, POLARITY_BYTES = 8, POLARITY_TIME = 4 };

typedef struct packet {
  uint32_t type, source;
  int32_t size, time_offset, overflow, capacity, number, valid;
} packet;

static uint32_t u16_at(const unsigned char *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}
static uint32_t u32_at(const unsigned char *bytes) {
  return u16_at(bytes) | u16_at(bytes + 2) << 16;
}
static int32_t i32_at(const unsigned char *bytes) {
  return (int32_t)u32_at(bytes);
}

/* The source whose events are read is the first one that the header names. */
static bool read_header(parser *from, uint32_t *source) {
  char line[160], name[64];
  bool has_source = false, has_end = false;
  unsigned number = 0;
  if (!parser_line(from, '#', line, sizeof line) || strcmp(line, "#!AER-DAT3.1") != 0)
    return parser_refuse(from, "the first line is none of AEDAT 3.1; allowed: '#!AER-DAT3.1'");
  if (!parser_line(from, '#', line, sizeof line) || strcmp(line, "#Format: RAW") != 0)
    return parser_refuse(from, "the second line is not '#Format: RAW', the only format that is allowed");
  while (!has_end && parser_line(from, '#', line, sizeof line)) {
    has_end = strcmp(line, "#!END-HEADER") == 0;
    if (!has_source && sscanf(line, "#Source %u: %63[^\n]", &number, name) == 2) {
      has_source = true;
      if (!parser_set_chip(from, name)) return false;
    }
  }
  if (!has_end) return parser_refuse(from, "truncated: the header has no line '#!END-HEADER'");
  if (!has_source) return parser_refuse(from, "the header names no source");
  *source = number;
  return true;
}

static bool read_packet(parser *from, packet *found) {
  const unsigned char *const bytes = from->bytes + from->at;
  if (parser_left(from) < HEADER_BYTES)
    return parser_refuse(from, "truncated: %llu bytes of a packet's header; it has %d",
                         (unsigned long long)parser_left(from), (int)HEADER_BYTES);
  found->type = u16_at(bytes);
  found->source = u16_at(bytes + 2);
  found->size = i32_at(bytes + 4);
  found->time_offset = i32_at(bytes + 8);
  found->overflow = i32_at(bytes + 12);
  found->capacity = i32_at(bytes + 16);
  found->number = i32_at(bytes + 20);
  found->valid = i32_at(bytes + 24);
  from->at += HEADER_BYTES;
  if (found->size < 1 || found->overflow < 0 || found->number < 0 || found->number > found->capacity ||
      found->valid < 0 || found->valid > found->number)
    return parser_refuse(from, "a packet of %ld events of %ld bytes, with room for %ld, of which %ld are valid",
                         (long)found->number, (long)found->size, (long)found->capacity, (long)found->valid);
  if (found->type == POLARITY && (found->size != POLARITY_BYTES || found->time_offset != POLARITY_TIME))
    return parser_refuse(from, "polarity events of %ld bytes with the time at byte %ld; allowed: %d and %d",
                         (long)found->size, (long)found->time_offset, (int)POLARITY_BYTES, (int)POLARITY_TIME);
  if ((uint64_t)found->size * (uint64_t)found->number > parser_left(from))
    return parser_refuse(from, "truncated: a packet of %ld events of %ld bytes, of which the file has %llu",
                         (long)found->number, (long)found->size, (unsigned long long)parser_left(from));
  return true;
}

/* A polarity event: bit 0 says whether it is valid, bit 1 is the polarity, then 15 bits of the row, and 15 of the
 * column. */
static bool read_event(parser *from, const packet *of) {
  const uint32_t data = u32_at(from->bytes + from->at);
  const int32_t time = i32_at(from->bytes + from->at + POLARITY_TIME);
  from->at += POLARITY_BYTES;
  if ((data & 1u) == 0) {
    ++from->result->n_skipped;
    return true;
  }
  if (time < 0) return parser_refuse(from, "an event at the time %ld; allowed: 0 or more", (long)time);
  return parser_add(from, (uint64_t)of->overflow << 31 | (uint64_t)time, data >> 17, data >> 2 & 0x7FFFu,
                    data >> 1 & 1u);
}

bool aedat3_parse(parser *from) {
  uint32_t source = 0;
  if (!read_header(from, &source)) return false;
  while (parser_left(from) > 0) {
    packet next = {0, 0, 0, 0, 0, 0, 0, 0};
    int32_t i;
    if (!read_packet(from, &next)) return false;
    if (next.type != POLARITY || next.source != source) {
      from->at += (size_t)next.size * (size_t)next.number;
      from->result->n_skipped += (size_t)next.number;
      continue;
    }
    if (!parser_has_sensor(from)) return false;
    for (i = 0; i < next.number; ++i)
      if (!read_event(from, &next)) return false;
  }
  return true;
}
