/* raster.c - see raster.h.
 *
 * SPDX-License-Identifier: MIT */
#include "raster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cochlea.h"
#include "message.h"
#include "svg.h"

/* The page, in pixels. */
enum {
  WIDTH = 1200,
  HEIGHT = 660,
  LEFT = 84,
  RIGHT = 1176,
  WAVE_TOP = 64,
  WAVE_BOTTOM = 152,
  SPIKES_TOP = 168,
  SPIKES_BOTTOM = 594,
  MOST_MOMENTS = 2000,
  SHADES = 4
};

bool raster_init(raster *self, size_t n_channels, size_t population, size_t n_frames, size_t frame_samples) {
  memset(self, 0, sizeof *self);
  self->n_channels = n_channels;
  self->population = population;
  self->n_frames = n_frames;
  self->frame_samples = frame_samples;
  self->frames_per_moment = (n_frames + MOST_MOMENTS - 1) / MOST_MOMENTS;
  self->n_moments = (n_frames + self->frames_per_moment - 1) / self->frames_per_moment;
  self->spikes = calloc(n_channels * self->n_moments, sizeof *self->spikes);
  return self->spikes != NULL || complain("no memory for a picture of %lu frames", (unsigned long)n_frames);
}

void raster_add(raster *self, size_t frame, const uint32_t *counts) {
  const size_t moment = frame / self->frames_per_moment;
  size_t c;
  for (c = 0; c < self->n_channels; ++c) self->spikes[c * self->n_moments + moment] += counts[c];
}

static double seconds(const raster *self, const wav *sound) {
  return (double)self->n_frames * (double)self->frame_samples / (double)sound->rate;
}

/* The middle of a channel's row, counted in rows from the bottom; frequencies between two channels lie between their
 * rows. */
static double row_of(const raster *self, const double *centre_hz, double hz) {
  const double from = cochlea_erb_number(centre_hz[0]);
  const double to = cochlea_erb_number(centre_hz[self->n_channels - 1]);
  return 0.5 + (cochlea_erb_number(hz) - from) / (to - from) * (double)(self->n_channels - 1);
}

static void write_frequency_axis(const raster *self, FILE *out, const double *centre_hz) {
  static const int ticks[] = {100, 200, 500, 1000, 2000, 5000};
  const double row_height = (double)(SPIKES_BOTTOM - SPIKES_TOP) / (double)self->n_channels;
  size_t i;
  for (i = 0; i < sizeof ticks / sizeof *ticks; ++i) {
    const double y = SPIKES_BOTTOM - row_height * row_of(self, centre_hz, ticks[i]);
    if (ticks[i] > centre_hz[self->n_channels - 1]) break;
    fprintf(out, "<path d=\"M%d %.1fH%d\" stroke=\"" SVG_GRID "\"/>\n", (int)LEFT, y, (int)RIGHT);
    fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n", LEFT - 8, y + 4.5, ticks[i]);
  }
  fprintf(out,
          "<text transform=\"translate(24 %d) rotate(-90)\" text-anchor=\"middle\" fill=\"" SVG_FAINT
          "\">channel centre frequency (Hz)</text>\n",
          (SPIKES_TOP + SPIKES_BOTTOM) / 2);
}

/* The lowest and the highest sample of every pixel column, as a single outline. */
static void write_waveform(const raster *self, FILE *out, const wav *sound) {
  const size_t span = self->n_frames * self->frame_samples;
  const double middle = (WAVE_TOP + WAVE_BOTTOM) / 2.0;
  double peak = 0.0, scale;
  int column, side;
  size_t i;
  for (i = 0; i < sound->n_samples && i < span; ++i) { /* fmax() here crashes gcc 12 for AArch64 */
    const double magnitude = fabs((double)sound->samples[i]);
    if (magnitude > peak) peak = magnitude;
  }
  peak = peak > 0.0 ? ceil(peak * 10.0) / 10.0 : 1.0;
  scale = (WAVE_BOTTOM - WAVE_TOP) / 2.0 / peak;
  fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.1f</text>\n", LEFT - 8, WAVE_TOP + 5, peak);
  fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">0</text>\n", LEFT - 8, middle + 4.5);
  fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">-%.1f</text>\n", LEFT - 8, WAVE_BOTTOM + 5, peak);
  fprintf(out,
          "<text transform=\"translate(24 %.1f) rotate(-90)\" text-anchor=\"middle\" fill=\"" SVG_FAINT
          "\">amplitude</text>\n",
          middle);
  fputs("<path fill=\"#3d4663\" stroke=\"#3d4663\" stroke-width=\"0.7\" stroke-linejoin=\"round\" d=\"", out);
  for (side = 0; side < 2; ++side) /* the upper outline forwards, the lower one backwards */
    for (column = 0; column < RIGHT - LEFT; ++column) {
      const int at = side == 0 ? column : RIGHT - LEFT - 1 - column;
      const size_t from = (size_t)((double)span * at / (RIGHT - LEFT));
      const size_t to = (size_t)((double)span * (at + 1) / (RIGHT - LEFT));
      float extreme = 0.0F;
      for (i = from; (i < to || i == from) && i < sound->n_samples; ++i)
        if (i == from || (side == 0 ? sound->samples[i] > extreme : sound->samples[i] < extreme))
          extreme = sound->samples[i];
      fprintf(out, "%c%d %.1f", side == 0 && column == 0 ? 'M' : 'L', LEFT + at, middle - scale * (double)extreme);
    }
  fputs("Z\"/>\n", out);
}

