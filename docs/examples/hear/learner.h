/* learner.h - a gain per channel that follows the gradient until every channel fires at a target rate.
 *
 * Computes the loss and the gradient that enters the backward pass, and uses the gradient that it returns. The
 * backward pass itself is the second half of the graph (ear.h).
 *
 * With r_c the mean rate of channel c over the last W seconds (the length of the recording), K neurons per channel,
 * gain g_c = exp(theta_c) and x = g_c y_c, where y is the response of the cochlea:
 *
 *     L            = 1/2 sum_c (r_c - target)^2          r_c = (sum of the spikes S of the channel) / (K W)
 *     dL/dS        = (r_c - target) / (K W)              into the backward pass, from the rates up to the frame before
 *     dL/dtheta_c  = sum over the frame of dL/dX . x     dL/dX out of the backward pass; dx/dtheta_c = x
 *
 * The effect of the gain on the rate differs between channels by a factor of up to a thousand. So each step divides
 * the gradient by the channel's own sensitivity J_c = mean over frames of |dL/dtheta_c / (dL/dr_c)| and by the target:
 *
 *     theta_c     -= eta / n . clip((r_c - target) / target, -1, 1) . (dL/dtheta_c / (dL/dr_c)) / J_c
 *
 * where n is the number of frames in W. Over one recording the logarithm of the gain changes by at most eta, at the
 * times when the gradient says that it matters.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_LEARNER_H
#define HEAR_LEARNER_H

#include <stdbool.h>
#include <stddef.h>

#include "cochlea.h"
#include "ear.h"
#include "rates.h"

typedef struct learner {
  double target_hz;
  double log_gain[COCHLEA_CHANNELS];    /* theta */
  double sensitivity[COCHLEA_CHANNELS]; /* J; negative: not yet known */
  double error_hz[COCHLEA_CHANNELS];    /* r - target, as used in this frame's gradient */
  float gain[COCHLEA_CHANNELS];
} learner;

void learner_init(learner *self, double target_hz);

/* Before a frame: fills grad_spikes [T, N] from the current rates. */
void learner_write_gradient(learner *self, const ear *ears, const rates *so_far);

/* After a frame: reads grad_x [T, N]. Changes the gains if `move`, otherwise only updates the sensitivities. */
void learner_follow_gradient(learner *self, const ear *ears, size_t frames_in_window, bool move);

/* Mean over the channels of |rate - target|. */
double learner_distance(const learner *self, const rates *measured);

#endif
