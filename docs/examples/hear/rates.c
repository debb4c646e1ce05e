/* rates.c - see rates.h.
 *
 * SPDX-License-Identifier: MIT */
#include "rates.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

/* The number of the lowest set bit, by multiplication with a de Bruijn sequence (C. E. Leiserson, H. Prokop and
 * K. H. Randall, "Using de Bruijn sequences to index a 1 in a computer word", 1998). `word` is not 0. */
static unsigned lowest_bit(uint32_t word) {
  static const unsigned char position[32] = {0,  1,  28, 2,  29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4,  8,
                                             31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6,  11, 5,  10, 9};
  return position[(uint32_t)((word & (~word + 1u)) * 0x077CB531u) >> 27];
}

void rates_count(const uint32_t *spikes, size_t n_steps, size_t n_words, size_t population, size_t n_channels,
                 uint32_t *counts) {
  size_t step, w;
  memset(counts, 0, n_channels * sizeof *counts);
  for (step = 0; step < n_steps; ++step, spikes += n_words)
    for (w = 0; w < n_words; ++w) {
      uint32_t word;
      for (word = spikes[w]; word != 0; word &= word - 1) ++counts[(32 * w + lowest_bit(word)) / population];
    }
}

bool rates_init(rates *self, size_t n_channels, size_t n_frames, double frame_seconds, size_t population) {
  memset(self, 0, sizeof *self);
  self->n_channels = n_channels;
  self->n_frames = n_frames;
  self->hz_per_spike = 1.0 / (frame_seconds * (double)population);
  self->frames = calloc(n_frames * n_channels, sizeof *self->frames);
  self->sums = calloc(n_channels, sizeof *self->sums);
  if (self->frames != NULL && self->sums != NULL) return true;
  rates_free(self);
  return complain("no memory for the rates of %lu frames", (unsigned long)n_frames);
}

void rates_add(rates *self, const uint32_t *counts) {
  uint32_t *const oldest = self->frames + self->next * self->n_channels; /* zero until the ring is full */
  size_t c;
  for (c = 0; c < self->n_channels; ++c) {
    self->sums[c] += counts[c];
    self->sums[c] -= oldest[c];
    oldest[c] = counts[c];
  }
  self->next = (self->next + 1) % self->n_frames;
  if (self->filled < self->n_frames) ++self->filled;
}

double rates_hz(const rates *self, size_t channel) {
  return self->filled > 0 ? (double)self->sums[channel] * self->hz_per_spike / (double)self->filled : 0.0;
}

void rates_free(rates *self) {
  free(self->frames);
  free(self->sums);
  self->frames = NULL;
  self->sums = NULL;
}
