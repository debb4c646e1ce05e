/* A user's program: one neuron, driven until it fires, using the installed library. Exits with 0 if it fires as
 * expected. */
#include <stdio.h>
#include <synfire/synfire.h>

static int failed(const char *what, synfire_status status) {
  char text[512];
  synfire_last_error(text, sizeof text, NULL);
  printf("%s: %s: %s\n", what, synfire_status_name(status), text);
  return 1;
}

int main(void) {
  static const float input[4] = {0.6f, 0.6f, 0.6f, 0.6f};
  static const float expected[4] = {0.0f, 1.0f, 0.0f, 1.0f};
  float spikes[4] = {-1.0f, -1.0f, -1.0f, -1.0f};
  synfire_context_desc context_desc = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc layer_desc = SYNFIRE_LAYER_DESC_INIT;
  synfire_buffer_desc buffer_desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_context context = NULL;
  synfire_layer layer = NULL;
  synfire_status status;
  int i;

  if (synfire_abi_version() != SYNFIRE_ABI_VERSION) {
    printf("header is ABI %u, library is ABI %u\n", (unsigned)SYNFIRE_ABI_VERSION, (unsigned)synfire_abi_version());
    return 1;
  }
  context_desc.backend = SYNFIRE_BACKEND_HOST;
  layer_desc.model = SYNFIRE_MODEL_IF;
  layer_desc.n_steps = 4;
  layer_desc.n_neurons = 1;
  buffer_desc.n_elements = 4;

  if ((status = synfire_context_create(&context_desc, &context)) != SYNFIRE_OK) return failed("context", status);
  if ((status = synfire_layer_create(context, &layer_desc, &layer)) != SYNFIRE_OK) return failed("layer", status);
  if ((status = synfire_buffer_create(context, &buffer_desc, &forward.x)) != SYNFIRE_OK) return failed("x", status);
  if ((status = synfire_buffer_create(context, &buffer_desc, &forward.spikes)) != SYNFIRE_OK)
    return failed("s", status);
  if ((status = synfire_buffer_upload(forward.x, 0, input, sizeof input)) != SYNFIRE_OK)
    return failed("upload", status);
  if ((status = synfire_layer_forward(layer, &forward, NULL)) != SYNFIRE_OK) return failed("forward", status);
  if ((status = synfire_buffer_download(forward.spikes, 0, spikes, sizeof spikes)) != SYNFIRE_OK) {
    return failed("download", status);
  }
  for (i = 0; i < 4; ++i) {
    if (spikes[i] != expected[i]) {
      printf("step %d: spike %g, expected %g\n", i, (double)spikes[i], (double)expected[i]);
      return 1;
    }
  }
  synfire_buffer_destroy(forward.x);
  synfire_buffer_destroy(forward.spikes);
  synfire_layer_destroy(layer);
  synfire_context_destroy(context);
  printf("%s\n", synfire_version_string());
  return 0;
}
