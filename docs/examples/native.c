/* A native node between two layers, on the host: the weighted spikes of the first layer become the input of the
 * second. The first frames of the loop are in flight in two slots. On CUDA the callback would enqueue a kernel on
 * call->stream. */
#include <stdio.h>
#include <stdlib.h>

#include <synfire/synfire.h>

enum { n_steps = 4, n_neurons = 64, n_frames = 6 };

static void require(synfire_status status) {
  char text[512];
  if (status >= 0) return;
  synfire_last_error(text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(1);
}

static synfire_buffer make_buffer(synfire_context context, int32_t memory) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire_buffer buffer;
  desc.memory = memory;
  desc.n_elements = (uint64_t)n_steps * n_neurons;
  require(synfire_buffer_create(context, &desc, &buffer));
  return buffer;
}

/* [callback] */
static synfire_status SYNFIRE_CALL weigh(void *user, const synfire_native_call *call) {
  const float weight = *(const float *)user;
  const float *spikes = (const float *)call->reads[0].data;
  float *input = (float *)call->writes[0].data;
  uint64_t i;
  for (i = 0; i < call->writes[0].bytes / sizeof(float); ++i) input[i] = weight * spikes[i];
  return SYNFIRE_OK;
}
/* [callback] */

int main(void) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  synfire_graph_desc gd = SYNFIRE_GRAPH_DESC_INIT;
  synfire_forward_desc first_forward = SYNFIRE_FORWARD_DESC_INIT, second_forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
  synfire_context context;
  synfire_layer first, second;
  synfire_buffer x, spikes, input, out;
  synfire_graph graph;
  uint64_t ticket, n_spikes = 0, i;
  float weight = 1.5f;
  int frame;
  void *data;

  cd.backend = SYNFIRE_BACKEND_HOST;
  require(synfire_context_create(&cd, &context));
  ld.n_steps = n_steps;
  ld.n_neurons = n_neurons;
  require(synfire_layer_create(context, &ld, &first));
  require(synfire_layer_create(context, &ld, &second));
  x = make_buffer(context, SYNFIRE_MEMORY_PINNED);
  spikes = make_buffer(context, SYNFIRE_MEMORY_DEVICE);
  input = make_buffer(context, SYNFIRE_MEMORY_DEVICE);
  out = make_buffer(context, SYNFIRE_MEMORY_PINNED);
  gd.n_slots = 2;
  require(synfire_graph_create(context, &gd, &graph));
  first_forward.x = x;
  first_forward.spikes = spikes;
  require(synfire_graph_record_forward(graph, first, &first_forward));
  /* [record] */
  {
    synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
    native.callback = weigh;
    native.user = &weight;
    native.name = "weights";
    native.reads = &spikes;
    native.n_reads = 1;
    native.writes = &input;
    native.n_writes = 1;
    require(synfire_graph_record_native(graph, &native));
  }
  /* [record] */
  second_forward.x = input;
  second_forward.spikes = out;
  require(synfire_graph_record_forward(graph, second, &second_forward));
  require(synfire_graph_instantiate(graph));

  for (frame = 0; frame < n_frames; ++frame) {
    require(synfire_graph_get_slot(graph, 0, x, &data, NULL));
    for (i = 0; i < (uint64_t)n_steps * n_neurons; ++i) ((float *)data)[i] = (float)(i % 5);
    require(synfire_graph_launch(graph, NULL, &ticket));
    require(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1));
    require(synfire_graph_get_slot(graph, ticket, out, &data, NULL));
    for (i = 0; i < (uint64_t)n_steps * n_neurons; ++i) n_spikes += ((const float *)data)[i] != 0;
  }
  require(synfire_graph_get_statistics(graph, &statistics));
  printf("%d replays, %d late, %d spikes\n", (int)statistics.n_replays, (int)statistics.n_late_waits, (int)n_spikes);
  synfire_context_destroy(context);
  return n_spikes > 0 && statistics.n_replays == n_frames ? 0 : 1;
}
