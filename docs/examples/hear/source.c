/* source.c - see source.h.
 *
 * SPDX-License-Identifier: MIT */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "message.h"

bool source_open(source *self, const char *path, uint32_t rate) {
  memset(self, 0, sizeof *self);
  if (strcmp(path, "-") == 0) {
    files_read_bytes();
    self->piped = true;
    self->rate = rate;
    return true;
  }
  if (!wav_read(path, &self->sound)) return false;
  self->rate = self->sound.rate;
  return true;
}

static bool read_pipe(float *samples, size_t n, size_t *n_read) {
  for (*n_read = 0; *n_read < n; ++*n_read) {
    unsigned char bytes[2];
    if (fread(bytes, 1, sizeof bytes, stdin) != sizeof bytes) {
      if (ferror(stdin)) return complain("standard input cannot be read: %s", strerror(errno));
      return true;
    }
    samples[*n_read] = (float)(int16_t)(uint16_t)(bytes[0] | bytes[1] << 8) / 32768.0F;
  }
  return true;
}

bool source_read(source *self, bool repeated, float *samples, size_t n, size_t *n_read) {
  if (self->piped) return read_pipe(samples, n, n_read);
  for (*n_read = 0; *n_read < n; ++*n_read) {
    if (self->next == self->sound.n_samples) {
      if (!repeated) return true;
      self->next = 0;
    }
    samples[*n_read] = self->sound.samples[self->next++];
  }
  return true;
}

void source_close(source *self) {
  wav_free(&self->sound);
}
