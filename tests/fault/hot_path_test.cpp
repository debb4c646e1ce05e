// The path of a launch on the CUDA backend: 10,000 launches and waits of a graph with both directions and slots
// allocate no heap memory, make no CUDA call except the launches themselves, and take no lock. The same with every
// change in between that is documented not to allocate: no allocation, and no CUDA call that allocates or waits
// (../counting.h counts). What the fake CUDA runtime does inside itself does not count.
#include "fake_cuda.hpp"

#include <synfire/synfire.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {
std::atomic<bool> counting{false};
}
#define SYNFIRE_COUNTED() (counting.load(std::memory_order_relaxed) && !synfire_test::fake::inside() ? 1 : 0)
#include "../counting.h"

namespace {

void require(synfire_status status, const char* what) {
  if (status >= 0) return;
  counting = false;
  char text[512];
  synfire_last_error(text, sizeof text, nullptr);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(2);
}

synfire_buffer make_buffer(synfire_context context, int32_t dtype, uint64_t n) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.dtype = dtype;
  desc.n_elements = n;
  synfire_buffer buffer = nullptr;
  require(synfire_buffer_create(context, &desc, &buffer), "buffer");
  return buffer;
}

}  // namespace

int main() {
  constexpr int n_replays = 10000, n_steps = 4, n_neurons = 64;
  synfire_test::fake::install();
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  cd.backend = SYNFIRE_BACKEND_CUDA;
  synfire_context context = nullptr;
  require(synfire_context_create(&cd, &context), "context");
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  ld.n_steps = n_steps;
  ld.n_neurons = n_neurons;
  synfire_layer layer = nullptr;
  require(synfire_layer_create(context, &ld, &layer), "layer");
  synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
  fd.x = make_buffer(context, SYNFIRE_DTYPE_F32, n_steps * n_neurons);
  fd.spikes = make_buffer(context, SYNFIRE_DTYPE_BITS, n_steps * (n_neurons / 32));
  synfire_backward_desc bd = SYNFIRE_BACKWARD_DESC_INIT;
  bd.grad_spike_seq = make_buffer(context, SYNFIRE_DTYPE_F32, n_steps * n_neurons);
  bd.grad_x_seq = make_buffer(context, SYNFIRE_DTYPE_F32, n_steps * n_neurons);
  synfire_graph_desc gd = SYNFIRE_GRAPH_DESC_INIT;
  gd.n_slots = 3;
  synfire_graph graph = nullptr;
  require(synfire_graph_create(context, &gd, &graph), "graph");
  require(synfire_graph_record_forward(graph, layer, &fd), "forward");
  require(synfire_graph_record_backward(graph, layer, &bd), "backward");
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  fill.buffer = make_buffer(context, SYNFIRE_DTYPE_F32, 16);
  require(synfire_graph_record_fill(graph, &fill), "fill");
  require(synfire_graph_instantiate(graph), "instantiate");
  uint64_t ticket = 0;
  require(synfire_graph_launch(graph, nullptr, &ticket), "first launch");  // takes the tape's references, once

  counting = true;
  if (!counters_work()) {
    std::fprintf(stderr, "the counters do not count\n");
    return 3;
  }
  synfire_test::fake::reset_calls();
  for (int i = 0; i < n_replays; ++i) {
    require(synfire_graph_launch(graph, nullptr, &ticket), "launch");
    require(synfire_graph_poll(graph, ticket), "poll");
    require(synfire_graph_wait(graph, ticket, i % 3, i % 2 == 0 ? 1000000000 : -1), "wait");
  }
  counting = false;
  const uint64_t calls = synfire_test::fake::calls(), launches = synfire_test::fake::calls("cuGraphLaunch");
  const long allocations = n_allocations, locks = n_locks;

  n_allocations = 0;
  synfire_test::fake::reset_calls();
  counting = true;
  for (int i = 0; i < n_replays / 10; ++i) {
    synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
    void* data = nullptr;
    require(synfire_graph_set_value(graph, 2, "value", i), "set_value");
    require(synfire_graph_set_enabled(graph, 1, i % 4 != 0), "set_enabled");
    require(synfire_layer_set_n_active(layer, i % 2), "set_n_active");
    require(synfire_graph_get_slot(graph, 0, fd.x, &data, nullptr), "get_slot");
    require(synfire_graph_get_statistics(graph, &statistics), "get_statistics");
    require(synfire_graph_launch(graph, nullptr, &ticket), "launch");
    require(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), "wait");
  }
  counting = false;
  uint64_t other = 0;
  for (const char* forbidden : {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaFreeHost", "cudaMemcpyAsync",
                                "cudaStreamSynchronize", "cudaStreamQuery", "cudaGraphInstantiateWithParams"})
    other += synfire_test::fake::calls(forbidden);
  std::printf(
      "%d launches: %ld allocations, %ld locks, %llu CUDA calls, %llu of them launches; with changes %ld allocations, "
      "%llu CUDA calls that allocate or wait\n",
      n_replays, allocations, locks, static_cast<unsigned long long>(calls), static_cast<unsigned long long>(launches),
      n_allocations, static_cast<unsigned long long>(other));
  return allocations == 0 && locks == 0 && calls == n_replays && launches == n_replays && n_allocations == 0 &&
                 other == 0
             ? 0
             : 1;
}
