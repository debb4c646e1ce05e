/* plots.h - pictures of what a network learns and does, as SVG: curves, spikes, and which class is taken for which.
 *
 * Functions that write a file report an error and return false if they cannot.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LEARNING_PLOTS_H
#define LEARNING_PLOTS_H

/* C, which C++ includes. */
/* NOLINTBEGIN(modernize-deprecated-headers, modernize-use-using) */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A line through numbers of at least 0, at equal distances. */
typedef struct plots_curve {
  const char *name;
  const double *numbers;
} plots_curve;

/* Curves of `count` numbers each, with one scale for all of them. `axis` is what is counted from 1 on. */
bool plots_curves(const char *path, const char *title, const char *axis, const plots_curve *curves, size_t n_curves,
                  size_t count);

/* Packed spikes: neuron n of a step is bit n mod 32 of word n / 32. */
typedef struct plots_spikes {
  const uint32_t *words;
  size_t n_steps;
  size_t stride; /* words from one step to the next */
} plots_spikes;

/* A row for each neuron, the first one at the bottom. */
bool plots_raster(const char *path, const char *title, const plots_spikes *spikes, size_t n_neurons);

/* The same as a part of a picture, of several sequences side by side, with `pause` steps before, between and after
 * them. */
void plots_write_spikes(FILE *out, const plots_spikes *sequences, size_t n_sequences, size_t n_neurons, size_t pause,
                        int left, int top, int right, int bottom);
/* The steps of all of it. */
size_t plots_steps(const plots_spikes *sequences, size_t n_sequences, size_t pause);

/* counts [n, n]: how often a class, in its row, got the name of a column. `legend` says what these are. */
bool plots_confusion(const char *path, const char *title, const char *legend, const char *const *names, size_t n,
                     const size_t *counts);

/* The title above a picture. */
void plots_heading(FILE *out, int left, const char *title);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers, modernize-use-using) */

#endif
