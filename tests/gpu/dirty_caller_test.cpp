// A caller whose thread was in an unusual state before the first call of Synfire: every call leaves the state
// unchanged.
#include "good_neighbour.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <vector>

namespace {

class ADirtyCaller : public GoodNeighbour {
 protected:
  struct State {
    int device = -1;
    CUcontext current = nullptr;
    cudaError_t error = cudaSuccess;
    cudaStreamCaptureMode mode = unusual_mode;
    unsigned int flags = 0;
  };
  static constexpr cudaStreamCaptureMode unusual_mode = cudaStreamCaptureModeThreadLocal;

  void SetUp() override {
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(driver, nullptr);
    get_current = reinterpret_cast<decltype(get_current)>(dlsym(driver, "cuCtxGetCurrent"));
    ASSERT_NE(get_current, nullptr);
    ASSERT_EQ(cudaGetDeviceCount(&n_devices), cudaSuccess);
    for (int device = 0; device < std::min(n_devices, 2); ++device) {
      ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
      ASSERT_EQ(cudaFree(nullptr), cudaSuccess) << "which creates the device's context";
      usual_flags.push_back(change_schedule());
    }
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_FALSE(HasFailure());
  }
  void TearDown() override {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    cudaGetLastError();
    for (size_t device = 0; device < usual_flags.size(); ++device) {
      EXPECT_EQ(cudaSetDevice(static_cast<int>(device)), cudaSuccess);
      EXPECT_EQ(cudaSetDeviceFlags(usual_flags[device]), cudaSuccess);
    }
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  }

  State state() const {
    State now;
    now.error = cudaPeekAtLastError();
    EXPECT_EQ(cudaGetDevice(&now.device), cudaSuccess);
    EXPECT_EQ(get_current(&now.current), CUDA_SUCCESS);
    // The mode can only be read by exchanging it.
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&now.mode), cudaSuccess);
    EXPECT_EQ(cudaGetDeviceFlags(&now.flags), cudaSuccess);
    now.flags &= callers_flags;
    return now;
  }
  void expect_unchanged(const char* call) const {
    SCOPED_TRACE(call);
    const State now = state();
    EXPECT_EQ(now.device, before.device);
    EXPECT_EQ(now.current, before.current);
    EXPECT_EQ(now.error, before.error);
    EXPECT_EQ(now.mode, unusual_mode);
    EXPECT_EQ(now.flags, before.flags);
  }
  void require_unchanged(const char* call, synfire_status status) const {
    ASSERT_EQ(status, SYNFIRE_OK) << call << ": " << last_error();
    expect_unchanged(call);
  }
