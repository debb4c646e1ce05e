/* aedat2.c - AEDAT 2.0: lines of text, then an address and a time of 32 bits each, big-endian, for every event. The
 * chip that the header names decides what an address means; the oldest files name none, and are of a DVS128.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "parser.h"

enum { RECORD_BYTES = 8 };

typedef enum chip { CHIP_DVS128, CHIP_DAVIS } chip;

static uint32_t u32_at(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

static bool read_header(parser *from, chip *found) {
  static const char named[] = "# AEChip:";
  char line[160];
  *found = CHIP_DVS128;
  while (parser_line(from, '#', line, sizeof line)) {
    const char *const name = line + sizeof named - 1;
    if (strncmp(line, named, sizeof named - 1) != 0) continue;
    if (strstr(name, "Davis") != NULL || strstr(name, "DAVIS") != NULL)
      *found = CHIP_DAVIS;
    else if (strstr(name, "DVS128") == NULL)
      return parser_refuse(from, "a recording of the chip '%.60s'; allowed: DVS128 and those of the DAVIS family",
                           name);
    if (!parser_set_chip(from, name)) return false;
  }
  if (*found == CHIP_DVS128) return parser_set_sensor(from, 128, 128, "a DVS128");
  return parser_has_sensor(from);
}

/* Rows are counted from the bottom in these files. */
static bool add(parser *from, uint32_t x, uint32_t y, uint32_t polarity, uint32_t time) {
  const uint32_t height = from->result->height;
  return parser_add(from, time, x, y < height ? height - 1 - y : y, polarity);
}

static bool read_record(parser *from, chip which) {
  const uint32_t address = u32_at(from->bytes + from->at), time = u32_at(from->bytes + from->at + 4);
  from->at += RECORD_BYTES;
  if (which == CHIP_DVS128) {
    if ((address & 0xFFFF0000u) != 0)
      return parser_refuse(from, "the address 0x%08lX is none of a DVS128, whose addresses have 16 bits",
                           (unsigned long)address);
    if ((address & 0x8000u) == 0) return add(from, address >> 1 & 0x7Fu, address >> 8 & 0x7Fu, address & 1u, time);
  } else if ((address & 0x80000400u) == 0) { /* neither a pixel's intensity or a motion, nor a signal from outside */
    return add(from, address >> 12 & 0x3FFu, address >> 22 & 0x1FFu, address >> 11 & 1u, time);
  }
  ++from->result->n_skipped;
  return true;
}

bool aedat2_parse(parser *from) {
  chip which;
  if (!read_header(from, &which)) return false;
  if (parser_left(from) % RECORD_BYTES != 0)
    return parser_refuse(from, "truncated: %llu bytes of events; allowed: a multiple of %d",
                         (unsigned long long)parser_left(from), (int)RECORD_BYTES);
  while (parser_left(from) > 0)
    if (!read_record(from, which)) return false;
  return true;
}
