/* cochlea.c - see cochlea.h. The sources of the formulas:
 *
 * - ERB and ERB-number: B. R. Glasberg and B. C. J. Moore, "Derivation of auditory filter shapes from notched-noise
 *   data", Hearing Research 47, 1990: ERB(f) = 24.7 (4.37 f / 1000 + 1), ERB-number(f) = 21.4 log10(4.37 f / 1000 + 1).
 * - The resonator: the gammatone filter as a cascade of four complex one-pole resonators, all with the pole
 *   a = exp(-2 pi b / rate) exp(2 pi i f / rate): V. Hohmann, "Frequency analysis and synthesis using a Gammatone
 *   filterbank", Acta Acustica united with Acustica 88, 2002. Its factor 2 (1 - |a|)^4 makes a tone at the centre
 *   frequency come out with the amplitude that went in: that is the gain normalisation of every channel.
 * - b = 1.019 ERB(f), the bandwidth for which a fourth-order gammatone has the equivalent rectangular bandwidth
 *   ERB(f): R. D. Patterson et al., "An efficient auditory filterbank based on the gammatone function", 1987.
 * - Pre-emphasis s[n] - 0.95 s[n-1], the usual stand-in for the outer and middle ear in speech processing: speech
 *   loses about 6 dB per octave, and without it only the lowest channels would fire.
 * - The square root after rectification: at the levels of speech the motion of the basilar membrane grows with the
 *   power 0.2 to 0.5 of the sound: L. Robles and M. A. Ruggero, "Mechanics of the mammalian cochlea", Physiological
 *   Reviews 81, 2001.
 *
 * SPDX-License-Identifier: MIT */
#include "cochlea.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double LOWEST_HZ = 80.0;
static const double HIGHEST_HZ = 7000.0;
static const double HIGHEST_OF_RATE = 0.45;
static const float PRE_EMPHASIS = 0.95F;
static const double TARGET_RMS = 0.1;
static const double LARGEST_LEVEL = 100.0;

/* Far below hearing (-360 dB) and far above the smallest normal float. Without it, a resonator that rings down in
 * silence would end in denormal numbers, which many processors add a hundred times more slowly. */
static const float FLOOR = 1e-18F;

double cochlea_erb_number(double hz) {
  return 21.4 * log10(4.37 * hz / 1000.0 + 1.0);
}

double cochlea_erb_number_to_hz(double erb_number) {
  return (pow(10.0, erb_number / 21.4) - 1.0) * 1000.0 / 4.37;
}

void cochlea_init(cochlea *self, uint32_t rate, float level) {
  const double highest = fmin(HIGHEST_HZ, HIGHEST_OF_RATE * (double)rate);
  const double from = cochlea_erb_number(LOWEST_HZ);
  const double to = cochlea_erb_number(highest);
  int c;
  memset(self, 0, sizeof *self);
  self->level = level;
  for (c = 0; c < COCHLEA_CHANNELS; ++c) {
    const double hz = cochlea_erb_number_to_hz(from + (to - from) * c / (COCHLEA_CHANNELS - 1));
    const double bandwidth = 1.019 * 24.7 * (4.37 * hz / 1000.0 + 1.0);
    const double radius = exp(-2.0 * PI * bandwidth / (double)rate);
    const double angle = 2.0 * PI * hz / (double)rate;
    self->centre_hz[c] = hz;
    self->pole_re[c] = (float)(radius * cos(angle));
    self->pole_im[c] = (float)(radius * sin(angle));
    self->scale[c] = (float)(2.0 * pow(1.0 - radius, COCHLEA_ORDER));
  }
}

float cochlea_level(const float *samples, size_t n_samples) {
  double energy = 0.0, rms;
  size_t i;
  for (i = 0; i < n_samples; ++i) energy += (double)samples[i] * (double)samples[i];
  rms = n_samples > 0 ? sqrt(energy / (double)n_samples) : 0.0;
  return (float)(rms * LARGEST_LEVEL > TARGET_RMS ? TARGET_RMS / rms : LARGEST_LEVEL);
}

void cochlea_hear(cochlea *self, const float *samples, size_t n_samples, float *response) {
  size_t n;
  for (n = 0; n < n_samples; ++n, response += COCHLEA_CHANNELS) {
    const float sample = self->level * samples[n];
    const float input = sample - PRE_EMPHASIS * self->previous + FLOOR;
    float in_re[COCHLEA_CHANNELS], in_im[COCHLEA_CHANNELS];
    int stage, c;
    self->previous = sample;
    for (c = 0; c < COCHLEA_CHANNELS; ++c) {
      in_re[c] = input;
      in_im[c] = 0.0F;
    }
    for (stage = 0; stage < COCHLEA_ORDER; ++stage) {
      float *const re = self->state_re[stage];
      float *const im = self->state_im[stage];
      for (c = 0; c < COCHLEA_CHANNELS; ++c) {
        const float next_re = in_re[c] + (self->pole_re[c] * re[c] - self->pole_im[c] * im[c]);
        const float next_im = in_im[c] + (self->pole_re[c] * im[c] + self->pole_im[c] * re[c]);
        in_re[c] = re[c] = next_re;
        in_im[c] = im[c] = next_im;
      }
    }
    for (c = 0; c < COCHLEA_CHANNELS; ++c) {
      const float moved = self->scale[c] * in_re[c];
      response[c] = moved > 0.0F ? sqrtf(moved) : 0.0F;
    }
  }
}
