/* neurons.c - each model in a dozen lines: one neuron, a constant input, its spikes.
 *
 * The examples of the pages on models, compiled and run by the tests, with the results that each must have.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>

enum { STEPS = 300 };

/* Stops at the first error. */
static void check(synfire_status status) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

/* Checks a claim of an example; ends the program if it does not hold. */
static void expect(int holds, const char *claim) {
  if (holds) return;
  fprintf(stderr, "this does not hold: %s\n", claim);
  exit(EXIT_FAILURE);
}

/* n elements of f32 with the value `value`. */
static synfire_buffer array(synfire_context context, uint64_t n, double value) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.n_elements = n;
  check(synfire_buffer_create(context, &desc, &buffer));
  check(synfire_buffer_fill(buffer, value));
  return buffer;
}

/* The steps at which one neuron fired, in `at`. Returns how often. Frees what the example created. */
static int spikes_of(synfire_layer layer, synfire_forward_desc *forward, int at[STEPS]) {
  float dense[STEPS];
  int t, n = 0;
  check(synfire_buffer_download(forward->spikes, 0, dense, sizeof dense));
  for (t = 0; t < STEPS; ++t)
    if (dense[t] != 0) at[n++] = t;
  synfire_buffer_destroy(forward->x);
  synfire_buffer_destroy(forward->spikes);
  synfire_layer_destroy(layer);
  return n;
}

static void show(const char *model, int n, const int *at) {
  printf("%-24s %3d spikes in %d steps", model, n, (int)STEPS);
  if (n > 1) printf(", the first at %d and %d", at[0], at[1]);
  printf("\n");
}

static void run_if(synfire_context context) {
  int at[STEPS], n;
  /* [if] */
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  desc.model = SYNFIRE_MODEL_IF;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  desc.reset = SYNFIRE_RESET_SOFT; /* keeps the excess over the threshold: an exact rate on average */
  check(synfire_layer_create(context, &desc, &layer));
  forward.x = array(context, STEPS, 0.375); /* three spikes every eight steps */
  forward.spikes = array(context, STEPS, 0);
  check(synfire_layer_forward(layer, &forward, NULL));
  /* [if] */
  n = spikes_of(layer, &forward, at);
  show("if, soft reset", n, at);
  expect(n == STEPS * 3 / 8 && at[0] == 2 && at[1] == 5 && at[2] == 7, "IF fires three times in eight steps");
}

static void run_lif(synfire_context context) {
  int at[STEPS], n, first;
  const double x = 1.5;
  /* [lif] */
  const double tau = 10.0; /* steps */
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  desc.model = SYNFIRE_MODEL_LIF;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));
  forward.x = array(context, STEPS, x);
  forward.spikes = array(context, STEPS, 0);
  check(synfire_layer_forward(layer, &forward, NULL));
  /* [lif] */
  n = spikes_of(layer, &forward, at);
  show("lif", n, at);
  first = (int)ceil(log(1 - 1 / x) / log(1 - 1 / tau)); /* steps from 0 to the threshold */
  expect(at[0] == first - 1 && at[1] == 2 * first - 1 && n == STEPS / first, "LIF fires when the formula says");
}

static void run_plif(synfire_context context) {
  int at[STEPS], n;
  float slope;
  double reciprocal_tau;
  /* [plif] */
  const double tau = 8.0;
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_parameter_gradient gradient = {"reciprocal_tau", NULL};
  desc.model = SYNFIRE_MODEL_PLIF;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1)); /* stores 1/tau */
  check(synfire_layer_get_parameter(layer, "reciprocal_tau", &reciprocal_tau, 1));
  forward.x = array(context, STEPS, 1.5);
  forward.spikes = array(context, STEPS, 0);
  check(synfire_layer_forward(layer, &forward, NULL));
  backward.grad_spike_seq = array(context, STEPS, 1); /* L = the number of spikes */
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;
  gradient.gradient = array(context, 1, 0); /* dL/d(1/tau), one number */
  check(synfire_layer_backward(layer, &backward, NULL));
  /* [plif] */
  check(synfire_buffer_download(gradient.gradient, 0, &slope, sizeof slope));
  synfire_buffer_destroy(gradient.gradient);
  synfire_buffer_destroy(backward.grad_spike_seq);
  n = spikes_of(layer, &forward, at);
  show("plif", n, at);
  expect(reciprocal_tau == 0.125, "1/tau is stored");
  expect(slope > 0, "a shorter time constant lets PLIF fire more");
}

