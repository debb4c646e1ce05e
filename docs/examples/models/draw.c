/* draw.c - how the neurons of this folder answer to input, one picture each: input, potential, the other variables,
 * spikes.
 *
 *     draw MODELS FOLDER        reads MODELS/NAME.hpp and writes FOLDER/own-NAME.svg
 *
 * Shows synfire_model_load(), and state variables by their names. A model that the library has already, because
 * synfire_add_model() added it, is found by its name instead. The host computes in f64, so every machine draws the
 * same.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <synfire/synfire.h>

#include "panels.h"

enum { MAX_STEPS = 300, MAX_FURTHER = 3 };

typedef struct Setting {
  const char *name;
  double value;
} Setting;

typedef struct Scene {
  const char *name, *title, *subtitle;
  int n_steps;
  double (*input)(int t);
  int n_further;
  const char *further[MAX_FURTHER], *further_titles[MAX_FURTHER];
  double v_threshold;
  Setting start[3];      /* of state variables, those that do not begin as usual */
  Setting parameters[3]; /* those that differ from their defaults */
} Scene;

static void check(synfire_status status) {
  char text[2048];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "draw: %s\n", text);
  exit(EXIT_FAILURE);
}

/* ---- scenes ----------------------------------------------------------------------------------------------------- */

static double up_and_down(int t) {
  return t < 10 ? 0 : t < 50 ? 1.6 : t < 75 ? -1.2 : 1.6;
}
static double pulses(int t) {
  return t == 10 || (t >= 50 && t < 90 && t % 8 == 2) ? 2.4 : 0;
}
static double a_step(int t) {
  return t >= 20 && t < 220 ? 2 : 0;
}
static double ten_millivolts(int t) {
  return t >= 20 && t < 180 ? 10 : 0;
}
/* Pairs of pulses, half a period and a whole period apart. */
static double pairs(int t) {
  return t == 10 || t == 22 || t == 120 || t == 145 ? 0.8 : 0;
}
static double push_and_pull(int t) {
  const int excites = t >= 10 && t % 6 == 4, inhibits = t >= 70 && t < 110 && t % 6 == 1;
  return excites ? 0.35 : inhibits ? -0.9 : 0;
}

static const Scene scenes[] = {
    {"klif",
     "KLIF: scaled, and never below 0",
     "tau = 10, relu_k = 1.02, hard reset",
     100,
     up_and_down,
     0,
     {0},
     {0},
     1,
     {{0}},
     {{"tau", 10}, {"relu_k", 1.02}}},
    {"current_based_lif",
     "Current-based LIF: input lingers",
     "pulses of X, every parameter at its default, hard reset",
     120,
     pulses,
     1,
     {"current"},
     {"I, the synaptic current"},
     1,
     {{0}},
     {{0}}},
    {"adaptive_lif",
     "Adaptive LIF: it fires ever more slowly",
     "a step of X, every parameter at its default, hard reset",
     250,
     a_step,
     1,
     {"w"},
     {"W, adaptation"},
     1,
     {{0}},
     {{0}}},
    {"izhikevich_2003",
     "Izhikevich 2003: regular spiking",
     "a step of X of 10 mV/ms, the defaults, steps of 1 ms",
     200,
     ten_millivolts,
     1,
     {"u"},
     {"u, recovery (mV)"},
     30,
     {{"v", -70}, {"u", -14}},
     {{0}}},
    {"resonate_and_fire",
     "Resonate-and-fire: two pulses, a period apart",
     "pairs of pulses, every parameter at its default",
     200,
     pairs,
     1,
     {"current"},
     {"the current"},
     1,
     {{0}},
     {{0}}},
    {"conductance_based_lif",
     "Conductances that excite and inhibit",
     "X above 0 excites, X below 0 inhibits; the defaults",
     150,
     push_and_pull,
     2,
     {"g_e", "g_i"},
     {"g_e, excitatory conductance", "g_i, inhibitory conductance"},
     1,
     {{0}},
     {{0}}},
};

/* ---- one run ---------------------------------------------------------------------------------------------------- */

typedef struct Run {
  double x[MAX_STEPS], s[MAX_STEPS], h[MAX_STEPS], v[MAX_STEPS], further[MAX_FURTHER][MAX_STEPS];
} Run;

/* The id of a model: of the library's own of this name, or of the text. */
static int32_t model_of(synfire_context context, const char *folder, const char *name, synfire_model *loaded) {
  synfire_load_desc desc = SYNFIRE_LOAD_DESC_INIT;
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  char file[4096];
  int32_t id;
  *loaded = NULL;
  if (synfire_model_id(name, &id) == SYNFIRE_OK) return id;
  snprintf(file, sizeof file, "%s/%s.hpp", folder, name);
  desc.file = file;
  check(synfire_model_load(context, &desc, loaded));
  check(synfire_model_get_info(*loaded, &info));
  return info.id;
}

static synfire_buffer array(synfire_context context, int n) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.n_elements = (uint64_t)n;
  desc.dtype = SYNFIRE_DTYPE_F64;
  check(synfire_buffer_create(context, &desc, &buffer));
  return buffer;
}

static void take(synfire_buffer buffer, double *values, int n) {
  check(synfire_buffer_download(buffer, 0, values, (uint64_t)n * sizeof(double)));
  synfire_buffer_destroy(buffer);
}

