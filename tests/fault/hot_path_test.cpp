// The path of a launch on the CUDA backend: 10,000 launches and waits of a graph with both directions and slots
// allocate no heap memory, make no CUDA call except the launches themselves, and take no lock. The same for a graph
// with every operation of learning (../learning_graph.h), and with every change in between that is documented not to
// allocate: no allocation, and no CUDA call that allocates or waits (../counting.h counts). What the fake CUDA runtime
// does inside itself does not count.
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

#include "../learning_graph.h"

namespace {

struct Counts {
  long allocations, locks;
  uint64_t calls, launches;
  [[nodiscard]] bool only_launches(int n) const {
    return allocations == 0 && locks == 0 && calls == static_cast<uint64_t>(n) && launches == calls;
  }
};

void replay(synfire_graph graph, int i) {
  uint64_t ticket = 0;
  require(synfire_graph_launch(graph, nullptr, &ticket), "launch");
  require(synfire_graph_poll(graph, ticket), "poll");
  require(synfire_graph_wait(graph, ticket, i % 3, i % 2 == 0 ? 1000000000 : -1), "wait");
}

// Counts calls in n launches and waits.
Counts count(synfire_graph graph, int n) {
  replay(graph, 0);  // takes the references of the tapes, once
  n_allocations = n_locks = 0;
  synfire_test::fake::reset_calls();
  counting = true;
  for (int i = 0; i < n; ++i) replay(graph, i);
  counting = false;
  return {n_allocations, n_locks, synfire_test::fake::calls(), synfire_test::fake::calls("cuGraphLaunch")};
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
  const learning learning = make_learning(context, {23, 5, 4, 37, 20, 3}, 3);

  counting = true;
  if (!counters_work()) {
    std::fprintf(stderr, "the counters do not count\n");
    return 3;
  }
  counting = false;
  const Counts one = count(graph, n_replays), step = count(learning.graph, n_replays / 10);

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
    replay(graph, i);
    change_learning(&learning, i);
    replay(learning.graph, i);
  }
  counting = false;
  uint64_t other = 0;
  for (const char* forbidden : {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaFreeHost", "cudaMemcpyAsync",
                                "cudaStreamSynchronize", "cudaStreamQuery", "cudaGraphInstantiateWithParams"})
    other += synfire_test::fake::calls(forbidden);
  const auto print = [](const char* what, const Counts& counts) {
    std::printf("%s: %ld allocations, %ld locks, %llu CUDA calls, %llu of them launches\n", what, counts.allocations,
                counts.locks, static_cast<unsigned long long>(counts.calls),
                static_cast<unsigned long long>(counts.launches));
  };
  print("both directions", one);
  print("learning", step);
  std::printf("with changes: %ld allocations, %llu CUDA calls that allocate or wait\n", n_allocations,
              static_cast<unsigned long long>(other));
  return one.only_launches(n_replays) && step.only_launches(n_replays / 10) && n_allocations == 0 && other == 0 ? 0 : 1;
}
