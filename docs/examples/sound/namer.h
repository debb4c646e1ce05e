/* namer.h - names words frame by frame: a network hears one frame of the nerve after the other, and its state goes on
 * from frame to frame.
 *
 * A word begins with the first frame in which several fibres fire, and ends when hardly any have fired for a fifth of
 * a second. What the readout says in all of its frames is summed; the largest sum is the word.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_NAMER_H
#define SOUND_NAMER_H

#include <stdbool.h>
#include <stdint.h>

#include <synfire/synfire.h>

#include "nerve.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NAMER_MOST_WORDS = 64 };

typedef struct namer {
  synfire_graph graph;
  synfire_buffer input_buffer, output_buffer;
  uint32_t *input;     /* [NERVE_WORDS], page-locked */
  const float *output; /* [n_words], page-locked */
  uint32_t n_words;
  float sums[NAMER_MOST_WORDS];
  uint64_t frame;      /* how many frames there were */
  uint64_t begin, end; /* the word that is being spoken: its first frame, and the one after the last loud one */
  uint32_t loud;       /* how many of its frames were loud; 0: no word */
} namer;

typedef struct named {
  uint32_t word;       /* from 0 to n_words - 1 */
  uint64_t begin, end; /* frames */
} named;

/* A network for steps of 1 and a batch of 1 that is built, reads NERVE_FIBRES spikes as bits and has a readout of
 * n_words, 2 to NAMER_MOST_WORDS. On failure, reports the error and returns false; namer_close() is then allowed, as it
 * is for zeros. */
bool namer_open(namer *self, synfire_network network, uint32_t n_words);

/* Hears the spikes [NERVE_WORDS] of one frame. *found says whether a word has ended, and *word which. On failure,
 * reports the error and returns false. */
bool namer_hear(namer *self, const uint32_t *spikes, bool *found, named *word);

void namer_close(namer *self);

#ifdef __cplusplus
}
#endif

#endif
