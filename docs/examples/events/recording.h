/* recording.h - recordings of event cameras, read as a whole.
 *
 * AEDAT 2.0 (DVS128 and the DAVIS family), AEDAT 3.1, the .bin files of N-MNIST and N-Caltech101, and Prophesee's .dat
 * files, as far as their layouts are published (README.md names the pages). Anything else is refused with a text that
 * says what was found and what is allowed. No number in a file is trusted: only bytes that exist are read.
 *
 * SPDX-License-Identifier: MIT */
#ifndef EVENTS_RECORDING_H
#define EVENTS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RECORDING_ERROR = 256 }; /* bytes of an error text */

typedef enum recording_format {
  RECORDING_BY_CONTENT = 0, /* by its first bytes; one that begins with none of the others' is N-MNIST's */
  RECORDING_AEDAT_2 = 1,
  RECORDING_AEDAT_3 = 2,
  RECORDING_N_MNIST = 3,
  RECORDING_DAT = 4
} recording_format;

typedef struct recording {
  uint64_t *events; /* in the layout of synfire_bin_events_desc; rows are counted from the top */
  size_t n_events;
  uint32_t width, height; /* of the sensor */
  size_t n_backwards;     /* events that are older than the one before them */
  size_t n_skipped; /* records of other kinds: frames, inertial measurements, signals from outside, invalid ones */
} recording;

typedef struct recording_options {
  recording_format format;
  uint32_t width, height; /* of the sensor, if the file does not say; 0: the file must, or its format does */
} recording_options;

/* The event of a time in microseconds (modulo 2^32), a column, a row, and a polarity: 0 darker, 1 brighter. */
uint64_t recording_event(uint64_t microseconds, uint32_t x, uint32_t y, uint32_t polarity);

/* Reads a file. `options` may be null. On failure returns false, `error` says why, and there is nothing to free. */
bool recording_read(const char *path, const recording_options *options, recording *result, char error[RECORDING_ERROR]);

/* The same of a file's bytes, which may be freed afterwards. */
bool recording_parse(const unsigned char *bytes, size_t n_bytes, const recording_options *options, recording *result,
                     char error[RECORDING_ERROR]);

void recording_free(recording *result);

#ifdef __cplusplus
}
#endif

#endif
