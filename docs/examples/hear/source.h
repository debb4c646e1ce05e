/* source.h - where sound comes from: a file, or 16-bit samples on standard input, such as those of a microphone.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_SOURCE_H
#define HEAR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wav.h"

typedef struct source {
  wav sound;     /* of a file */
  bool piped;    /* standard input: little-endian, one channel, until it ends */
  uint32_t rate; /* samples per second */
  size_t next;   /* of the file's samples */
} source;

/* Opens the file, or standard input of `rate` samples per second if the path is "-". On failure, reports the error and
 * returns false; source_close() is then allowed, as it is for zeros. */
bool source_open(source *self, const char *path, uint32_t rate);

/* Reads samples [n]; waits for those of a pipe. Fewer only if the sound ends, *n_read then says how many; a file that
 * is `repeated` does not end. On failure, reports the error and returns false. */
bool source_read(source *self, bool repeated, float *samples, size_t n, size_t *n_read);

void source_close(source *self);

#endif
