/* rates.h - how often the neurons of each channel fire, in hertz: counts packed spikes by channel, and computes the
 * mean rate over a sliding window of frames.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_RATES_H
#define HEAR_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums the spikes of one frame [n_steps, n_words] by channel. Overwrites counts [n_channels]. */
void rates_count(const uint32_t *spikes, size_t n_steps, size_t n_words, size_t population, size_t n_channels,
                 uint32_t *counts);

/* The last `n_frames` frames and their sum. The window advances by one frame at a time. */
typedef struct rates {
  size_t n_channels, n_frames;
  size_t next, filled;
  double hz_per_spike; /* of one spike of one of K neurons, in a window of one frame */
  uint32_t *frames;    /* [n_frames, n_channels], a ring */
  uint64_t *sums;      /* [n_channels] */
} rates;

bool rates_init(rates *self, size_t n_channels, size_t n_frames, double frame_seconds, size_t population);
void rates_add(rates *self, const uint32_t *counts);

/* Mean rate of a neuron of the channel over the window, or the part of it that exists; 0 before the first frame. */
double rates_hz(const rates *self, size_t channel);

void rates_free(rates *self);

#endif
