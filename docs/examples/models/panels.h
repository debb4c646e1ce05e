/* panels.h - an SVG of panels that share an axis of steps: traces, levels, spikes. Narrow, so that a phone shows it
 * readably.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_PANELS_H
#define MODELS_PANELS_H

#include <stdio.h>

#define PANEL_BLUE "#1f4e9c"
#define PANEL_ORANGE "#d9731a"
#define PANEL_GREEN "#3c9a4a"
#define PANEL_GREY "#666666"

typedef struct Panel {
  double top, height; /* pixels */
  double low, high;   /* the range of values */
  int n_steps;
} Panel;

/* A panel whose range holds 0, all values and a margin. */
Panel panel_for(double top, double height, int n_steps, const double *values, int n_values);

/* The start of a picture: its title and a line under it. */
void picture_begin(FILE *out, int height, const char *title, const char *subtitle);
void picture_end(FILE *out);

/* The frame with its title, and labels of values with grid lines. */
void panel_frame(FILE *out, const Panel *panel, const char *title);
void panel_values(FILE *out, const Panel *panel);
/* Labels of steps under the panel. */
void panel_steps(FILE *out, const Panel *panel);
/* A dashed line. */
void panel_level(FILE *out, const Panel *panel, double value);
/* Points (steps[i], values[i]). */
void panel_line(FILE *out, const Panel *panel, const double *steps, const double *values, int n, const char *color);
/* A stroke of the panel's height for each step with a spike. */
void panel_spikes(FILE *out, const Panel *panel, const double *spikes, const char *color);

#endif
