/* ear.c - see ear.h.
 *
 * SPDX-License-Identifier: MIT */
#include "ear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "message.h"

static const double TIME_CONSTANT = 0.010;      /* seconds */
static const double TIME_CONSTANT_SPREAD = 4.0; /* slowest = 4 x, fastest = 1/4 x */

/* Checks every status; a negative one is an error. */
#define CHECK(call)                               \
  do {                                            \
    if ((call) < 0) return complain_about_call(); \
  } while (0)

double ear_time_constant(size_t k, size_t population) {
  if (population < 2) return TIME_CONSTANT;
  return TIME_CONSTANT * pow(TIME_CONSTANT_SPREAD, 2.0 * (double)k / (double)(population - 1) - 1.0);
}

/* [time constants] */
/* One value per neuron; `tau` is in steps. */
static bool set_time_constants(const ear *self, uint32_t rate) {
  double *tau = malloc(self->n_neurons * sizeof *tau);
  synfire_status status;
  size_t n;
  if (tau == NULL) return complain("no memory for %lu time constants", (unsigned long)self->n_neurons);
  for (n = 0; n < self->n_neurons; ++n)
    tau[n] = (double)rate * ear_time_constant(n % self->population, self->population);
  status = synfire_layer_set_parameter(self->layer, "tau", tau, self->n_neurons);
  free(tau);
  return status >= 0 || complain_about_call();
}
/* [time constants] */

/* Page-locked memory, which host and GPU both access, so frames need no copies of their own. */
static bool create_pinned(const ear *self, int32_t dtype, size_t n_elements, synfire_buffer *buffer, void **data) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.dtype = dtype;
  desc.n_elements = n_elements;
  CHECK(synfire_buffer_create(self->context, &desc, buffer));
  CHECK(synfire_buffer_get_data(*buffer, data, NULL));
  return true;
}

static bool create_buffers(ear *self, bool learn, bool watch) {
  const size_t n_elements = self->n_steps * self->n_neurons;
  void *x = NULL, *spikes = NULL, *v = NULL, *grad_spikes = NULL, *grad_x = NULL;
  if (!create_pinned(self, SYNFIRE_DTYPE_F32, n_elements, &self->x_buffer, &x) ||
      !create_pinned(self, SYNFIRE_DTYPE_BITS, self->n_steps * self->n_words, &self->spikes_buffer, &spikes))
    return false;
  if (learn && (!create_pinned(self, SYNFIRE_DTYPE_F32, n_elements, &self->grad_spikes_buffer, &grad_spikes) ||
                !create_pinned(self, SYNFIRE_DTYPE_F32, n_elements, &self->grad_x_buffer, &grad_x)))
    return false;
  if (watch && !create_pinned(self, SYNFIRE_DTYPE_F32, self->n_neurons, &self->v_buffer, &v)) return false;
  self->x = x;
  self->spikes = spikes;
  self->v = v;
  self->grad_spikes = grad_spikes;
  self->grad_x = grad_x;
  self->previous_spikes = calloc(self->n_steps * self->n_words, sizeof *self->previous_spikes);
  return self->previous_spikes != NULL || complain("no memory for the spikes of a frame");
}

/* [record] */
static bool record(ear *self, bool learn) {
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  forward.x = self->x_buffer;
  forward.spikes = self->spikes_buffer;
  forward.v_final = self->v_buffer;                                  /* null unless watched */
  forward.tape = learn ? SYNFIRE_TAPE_RECOMPUTE : SYNFIRE_TAPE_NONE; /* v_init is null: the state continues */
  backward.grad_spike_seq = self->grad_spikes_buffer;
  backward.grad_x_seq = self->grad_x_buffer;
  CHECK(synfire_graph_create(self->context, NULL, &self->graph));
  CHECK(synfire_graph_record_forward(self->graph, self->layer, &forward));
  if (learn) CHECK(synfire_graph_record_backward(self->graph, self->layer, &backward));
  CHECK(synfire_graph_instantiate(self->graph)); /* everything slow happens here */
  return true;
}
/* [record] */

bool ear_open(ear *self, const ear_config *config) {
  const synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  synfire_layer_desc layer = SYNFIRE_LAYER_DESC_INIT;
  memset(self, 0, sizeof *self);
  self->n_steps = config->n_steps;
  self->n_channels = config->n_channels;
  self->population = config->population;
  self->n_neurons = config->n_channels * config->population;
  self->n_words = (self->n_neurons + 31) / 32;

  self->properties = properties;
  CHECK(synfire_context_create(&config->context, &self->context));
  CHECK(synfire_context_get_properties(self->context, &self->properties));

  layer.model = SYNFIRE_MODEL_LIF;
  layer.n_steps = (int64_t)self->n_steps;
  layer.n_neurons = (int64_t)self->n_neurons;
  layer.detach_reset = 1; /* so that a louder input never has a negative effect on a spike */
  CHECK(synfire_layer_create(self->context, &layer, &self->layer));
  return set_time_constants(self, config->rate) && create_buffers(self, config->learn, config->watch) &&
         record(self, config->learn);
}

bool ear_launch(ear *self) {
  self->launched = clock_now();
  CHECK(synfire_graph_launch(self->graph, NULL, &self->ticket));
  self->pending = true;
  return true;
}

/* [wait] */
bool ear_wait(ear *self, int64_t deadline, bool *late) {
  const int64_t left = deadline - clock_now();
  const synfire_status status = synfire_graph_wait(self->graph, self->ticket, SYNFIRE_WAIT_SPIN, left > 0 ? left : 0);
  if (status < 0) return complain_about_call();
  self->done = clock_now();
  self->pending = status == SYNFIRE_PENDING;
  *late = self->pending || self->done > deadline; /* on the host, done when launch returns, on time or not */
  return true;
}
/* [wait] */

bool ear_finish(ear *self) {
  if (self->pending) {
    CHECK(synfire_graph_wait(self->graph, self->ticket, SYNFIRE_WAIT_SPIN, -1));
    self->done = clock_now();
    self->pending = false;
  }
  memcpy(self->previous_spikes, self->spikes, self->n_steps * self->n_words * sizeof *self->previous_spikes);
  return true;
}

void ear_close(ear *self) {
  synfire_graph_destroy(self->graph); /* any order is valid, and so is null */
  synfire_buffer_destroy(self->x_buffer);
  synfire_buffer_destroy(self->spikes_buffer);
  synfire_buffer_destroy(self->v_buffer);
  synfire_buffer_destroy(self->grad_spikes_buffer);
  synfire_buffer_destroy(self->grad_x_buffer);
  synfire_layer_destroy(self->layer);
  synfire_context_destroy(self->context);
  synfire_context_reclaim(NULL, NULL); /* destroying only queues; this frees */
  free(self->previous_spikes);
  memset(self, 0, sizeof *self);
}
