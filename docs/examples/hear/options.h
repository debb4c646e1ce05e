/* options.h - the command line of `hear`: reading and checking it, and the help text.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_OPTIONS_H
#define HEAR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct options {
  const char *sound;  /* the WAV file */
  const char *svg;    /* picture of latency over time; null: not wanted */
  const char *csv;    /* latency of every frame; null: not wanted */
  const char *words;  /* the file of a network that names words; null: not wanted */
  const char *output; /* folder for raster.svg and spikes.npy; null: nothing is written */
  int32_t backend;    /* SYNFIRE_BACKEND_* */
  int32_t device;
  int32_t threads;
  uint32_t population; /* neurons per channel */
  uint32_t rate;       /* samples per second of standard input */
  uint64_t frames;     /* 0: not given */
  double loop_seconds; /* 0: not given */
  double target_hz;
  bool learn;
  bool realtime;
  bool live; /* with it `realtime` is set too */
  bool spin; /* only with `realtime` */
} options;

typedef enum options_verdict { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG } options_verdict;

/* With OPTIONS_HELP the help is on stdout; with OPTIONS_WRONG the error and the usage are on stderr. */
options_verdict options_read(options *chosen, int argc, char **argv);

#endif
