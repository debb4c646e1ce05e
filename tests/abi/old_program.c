/* A program for ABI 0.1: it is compiled against synfire-0.1.h, the header as recorded then, and uses every structure
 * in it. CMakeLists.txt links it with the library of this build and with one whose structures have grown.
 *
 * Each structure ends at the start of an inaccessible page, so that a library that reads or writes beyond struct_size
 * crashes the program. Each is first passed one byte too short and one byte too long: no version has such a size, and
 * a library whose structures have grown must refuse it. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "synfire-0.1.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int n_failed = 0;
static int grown = 0;
static char *page_end;

static void check(int condition, const char *what) {
  char text[512];
  if (condition) return;
  synfire_last_error(text, sizeof text, NULL);
  printf("failed: %s; last error: %s\n", what, text);
  ++n_failed;
}

static int last_error_is(const char *rule) {
  char text[512];
  synfire_last_error(text, sizeof text, NULL);
  return strncmp(text + 1, rule, strlen(rule)) == 0;
}

static void make_page(void) {
  const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  char *const pages = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + bytes, bytes, PROT_NONE) != 0) exit(2);
  page_end = pages + bytes;
}

/* Runs `call` with `placed` pointing to a copy of `desc` that ends at the page boundary.
 * NOLINTBEGIN(bugprone-macro-parentheses): `type` is a type. */
