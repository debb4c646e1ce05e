/* late_test.c - tests what ear.c does if a replay is not done at its deadline.
 *
 * Uses a fake library, whose replays complete exactly when the test says so: a real one is late only by accident.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ear.h"

/* ---- The fake library: two steps of 64 neurons; launch number n writes n into every word. ------------------------ */

static uint32_t words[4];
static float x[128];
static uint64_t launches;
static int waits_until_done, waits_for_ever, destroyed, failing;

static int object;
#define HANDLE(type) ((type)(void *)&object)

synfire_status SYNFIRE_CALL synfire_context_create(const synfire_context_desc *desc, synfire_context *context) {
  (void)desc;
  *context = HANDLE(synfire_context);
  return SYNFIRE_HOST_FALLBACK;
}

synfire_status SYNFIRE_CALL synfire_context_get_properties(synfire_context context,
                                                           synfire_context_properties *properties) {
  (void)context;
  return properties->struct_size == sizeof *properties ? SYNFIRE_OK : SYNFIRE_ERROR_STRUCT_SIZE;
}

synfire_status SYNFIRE_CALL synfire_layer_create(synfire_context context, const synfire_layer_desc *desc,
                                                 synfire_layer *layer) {
  (void)context;
  *layer = HANDLE(synfire_layer);
  return desc->n_steps == 2 && desc->n_neurons == 64 ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
}

synfire_status SYNFIRE_CALL synfire_layer_set_parameter(synfire_layer layer, const char *name, const double *values,
                                                        uint64_t count) {
  (void)layer;
  return strcmp(name, "tau") == 0 && values[0] > 0.0 && count == 64 ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
}

synfire_status SYNFIRE_CALL synfire_buffer_create(synfire_context context, const synfire_buffer_desc *desc,
                                                  synfire_buffer *buffer) {
  (void)context;
  *buffer = desc->dtype == SYNFIRE_DTYPE_BITS ? (synfire_buffer)(void *)words : (synfire_buffer)(void *)x;
  return desc->memory == SYNFIRE_MEMORY_PINNED ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
}

synfire_status SYNFIRE_CALL synfire_buffer_get_data(synfire_buffer buffer, void **data, uint64_t *bytes) {
  *data = (void *)buffer;
  if (bytes != NULL) *bytes = *data == (void *)x ? sizeof x : sizeof words;
  return SYNFIRE_OK;
}

synfire_status SYNFIRE_CALL synfire_graph_create(synfire_context context, const synfire_graph_desc *desc,
                                                 synfire_graph *graph) {
  (void)context, (void)desc;
  *graph = HANDLE(synfire_graph);
  return SYNFIRE_OK;
}

synfire_status SYNFIRE_CALL synfire_graph_record_forward(synfire_graph graph, synfire_layer layer,
                                                         const synfire_forward_desc *desc) {
  (void)graph, (void)layer, (void)desc;
  return SYNFIRE_OK;
}

synfire_status SYNFIRE_CALL synfire_graph_record_backward(synfire_graph graph, synfire_layer layer,
                                                          const synfire_backward_desc *desc) {
  (void)graph, (void)layer, (void)desc;
  return SYNFIRE_OK;
}

synfire_status SYNFIRE_CALL synfire_graph_instantiate(synfire_graph graph) {
  (void)graph;
  return SYNFIRE_OK;
}

synfire_status SYNFIRE_CALL synfire_graph_launch(synfire_graph graph, synfire_stream stream, uint64_t *ticket) {
  (void)graph, (void)stream;
  *ticket = ++launches;
  return SYNFIRE_OK;
}

synfire_status SYNFIRE_CALL synfire_graph_wait(synfire_graph graph, uint64_t ticket, int32_t policy,
                                               int64_t timeout_ns) {
  int i;
  (void)graph, (void)policy;
  if (failing) return SYNFIRE_ERROR_DEVICE_LOST;
  if (timeout_ns < 0)
    ++waits_for_ever;
  else if (waits_until_done-- > 0)
    return SYNFIRE_PENDING;
  for (i = 0; i < 4; ++i) words[i] = (uint32_t)ticket;
  return SYNFIRE_OK;
}

