/* learner.c - see learner.h.
 *
 * SPDX-License-Identifier: MIT */
#include "learner.h"

#include <math.h>
#include <string.h>

static const double ETA = 0.5;

void learner_init(learner *self, double target_hz) {
  int c;
  memset(self, 0, sizeof *self);
  self->target_hz = target_hz;
  for (c = 0; c < COCHLEA_CHANNELS; ++c) {
    self->gain[c] = 1.0F;
    self->sensitivity[c] = -1.0;
  }
}

void learner_write_gradient(learner *self, const ear *ears, const rates *so_far) {
  const double rate_per_spike = so_far->hz_per_spike / (double)so_far->n_frames; /* dr/dS = 1 / (K W) */
  float *row = ears->grad_spikes;
  size_t c, k, t;
  for (c = 0; c < ears->n_channels; ++c) {
    const float gradient = (float)((rates_hz(so_far, c) - self->target_hz) * rate_per_spike);
    self->error_hz[c] = rates_hz(so_far, c) - self->target_hz;
    for (k = 0; k < ears->population; ++k) *row++ = gradient;
  }
  for (t = 1; t < ears->n_steps; ++t, row += ears->n_neurons)
    memcpy(row, ears->grad_spikes, ears->n_neurons * sizeof *row);
}

void learner_follow_gradient(learner *self, const ear *ears, size_t frames_in_window, bool move) {
  double gradient[COCHLEA_CHANNELS] = {0.0}; /* dL/dtheta */
  const float *grad_x = ears->grad_x;
  const float *x = ears->x;
  size_t c, k, t;
  for (t = 0; t < ears->n_steps; ++t)
    for (c = 0; c < ears->n_channels; ++c) {
      float sum = 0.0F;
      for (k = 0; k < ears->population; ++k) sum += *grad_x++ * *x++;
      gradient[c] += (double)sum;
    }
  for (c = 0; c < ears->n_channels; ++c) {
    const double error = self->error_hz[c];
    double influence; /* dr/dtheta of this frame, up to a constant that cancels below */
    if (error == 0.0) continue;
    influence = gradient[c] / error;
    if (self->sensitivity[c] < 0.0) self->sensitivity[c] = fabs(influence);
    self->sensitivity[c] += (fabs(influence) - self->sensitivity[c]) / (double)frames_in_window;
    if (!move || !(self->sensitivity[c] > 0.0)) continue;
    self->log_gain[c] -= ETA / (double)frames_in_window * fmax(-1.0, fmin(1.0, error / self->target_hz)) * influence /
                         self->sensitivity[c];
    self->gain[c] = (float)exp(self->log_gain[c]);
  }
}

double learner_distance(const learner *self, const rates *measured) {
  double sum = 0.0;
  size_t c;
  for (c = 0; c < measured->n_channels; ++c) sum += fabs(rates_hz(measured, c) - self->target_hz);
  return sum / (double)measured->n_channels;
}
