/* namer.c - see namer.h.
 *
 * SPDX-License-Identifier: MIT */
#include "namer.h"

#include <string.h>

#include "message.h"

enum {
  LOUD_SPIKES = 4,     /* a frame with this many is loud */
  LEAST_LOUD = 10,     /* loud frames of a word: anything shorter is a click */
  PAUSE_FRAMES = 20,   /* longer than the closures within a word, as in "six" and "eight" */
  LONGEST_FRAMES = 200 /* whoever speaks on is interrupted */
};

/* Checks every status; a negative one is an error. */
#define CHECK(call)                               \
  do {                                            \
    if ((call) < 0) return complain_about_call(); \
  } while (0)

bool namer_open(namer *self, synfire_network network, uint32_t n_words) {
  void *input = NULL, *output = NULL;
  uint64_t input_bytes = 0, output_bytes = 0;
  memset(self, 0, sizeof *self);
  CHECK(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, &self->graph));
  CHECK(synfire_network_get_buffer(network, "input", &self->input_buffer));
  CHECK(synfire_network_get_buffer(network, "output", &self->output_buffer));
  CHECK(synfire_buffer_get_data(self->input_buffer, &input, &input_bytes));
  CHECK(synfire_buffer_get_data(self->output_buffer, &output, &output_bytes));
  if (n_words < 2 || n_words > NAMER_MOST_WORDS)
    return complain("a list of %lu words; allowed: 2 to %d", (unsigned long)n_words, (int)NAMER_MOST_WORDS);
  if (input_bytes != NERVE_WORDS * sizeof(uint32_t) || output_bytes != n_words * sizeof(float))
    return complain(
        "the network reads %lu and writes %lu bytes per frame; a network of %lu words reads %lu and writes %lu",
        (unsigned long)input_bytes, (unsigned long)output_bytes, (unsigned long)n_words,
        (unsigned long)(NERVE_WORDS * sizeof(uint32_t)), (unsigned long)(n_words * sizeof(float)));
  self->input = input;
  self->output = output;
  self->n_words = n_words;
  return true;
}

static unsigned count(const uint32_t *spikes) {
  unsigned n = 0, w;
  for (w = 0; w < NERVE_WORDS; ++w) {
    uint32_t left;
    for (left = spikes[w]; left != 0; left &= left - 1) ++n;
  }
  return n;
}

/* Notes a frame of sound; returns whether it ends a word. */
static bool ends_word(namer *self, bool loud) {
  if (loud) {
    if (self->loud == 0) {
      self->begin = self->frame;
      memset(self->sums, 0, sizeof self->sums);
    }
    ++self->loud;
    self->end = self->frame + 1;
  }
  return self->loud > 0 &&
         (self->frame + 1 - self->end >= PAUSE_FRAMES || self->frame + 1 - self->begin >= LONGEST_FRAMES);
}

/* [frame] */
bool namer_hear(namer *self, const uint32_t *spikes, bool *found, named *word) {
  uint64_t ticket = 0;
  uint32_t c, best = 0;
  bool ends;
  *found = false;
  memcpy(self->input, spikes, NERVE_WORDS * sizeof *spikes);
  CHECK(synfire_graph_launch(self->graph, NULL, &ticket));
  CHECK(synfire_graph_wait(self->graph, ticket, SYNFIRE_WAIT_SPIN, -1));
  /* [frame] */
  ends = ends_word(self, count(spikes) >= LOUD_SPIKES);
  for (c = 0; c < self->n_words; ++c) {
    self->sums[c] += self->output[c];
    if (self->sums[c] > self->sums[best]) best = c;
  }
  ++self->frame;
  if (!ends) return true;
  *found = self->loud >= LEAST_LOUD;
  word->word = best;
  word->begin = self->begin;
  word->end = self->end;
  self->loud = 0;
  return true;
}

void namer_close(namer *self) {
  synfire_graph_destroy(self->graph);
  synfire_buffer_destroy(self->input_buffer);
  synfire_buffer_destroy(self->output_buffer);
  memset(self, 0, sizeof *self);
}