#define TRY(type, desc, call)                                                                                  \
  do {                                                                                                         \
    type *placed = (type *)(void *)(page_end - sizeof(type));                                                  \
    *placed = (desc);                                                                                          \
    placed->struct_size = (uint32_t)sizeof(type) - 1;                                                          \
    check((call) == SYNFIRE_ERROR_STRUCT_SIZE && last_error_is("SYN-STRUCT-SMALL"), "one byte short: " #call); \
    if (grown) {                                                                                               \
      placed = (type *)(void *)(page_end - sizeof(type) - 8);                                                  \
      memset(placed, 0, sizeof(type) + 8);                                                                     \
      *placed = (desc);                                                                                        \
      placed->struct_size = (uint32_t)sizeof(type) + 1;                                                        \
      check((call) == SYNFIRE_ERROR_STRUCT_SIZE && last_error_is("SYN-STRUCT-SIZE"), "one byte long: " #call); \
    }                                                                                                          \
    placed = (type *)(void *)(page_end - sizeof(type));                                                        \
    *placed = (desc);                                                                                          \
    check((call) == SYNFIRE_OK, #call);                                                                        \
  } while (0)
/* NOLINTEND(bugprone-macro-parentheses) */

enum { n_steps = 4, n_neurons = 8, n_elements = n_steps * n_neurons };

static synfire_context context;
static synfire_layer layer, twin, plif;
static synfire_graph graph;
static synfire_buffer x, spikes, grad, grad_x, counts, snapshot, value, state;
static int n_calls = 0;

static synfire_status SYNFIRE_CALL native(void *user, const synfire_native_call *call) {
  ++*(int *)user;
  check(call->struct_size >= sizeof(synfire_native_call), "a native call of the size in ABI 0.1");
  check(call->n_reads == 1 && call->reads[0].bytes == n_elements * sizeof(float), "a native call's memory");
  return SYNFIRE_OK;
}

static synfire_buffer buffer_of(int32_t dtype, uint64_t elements) {
  synfire_buffer buffer = NULL;
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_HOST;
  desc.dtype = dtype;
  desc.n_elements = elements;
  TRY(synfire_buffer_desc, desc, synfire_buffer_create(context, placed, &buffer));
  return buffer;
}

static synfire_layer layer_of(int32_t model) {
  synfire_layer created = NULL;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.model = model;
  desc.n_steps = n_steps;
  desc.n_neurons = n_neurons;
  desc.detach_reset = 1;
  TRY(synfire_layer_desc, desc, synfire_layer_create(context, placed, &created));
  return created;
}

static void create(void) {
  const synfire_graph_desc graph_desc = SYNFIRE_GRAPH_DESC_INIT;
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  desc.n_threads = 1;
  TRY(synfire_context_desc, desc, synfire_context_create(placed, &context));
  x = buffer_of(SYNFIRE_DTYPE_F32, n_elements);
  spikes = buffer_of(SYNFIRE_DTYPE_F32, n_elements);
  grad = buffer_of(SYNFIRE_DTYPE_F32, n_elements);
  grad_x = buffer_of(SYNFIRE_DTYPE_F32, n_elements);
  counts = buffer_of(SYNFIRE_DTYPE_U32, n_neurons);
  snapshot = buffer_of(SYNFIRE_DTYPE_U8, 4096);
  value = buffer_of(SYNFIRE_DTYPE_F32, 1);
  state = buffer_of(SYNFIRE_DTYPE_F32, n_neurons);
  layer = layer_of(SYNFIRE_MODEL_LIF);
  twin = layer_of(SYNFIRE_MODEL_LIF);
  plif = layer_of(SYNFIRE_MODEL_PLIF);
  TRY(synfire_graph_desc, graph_desc, synfire_graph_create(context, placed, &graph));
  check(synfire_buffer_fill(x, 20.0) == SYNFIRE_OK && synfire_buffer_fill(grad, 1.0) == SYNFIRE_OK, "fills");
}

/* Results are filled in up to the size that this program knows, whatever the memory contained before. */
static void ask(void) {
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
  synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  const char *const end = page_end;
  desc.n_steps = n_steps;
  desc.n_neurons = n_neurons;

  TRY(synfire_context_properties, properties, synfire_context_get_properties(context, placed));
  memcpy(&properties, end - sizeof properties, sizeof properties);
  check(properties.struct_size == sizeof properties, "struct_size is unchanged");
  check(properties.backend == SYNFIRE_BACKEND_HOST && properties.n_threads == 1, "properties of the context");
  check(memcmp(properties.name, "host", 4) == 0, "the last field of the properties");

  TRY(synfire_layer_memory, memory, synfire_layer_query_memory(&desc, placed));
  memcpy(&memory, end - sizeof memory, sizeof memory);
  check(memory.struct_size == sizeof memory && memory.checkpoint_interval == 32, "memory of a layer");
  check(memory.per_neuron_value_bytes >= n_neurons * sizeof(double), "the last field of the memory");

  TRY(synfire_layer_desc, desc, synfire_layer_query_memory(placed, &memory));

  TRY(synfire_parameter_info, info, synfire_layer_get_parameter_info(layer, 0, placed));
  memcpy(&info, end - sizeof info, sizeof info);
  check(info.struct_size == sizeof info && info.name && strcmp(info.name, "tau") == 0, "a parameter");

  TRY(synfire_graph_statistics, statistics, synfire_graph_get_statistics(graph, placed));
  memcpy(&statistics, end - sizeof statistics, sizeof statistics);
  check(statistics.struct_size == sizeof statistics && statistics.n_replays == 2, "statistics of the graph");
  check(statistics.max_ns >= statistics.p50_ns, "the last field of the statistics");
}

/* Everything together, eagerly where possible, and recorded. */
static void run(void) {
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_convert_spikes_desc convert = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
  synfire_count_spikes_desc count = SYNFIRE_COUNT_SPIKES_DESC_INIT;
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  synfire_native_desc node = SYNFIRE_NATIVE_DESC_INIT;
  synfire_state_desc rows = SYNFIRE_STATE_DESC_INIT;
  synfire_copy_rows_desc copy_rows = SYNFIRE_COPY_ROWS_DESC_INIT;
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  synfire_scale_add_desc scale_add = SYNFIRE_SCALE_ADD_DESC_INIT;
  synfire_update_parameter_desc update = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
  synfire_parameter_gradient gradient;
  uint64_t ticket = 0;
  char host_snapshot[4096];
  uint64_t bytes = sizeof host_snapshot;
  uint32_t counted[n_neurons];
  uint32_t i;

  forward.x = x;
  forward.spikes = spikes;
  gradient.name = "reciprocal_tau";
  gradient.gradient = value;
  backward.grad_spike_seq = grad;
  backward.grad_x_seq = grad_x;
  TRY(synfire_forward_desc, forward, synfire_layer_forward(layer, placed, NULL));
  TRY(synfire_backward_desc, backward, synfire_layer_backward(layer, placed, NULL));
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;
  TRY(synfire_forward_desc, forward, synfire_graph_record_forward(graph, plif, placed));
  TRY(synfire_backward_desc, backward, synfire_graph_record_backward(graph, plif, placed));

  count.n_steps = n_steps;
  count.n_neurons = n_neurons;
  count.spikes = spikes;
  count.counts = counts;
  TRY(synfire_count_spikes_desc, count, synfire_count_spikes(context, placed, NULL));
  TRY(synfire_count_spikes_desc, count, synfire_graph_record_count_spikes(graph, placed));
  convert.n_steps = n_steps;
  convert.n_neurons = n_neurons;
  convert.source = spikes;
  convert.destination = grad;
  TRY(synfire_convert_spikes_desc, convert, synfire_convert_spikes(context, placed, NULL));
  TRY(synfire_convert_spikes_desc, convert, synfire_graph_record_convert_spikes(graph, placed));

  copy.source = grad_x;
  copy.destination = grad;
  TRY(synfire_copy_desc, copy, synfire_graph_record_copy(graph, placed));
  fill.buffer = grad;
  fill.value = 1.0;
  TRY(synfire_fill_desc, fill, synfire_graph_record_fill(graph, placed));
  scale_add.source = grad_x;
  scale_add.destination = grad;
  scale_add.scale = 0.5;
  scale_add.keep = 1.0;
  TRY(synfire_scale_add_desc, scale_add, synfire_scale_add(context, placed, NULL));
  TRY(synfire_scale_add_desc, scale_add, synfire_graph_record_scale_add(graph, placed));
  update.name = "reciprocal_tau";
  update.gradient = value;
  update.learning_rate = 0.0078125;
  update.bounds = SYNFIRE_BOUND_LOWER | SYNFIRE_BOUND_UPPER;
  update.lower = 0.125;
  update.upper = 0.875;
  TRY(synfire_update_parameter_desc, update, synfire_graph_record_update_parameter(graph, plif, placed));

  TRY(synfire_state_desc, rows, synfire_layer_reset_rows(layer, placed, NULL));
  TRY(synfire_state_desc, rows, synfire_graph_record_reset_rows(graph, layer, placed));
  TRY(synfire_state_desc, rows, synfire_layer_snapshot(layer, placed, host_snapshot, &bytes));
  TRY(synfire_state_desc, rows, synfire_layer_restore(layer, placed, host_snapshot, bytes));
  rows.buffer = snapshot;
  TRY(synfire_state_desc, rows, synfire_graph_record_snapshot(graph, layer, placed));
  TRY(synfire_state_desc, rows, synfire_graph_record_restore(graph, layer, placed));
  rows.buffer = state;
  rows.name = "v";
  TRY(synfire_state_desc, rows, synfire_layer_read_rows(layer, placed, NULL));
  TRY(synfire_state_desc, rows, synfire_layer_write_rows(layer, placed, NULL));
  TRY(synfire_state_desc, rows, synfire_graph_record_read_rows(graph, layer, placed));
  TRY(synfire_state_desc, rows, synfire_graph_record_write_rows(graph, layer, placed));
  copy_rows.source = twin;
  TRY(synfire_copy_rows_desc, copy_rows, synfire_layer_copy_rows(layer, placed, NULL));
  TRY(synfire_copy_rows_desc, copy_rows, synfire_graph_record_copy_rows(graph, layer, placed));

  node.callback = native;
  node.user = &n_calls;
  node.name = "node";
  node.reads = &x;
  node.n_reads = 1;
  node.writes = &grad_x;
  node.n_writes = 1;
  TRY(synfire_native_desc, node, synfire_graph_record_native(graph, placed));

  check(synfire_graph_instantiate(graph) == SYNFIRE_OK, "instantiate");
  for (i = 0; i < 2; ++i) {
    check(synfire_graph_launch(graph, NULL, &ticket) == SYNFIRE_OK, "launch");
    check(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1) == SYNFIRE_OK, "wait");
  }
  check(ticket == 2 && n_calls == 2, "two replays");
  check(synfire_buffer_download(counts, 0, counted, sizeof counted) == SYNFIRE_OK, "download");
  /* 1/tau is 0.125 or more, so that an X of 20 charges to 2.5 or more: above the threshold in every step. */
  for (i = 0; i < n_neurons; ++i) check(counted[i] == n_steps, "every neuron fires in every step");
}

int main(int argc, char **argv) {
  grown = argc > 1 && strcmp(argv[1], "grown") == 0;
  check(synfire_abi_version() >> 16 == SYNFIRE_ABI_MAJOR && synfire_abi_version() >= SYNFIRE_ABI_VERSION,
        "the library's version");
  check(!grown || synfire_abi_version() > SYNFIRE_ABI_VERSION, "the library with grown structures");
  make_page();
  create();
  run();
  ask();
  synfire_graph_destroy(graph);
  synfire_layer_destroy(layer);
  synfire_layer_destroy(twin);
  synfire_layer_destroy(plif);
  synfire_context_destroy(context);
  if (n_failed == 0) printf("a program of ABI 0.1 runs with this library\n");
  return n_failed == 0 ? 0 : 1;
}
