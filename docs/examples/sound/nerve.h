/* nerve.h - the nerve after the cochlea: sound in, spikes of 64 fibres out, one bit per fibre and frame of 10 ms.
 *
 * Two neighbouring channels of the cochlea drive one fibre. Their mean response in a frame is divided by the loudest
 * response of the last moments, so that the spikes do not depend on the volume; each fibre sums what it gets and fires
 * when it has enough. All of it runs forwards in time: a stream gives the same spikes as the recording of it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_NERVE_H
#define SOUND_NERVE_H

#include <stddef.h>
#include <stdint.h>

#include "cochlea.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  NERVE_FIBRES = COCHLEA_CHANNELS / 2,
  NERVE_WORDS = (NERVE_FIBRES + 31) / 32,
  NERVE_FRAMES_PER_SECOND = 100,
  NERVE_SMALLEST_RATE = 16000, /* below, the cochlea's highest channels would lie elsewhere */
  NERVE_LARGEST_RATE = 192000
};

typedef struct nerve {
  cochlea basilar;
  size_t frame_samples;     /* samples per frame: the rate / 100, rounded */
  size_t heard;             /* samples of the frame that is being heard */
  float sums[NERVE_FIBRES]; /* of the responses to them */
  float loudest;            /* the largest response of a fibre; decays */
  float level;              /* the mean response of the fibres in the last frame */
  float potential[NERVE_FIBRES];
} nerve;

/* A nerve at rest, for sound of `rate` samples per second, from NERVE_SMALLEST_RATE to NERVE_LARGEST_RATE. */
void nerve_init(nerve *self, uint32_t rate);

/* Hears samples [n_samples], but none after the end of a frame. Returns how many; self->heard is 0 after the last
 * sample of a frame, and then bits [NERVE_WORDS] are written, as nerve_hear() does. */
size_t nerve_take(nerve *self, const float *samples, size_t n_samples, uint32_t *bits);

/* Hears one frame, samples [frame_samples], and writes bits [NERVE_WORDS]: bit i of word w is fibre 32 w + i. The
 * fibres ascend in frequency. */
void nerve_hear(nerve *self, const float *samples, uint32_t *bits);

#ifdef __cplusplus
}
#endif

#endif
