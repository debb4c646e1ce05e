/* svg.h - what the pictures of `hear` have in common.
 *
 * Opening and closing an SVG file, text and axes in it, its ink.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_SVG_H
#define HEAR_SVG_H

#include <stdbool.h>
#include <stdio.h>

#define SVG_INK "#1f2430"
#define SVG_FAINT "#5c6370"
#define SVG_GRID "#e4e7ec"

/* Opens the file and writes the beginning of a picture of so many pixels. On failure complains and answers null. */
FILE *svg_open(const char *path, int width, int height, const char *title);

/* Text inside an element: what XML reserves is escaped, what is not plain ASCII becomes '?'. */
void svg_text(FILE *out, const char *text);

/* 1, 2 or 5 times a power of ten, so that between 5 and 12 of it fill the range. */
double svg_tick_step(double range);

/* The labels of an axis of time from 0 to `seconds`, at the height `y`, with grid lines from `top` to `bottom`. */
void svg_time_axis(FILE *out, double seconds, double left, double right, double top, double bottom, double y);

/* Ends the picture and closes the file; what the disk refused is found out here at the latest. */
bool svg_close(FILE *out, const char *path);

#endif
