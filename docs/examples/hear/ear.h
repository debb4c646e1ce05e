/* ear.h - the Synfire part of `hear`: 128 channels in, spikes out, one graph replayed for every frame.
 *
 * The context, a LIF layer of 128 K neurons, its pinned buffers and the graph
 *
 *     x [T, N] -> forward -> spikes [T, ceil(N/32)]   and, to learn,   grad_spikes [T, N] -> backward -> grad_x [T, N]
 *                         -> v [N]                      to watch it
 *
 * Neurons are channel-major: neuron c K + k is the k-th of channel c, so the neurons of one channel are adjacent.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_EAR_H
#define HEAR_EAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <synfire/synfire.h>

typedef struct ear_config {
  synfire_context_desc context;
  uint32_t rate;  /* steps per second; one step of the layer is one sample */
  size_t n_steps; /* T, samples in a frame */
  size_t n_channels;
  size_t population; /* K, neurons per channel */
  bool learn;        /* record the backward pass too */
  bool watch;        /* hand out V */
} ear_config;

typedef struct ear {
  synfire_context context;
  synfire_layer layer;
  synfire_buffer x_buffer, spikes_buffer, v_buffer, grad_spikes_buffer, grad_x_buffer;
  synfire_graph graph;
  synfire_context_properties properties;

  size_t n_steps, n_channels, population, n_neurons;
  size_t n_words; /* per step */

  float *x;                  /* [T, N], written by the host before ear_launch() */
  const uint32_t *spikes;    /* [T, n_words], read by the host after ear_finish() */
  const float *v;            /* [N], after the frame, read after ear_finish(); null unless watched */
  float *grad_spikes;        /* [T, N], written before ear_launch(); null unless learning */
  const float *grad_x;       /* [T, N], read after ear_finish(); null unless learning */
  uint32_t *previous_spikes; /* [T, n_words], those of the previous frame; all zero before the first frame */

  uint64_t ticket;
  int64_t launched, done; /* clock_now() */
  bool pending;
} ear;

/* The time constant of neuron k of K, in seconds: 10 ms if K is 1, else spread geometrically from 2.5 ms to 40 ms. */
double ear_time_constant(size_t k, size_t population);

/* On failure, reports the error and returns false; ear_close() is safe, and necessary, in that case too. */
bool ear_open(ear *self, const ear_config *config);

/* Replays the graph for the frame in `x`. */
bool ear_launch(ear *self);

/* Waits until the replay is done, but not longer than `deadline` (clock_now()). Sets `late` if that was too short:
 * then only `previous_spikes` are available. */
bool ear_wait(ear *self, int64_t deadline, bool *late);

/* Waits for a late replay, so that every buffer may be used again, and keeps its spikes as `previous_spikes` of the
 * next frame. Afterwards `spikes` and `grad_x` hold this frame's, and `done - launched` is its latency. */
bool ear_finish(ear *self);

void ear_close(ear *self);

#endif
