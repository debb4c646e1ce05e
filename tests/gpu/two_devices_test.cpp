// Two contexts on two GPUs, each driven by a thread whose current device is the other one. Skipped on machines with
// fewer.
#include <synfire/synfire.h>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string last_error() {
  char text[1024] = "";
  synfire_last_error(text, sizeof text, nullptr);
  return text;
}

synfire_buffer make_buffer(synfire_context context, int32_t memory, void* data = nullptr) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory;
  desc.n_elements = 4 * 256;
  desc.data = data;
  synfire_buffer buffer = nullptr;
  EXPECT_EQ(synfire_buffer_create(context, &desc, &buffer), SYNFIRE_OK) << last_error();
  return buffer;
}

class TwoDevices : public testing::Test {
 protected:
  void SetUp() override {
    int n_devices = 0;
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || n_devices < 2) GTEST_SKIP() << "this needs two GPUs";
    for (int device = 0; device < 2; ++device) {
      synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
      desc.backend = SYNFIRE_BACKEND_CUDA;
      desc.device = device;
      ASSERT_EQ(synfire_context_create(&desc, &contexts[device]), SYNFIRE_OK) << last_error();
    }
  }
  void TearDown() override {
    for (const synfire_context context : contexts) synfire_context_destroy(context);
    EXPECT_EQ(synfire_context_reclaim(nullptr, nullptr), SYNFIRE_OK);
  }
  synfire_context contexts[2] = {};
};

// The potentials after a few replays of forward and backward, with slots, launched from a thread on the other device.
std::vector<float> drive(synfire_context context, int current) {
  EXPECT_EQ(cudaSetDevice(current), cudaSuccess);
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  ld.n_steps = 4;
  ld.n_neurons = 256;
  synfire_layer layer = nullptr;
  EXPECT_EQ(synfire_layer_create(context, &ld, &layer), SYNFIRE_OK) << last_error();
  const synfire_buffer x = make_buffer(context, SYNFIRE_MEMORY_PINNED), v = make_buffer(context, SYNFIRE_MEMORY_PINNED);
  const synfire_buffer grad_spike = make_buffer(context, SYNFIRE_MEMORY_DEVICE),
                       grad_x = make_buffer(context, SYNFIRE_MEMORY_DEVICE);
  EXPECT_EQ(synfire_buffer_fill(grad_spike, 1), SYNFIRE_OK) << last_error();
  synfire_graph_desc gd = SYNFIRE_GRAPH_DESC_INIT;
  gd.n_slots = 2;
  synfire_graph graph = nullptr;
  EXPECT_EQ(synfire_graph_create(context, &gd, &graph), SYNFIRE_OK);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.v_seq = v;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = grad_spike;
  backward.grad_x_seq = grad_x;
  EXPECT_EQ(synfire_graph_record_forward(graph, layer, &forward), SYNFIRE_OK) << last_error();
  EXPECT_EQ(synfire_graph_record_backward(graph, layer, &backward), SYNFIRE_OK) << last_error();
  EXPECT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  std::vector<float> seen;
  for (int i = 0; i < 20; ++i) {
    void* data = nullptr;
    EXPECT_EQ(synfire_graph_get_slot(graph, 0, x, &data, nullptr), SYNFIRE_OK) << last_error();
    for (int k = 0; k < 4 * 256; ++k) static_cast<float*>(data)[k] = static_cast<float>((k * 7 + i) % 11) * 0.2f;
    uint64_t ticket = 0;
    EXPECT_EQ(synfire_graph_launch(graph, nullptr, &ticket), SYNFIRE_OK) << last_error();
    EXPECT_EQ(synfire_graph_wait(graph, ticket, i % 3, -1), SYNFIRE_OK) << last_error();
    EXPECT_EQ(synfire_graph_set_enabled(graph, 1, i % 2), SYNFIRE_OK) << last_error();
    EXPECT_EQ(synfire_graph_get_slot(graph, ticket, v, &data, nullptr), SYNFIRE_OK) << last_error();
    seen.insert(seen.end(), static_cast<float*>(data), static_cast<float*>(data) + 4 * 256);
  }
  EXPECT_EQ(synfire_layer_forward(layer, &forward, nullptr), SYNFIRE_OK) << last_error();
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, current) << "the thread's device is as it was";
  synfire_graph_destroy(graph);
  synfire_layer_destroy(layer);
  for (const synfire_buffer buffer : {x, v, grad_spike, grad_x}) synfire_buffer_destroy(buffer);
  EXPECT_EQ(synfire_context_reclaim(nullptr, nullptr), SYNFIRE_OK);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, current);
  return seen;
}

TEST_F(TwoDevices, DrivenFromThreadsOnTheOtherOne) {
  std::vector<float> seen[2];
  std::thread one([&] { seen[0] = drive(contexts[0], 1); }), other([&] { seen[1] = drive(contexts[1], 0); });
  one.join();
  other.join();
  ASSERT_EQ(seen[0].size(), seen[1].size());
  EXPECT_EQ(std::memcmp(seen[0].data(), seen[1].data(), seen[0].size() * sizeof(float)), 0);
}

