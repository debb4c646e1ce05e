/* n_mnist.c - the .bin files of N-MNIST and N-Caltech101: 40 bits for each event, big-endian, and nothing else: the
 * column, the row, the polarity, and a time of 23 bits.
 *
 * SPDX-License-Identifier: MIT */
#include "parser.h"

enum { RECORD_BYTES = 5, SIDE = 34 };

bool n_mnist_parse(parser *from) {
  if (parser_left(from) % RECORD_BYTES != 0)
    return parser_refuse(from,
                         "%llu bytes; a file of N-MNIST has a multiple of %d, others begin with '#!AER-DAT' or '%% '",
                         (unsigned long long)parser_left(from), (int)RECORD_BYTES);
  if (!parser_set_sensor(from, SIDE, SIDE, "N-MNIST")) return false;
  for (; parser_left(from) > 0; from->at += RECORD_BYTES) {
    const unsigned char *const at = from->bytes + from->at;
    const uint32_t time = (uint32_t)(at[2] & 0x7Fu) << 16 | (uint32_t)at[3] << 8 | (uint32_t)at[4];
    if (!parser_add(from, time, at[0], at[1], at[2] >> 7)) return false;
  }
  return true;
}
