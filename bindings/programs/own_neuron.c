/* own_neuron.c - a neuron of one's own, loaded as text, that is an example of every binding, in C: a synaptic current
 * learns how fast to decay.
 *
 * 32 current-based LIF neurons receive the same noise in every replay. A teacher with a slower current determines at
 * which steps they should fire. One graph holds the whole training step: forward, dL/dS = 2 S - 2 wanted, backward, and
 * the update of tau_i.
 *
 * The bindings' programs must print exactly the same numbers.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>

enum { NEURONS = 32, STEPS = 48, EPOCHS = 30 };

/* W is the synaptic current I. All variables are those of the step before. */
static const char synaptic_lif[] =
    "// I[t] = (1 - 1/tau_i) I[t-1] + X[t],  H[t] = V[t-1] + (I[t] - V[t-1]) / tau\n"
    "#include <synfire/model/dual.hpp>\n"
    "#include <synfire/model/layout.hpp>\n"
    "\n"
    "SYNFIRE_MODEL_BEGIN\n"
    "\n"
    "struct SynapticLif {\n"
    "  static constexpr const char* name = \"synaptic_lif\";\n"
    "  static constexpr int n_states = 2;\n"
    "  static constexpr int n_parameters = 2;\n"
    "  static constexpr int n_constants = 3;\n"
    "  static constexpr double default_v_reset = 0.0;\n"
    "  static constexpr bool has_input_decay = false;\n"
    "  static constexpr ParameterSpec parameters[n_parameters] = {\n"
    "      {\"tau\", 4.0, 1.0, unbounded, false, nullptr, \"steps\"},\n"
    "      {\"tau_i\", 2.0, 1.0, unbounded, false, nullptr, \"steps\"},\n"
    "  };\n"
    "\n"
    "  template <class T>\n"
    "  static SYNFIRE_MODEL_FN void derive(const T* values, bool, T* constants) {\n"
    "    const T one = Lift<T>::from(1.0), rate = inverse(values[0]);\n"
    "    constants[0] = one - rate;\n"
    "    constants[1] = rate;\n"
    "    constants[2] = one - inverse(values[1]);\n"
    "  }\n"
    "\n"
    "  template <class C, class V, class I, class X>\n"
    "  static SYNFIRE_MODEL_FN auto charge(const C* c, V v, I i, X x) {\n"
    "    return fma(c[0], v, c[1] * fma(c[2], i, x));\n"
    "  }\n"
    "  template <class C, class V, class I, class X, class H, class S>\n"
    "  static SYNFIRE_MODEL_FN auto adapt(const C* c, V, I i, X x, H, S) {\n"
    "    return fma(c[2], i, x);\n"
    "  }\n"
    "};\n"
    "\n"
    "SYNFIRE_MODEL_END\n";

static void check(synfire_status status) {
  char text[1024];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

static synfire_buffer make_buffer(synfire_context context, int n_elements, void **data) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.n_elements = (uint64_t)n_elements;
  check(synfire_buffer_create(context, &desc, &buffer));
  check(synfire_buffer_get_data(buffer, data, NULL));
  return buffer;
}

/* Noise in [0, 2): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX), which is the same in
 * every language. */
static void write_noise(float *x) {
  uint64_t seed = 1;
  int i;
  for (i = 0; i < NEURONS * STEPS; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x[i] = 2.0F * (float)(seed >> 40) / 16777216.0F;
  }
}

static void record_scale_add(synfire_graph graph, double scale, synfire_buffer source, double keep,
                             synfire_buffer destination) {
  synfire_scale_add_desc desc = SYNFIRE_SCALE_ADD_DESC_INIT;
  desc.source = source;
  desc.destination = destination;
  desc.scale = scale;
  desc.keep = keep;
  check(synfire_graph_record_scale_add(graph, &desc));
}

static void print_bits(const float *values) {
  int i;
  for (i = 0; i < NEURONS; ++i) {
    union {
      float number;
      uint32_t bits;
    } exact;
    exact.number = values[i];
    printf("%08x\n", (unsigned)exact.bits);
  }
}