static void run(synfire_context context, const char *folder, const Scene *scene, Run *result) {
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_state_buffer further[MAX_FURTHER];
  synfire_model model;
  synfire_layer layer;
  int i, t;

  desc.model = model_of(context, folder, scene->name, &model);
  desc.n_steps = scene->n_steps;
  desc.n_neurons = 1;
  desc.dtype = SYNFIRE_DTYPE_F64;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "v_threshold", &scene->v_threshold, 1));
  for (i = 0; i < 3 && scene->parameters[i].name != NULL; ++i)
    check(synfire_layer_set_parameter(layer, scene->parameters[i].name, &scene->parameters[i].value, 1));
  /* [states by name] */
  for (i = 0; i < 3 && scene->start[i].name != NULL; ++i)
    check(synfire_layer_write_state(layer, scene->start[i].name, &scene->start[i].value, sizeof(double)));

  for (i = 0; i < scene->n_further; ++i) {
    further[i].name = scene->further[i]; /* "g_e" */
    further[i].buffer = array(context, scene->n_steps);
  }
  forward.state_seq = further;
  forward.n_state_seq = (uint64_t)scene->n_further;
  /* [states by name] */
  for (t = 0; t < scene->n_steps; ++t) result->x[t] = scene->input(t);
  forward.x = array(context, scene->n_steps);
  forward.spikes = array(context, scene->n_steps);
  forward.h_seq = array(context, scene->n_steps);
  forward.v_seq = array(context, scene->n_steps);
  check(synfire_buffer_upload(forward.x, 0, result->x, (uint64_t)scene->n_steps * sizeof(double)));
  check(synfire_layer_forward(layer, &forward, NULL));
  synfire_buffer_destroy(forward.x);
  take(forward.spikes, result->s, scene->n_steps);
  take(forward.h_seq, result->h, scene->n_steps);
  take(forward.v_seq, result->v, scene->n_steps);
  for (i = 0; i < scene->n_further; ++i) take(further[i].buffer, result->further[i], scene->n_steps);
  synfire_layer_destroy(layer);
  synfire_model_destroy(model);
}

/* ---- one picture ------------------------------------------------------------------------------------------------ */

/* H, and V at the same step after a spike, which thus shows as a drop. H of a spike is cut off where the model leaps
 * far over its threshold, as in drawings of the paper. Returns the number of points. */
static int membrane_of(const Scene *scene, const Run *r, double *steps, double *values) {
  const double top = scene->v_threshold > 1 ? scene->v_threshold : 1e9;
  int t, n = 0;
  for (t = 0; t < scene->n_steps; ++t) {
    steps[n] = t;
    values[n++] = r->h[t] < top ? r->h[t] : top;
    if (r->s[t] != 0) {
      steps[n] = t;
      values[n++] = r->v[t];
    }
  }
  return n;
}

static void draw(FILE *out, const Scene *scene, const Run *r) {
  static const char *const colors[MAX_FURTHER] = {PANEL_ORANGE, PANEL_GREEN, PANEL_GREY};
  double steps[2 * MAX_STEPS + 1], values[2 * MAX_STEPS + 1], top = 76;
  Panel panel;
  int i, t, n;

  picture_begin(out, 418 + 112 * scene->n_further, scene->title, scene->subtitle);
  for (t = n = 0; t < scene->n_steps; ++t) { /* X as a staircase */
    steps[n] = t;
    values[n++] = r->x[t];
    steps[n] = t + 1;
    values[n++] = r->x[t];
  }
  panel = panel_for(top, 56, scene->n_steps, r->x, scene->n_steps);
  panel_values(out, &panel);
  panel_frame(out, &panel, "X, input");
  panel_line(out, &panel, steps, values, n, PANEL_GREY);
  top += panel.height + 28;

  n = membrane_of(scene, r, steps, values);
  values[n] = scene->v_threshold; /* always visible */
  panel = panel_for(top, 150, scene->n_steps, values, n + 1);
  panel_values(out, &panel);
  panel_level(out, &panel, scene->v_threshold);
  panel_frame(out, &panel,
              scene->v_threshold > 1 ? "H, and V after a spike (mV); dashed: v_threshold"
                                     : "H, and V after a spike; dashed: v_threshold");
  panel_line(out, &panel, steps, values, n, PANEL_BLUE);
  top += panel.height + 28;

  for (t = 0; t < scene->n_steps; ++t) steps[t] = t;
  for (i = 0; i < scene->n_further; ++i) {
    panel = panel_for(top, 84, scene->n_steps, r->further[i], scene->n_steps);
    panel_values(out, &panel);
    panel_frame(out, &panel, scene->further_titles[i]);
    panel_line(out, &panel, steps, r->further[i], scene->n_steps, colors[i]);
    top += panel.height + 28;
  }
  panel = panel_for(top, 24, scene->n_steps, NULL, 0);
  panel_spikes(out, &panel, r->s, PANEL_BLUE);
  panel_frame(out, &panel, "S, spikes");
  panel_steps(out, &panel);
  picture_end(out);
}

int main(int argc, char **argv) {
  static Run result;
  synfire_context_desc on_host = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_context context;
  size_t i;
  if (argc != 3) {
    fprintf(stderr, "usage: draw MODELS FOLDER\n\nReads MODELS/NAME.hpp and writes FOLDER/own-NAME.svg.\n");
    return 2;
  }
  on_host.backend = SYNFIRE_BACKEND_HOST;
  check(synfire_context_create(&on_host, &context));
  for (i = 0; i < sizeof scenes / sizeof scenes[0]; ++i) {
    char path[4096];
    FILE *out;
    int failed;
    run(context, argv[1], &scenes[i], &result);
    snprintf(path, sizeof path, "%s/own-%s.svg", argv[2], scenes[i].name);
    out = fopen(path, "wb");
    if (out == NULL) {
      perror(path);
      return EXIT_FAILURE;
    }
    draw(out, &scenes[i], &result);
    failed = ferror(out);
    if (fclose(out) != 0 || failed) {
      fprintf(stderr, "draw: %s cannot be written\n", path);
      return EXIT_FAILURE;
    }
  }
  synfire_context_destroy(context);
  return EXIT_SUCCESS;
}
