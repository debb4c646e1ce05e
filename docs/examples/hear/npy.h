/* npy.h - spikes as a NumPy file.
 *
 * NumPy format 1.0, array '<u4' [steps, words], written incrementally: the library's packed spikes, where bit i of
 * word w is neuron 32 w + i. In Python:
 *
 *     words = numpy.load("spikes.npy")
 *     spikes = numpy.unpackbits(words.view(numpy.uint8), axis=1, bitorder="little")    # [steps, neurons]
 *
 * The format: NumPy enhancement proposal 1 (R. Kern, 2007).
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_NPY_H
#define HEAR_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct npy {
  FILE *file;
  const char *path; /* not owned */
  uint64_t words_left;
} npy;

/* Opens the file and writes the header. `path` must live until npy_close(). */
bool npy_open(npy *self, const char *path, uint64_t n_steps, uint64_t n_words);

bool npy_append(npy *self, const uint32_t *words, size_t n_words);

/* Flushes and closes; a full disk is detected here at the latest. Reports an error if rows are missing. */
bool npy_close(npy *self);

/* Closes without a message, after a failure elsewhere. Safe for a file that was never opened. */
void npy_abandon(npy *self);

#endif
