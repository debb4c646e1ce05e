// The kernels of a context's graphs have its stream priority, whatever stream they are launched on.
#include "recorded_passes.hpp"

#include <cuda_runtime_api.h>

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
    const RecordedPasses passes(priority);
    ASSERT_FALSE(HasFailure());

    // The nodes are visible when the graph becomes part of a capture, here on a stream of another priority.
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, least + greatest - priority), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_EQ(synfire_graph_launch(passes.graph, stream, nullptr), SYNFIRE_CAPTURED);
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
  }
}

}  // namespace
