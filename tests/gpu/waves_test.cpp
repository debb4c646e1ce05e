// The numbers that the filling of waves is based on (src/neurons/passes/cuda/plan.cpp): for how many blocks of a kernel
// a multiprocessor of compute capability 9 has registers. Detects kernels that come to need more or fewer registers.
// The choice of launches is tested in wave_plan_test.cpp, their results in large_test.cpp. CUDA before 12.5 does not
// fill waves.
#include "driver_function.hpp"

#include <synfire/synfire.h>

#include <gtest/gtest.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#if CUDART_VERSION >= 12050

namespace {

constexpr int wide_blocks = 10, narrow_blocks = 6;
constexpr unsigned int backward_percent = 65;

struct Pass {
  unsigned int percent;  // of shared memory that the launch requests; 0: none
  int blocks;            // for which a multiprocessor has registers
};

// The kernel nodes of a capture, queried through the driver: the library's kernels belong to its own copy of the
// runtime.
std::vector<Pass> passes_of(cudaGraph_t graph) {
  static const auto get_params =
      driver_function<decltype(&cuGraphKernelNodeGetParams_v2)>("cuGraphKernelNodeGetParams");
  static const auto get_attribute =
      driver_function<decltype(&cuGraphKernelNodeGetAttribute)>("cuGraphKernelNodeGetAttribute");
  static const auto kernel_function = driver_function<decltype(&cuKernelGetFunction)>("cuKernelGetFunction");
  static const auto count_blocks = driver_function<decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor)>(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  std::vector<Pass> passes;
  for (const cudaGraphNode_t node : nodes) {
    CUDA_KERNEL_NODE_PARAMS params = {};
    EXPECT_EQ(get_params(node, &params), CUDA_SUCCESS);
    CUfunction function = params.func;
    if (!function) {
      EXPECT_EQ(kernel_function(&function, params.kern), CUDA_SUCCESS);
    }
    CUlaunchAttributeValue value = {};
    EXPECT_EQ(get_attribute(node, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &value), CUDA_SUCCESS);
    int blocks = 0;
    const int threads = static_cast<int>(params.blockDimX * params.blockDimY * params.blockDimZ);
    EXPECT_EQ(count_blocks(&blocks, function, threads, 0), CUDA_SUCCESS);
    passes.push_back({value.sharedMemCarveout, blocks});
  }
  return passes;
}

// A layer's forward and backward, captured by the test.
class Waves : public testing::Test {
 protected:
  void SetUp() override {
    int device = 0, major = 0, driver = 0, multiprocessors = 0;
    ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
    ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), cudaSuccess);
    ASSERT_EQ(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), cudaSuccess);
    n_multiprocessors_ = multiprocessors;
    ASSERT_EQ(cudaDriverGetVersion(&driver), cudaSuccess);
    if (major != 9 || driver < 12050) GTEST_SKIP() << "waves are filled on compute capability 9, from CUDA 12.5 on";
    synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
    desc.backend = SYNFIRE_BACKEND_CUDA;
    ASSERT_EQ(synfire_context_create(&desc, &context_), SYNFIRE_OK);
  }
  void TearDown() override {
    synfire_context_destroy(context_);
    EXPECT_EQ(synfire_context_reclaim(nullptr, nullptr), SYNFIRE_OK);
  }

  // Several neurons per thread: 62 blocks of the backward per multiprocessor, 6.2 or 6.9 waves.
  int64_t wide() const { return int64_t{n_multiprocessors_} * 62 * 128; }
  // One: 7.75 blocks per multiprocessor, 1.3 or 1.9 waves.
  int64_t narrow() const { return int64_t{n_multiprocessors_} * 31 * 16; }

  std::vector<Pass> capture(int32_t model, int32_t surrogate, int64_t n_neurons) const {
    synfire_buffer x = create(SYNFIRE_DTYPE_F32, n_steps * n_neurons);
    synfire_buffer gradient = create(SYNFIRE_DTYPE_F32, n_steps * n_neurons);
    synfire_buffer spikes = create(SYNFIRE_DTYPE_BITS, n_steps * ((n_neurons + 31) / 32));
    synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
    desc.model = model;
    desc.surrogate = surrogate;
    desc.n_steps = n_steps;
    desc.n_neurons = n_neurons;
    synfire_layer layer = nullptr;
    EXPECT_EQ(synfire_layer_create(context_, &desc, &layer), SYNFIRE_OK);
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.spikes = spikes;
    EXPECT_EQ(synfire_layer_forward(layer, &forward, stream), SYNFIRE_CAPTURED);
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = backward.grad_x_seq = gradient;
    backward.in_place = 1;
    EXPECT_EQ(synfire_layer_backward(layer, &backward, stream), SYNFIRE_CAPTURED);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    const std::vector<Pass> passes = passes_of(graph);
    EXPECT_EQ(passes.size(), 2u);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    synfire_layer_destroy(layer);
    for (const synfire_buffer buffer : {x, gradient, spikes}) synfire_buffer_destroy(buffer);
    return passes;
  }

 private:
  static constexpr int64_t n_steps = 32;

  synfire_buffer create(int32_t dtype, int64_t n_elements) const {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = static_cast<uint64_t>(n_elements);
    synfire_buffer buffer = nullptr;
    EXPECT_EQ(synfire_buffer_create(context_, &desc, &buffer), SYNFIRE_OK);
    return buffer;
  }

  int n_multiprocessors_ = 0;
  synfire_context context_ = nullptr;
};

TEST_F(Waves, AreOfBlocksThatAMultiprocessorHasRegistersFor) {
  for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model)
    for (int32_t surrogate = SYNFIRE_SURROGATE_SIGMOID; surrogate <= SYNFIRE_SURROGATE_RECT; ++surrogate) {
      SCOPED_TRACE(testing::Message() << "model " << model << ", surrogate " << surrogate);
      for (const Pass& pass : capture(model, surrogate, wide())) {
        if (pass.percent == backward_percent) {
          EXPECT_EQ(pass.blocks, wide_blocks);
        } else {
          EXPECT_EQ(pass.percent, 0u);
        }
      }
      for (const Pass& pass : capture(model, surrogate, narrow())) {
        if (pass.percent == backward_percent) {
          EXPECT_GE(pass.blocks, narrow_blocks);
        } else {
          EXPECT_EQ(pass.percent, 0u);
        }
      }
    }
}

TEST_F(Waves, OfTheMostCommonLayerAreFilled) {
  for (const auto& [n_neurons, blocks] : {std::pair{wide(), wide_blocks}, {narrow(), narrow_blocks}}) {
    const std::vector<Pass> passes = capture(SYNFIRE_MODEL_LIF, SYNFIRE_SURROGATE_SIGMOID, n_neurons);
    ASSERT_EQ(passes.size(), 2u);
    EXPECT_EQ(passes[0].percent, 0u);
    EXPECT_EQ(passes[1].percent, backward_percent);
    EXPECT_EQ(passes[1].blocks, blocks);
  }
}

}  // namespace

#endif
