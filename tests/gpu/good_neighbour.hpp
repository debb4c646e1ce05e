// A layer with a graph that is recorded but not instantiated, and a stream of the caller's: the base of tests of
// Synfire beside a program's own CUDA work.
#ifndef SYNFIRE_TESTS_GPU_GOOD_NEIGHBOUR_HPP
#define SYNFIRE_TESTS_GPU_GOOD_NEIGHBOUR_HPP

#include <synfire/synfire.h>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

// The flags that a caller sets. CUDA itself sets cudaDeviceLmemResizeToMax when a process creates its first graph.
inline constexpr unsigned int callers_flags = cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceSyncMemops;

// Changes how CUDA waits for the current device, and returns the previous flags.
inline unsigned int change_schedule() {
  constexpr unsigned int mask = cudaDeviceScheduleMask;
  unsigned int usual = 0, flags = 0;
  EXPECT_EQ(cudaGetDeviceFlags(&usual), cudaSuccess);
  const unsigned int schedule =
      (usual & mask) == cudaDeviceScheduleYield ? cudaDeviceScheduleBlockingSync : cudaDeviceScheduleYield;
  EXPECT_EQ(cudaSetDeviceFlags((usual & ~mask) | schedule), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
  EXPECT_EQ(flags & mask, schedule);
  return usual;
}

class GoodNeighbour : public testing::Test {
 protected:
  void SetUp() override {
    synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
    cd.backend = SYNFIRE_BACKEND_CUDA;
    ASSERT_EQ(synfire_context_create(&cd, &context), SYNFIRE_OK);
    synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
    ld.n_steps = 4, ld.n_neurons = 64;
    ASSERT_EQ(synfire_layer_create(context, &ld, &layer), SYNFIRE_OK);
    synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
    bd.n_elements = 4 * 64;
    ASSERT_EQ(synfire_buffer_create(context, &bd, &x), SYNFIRE_OK);
    ASSERT_EQ(synfire_buffer_create(context, &bd, &spikes), SYNFIRE_OK);
    forward.x = x, forward.spikes = spikes;
    ASSERT_EQ(synfire_graph_create(context, nullptr, &graph), SYNFIRE_OK);
    ASSERT_EQ(synfire_graph_record_forward(graph, layer, &forward), SYNFIRE_OK);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    synfire_graph_destroy(graph);
    synfire_layer_destroy(layer);
    synfire_buffer_destroy(x);
    synfire_buffer_destroy(spikes);
    synfire_context_destroy(context);
    EXPECT_EQ(synfire_context_reclaim(nullptr, nullptr), SYNFIRE_OK);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  static std::string last_error() {
    char text[1024] = "";
    synfire_last_error(text, sizeof text, nullptr);
    return text;
  }

  synfire_context context = nullptr;
  synfire_layer layer = nullptr;
  synfire_buffer x = nullptr, spikes = nullptr;
  synfire_graph graph = nullptr;
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  cudaStream_t stream = nullptr;
};

#endif
