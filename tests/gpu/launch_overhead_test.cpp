// What synfire_graph_launch() adds to a bare cudaGraphLaunch(): both launch the same kernels in turn, in one process. The bare
// graph is captured from Synfire's eager calls, with a kernel that does nothing in the place of the signal.
#include "user_kernels.hpp"

#include <synfire/synfire.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace {

using std::chrono::steady_clock;

double microseconds(steady_clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

double percentile(std::vector<double>& times, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(at), times.end());
  return times[at];
}

TEST(LaunchOverhead, IsAtMostAHundredNanoseconds) {
  ASSERT_EQ(user::load_kernels(), cudaSuccess);
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  cd.backend = SYNFIRE_BACKEND_CUDA;
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

  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(synfire_layer_forward(layer, &forward, stream), SYNFIRE_CAPTURED);
  ASSERT_EQ(synfire_layer_backward(layer, &backward, stream), SYNFIRE_CAPTURED);
  ASSERT_EQ(user::nothing(stream), cudaSuccess);
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  cudaGraphExec_t bare = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&bare, captured, cudaGraphInstantiateFlagUseNodePriority), cudaSuccess);
  ASSERT_EQ(cudaGraphUpload(bare, stream), cudaSuccess);

  std::vector<double> ours, theirs;
  for (int i = -1000; i < 20000; ++i) {
    const auto start = steady_clock::now();
    ASSERT_EQ(cudaGraphLaunch(bare, stream), cudaSuccess);
    const auto launched = steady_clock::now();
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    uint64_t ticket = 0;
    const auto next = steady_clock::now();
    ASSERT_EQ(synfire_graph_launch(graph, nullptr, &ticket), SYNFIRE_OK);
    const auto end = steady_clock::now();
    ASSERT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK);
    if (i < 0) continue;
    theirs.push_back(microseconds(launched - start));
    ours.push_back(microseconds(end - next));
  }
  const double added = percentile(ours, 0.5) - percentile(theirs, 0.5);
  std::printf("cudaGraphLaunch: median %.3f us, 99 %% %.3f us; synfire_graph_launch: median %.3f us, 99 %% %.3f us; added %.0f ns\n",
              percentile(theirs, 0.5), percentile(theirs, 0.99), percentile(ours, 0.5), percentile(ours, 0.99), added * 1000);
  EXPECT_LE(added, 0.1);
  cudaGraphExecDestroy(bare);
  cudaGraphDestroy(captured);
  cudaStreamDestroy(stream);
  synfire_context_destroy(context);
}

}  // namespace
