/* nerve.c - see nerve.h.
 *
 * SPDX-License-Identifier: MIT */
#include "nerve.h"

#include <string.h>

/* The loudness is forgotten with a time constant of half a second: 0.98^50 = 1/e. */
static const float DECAY = 0.98F;

/* The loudest response is never taken for less than this, so that noise 40 dB below speech does not fire. Speech of
 * -20 dBFS has a loudest response of about 0.2, and the response grows with the root of the amplitude. */
static const float QUIET = 0.03F;

/* A fibre that gets the loudest response all the time fires in every frame. */
static const float DRIVE = 1.0F;

void nerve_init(nerve *self, uint32_t rate) {
  memset(self, 0, sizeof *self);
  cochlea_init(&self->basilar, rate, 1.0F);
  self->frame_samples = (rate + NERVE_FRAMES_PER_SECOND / 2) / NERVE_FRAMES_PER_SECOND;
  self->loudest = QUIET;
}

/* Makes spikes of the frame that has been heard. */
static void fire(nerve *self, uint32_t *bits) {
  const size_t pairs = COCHLEA_CHANNELS / NERVE_FIBRES;
  const float n_responses = (float)(self->frame_samples * pairs);
  size_t c;
  self->loudest *= DECAY;
  self->level = 0.0F;
  if (self->loudest < QUIET) self->loudest = QUIET;
  for (c = 0; c < NERVE_FIBRES; ++c) {
    self->sums[c] /= n_responses;
    self->level += self->sums[c] / (float)NERVE_FIBRES;
    if (self->sums[c] > self->loudest) self->loudest = self->sums[c];
  }
  memset(bits, 0, NERVE_WORDS * sizeof *bits);
  for (c = 0; c < NERVE_FIBRES; ++c) {
    self->potential[c] += DRIVE * self->sums[c] / self->loudest;
    if (self->potential[c] < 1.0F) continue;
    self->potential[c] -= 1.0F;
    bits[c / 32] |= (uint32_t)1 << c % 32;
  }
  memset(self->sums, 0, sizeof self->sums);
  self->heard = 0;
}

size_t nerve_take(nerve *self, const float *samples, size_t n_samples, uint32_t *bits) {
  const size_t pairs = COCHLEA_CHANNELS / NERVE_FIBRES, left = self->frame_samples - self->heard;
  const size_t n_taken = n_samples < left ? n_samples : left;
  float response[COCHLEA_CHANNELS];
  size_t n, c;
  for (n = 0; n < n_taken; ++n) {
    cochlea_hear(&self->basilar, samples + n, 1, response);
    for (c = 0; c < COCHLEA_CHANNELS; ++c) self->sums[c / pairs] += response[c];
  }
  self->heard += n_taken;
  if (self->heard == self->frame_samples) fire(self, bits);
  return n_taken;
}

void nerve_hear(nerve *self, const float *samples, uint32_t *bits) {
  nerve_take(self, samples, self->frame_samples, bits);
}
