/* svg.h - what the pictures share: opening and closing an SVG file, its text, axes and colours.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_SVG_H
#define SOUND_SVG_H

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SVG_INK "#1f2430"
#define SVG_FAINT "#5c6370"
#define SVG_GRID "#e4e7ec"

/* Opens the file and writes the start of a picture of this size in pixels. On failure, reports the error and returns
 * null. */
FILE *svg_open(const char *path, int width, int height, const char *title);

/* Text inside an element: escapes what XML reserves, and replaces everything except plain ASCII by '?'. */
void svg_text(FILE *out, const char *text);

/* Writes the colour of a number from 0 to 1: violet (low), blue, teal, amber, red (high). */
void svg_colour(FILE *out, double at);

/* 1, 2 or 5 times a power of ten, such that the range holds 5 to 12 of it. */
double svg_tick_step(double range);

/* The labels of a time axis from 0 to `seconds`, at the height `y`, with grid lines from `top` to `bottom`. */
void svg_time_axis(FILE *out, double seconds, double left, double right, double top, double bottom, double y);

/* Ends the picture and closes the file; a full disk is detected here at the latest. */
bool svg_close(FILE *out, const char *path);

#ifdef __cplusplus
}
#endif

#endif
