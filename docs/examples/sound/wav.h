/* wav.h - a sound file, read as a whole.
 *
 * RIFF/WAVE, RF64 and BW64 with PCM of 8, 16, 24 or 32 bits or floating point of 32 or 64 bits (beyond 1 clipped), of
 * any number of channels, whose mean is taken, from 4 kHz to 192 kHz. A file whose size was not known when it was
 * written, because it went through a pipe, is read to its end. Anything else is refused with a text that names the
 * file, what was found and what is allowed. Size fields are not trusted: only bytes that exist are read.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_WAV_H
#define SOUND_WAV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wav {
  float *samples; /* [n_samples], within [-1, 1] */
  size_t n_samples;
  uint32_t rate;     /* samples per second */
  uint32_t channels; /* in the file */
  char title[128];   /* the file's own ('INAM' of its 'LIST' chunk), what is spoken in it; empty if there is none */
} wav;

/* Reads the file. On failure, reports the error, returns false and leaves nothing to free. */
bool wav_read(const char *path, wav *sound);

void wav_free(wav *sound);

#ifdef __cplusplus
}
#endif

#endif
