/* cochlea.h - a silicon cochlea: sound in, the motion of 128 places along the basilar membrane out.
 *
 * 128 gammatone resonators, equally spaced on the ERB-number scale from 80 Hz to min(7 kHz, 0.45 rate), half-wave
 * rectified and compressed. The loudness is normalised before them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_COCHLEA_H
#define SOUND_COCHLEA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { COCHLEA_CHANNELS = 128, COCHLEA_ORDER = 4 };

/* State and coefficients, one array per quantity, so that loops over channels access memory in order. */
typedef struct cochlea {
  double centre_hz[COCHLEA_CHANNELS]; /* ascending */
  float pole_re[COCHLEA_CHANNELS], pole_im[COCHLEA_CHANNELS];
  float scale[COCHLEA_CHANNELS];
  float state_re[COCHLEA_ORDER][COCHLEA_CHANNELS], state_im[COCHLEA_ORDER][COCHLEA_CHANNELS];
  float level;    /* gain applied to the sound */
  float previous; /* the previous sample, for the pre-emphasis */
} cochlea;

/* ERB-number (in Cams) of a frequency, and back: Glasberg and Moore 1990. */
double cochlea_erb_number(double hz);
double cochlea_erb_number_to_hz(double erb_number);

/* A cochlea at rest for sound of `rate` samples per second, with `level` as the gain of every sample. */
void cochlea_init(cochlea *self, uint32_t rate, float level);

/* The gain that brings a recording to the loudness for which the cochlea is tuned: an RMS of 0.1 of full scale (-20
 * dBFS). At most 100, so that silence stays silence. */
float cochlea_level(const float *samples, size_t n_samples);

/* Processes `n_samples` samples into response [n_samples, COCHLEA_CHANNELS], which is never negative. The state
 * continues. */
void cochlea_hear(cochlea *self, const float *samples, size_t n_samples, float *response);

#ifdef __cplusplus
}
#endif

#endif