void SYNFIRE_CALL synfire_graph_destroy(synfire_graph graph) {
  destroyed += graph != NULL;
}
void SYNFIRE_CALL synfire_layer_destroy(synfire_layer layer) {
  destroyed += layer != NULL;
}
void SYNFIRE_CALL synfire_buffer_destroy(synfire_buffer buffer) {
  destroyed += buffer != NULL;
}
void SYNFIRE_CALL synfire_context_destroy(synfire_context context) {
  destroyed += context != NULL;
}

synfire_status SYNFIRE_CALL synfire_context_reclaim(synfire_context context, uint64_t *still_queued) {
  (void)context;
  if (still_queued != NULL) *still_queued = 0;
  return SYNFIRE_OK;
}

uint64_t SYNFIRE_CALL synfire_last_error(char *text, uint64_t capacity, int32_t *cuda_error) {
  if (cuda_error != NULL) *cuda_error = 0;
  return (uint64_t)snprintf(text, capacity, "the device is gone") + 1;
}

/* ---- The checks ------------------------------------------------------------------------------------------------ */

static int failures;

static void expect(int good, const char *what) {
  if (good) return;
  ++failures;
  fprintf(stderr, "failed: %s\n", what);
}

static void test_deadlines(ear *ears) {
  const int64_t hour = 3600000000000; /* no machine is so slow; nothing waits for it */
  bool late = true;

  expect(ear_launch(ears) && ear_wait(ears, clock_now() + hour, &late) && !late, "frame 1 is on time");
  expect(ears->spikes[0] == 1 && ears->previous_spikes[0] == 0, "before frame 1 there are no spikes");
  expect(ear_finish(ears) && waits_for_ever == 0, "a replay that is done is not waited for again");

  waits_until_done = 1; /* frame 2 is still running at its deadline */
  expect(ear_launch(ears) && ear_wait(ears, clock_now() + hour, &late) && late, "frame 2 is late");
  expect(ears->previous_spikes[0] == 1 && ears->previous_spikes[3] == 1, "at hand are the spikes of frame 1");
  expect(ear_finish(ears) && waits_for_ever == 1, "a late replay is waited for");
  expect(ears->spikes[0] == 2 && ears->previous_spikes[3] == 2, "and its spikes are the previous ones of frame 3");
  expect(ears->done >= ears->launched, "done comes after launched");

  expect(ear_launch(ears) && ear_wait(ears, clock_now() - 1, &late) && late,
         "frame 3 was done at once, but after its deadline: late too");
  expect(ear_finish(ears) && waits_for_ever == 1, "there is nothing left to wait for");

  failing = 1;
  expect(ear_launch(ears) && !ear_wait(ears, clock_now() + hour, &late), "a lost device is an error, not late");
  failing = 0;
}

int main(void) {
  const synfire_context_desc defaults = SYNFIRE_CONTEXT_DESC_INIT;
  ear_config config;
  ear ears;
  config.context = defaults;
  config.rate = 16000;
  config.n_steps = 2;
  config.n_channels = 32;
  config.population = 2;
  config.learn = true;
  config.watch = false;
  expect(ear_open(&ears, &config), "opens");
  expect(ears.n_neurons == 64 && ears.n_words == 2, "64 neurons are 2 words");
  test_deadlines(&ears);
  ear_close(&ears);
  expect(destroyed == 7, "context, layer, graph and four buffers are given back");
  ear_close(&ears);
  expect(destroyed == 7, "once");
  expect(ear_time_constant(0, 1) == 0.010, "one neuron has 10 ms");
  expect(ear_time_constant(0, 3) == 0.0025 && ear_time_constant(2, 3) == 0.040, "three have 2.5 ms to 40 ms");
  if (failures > 0) return EXIT_FAILURE;
  puts("deadlines: as expected");
  return EXIT_SUCCESS;
}
