/* A process that used several threads forks; the child, which has only one, still replays, with the same result. */
#define _POSIX_C_SOURCE 200809L
#include <synfire/synfire.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { n_steps = 16, n_neurons = 100000 };

static void require(synfire_status status, const char *what) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s: %s\n", what, text);
  exit(2);
}

static synfire_buffer make_buffer(synfire_context context, int32_t dtype, uint64_t n) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.dtype = dtype;
  desc.n_elements = n;
  require(synfire_buffer_create(context, &desc, &buffer), "buffer");
  return buffer;
}

int main(void) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
  synfire_context context;
  synfire_layer layer;
  void *data;
  uint64_t bytes;
  unsigned char *before;
  pid_t child;
  int status = 0;

  cd.backend = SYNFIRE_BACKEND_HOST;
  cd.n_threads = 2;
  require(synfire_context_create(&cd, &context), "context");
  ld.n_steps = n_steps;
  ld.n_neurons = n_neurons;
  require(synfire_layer_create(context, &ld, &layer), "layer");
  fd.x = make_buffer(context, SYNFIRE_DTYPE_F32, (uint64_t)n_steps * n_neurons);
  fd.spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, (uint64_t)n_steps * ((n_neurons + 31) / 32));
  require(synfire_buffer_fill(fd.x, 0.9), "fill");
  require(synfire_layer_forward(layer, &fd, NULL), "forward");
  require(synfire_buffer_get_data(fd.spikes, &data, &bytes), "data");
  before = malloc(bytes);
  if (before == NULL) return 2;
  memcpy(before, data, bytes);

  child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    require(synfire_layer_reset_state(layer, NULL), "reset");
    require(synfire_layer_forward(layer, &fd, NULL), "forward in the child");
    _exit(memcmp(before, data, bytes) == 0 ? 0 : 1);
  }
  if (waitpid(child, &status, 0) != child) return 2;
  free(before);
  require(synfire_layer_reset_state(layer, NULL), "reset");
  require(synfire_layer_forward(layer, &fd, NULL), "forward in the parent");
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
