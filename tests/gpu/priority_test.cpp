// A context's stream priority is in the kernels of its graphs, whatever stream they are launched on.
#include <synfire/synfire.h>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

namespace {

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  return nodes;
}

TEST(Priority, IsCarriedIntoTheKernelNodes) {
  int least = 0, greatest = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  if (least == greatest) GTEST_SKIP() << "this device has no priorities";
  for (const int priority : {least, greatest}) {
    synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
    cd.backend = SYNFIRE_BACKEND_CUDA;
    cd.stream_priority = priority;
    synfire_context context = nullptr;
    ASSERT_EQ(synfire_context_create(&cd, &context), SYNFIRE_OK);
    synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
    ld.n_steps = 8;
    ld.n_neurons = 1024;
    synfire_layer layer = nullptr;
    ASSERT_EQ(synfire_layer_create(context, &ld, &layer), SYNFIRE_OK);
    synfire_buffer buffers[4];
    for (synfire_buffer& buffer : buffers) {
      synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
      desc.n_elements = 8 * 1024;
      ASSERT_EQ(synfire_buffer_create(context, &desc, &buffer), SYNFIRE_OK);
    }
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = buffers[0];
    forward.spikes = buffers[1];
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = buffers[2];
    backward.grad_x_seq = buffers[3];
    synfire_graph graph = nullptr;
    ASSERT_EQ(synfire_graph_create(context, nullptr, &graph), SYNFIRE_OK);
    ASSERT_EQ(synfire_graph_record_forward(graph, layer, &forward), SYNFIRE_OK);
    ASSERT_EQ(synfire_graph_record_backward(graph, layer, &backward), SYNFIRE_OK);
    ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK);

    // What the graph holds is seen where it becomes part of a capture: on a stream of the other priority.
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, least + greatest - priority), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_EQ(synfire_graph_launch(graph, stream, nullptr), SYNFIRE_CAPTURED);
    cudaGraph_t captured = nullptr, child = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
    const std::vector<cudaGraphNode_t> outer = nodes_of(captured);
    ASSERT_EQ(outer.size(), 1u);
    ASSERT_EQ(cudaGraphChildGraphNodeGetGraph(outer[0], &child), cudaSuccess);
    const std::vector<cudaGraphNode_t> nodes = nodes_of(child);
    EXPECT_EQ(nodes.size(), 2u);
    for (const cudaGraphNode_t node : nodes) {
      cudaLaunchAttributeValue value = {};
      ASSERT_EQ(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value), cudaSuccess);
      EXPECT_EQ(value.priority, priority);
    }
    EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    synfire_graph_destroy(graph);
    synfire_layer_destroy(layer);
    for (const synfire_buffer buffer : buffers) synfire_buffer_destroy(buffer);
    synfire_context_destroy(context);
    EXPECT_EQ(synfire_context_reclaim(nullptr, nullptr), SYNFIRE_OK);
  }
}

}  // namespace
