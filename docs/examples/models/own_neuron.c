/* own_neuron.c - a neuron as a text in the program, from its formula to a layer that learns by backpropagation through
 * time. The steps of the page "Write your own neuron".
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>

enum { STEPS = 64, NEURONS = 32, ELEMENTS = STEPS * NEURONS, ROUNDS = 100 };

/* [text] */
static const char *const gain_lif =
    "#include <synfire/model/dual.hpp>\n"
    "#include <synfire/model/layout.hpp>\n"
    "SYNFIRE_MODEL_BEGIN\n"
    "// H = V + (gain*X - V)/tau, in units of the threshold; tau in steps.\n"
    "struct GainLif {\n"
    "  static constexpr const char* name = \"gain_lif\";\n"
    "  static constexpr int n_states = 1;\n"
    "  static constexpr int n_parameters = 2, n_constants = 2;\n"
    "  static constexpr double default_v_reset = 0.0;\n"
    "  static constexpr bool has_input_decay = false;\n"
    "  static constexpr bool slope_reads_input = false;\n"
    "  static constexpr ParameterSpec parameters[n_parameters] = {\n"
    "      {\"tau\", 4.0, 0.0, unbounded, true},           // name, default, minimum, maximum, minimum excluded\n"
    "      {\"gain\", 1.0, -unbounded, unbounded, false},\n"
    "  };\n"
    "  template <class T>  // from parameters to the constants of the formula\n"
    "  static SYNFIRE_MODEL_FN void derive(const T* values, bool, T* constants) {\n"
    "    constants[0] = Lift<T>::from(1.0) - inverse(values[0]);\n"
    "    constants[1] = values[1] * inverse(values[0]);\n"
    "  }\n"
    "  template <class C, class V, class X>\n"
    "  static SYNFIRE_MODEL_FN auto charge(const C* c, V v, X x) {\n"
    "    return fma(c[0], v, c[1] * x);\n"
    "  }\n"
    "};\n"
    "SYNFIRE_MODEL_END\n";
/* [text] */

static void check(synfire_status status) {
  char text[2048];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

static synfire_buffer array(synfire_context context, uint64_t n_elements) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.n_elements = n_elements;
  check(synfire_buffer_create(context, &desc, &buffer));
  return buffer;
}

int main(void) {
  static float x[ELEMENTS];
  synfire_context context;
  synfire_model model;
  synfire_layer layer;
  synfire_graph graph;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_rate_loss_desc loss = SYNFIRE_RATE_LOSS_DESC_INIT;
  synfire_update_parameter_desc update = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
  synfire_parameter_gradient gradient;
  uint64_t ticket;
  uint32_t random = 1;
  double gain;
  float first = 0, last = 0;
  int i;

  check(synfire_context_create(NULL, &context));

  /* [load] */
  synfire_load_desc load = SYNFIRE_LOAD_DESC_INIT;
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  load.text = gain_lif;
  load.name = "gain_lif"; /* struct GainLif */
  check(synfire_model_load(context, &load, &model));
  check(synfire_model_get_info(model, &info));
  /* [load] */

  /* [check] */
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  check(synfire_model_check(model, 1, 1000, &report));
  printf("largest error of a gradient: %.1e, values that are not finite: %d\n", report.largest_error,
         (int)report.n_non_finite);
  if (report.largest_error > 1e-6 || report.n_non_finite != 0) return EXIT_FAILURE;
  /* [check] */

  /* [layer] */
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.model = info.id;
  desc.n_steps = STEPS;
  desc.n_neurons = NEURONS;
  check(synfire_layer_create(context, &desc, &layer));
  /* [layer] */

  for (i = 0; i < ELEMENTS; ++i) {
    random = random * 1664525u + 1013904223u;
    x[i] = (float)(random >> 8) / 8388608.0f; /* 0 to 2 */
  }

  /* [train] */
  forward.x = array(context, ELEMENTS);
  forward.v_init = array(context, NEURONS);
  forward.spikes = array(context, ELEMENTS);
  check(synfire_buffer_upload(forward.x, 0, x, sizeof x));

  loss.n_steps = STEPS; /* every neuron is to fire in three steps of ten */
  loss.n_neurons = NEURONS;
  loss.target = 0.3;
  loss.strength = 1;
  loss.spikes = forward.spikes;
  loss.loss = array(context, 1);
  loss.grad_spike_seq = array(context, ELEMENTS);

  backward.grad_spike_seq = loss.grad_spike_seq;
  gradient.name = "gain"; /* of the text, like any parameter */
  gradient.gradient = array(context, 1);
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;

  update.name = "gain";
  update.gradient = gradient.gradient;
  update.learning_rate = 1;

  check(synfire_graph_create(context, NULL, &graph));
  check(synfire_graph_record_forward(graph, layer, &forward));
  check(synfire_graph_record_rate_loss(graph, &loss));
  check(synfire_graph_record_backward(graph, layer, &backward)); /* backpropagation through time */
  check(synfire_graph_record_update_parameter(graph, layer, &update));
  check(synfire_graph_instantiate(graph)); /* on a GPU, NVRTC compiles here */
  for (i = 0; i < ROUNDS; ++i) {
    check(synfire_graph_launch(graph, NULL, &ticket));
    check(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
    check(synfire_buffer_download(loss.loss, 0, &last, sizeof last));
    if (i == 0) first = last;
  }
  /* [train] */
  check(synfire_layer_get_parameter(layer, "gain", &gain, 1));
  printf("loss %.5f, after %d rounds %.5f; gain %.3f\n", (double)first, (int)ROUNDS, (double)last, gain);

  synfire_graph_destroy(graph);
  synfire_layer_destroy(layer);
  synfire_model_destroy(model);
  synfire_context_destroy(context);
  return last < 0.1f * first ? EXIT_SUCCESS : EXIT_FAILURE;
}
