// Passes that tests of launching replay: forward and backward of 1024 LIF neurons over 8 steps, recorded and
// instantiated in its own context.
#ifndef SYNFIRE_TESTS_GPU_RECORDED_PASSES_HPP
#define SYNFIRE_TESTS_GPU_RECORDED_PASSES_HPP

#include <synfire/synfire.h>

#include <gtest/gtest.h>

struct RecordedPasses {
  explicit RecordedPasses(int stream_priority = 0) {
    synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
    cd.backend = SYNFIRE_BACKEND_CUDA;
    cd.stream_priority = stream_priority;
    EXPECT_EQ(synfire_context_create(&cd, &context), SYNFIRE_OK);
    synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
    ld.n_steps = 8;
    ld.n_neurons = 1024;
    EXPECT_EQ(synfire_layer_create(context, &ld, &layer), SYNFIRE_OK);
    for (synfire_buffer& buffer : buffers) {
      synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
      desc.n_elements = 8 * 1024;
      EXPECT_EQ(synfire_buffer_create(context, &desc, &buffer), SYNFIRE_OK);
    }
    forward.x = buffers[0];
    forward.spikes = buffers[1];
    backward.grad_spike_seq = buffers[2];
    backward.grad_x_seq = buffers[3];
    EXPECT_EQ(synfire_graph_create(context, nullptr, &graph), SYNFIRE_OK);
    EXPECT_EQ(synfire_graph_record_forward(graph, layer, &forward), SYNFIRE_OK);
    EXPECT_EQ(synfire_graph_record_backward(graph, layer, &backward), SYNFIRE_OK);
    EXPECT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK);
  }
  ~RecordedPasses() {
    synfire_graph_destroy(graph);
    synfire_layer_destroy(layer);
    for (const synfire_buffer buffer : buffers) synfire_buffer_destroy(buffer);
    synfire_context_destroy(context);
    EXPECT_EQ(synfire_context_reclaim(nullptr, nullptr), SYNFIRE_OK);
  }
  RecordedPasses(const RecordedPasses&) = delete;
  RecordedPasses& operator=(const RecordedPasses&) = delete;

  synfire_context context = nullptr;
  synfire_layer layer = nullptr;
  synfire_buffer buffers[4] = {};
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  synfire_graph graph = nullptr;
};

#endif