TEST_F(TwoDevices, MemoryOfTheOtherDeviceIsRefused) {
  for (int device = 0; device < 2; ++device) {
    const synfire_buffer owned = make_buffer(contexts[device], SYNFIRE_MEMORY_DEVICE);
    void* data = nullptr;
    EXPECT_EQ(synfire_buffer_get_data(owned, &data, nullptr), SYNFIRE_OK);
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.n_elements = 4 * 256;
    desc.data = data;
    synfire_buffer borrowed = nullptr;
    EXPECT_EQ(synfire_buffer_create(contexts[1 - device], &desc, &borrowed), SYNFIRE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("SYN-BUFFER-BORROWED"), std::string::npos) << last_error();
    synfire_graph graph = nullptr;
    EXPECT_EQ(synfire_graph_create(contexts[1 - device], nullptr, &graph), SYNFIRE_OK);
    synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
    copy.source = copy.destination = owned;
    EXPECT_EQ(synfire_graph_record_copy(graph, &copy), SYNFIRE_ERROR_INVALID_HANDLE);
    synfire_graph_destroy(graph);
    synfire_buffer_destroy(owned);
  }
}

// A graph checks the device of a stream once. CUDA runs nodes on the device where they were created, whatever stream
// the graph is launched on, and in that stream's order.
TEST_F(TwoDevices, AGraphRunsWhereItsNodesWereMade) {
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  cudaStream_t here = nullptr, there = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&here, cudaStreamNonBlocking), cudaSuccess);
  const synfire_buffer from = make_buffer(contexts[0], SYNFIRE_MEMORY_DEVICE),
                       to = make_buffer(contexts[0], SYNFIRE_MEMORY_DEVICE);
  ASSERT_EQ(synfire_buffer_fill(from, 3), SYNFIRE_OK) << last_error();
  synfire_graph graph = nullptr;
  ASSERT_EQ(synfire_graph_create(contexts[0], nullptr, &graph), SYNFIRE_OK);
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = from;
  copy.destination = to;
  ASSERT_EQ(synfire_graph_record_copy(graph, &copy), SYNFIRE_OK) << last_error();
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  ASSERT_EQ(cudaStreamBeginCapture(here, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(synfire_graph_launch(graph, here, nullptr), SYNFIRE_CAPTURED) << last_error();
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(here, &captured), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, captured, 0), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&there, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, there), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(there), cudaSuccess);
  std::vector<float> values(4 * 256);
  EXPECT_EQ(synfire_buffer_download(to, 0, values.data(), values.size() * sizeof(float)), SYNFIRE_OK) << last_error();
  EXPECT_EQ(values, std::vector<float>(4 * 256, 3));
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(there), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(here), cudaSuccess);
  synfire_graph_destroy(graph);
  for (const synfire_buffer buffer : {from, to}) synfire_buffer_destroy(buffer);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
}

// A stream belongs to the device on which it was created.
TEST_F(TwoDevices, AStreamOfTheOtherDeviceIsAnErrorAndNothingElse) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
  ld.n_steps = 4;
  ld.n_neurons = 256;
  synfire_layer layer = nullptr;
  ASSERT_EQ(synfire_layer_create(contexts[0], &ld, &layer), SYNFIRE_OK);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = make_buffer(contexts[0], SYNFIRE_MEMORY_DEVICE);
  forward.v_seq = make_buffer(contexts[0], SYNFIRE_MEMORY_DEVICE);
  EXPECT_EQ(synfire_layer_forward(layer, &forward, stream), SYNFIRE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find("SYN-STREAM-DEVICE"), std::string::npos) << last_error();
  synfire_graph graph = nullptr;
  EXPECT_EQ(synfire_graph_create(contexts[0], nullptr, &graph), SYNFIRE_OK);
  EXPECT_EQ(synfire_graph_record_forward(graph, layer, &forward), SYNFIRE_OK) << last_error();
  EXPECT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  EXPECT_EQ(synfire_graph_launch(graph, stream, nullptr), SYNFIRE_ERROR_INVALID_ARGUMENT);
  for (const cudaStreamCaptureMode mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    ASSERT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
    EXPECT_EQ(synfire_graph_launch(graph, stream, nullptr), SYNFIRE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(synfire_layer_forward(layer, &forward, stream), SYNFIRE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("SYN-STREAM-DEVICE"), std::string::npos) << last_error();
    cudaGraph_t captured = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess) << "the caller's capture is as it was";
    EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
  }
  uint64_t ticket = 0;
  EXPECT_EQ(synfire_graph_launch(graph, nullptr, &ticket), SYNFIRE_OK) << last_error();
  EXPECT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK) << last_error();
  synfire_graph_destroy(graph);
  EXPECT_EQ(synfire_layer_forward(layer, &forward, nullptr), SYNFIRE_OK) << last_error();
  EXPECT_EQ(synfire_context_synchronize(contexts[0]), SYNFIRE_OK) << last_error();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  synfire_layer_destroy(layer);
  synfire_buffer_destroy(forward.x);
  synfire_buffer_destroy(forward.v_seq);
}

}  // namespace
