/* camera.h - a simulated event camera, for programs without one.
 *
 * A pixel remembers the logarithm of the intensity at its last event. When the logarithm has gone up by the pixel's
 * threshold it sends a brighter event, when it has gone down by it a darker one, and remembers the new value (P.
 * Lichtsteiner, C. Posch and T. Delbruck, "A 128x128 120 dB 15 us latency asynchronous temporal contrast vision
 * sensor", IEEE J. Solid-State Circuits 43, 2008). For a refractory time after an event it follows the light without
 * sending; then it remembers what it sees. Thresholds differ from pixel to pixel, and pixels send events without cause
 * at a rate (Y. Hu, S.-C. Liu and T. Delbruck, "v2e: from video frames to realistic DVS events", CVPR Workshops 2021).
 *
 * SPDX-License-Identifier: MIT */
#ifndef EVENTS_CAMERA_H
#define EVENTS_CAMERA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct camera_settings {
  uint32_t width, height; /* 1 to 16384 */
  double threshold;       /* of the natural logarithm, above 0: 0.2 is a change by 22 % */
  double mismatch;        /* standard deviation of pixels' thresholds, as a part of `threshold` */
  double noise;           /* events of each pixel without a cause, per second */
  double refractory;      /* microseconds */
  uint64_t seed;
} camera_settings;

typedef struct camera camera;

/* Null without memory, or if a setting is not allowed. */
camera *camera_create(const camera_settings *settings);

/* Looks at the intensities [height, width], 0 or more, at a time in microseconds. Returns the events since the last
 * look in the order of their times, in the layout of synfire_bin_events_desc; they are valid until the next look. The
 * first look, and one that is not later than the one before, has none. Between two looks the logarithms change evenly.
 * False without memory. */
bool camera_look(camera *from, const float *intensities, uint64_t microseconds, const uint64_t **events,
                 size_t *n_events);

void camera_destroy(camera *from);

#ifdef __cplusplus
}
#endif

#endif