/* The darkness of a moment, 0 (no spikes) to SHADES. A single neuron fired or not. For several, it is the share
 * relative to the busiest moment, with a square root so that a few spikes remain visible. */
static int shade(const raster *self, uint32_t spikes, uint32_t busiest) {
  if (spikes == 0) return 0;
  if (self->population == 1) return SHADES;
  return (int)ceil(SHADES * sqrt((double)spikes / (double)busiest));
}

/* One path per channel and shade. Adjacent moments of one shade form one stroke. Units: one moment by one row. */
static void write_spikes(const raster *self, FILE *out) {
  static const char *const opacity[SHADES + 1] = {"0", "0.25", "0.5", "0.75", "1"};
  uint32_t busiest = 1;
  size_t i, c;
  for (i = 0; i < self->n_channels * self->n_moments; ++i)
    if (self->spikes[i] > busiest) busiest = self->spikes[i];
  fprintf(out, "<g transform=\"translate(%d %d) scale(%.6f %.6f)\" fill=\"none\" stroke-width=\"0.86\">\n", (int)LEFT,
          (int)SPIKES_BOTTOM, (double)(RIGHT - LEFT) * (double)self->frames_per_moment / (double)self->n_frames,
          -(double)(SPIKES_BOTTOM - SPIKES_TOP) / (double)self->n_channels);
  for (c = 0; c < self->n_channels; ++c) {
    const uint32_t *const row = self->spikes + c * self->n_moments;
    int level;
    for (level = 1; level <= SHADES; ++level) {
      size_t moment = 0, drawn_to = 0;
      bool open = false;
      while (moment < self->n_moments) {
        const size_t from = moment;
        while (moment < self->n_moments && shade(self, row[moment], busiest) == level) ++moment;
        if (moment == from) {
          ++moment;
          continue;
        }
        if (!open) {
          fputs("<path stroke=\"", out);
          svg_colour(out, (double)c / (double)(self->n_channels - 1));
          fprintf(out, "\" stroke-opacity=\"%s\" d=\"M%lu %.1fh%lu", opacity[level], (unsigned long)from,
                  (double)c + 0.5, (unsigned long)(moment - from));
        } else {
          fprintf(out, "m%lu 0h%lu", (unsigned long)(from - drawn_to), (unsigned long)(moment - from));
        }
        open = true;
        drawn_to = moment;
      }
      if (open) fputs("\"/>\n", out);
    }
  }
  fputs("</g>\n", out);
}

static void write_title(const raster *self, FILE *out, const char *name, const wav *sound) {
  uint64_t spikes = 0;
  size_t i;
  for (i = 0; i < self->n_channels * self->n_moments; ++i) spikes += self->spikes[i];
  fprintf(out, "<text x=\"%d\" y=\"40\" font-size=\"21\" font-weight=\"600\">", (int)LEFT);
  if (sound->title[0] != '\0') {
    fputs("\xe2\x80\x9c", out); /* quotation marks, in UTF-8 */
    svg_text(out, sound->title);
    fputs("\xe2\x80\x9d", out);
  } else {
    svg_text(out, name);
  }
  fprintf(out, ", heard by %lu ", (unsigned long)self->n_channels);
  if (self->population > 1) fprintf(out, "x %lu ", (unsigned long)self->population);
  fprintf(out, "spiking neurons</text>\n<text x=\"%d\" y=\"40\" text-anchor=\"end\" fill=\"" SVG_FAINT "\">",
          (int)RIGHT);
  fprintf(out, "%llu spikes in %.2f s</text>\n", (unsigned long long)spikes, seconds(self, sound));
}

bool raster_write(const raster *self, const char *path, const char *name, const wav *sound, const double *centre_hz) {
  FILE *const out = svg_open(path, WIDTH, HEIGHT, "Spike raster of a silicon cochlea");
  if (out == NULL) return false;
  write_title(self, out, name, sound);
  svg_time_axis(out, seconds(self, sound), LEFT, RIGHT, WAVE_TOP, SPIKES_BOTTOM, SPIKES_BOTTOM + 20);
  write_frequency_axis(self, out, centre_hz);
  write_waveform(self, out, sound);
  write_spikes(self, out);
  fprintf(out, "<path d=\"M%d %dV%dM%d %dV%dH%d\" fill=\"none\" stroke=\"" SVG_FAINT "\"/>\n", (int)LEFT, (int)WAVE_TOP,
          (int)WAVE_BOTTOM, (int)LEFT, (int)SPIKES_TOP, (int)SPIKES_BOTTOM, (int)RIGHT);
  return svg_close(out, path);
}

void raster_free(raster *self) {
  free(self->spikes);
  self->spikes = NULL;
}
