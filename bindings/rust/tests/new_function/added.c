/* added.c - the functions of added.h, as simple as they can be.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <synfire/synfire.h>

struct synfire_delay_line_t {
  synfire_delay_line_desc desc;
  double gain;
};

static uint64_t n_lines;

synfire_status synfire_delay_line_create(synfire_context context, const synfire_delay_line_desc *desc,
                                         synfire_delay_line *line) {
  (void)context;
  if (desc->struct_size != sizeof(synfire_delay_line_desc) || !desc->source || !desc->first || desc->n_taps == 0)
    return SYNFIRE_ERROR_INVALID_ARGUMENT;
  *line = calloc(1, sizeof(struct synfire_delay_line_t));
  (*line)->desc = *desc;
  (*line)->gain = desc->n_delays ? desc->delays[desc->n_delays - 1] : 1.0;
  n_lines++;
  return SYNFIRE_OK;
}

void synfire_delay_line_destroy(synfire_delay_line line) {
  n_lines--;
  free(line);
}

synfire_status synfire_delay_line_set_gain(synfire_delay_line line, double gain) {
  line->gain = gain;
  return SYNFIRE_OK;
}

synfire_status synfire_delay_line_get_taps(synfire_delay_line line, double *values, uint64_t count) {
  uint64_t i;
  for (i = 0; i < count; i++) values[i] = line->gain * (double)i;
  return count == line->desc.n_taps ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
}

synfire_status synfire_delay_line_set_taps(synfire_delay_line line, const synfire_tap_values *taps, uint64_t n_taps) {
  uint64_t i;
  for (i = 0; i < n_taps; i++) {
    if (strcmp(taps[i].name, "gain") == 0) line->gain = taps[i].values[taps[i].count - 1];
  }
  return taps ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
}

/* The lines that there are, and the taps. */
synfire_status synfire_delay_line_query(synfire_delay_line line, synfire_delay_line_state *state) {
  if (state->struct_size != sizeof(synfire_delay_line_state)) return SYNFIRE_ERROR_STRUCT_SIZE;
  state->interpolation = line->desc.interpolation;
  state->empty = 1;
  state->peak = line->gain;
  state->used[0] = n_lines;
  state->used[1] = line->desc.n_taps;
  state->place = line->desc.memory ? "given" : NULL;
  memcpy(state->type, "delay", 6);
  return SYNFIRE_OK;
}

synfire_status synfire_delay_line_find(synfire_delay_line line, const char *name, int32_t closest,
                                       int32_t *interpolation, uint64_t *index) {
  *interpolation = line->desc.interpolation;
  *index = strlen(name) + (closest ? 100 : 0);
  return SYNFIRE_OK;
}

/* A text: its size first, with the terminating null, then all of it. */
static synfire_status give(const char *given, char *text, uint64_t capacity, uint64_t *length) {
  *length = strlen(given) + 1;
  if (!text) return capacity == 0 ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
  if (capacity < *length) return SYNFIRE_ERROR_INVALID_ARGUMENT;
  strcpy(text, given);
  return SYNFIRE_OK;
}

synfire_status synfire_delay_line_describe(synfire_delay_line line, const char *name, char *text, uint64_t capacity,
                                           uint64_t *length) {
  if (strcmp(name, "nothing") == 0) return SYNFIRE_ERROR_INVALID_ARGUMENT;
  return give(line->desc.n_taps == 1 ? "" : name, text, capacity, length);
}

synfire_status synfire_graph_write_names(synfire_graph graph, char *text, uint64_t capacity, uint64_t *length,
                                         int32_t *n_named) {
  *n_named = 2;
  return graph ? give("fill, delay", text, capacity, length) : SYNFIRE_ERROR_INVALID_HANDLE;
}

synfire_status synfire_delay_line_drain(synfire_delay_line line, synfire_buffer to, synfire_delay_line next,
                                        synfire_stream stream) {
  if (next) next->gain = line->gain;
  return stream ? SYNFIRE_ERROR_INVALID_ARGUMENT : synfire_buffer_fill(to, -line->gain);
}

/* A delay fills with the gain. */
synfire_status synfire_graph_record_delay(synfire_graph graph, synfire_delay_line line,
                                          const synfire_delay_desc *desc) {
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  fill.buffer = desc->x;
  fill.value = line->gain;
  return synfire_graph_record_fill(graph, &fill);
}

synfire_status synfire_delay_line_delay(synfire_delay_line line, const synfire_delay_desc *desc,
                                        synfire_stream stream) {
  if (desc->other) desc->other->gain = line->gain;
  return stream ? SYNFIRE_ERROR_INVALID_ARGUMENT : synfire_buffer_fill(desc->x, line->gain);
}

synfire_status synfire_layer_get_mean(synfire_layer layer, double *mean) {
  *mean = 0.25;
  return layer ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_HANDLE;
}

synfire_status synfire_layer_replace(synfire_layer layer, const synfire_layer *others, uint64_t n_others,
                                     synfire_stream stream) {
  return n_others == 2 && others[1] != layer && !stream ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
}

synfire_status synfire_buffer_get_largest(synfire_buffer buffer, double *value, uint64_t *index) {
  *value = 3.0;
  *index = 4;
  return buffer ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_HANDLE;
}

synfire_status synfire_buffer_sort(synfire_buffer buffer, synfire_buffer keys, synfire_stream stream) {
  return buffer != keys && !stream ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
}

synfire_status synfire_graph_get_runs(synfire_graph graph, int32_t operation, uint64_t *runs) {
  *runs = (uint64_t)operation + 7;
  return graph ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_HANDLE;
}

synfire_status synfire_graph_set_line(synfire_graph graph, int32_t operation, synfire_delay_line line,
                                      synfire_buffer memory) {
  (void)memory;
  return graph && line && operation == 0 ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
}

synfire_status synfire_context_set_name(synfire_context context, const char *name) {
  return context && name && strcmp(name, "one") == 0 ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
}

/* Compiled against, never called. */
synfire_status synfire_decode_rate(synfire_context context, const synfire_decode_rate_desc *desc,
                                   synfire_stream stream) {
  (void)context, (void)desc, (void)stream;
  return SYNFIRE_ERROR_UNSUPPORTED;
}

synfire_status synfire_graph_record_decode_rate(synfire_graph graph, const synfire_decode_rate_desc *desc) {
  (void)graph, (void)desc;
  return SYNFIRE_ERROR_UNSUPPORTED;
}

synfire_status synfire_layer_mix(synfire_layer layer, const synfire_mix_desc *desc, synfire_stream stream) {
  (void)layer, (void)desc, (void)stream;
  return SYNFIRE_ERROR_UNSUPPORTED;
}

synfire_status synfire_graph_record_mix(synfire_graph graph, synfire_layer layer, const synfire_mix_desc *desc) {
  (void)graph, (void)layer, (void)desc;
  return SYNFIRE_ERROR_UNSUPPORTED;
}