#define UNCHANGED_AFTER(call) ASSERT_NO_FATAL_FAILURE(require_unchanged(#call, call))

  // Everything that a program does with Synfire, from the first call to the last, on device 0.
  void use_synfire() {
    EXPECT_NE(cudaSetDevice(100000), cudaSuccess);
    cudaStreamCaptureMode mode = unusual_mode;
    ASSERT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    ASSERT_NE(mode, unusual_mode);
    before = state();
    ASSERT_NE(before.error, cudaSuccess);
    ASSERT_NE(before.current, nullptr);
    ASSERT_FALSE(HasFailure());

    synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
    cd.backend = SYNFIRE_BACKEND_CUDA;
    UNCHANGED_AFTER(synfire_context_create(&cd, &context));
    synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
    ld.n_steps = 4, ld.n_neurons = 64;
    UNCHANGED_AFTER(synfire_layer_create(context, &ld, &layer));
    synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
    bd.n_elements = 4 * 64;
    UNCHANGED_AFTER(synfire_buffer_create(context, &bd, &x));
    bd.memory = SYNFIRE_MEMORY_PINNED;
    UNCHANGED_AFTER(synfire_buffer_create(context, &bd, &spikes));
    const std::vector<double> tau(64, 2);
    UNCHANGED_AFTER(synfire_layer_set_parameter(layer, "tau", tau.data(), 64));

    // V = (4 - 0) / 2 reaches the threshold of 1 in every step.
    std::vector<float> values(4 * 64, 4);
    const uint64_t bytes = values.size() * sizeof(float);
    UNCHANGED_AFTER(synfire_buffer_upload(x, 0, values.data(), bytes));
    forward.x = x, forward.spikes = spikes;
    UNCHANGED_AFTER(synfire_layer_forward(layer, &forward, nullptr));
    UNCHANGED_AFTER(synfire_context_synchronize(context));
    UNCHANGED_AFTER(synfire_buffer_download(spikes, 0, values.data(), bytes));
    EXPECT_EQ(values, std::vector<float>(4 * 64, 1));
    UNCHANGED_AFTER(synfire_buffer_fill(x, -4));
    UNCHANGED_AFTER(synfire_layer_reset_state(layer, nullptr));

    UNCHANGED_AFTER(synfire_graph_create(context, nullptr, &graph));
    UNCHANGED_AFTER(synfire_graph_record_forward(graph, layer, &forward));
    UNCHANGED_AFTER(synfire_graph_instantiate(graph));
    uint64_t ticket = 0, still_queued = 1;
    UNCHANGED_AFTER(synfire_graph_launch(graph, nullptr, &ticket));
    UNCHANGED_AFTER(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
    UNCHANGED_AFTER(synfire_buffer_download(spikes, 0, values.data(), bytes));
    EXPECT_EQ(values, std::vector<float>(4 * 64, 0));

    synfire_graph_destroy(graph);
    expect_unchanged("synfire_graph_destroy");
    synfire_layer_destroy(layer);
    expect_unchanged("synfire_layer_destroy");
    for (const synfire_buffer buffer : {x, spikes}) {
      synfire_buffer_destroy(buffer);
      expect_unchanged("synfire_buffer_destroy");
    }
    UNCHANGED_AFTER(synfire_context_reclaim(context, nullptr));
    synfire_context_destroy(context);
    expect_unchanged("synfire_context_destroy");
    UNCHANGED_AFTER(synfire_context_reclaim(nullptr, &still_queued));
    EXPECT_EQ(still_queued, 0u);
  }

  void* driver = nullptr;
  decltype(&cuCtxGetCurrent) get_current = nullptr;
  int n_devices = 0;
  std::vector<unsigned int> usual_flags;  // of each device in the tests
  State before;
};

TEST_F(ADirtyCaller, StaysOnTheDeviceThatSynfireUses) {
  use_synfire();
}

TEST_F(ADirtyCaller, StaysOnAnotherDevice) {
  if (n_devices < 2) GTEST_SKIP() << "this needs two GPUs";
  unsigned int flags = 0, flags_after = 0;
  ASSERT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  use_synfire();
  EXPECT_EQ(before.device, 1);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceFlags(&flags_after), cudaSuccess);
  EXPECT_EQ(flags & callers_flags, flags_after & callers_flags) << "on the device that Synfire used";
}

TEST_F(ADirtyCaller, StaysInADriverContextOfItsOwn) {
  using Create = CUresult(CUDAAPI*)(CUcontext*, unsigned int, CUdevice);
  const auto create = reinterpret_cast<Create>(dlsym(driver, "cuCtxCreate_v2"));
  const auto destroy = reinterpret_cast<decltype(&cuCtxDestroy)>(dlsym(driver, "cuCtxDestroy_v2"));
  ASSERT_TRUE(create && destroy);
  CUcontext own = nullptr;
  ASSERT_EQ(create(&own, CU_CTX_SCHED_YIELD, 0), CUDA_SUCCESS);
  use_synfire();
  EXPECT_EQ(before.current, own);
  EXPECT_EQ(destroy(own), CUDA_SUCCESS);
}

}  // namespace
