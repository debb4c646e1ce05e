/* raster.h - the picture of a run: the waveform above, the spikes below, as SVG.
 *
 * Collecting spikes by channel and moment, and drawing them. One row a channel, whatever the
 * population: the share of its neurons that fired in a moment is the darkness of the mark. At most 2000 moments, so
 * that the file stays small however long the sound is.
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

/* Writes the picture. `name` is what the title calls the sound; centre_hz [n_channels] is rising. */
bool raster_write(const raster *self, const char *path, const char *name, const wav *sound, const double *centre_hz);

void raster_free(raster *self);

#endif