static int run_qif_with(synfire_context context, double x, int at[STEPS]) {
  /* [qif] */
  const double tau = 4.0, v_c = 0.8, a0 = 1.0; /* steps, potential, 1/potential */
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  desc.model = SYNFIRE_MODEL_QIF;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));
  check(synfire_layer_set_parameter(layer, "v_c", &v_c, 1));
  check(synfire_layer_set_parameter(layer, "a0", &a0, 1));
  forward.x = array(context, STEPS, x); /* fires for ever above a0 (v_c - v_rest)^2 / 4 = 0.16, never below */
  forward.spikes = array(context, STEPS, 0);
  check(synfire_layer_forward(layer, &forward, NULL));
  /* [qif] */
  return spikes_of(layer, &forward, at);
}

static void run_qif(synfire_context context) {
  int at[STEPS];
  const int below = run_qif_with(context, 0.155, at), above = run_qif_with(context, 0.2, at);
  show("qif above its rheobase", above, at);
  expect(below == 0 && above > 1, "QIF fires above its rheobase only");
}

static int run_eif_with(synfire_context context, double x, int at[STEPS]) {
  /* [eif] */
  const double tau = 4.0, delta_t = 0.1, theta_rh = 0.8; /* steps, potential, potential */
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  desc.model = SYNFIRE_MODEL_EIF;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));
  check(synfire_layer_set_parameter(layer, "delta_T", &delta_t, 1));
  check(synfire_layer_set_parameter(layer, "theta_rh", &theta_rh, 1));
  forward.x = array(context, STEPS, x); /* fires for ever above theta_rh - v_rest - delta_T = 0.7, never below */
  forward.spikes = array(context, STEPS, 0);
  check(synfire_layer_forward(layer, &forward, NULL));
  /* [eif] */
  return spikes_of(layer, &forward, at);
}

/* With every parameter at its default the rheobase is negative: the neuron fires without input. */
static int run_eif_by_default(synfire_context context, int at[STEPS]) {
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  desc.model = SYNFIRE_MODEL_EIF;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  check(synfire_layer_create(context, &desc, &layer));
  forward.x = array(context, STEPS, 0);
  forward.spikes = array(context, STEPS, 0);
  check(synfire_layer_forward(layer, &forward, NULL));
  return spikes_of(layer, &forward, at);
}

static void run_eif(synfire_context context) {
  int at[STEPS];
  const int below = run_eif_with(context, 0.69, at), by_default = run_eif_by_default(context, at),
            above = run_eif_with(context, 0.75, at);
  show("eif above its rheobase", above, at);
  expect(below == 0 && above > 1, "EIF fires above its rheobase only");
  expect(by_default > 1, "EIF fires without input when delta_T exceeds theta_rh - v_rest");
}

static void run_izhikevich(synfire_context context) {
  int at[STEPS], n, i;
  float w[STEPS];
  /* [izhikevich] */
  const double tau = 10.0, tau_w = 40.0, a = 0.2, b = 0.15; /* steps, steps, W per potential, W per spike */
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  desc.model = SYNFIRE_MODEL_IZHIKEVICH;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));
  check(synfire_layer_set_parameter(layer, "tau_w", &tau_w, 1));
  check(synfire_layer_set_parameter(layer, "a", &a, 1));
  check(synfire_layer_set_parameter(layer, "b", &b, 1));
  forward.x = array(context, STEPS, 1.0);
  forward.spikes = array(context, STEPS, 0);
  forward.w_seq = array(context, STEPS, 0); /* W after every step */
  check(synfire_layer_forward(layer, &forward, NULL));
  /* [izhikevich] */
  check(synfire_buffer_download(forward.w_seq, 0, w, sizeof w));
  synfire_buffer_destroy(forward.w_seq);
  n = spikes_of(layer, &forward, at);
  show("izhikevich", n, at);
  expect(n > 8, "Izhikevich goes on firing");
  for (i = 2; i < 6; ++i)
    expect(at[i] - at[i - 1] > at[i - 1] - at[i - 2], "each interval is longer than the one before");
  expect(w[at[2]] > w[at[1]] && w[at[1]] > w[at[0]] && w[at[0]] > 0, "W grows with each of the first spikes");
}

static void run_alif(synfire_context context) {
  int at[STEPS], n;
  float a[STEPS];
  /* [alif] */
  const double tau = 10.0, rho = 0.97, beta_a = 1.8; /* steps, a fraction kept in each step, potential */
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  desc.model = SYNFIRE_MODEL_ALIF;
  desc.reset = SYNFIRE_RESET_SOFT;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));
  check(synfire_layer_set_parameter(layer, "rho", &rho, 1));
  check(synfire_layer_set_parameter(layer, "beta_a", &beta_a, 1));
  forward.x = array(context, STEPS, 2.0);
  forward.spikes = array(context, STEPS, 0);
  forward.w_seq = array(context, STEPS, 0); /* a after every step */
  check(synfire_layer_forward(layer, &forward, NULL));
  /* [alif] */
  check(synfire_buffer_download(forward.w_seq, 0, a, sizeof a));
  synfire_buffer_destroy(forward.w_seq);
  n = spikes_of(layer, &forward, at);
  show("alif", n, at);
  expect(n > 3, "ALIF fires");
  expect(at[2] - at[1] > at[1] - at[0], "its intervals grow");
  expect(a[at[2]] > a[at[1]] && a[at[1]] > a[at[0]] && a[at[0]] > 0, "a grows with each of the first spikes");
}