int main(void) {
  synfire_context_desc host = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_load_desc load = SYNFIRE_LOAD_DESC_INIT;
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_update_parameter_desc update = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
  synfire_parameter_gradient gradient = {"tau_i", NULL};
  synfire_context context;
  synfire_model model;
  synfire_layer layer;
  synfire_graph step;
  synfire_buffer wanted;
  void *x, *spikes, *wanted_spikes, *current, *grad_x, *ignored;
  const double teacher = 6.0, student = 2.0;
  int epoch, i;

  host.backend = SYNFIRE_BACKEND_HOST;
  check(synfire_context_create(&host, &context));
  load.text = synaptic_lif;
  load.name = "synaptic_lif";
  /* An hour: the tests of all languages find the compiled text in the cache after this. */
  load.time_out = 3600000000000u;
  check(synfire_model_load(context, &load, &model));
  check(synfire_model_get_info(model, &info));
  printf("%s: %d variables, %d parameters\n", info.name, info.n_states, info.n_parameters);

  desc.model = info.id;
  desc.n_neurons = NEURONS;
  desc.n_steps = STEPS;
  check(synfire_layer_create(context, &desc, &layer));
  synfire_model_destroy(model); /* the layer keeps what it needs */

  forward.x = make_buffer(context, NEURONS * STEPS, &x);
  forward.spikes = make_buffer(context, NEURONS * STEPS, &spikes);
  forward.v_init = make_buffer(context, NEURONS, &ignored);
  forward.w_init = make_buffer(context, NEURONS, &ignored);
  forward.w_final = make_buffer(context, NEURONS, &current);
  wanted = make_buffer(context, NEURONS * STEPS, &wanted_spikes);
  backward.grad_spike_seq = make_buffer(context, NEURONS * STEPS, &ignored);
  backward.grad_x_seq = make_buffer(context, NEURONS * STEPS, &grad_x);
  gradient.gradient = make_buffer(context, 1, &ignored);
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;

  write_noise(x);
  check(synfire_layer_set_parameter(layer, "tau_i", &teacher, 1));
  check(synfire_layer_forward(layer, &forward, NULL));
  for (i = 0; i < NEURONS * STEPS; ++i) ((float *)wanted_spikes)[i] = ((const float *)spikes)[i];

  check(synfire_layer_set_parameter(layer, "tau_i", &student, 1));
  check(synfire_graph_create(context, NULL, &step));
  check(synfire_graph_record_forward(step, layer, &forward));
  record_scale_add(step, 2.0, forward.spikes, 0.0, backward.grad_spike_seq);
  record_scale_add(step, -2.0, wanted, 1.0, backward.grad_spike_seq);
  check(synfire_graph_record_backward(step, layer, &backward));
  update.name = "tau_i";
  update.gradient = gradient.gradient;
  update.learning_rate = 0.001;
  check(synfire_graph_record_update_parameter(step, layer, &update));
  check(synfire_graph_instantiate(step));

  for (epoch = 0; epoch < EPOCHS; ++epoch) {
    uint64_t ticket;
    double tau_i;
    int loss = 0;
    check(synfire_graph_launch(step, NULL, &ticket));
    check(synfire_graph_wait(step, ticket, SYNFIRE_WAIT_SPIN, -1));
    for (i = 0; i < NEURONS * STEPS; ++i) loss += ((const float *)spikes)[i] != ((const float *)wanted_spikes)[i];
    check(synfire_layer_get_parameter(layer, "tau_i", &tau_i, 1));
    printf("%d %d %.6f\n", epoch, loss, tau_i);
  }
  print_bits(current); /* I after the last step, then dL/dX of the first */
  print_bits(grad_x);

  synfire_graph_destroy(step);
  synfire_layer_destroy(layer);
  synfire_buffer_destroy(forward.x);
  synfire_buffer_destroy(forward.spikes);
  synfire_buffer_destroy(forward.v_init);
  synfire_buffer_destroy(forward.w_init);
  synfire_buffer_destroy(forward.w_final);
  synfire_buffer_destroy(wanted);
  synfire_buffer_destroy(backward.grad_spike_seq);
  synfire_buffer_destroy(backward.grad_x_seq);
  synfire_buffer_destroy(gradient.gradient);
  synfire_context_destroy(context);
  check(synfire_context_reclaim(NULL, NULL));
  return EXIT_SUCCESS;
}
