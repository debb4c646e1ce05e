/* raster.h - the picture of a run as SVG: the waveform above, the spikes below.
 *
 * Collects spikes by channel and moment, and draws them. There is one row per channel for any population: a mark is as
 * dark as the share of the neurons that fired in its moment. There are at most 2000 moments, so that the file stays
 * small for any length of sound.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_RASTER_H
#define HEAR_RASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wav.h"

typedef struct raster {
  size_t n_channels, population, n_frames, frame_samples;
  size_t frames_per_moment, n_moments;
  uint32_t *spikes; /* [n_channels, n_moments] */
} raster;

bool raster_init(raster *self, size_t n_channels, size_t population, size_t n_frames, size_t frame_samples);

/* Adds the counts [n_channels] of one frame. */
void raster_add(raster *self, size_t frame, const uint32_t *counts);

/* Writes the picture. `name` is the name of the sound in the title; centre_hz [n_channels] is ascending. */
bool raster_write(const raster *self, const char *path, const char *name, const wav *sound, const double *centre_hz);

void raster_free(raster *self);

#endif