static void run_li(synfire_context context) {
  float v;
  const double x = 1.5, n = STEPS;
  /* [li] */
  const double tau = 20.0; /* steps */
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  desc.model = SYNFIRE_MODEL_LI;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));
  forward.x = array(context, STEPS, x);
  forward.v_seq = array(context, STEPS, 0); /* V of every step is what it gives; there are no spikes */
  check(synfire_layer_forward(layer, &forward, NULL));
  /* [li] */
  check(synfire_buffer_download(forward.v_seq, (STEPS - 1) * sizeof v, &v, sizeof v));
  synfire_buffer_destroy(forward.x);
  synfire_buffer_destroy(forward.v_seq);
  synfire_layer_destroy(layer);
  printf("%-16s V = %.4f after %d steps\n", "li", v, STEPS);
  expect(fabs(v - x * (1 - pow(1 - 1 / tau, n))) < 1e-5, "LI approaches X as the formula says");
}

/* An input every 25 steps becomes a current, and the current a V. */
static void run_cuba(synfire_context context) {
  int at[STEPS], n, i;
  float x[STEPS] = {0}, current[STEPS];
  /* [cuba] */
  const double tau = 10.0, tau_syn = 5.0, gain = 20.0,
               input_gain = 5.0; /* steps, steps, potential per current, current per X */
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  desc.model = SYNFIRE_MODEL_CUBA_LIF;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));
  check(synfire_layer_set_parameter(layer, "tau_syn", &tau_syn, 1));
  check(synfire_layer_set_parameter(layer, "gain", &gain, 1));
  check(synfire_layer_set_parameter(layer, "input_gain", &input_gain, 1));
  forward.x = array(context, STEPS, 0);
  forward.spikes = array(context, STEPS, 0);
  forward.w_seq = array(context, STEPS, 0); /* the current after every step */
  /* [cuba] */
  for (i = 0; i < STEPS; i += 25) x[i] = 0.2f;
  check(synfire_buffer_upload(forward.x, 0, x, sizeof x));
  check(synfire_layer_forward(layer, &forward, NULL));
  check(synfire_buffer_download(forward.w_seq, 0, current, sizeof current));
  synfire_buffer_destroy(forward.w_seq);
  n = spikes_of(layer, &forward, at);
  show("cuba_lif", n, at);
  expect(fabs(current[0] - 0.2) < 1e-6 && fabs(current[1] - 0.16) < 1e-6, "a current decays by 1 - 1/tau_syn");
  for (i = 0; i < n; ++i) expect(at[i] % 25 > 0 && at[i] % 25 < 15, "each spike follows an input after a delay");
  expect(n > 1, "the current-based LIF fires");
}

/* V of LIF by its exact solution, and the integrator that forgets nothing. */
static void run_exact(synfire_context context) {
  int at[STEPS];
  /* [exact] */
  const double tau = 10.0, x = 1.5; /* steps, X */
  synfire_layer layer;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  desc.model = SYNFIRE_MODEL_LIF_EXACT;
  desc.n_steps = STEPS;
  desc.n_neurons = 1;
  check(synfire_layer_create(context, &desc, &layer));
  check(synfire_layer_set_parameter(layer, "tau", &tau, 1));
  forward.x = array(context, STEPS, x);
  forward.spikes = array(context, STEPS, 0);
  check(synfire_layer_forward(layer, &forward, NULL)); /* V would reach 1 after tau * log(x / (x - 1)) = 10.99 steps */
  /* [exact] */
  show("lif_exact", spikes_of(layer, &forward, at), at);
  expect(at[0] == 10, "the exact LIF fires in the step in which V reaches its threshold");
}

int main(void) {
  synfire_context context;
  check(synfire_context_create(NULL, &context));
  run_if(context);
  run_lif(context);
  run_plif(context);
  run_qif(context);
  run_eif(context);
  run_izhikevich(context);
  run_alif(context);
  run_li(context);
  run_cuba(context);
  run_exact(context);
  synfire_context_destroy(context);
  check(synfire_context_reclaim(NULL, NULL));
  return EXIT_SUCCESS;
}
