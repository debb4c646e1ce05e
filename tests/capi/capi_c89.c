/* A plain C89 program that uses the C ABI from end to end, with two layers. Prints what went wrong and returns 1, or
 * returns 0. */
#include <stdio.h>
#include <string.h>

#include <synfire/synfire.h>

#define N_STEPS 16
#define N_NEURONS 40
#define N_WORDS 2

static int n_failed = 0;

static void check(int condition, const char *what) {
  char text[512];
  if (condition) return;
  synfire_last_error(text, sizeof text, NULL);
  printf("failed: %s (last error: %s)\n", what, text);
  ++n_failed;
}

#define CHECK(condition) check((condition) != 0, #condition)

int main(void) {
  synfire_context_desc context_desc = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc layer_desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_buffer_desc x_desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer_desc spikes_desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer_desc gradient_desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_forward_desc forward_desc = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward_desc = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_copy_desc copy_desc = SYNFIRE_COPY_DESC_INIT;
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  synfire_graph_desc graph_desc = SYNFIRE_GRAPH_DESC_INIT;
  synfire_context context = NULL;
  synfire_layer layer = NULL;
  synfire_buffer x = NULL, spikes = NULL, spikes_copy = NULL, gradient = NULL, grad_x = NULL;
  synfire_graph graph = NULL;
  static float input[N_STEPS * N_NEURONS], grad_x_data[N_STEPS * N_NEURONS];
  uint32_t words[N_STEPS * N_WORDS], expected_word[N_WORDS];
  double tau = 2.0;
  uint64_t ticket = 0, still_queued = 1;
  int i, t, frame, fired;
  float v;

  CHECK(synfire_abi_version() == SYNFIRE_ABI_VERSION);
  CHECK(strlen(synfire_version_string()) > 0);
  CHECK(strcmp(synfire_status_name(SYNFIRE_OK), "SYNFIRE_OK") == 0);

  context_desc.backend = SYNFIRE_BACKEND_HOST;
  context_desc.n_threads = 1;
  CHECK(synfire_context_create(&context_desc, &context) == SYNFIRE_OK);
  CHECK(synfire_context_get_properties(context, &properties) == SYNFIRE_OK);
  CHECK(properties.backend == SYNFIRE_BACKEND_HOST && properties.n_threads == 1);

  layer_desc.n_steps = N_STEPS;
  layer_desc.n_neurons = N_NEURONS;
  CHECK(synfire_layer_query_memory(&layer_desc, &memory) == SYNFIRE_OK);
  CHECK(memory.state_bytes == (N_NEURONS * sizeof(float) + 255) / 256 * 256);
  CHECK(synfire_layer_create(context, &layer_desc, &layer) == SYNFIRE_OK);
  CHECK(synfire_layer_get_parameter_info(layer, 0, &info) == SYNFIRE_OK);
  CHECK(info.name != NULL && strcmp(info.name, "tau") == 0);
  CHECK(synfire_layer_set_parameter(layer, "tau", &tau, 1) == SYNFIRE_OK);

  /* Neurons 0 to 7 get an input that makes them fire in every third step, neuron 39 in every step, the others none. */
  for (t = 0; t < N_STEPS; ++t) {
    for (i = 0; i < N_NEURONS; ++i) {
      input[t * N_NEURONS + i] = i < 8 ? 1.15f : i == N_NEURONS - 1 ? 2.5f : 0.0f;
    }
  }
  x_desc.memory = SYNFIRE_MEMORY_PINNED;
  x_desc.n_elements = N_STEPS * N_NEURONS;
  CHECK(synfire_buffer_create(context, &x_desc, &x) == SYNFIRE_OK);
  CHECK(synfire_buffer_upload(x, 0, input, sizeof input) == SYNFIRE_OK);
  spikes_desc.memory = SYNFIRE_MEMORY_PINNED;
  spikes_desc.dtype = SYNFIRE_DTYPE_BITS;
  spikes_desc.n_elements = N_STEPS * N_WORDS;
  CHECK(synfire_buffer_create(context, &spikes_desc, &spikes) == SYNFIRE_OK);
  CHECK(synfire_buffer_create(context, &spikes_desc, &spikes_copy) == SYNFIRE_OK);
  gradient_desc.n_elements = N_STEPS * N_NEURONS;
  CHECK(synfire_buffer_create(context, &gradient_desc, &gradient) == SYNFIRE_OK);
  CHECK(synfire_buffer_create(context, &gradient_desc, &grad_x) == SYNFIRE_OK);
  CHECK(synfire_buffer_fill(gradient, 1.0) == SYNFIRE_OK);

  forward_desc.x = x;
  forward_desc.spikes = spikes;
  backward_desc.grad_spike_seq = gradient;
  backward_desc.grad_x_seq = grad_x;
  copy_desc.source = spikes;
  copy_desc.destination = spikes_copy;
  CHECK(synfire_graph_create(context, &graph_desc, &graph) == SYNFIRE_OK);
  CHECK(synfire_graph_record_forward(graph, layer, &forward_desc) == SYNFIRE_OK);
  CHECK(synfire_graph_record_backward(graph, layer, &backward_desc) == SYNFIRE_OK);
  CHECK(synfire_graph_record_copy(graph, &copy_desc) == SYNFIRE_OK);
  CHECK(synfire_graph_launch(graph, NULL, &ticket) == SYNFIRE_ERROR_WRONG_ORDER);
  CHECK(synfire_graph_instantiate(graph) == SYNFIRE_OK);

  /* The state continues from frame to frame, so the reference state does too: V = V + (X - V)/2, reset to 0 at 1. */
  v = 0.0f;
  for (frame = 0; frame < 3; ++frame) {
    CHECK(synfire_graph_launch(graph, NULL, &ticket) == SYNFIRE_OK);
    CHECK(ticket == (uint64_t)frame + 1);
    CHECK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, 1000000000) == SYNFIRE_OK);
    CHECK(synfire_buffer_download(spikes_copy, 0, words, sizeof words) == SYNFIRE_OK);
    for (t = 0; t < N_STEPS; ++t) {
      v = v + (1.15f - v) / 2;
      fired = v >= 1.0f;
      if (fired) v = 0.0f;
      expected_word[0] = fired ? 0xFFu : 0u;
      expected_word[1] = 1u << (N_NEURONS - 1 - 32);
      CHECK(memcmp(words + t * N_WORDS, expected_word, sizeof expected_word) == 0);
    }
  }
  CHECK(synfire_buffer_download(grad_x, 0, grad_x_data, sizeof grad_x_data) == SYNFIRE_OK);
  CHECK(grad_x_data[0] > 0.0f && grad_x_data[N_STEPS * N_NEURONS - 1] > 0.0f);

  synfire_context_destroy(context);
  synfire_layer_destroy(layer);
  synfire_buffer_destroy(x);
  synfire_buffer_destroy(spikes);
  synfire_buffer_destroy(spikes_copy);
  synfire_buffer_destroy(gradient);
  synfire_buffer_destroy(grad_x);
  CHECK(synfire_graph_poll(graph, ticket) == SYNFIRE_OK);
  synfire_graph_destroy(graph);
  CHECK(synfire_graph_poll(graph, ticket) == SYNFIRE_ERROR_INVALID_HANDLE);
  CHECK(synfire_context_reclaim(NULL, &still_queued) == SYNFIRE_OK);
  CHECK(still_queued == 0);

  if (n_failed == 0) printf("capi_c89: all checks passed\n");
  return n_failed == 0 ? 0 : 1;
}
