/* npy.c - see npy.h.
 *
 * SPDX-License-Identifier: MIT */
#include "npy.h"

#include <errno.h>
#include <string.h>

#include "files.h"
#include "message.h"

enum { PREFIX_BYTES = 10, ALIGNMENT = 64, HEADER_BYTES = 2 * ALIGNMENT };

static bool cannot_write(const char *path) {
  return complain("%s: cannot be written: %s", path, errno != 0 ? strerror(errno) : "output error");
}

bool npy_open(npy *self, const char *path, uint64_t n_steps, uint64_t n_words) {
  /* Magic, version 1.0, length of the following text; then the text, padded with spaces and terminated by a line feed.
   * */
  static const unsigned char prefix[PREFIX_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, HEADER_BYTES - PREFIX_BYTES,
                                                     0};
  char header[HEADER_BYTES];
  int length;
  self->path = path;
  self->words_left = n_steps * n_words;
  errno = 0;
  self->file = files_open(path, "wb");
  if (self->file == NULL) return cannot_write(path);
  memset(header, ' ', sizeof header);
  memcpy(header, prefix, sizeof prefix);
  length = sprintf(header + PREFIX_BYTES, "{'descr': '<u4', 'fortran_order': False, 'shape': (%llu, %llu), }",
                   (unsigned long long)n_steps, (unsigned long long)n_words);
  header[PREFIX_BYTES + length] = ' ';
  header[HEADER_BYTES - 1] = '\n';
  return fwrite(header, sizeof header, 1, self->file) == 1 || cannot_write(path);
}

bool npy_append(npy *self, const uint32_t *words, size_t n_words) {
  unsigned char bytes[4096];
  self->words_left -= n_words;
  while (n_words > 0) {
    const size_t part = n_words < sizeof bytes / 4 ? n_words : sizeof bytes / 4;
    size_t i;
    for (i = 0; i < part; ++i) { /* little-endian on every machine */
      bytes[4 * i + 0] = (unsigned char)(words[i] & 0xFFu);
      bytes[4 * i + 1] = (unsigned char)(words[i] >> 8 & 0xFFu);
      bytes[4 * i + 2] = (unsigned char)(words[i] >> 16 & 0xFFu);
      bytes[4 * i + 3] = (unsigned char)(words[i] >> 24);
    }
    errno = 0;
    if (fwrite(bytes, 4, part, self->file) != part) return cannot_write(self->path);
    words += part;
    n_words -= part;
  }
  return true;
}

bool npy_close(npy *self) {
  FILE *const file = self->file;
  self->file = NULL;
  errno = 0;
  if (fclose(file) != 0) return cannot_write(self->path);
  return self->words_left == 0 ||
         complain("%s: %llu words are missing", self->path, (unsigned long long)self->words_left);
}

void npy_abandon(npy *self) {
  if (self->file != NULL) fclose(self->file);
  self->file = NULL;
}
