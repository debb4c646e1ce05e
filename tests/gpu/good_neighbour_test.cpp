// Synfire beside a program's own CUDA work: the caller's device, stream and captures are left as they were.
#include "user_kernels.hpp"

#include <synfire/synfire.h>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

// What a caller sets. CUDA sets cudaDeviceLmemResizeToMax itself, once, when a process makes its first graph.
constexpr unsigned int callers_flags = cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceSyncMemops;

// Makes CUDA wait for the current device in another way than it does, and answers the flags of before.
unsigned int change_schedule() {
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

TEST_F(GoodNeighbour, CallersStreamIsUsedAndStaysUsable) {
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK);
  uint64_t ticket = 0;
  ASSERT_EQ(synfire_graph_launch(graph, stream, &ticket), SYNFIRE_OK);
  EXPECT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1), SYNFIRE_OK);
  EXPECT_EQ(synfire_layer_forward(layer, &forward, stream), SYNFIRE_OK);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST_F(GoodNeighbour, AGraphBecomesAChildOfTheCallersCapture) {
  ASSERT_EQ(synfire_buffer_fill(x, 0.25), SYNFIRE_OK);
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK);
  uint64_t first = 0;
  ASSERT_EQ(synfire_graph_launch(graph, nullptr, &first), SYNFIRE_OK);
  ASSERT_EQ(synfire_graph_wait(graph, first, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
  for (const cudaStreamCaptureMode mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    ASSERT_EQ(synfire_layer_reset_state(layer, nullptr), SYNFIRE_OK);
    ASSERT_EQ(synfire_context_synchronize(context), SYNFIRE_OK);
    ASSERT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(memory, 1, 64, stream), cudaSuccess);
    uint64_t ticket = 77;
    EXPECT_EQ(synfire_graph_launch(graph, stream, &ticket), SYNFIRE_CAPTURED) << last_error();
    EXPECT_EQ(ticket, 0u);
    EXPECT_EQ(cudaMemsetAsync(memory, 0, 64, stream), cudaSuccess);
    cudaGraph_t captured = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
    size_t n_nodes = 0;
    EXPECT_EQ(cudaGraphGetNodes(captured, nullptr, &n_nodes), cudaSuccess);
    EXPECT_EQ(n_nodes, 3u);
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, captured, 0), cudaSuccess);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    // Twelve steps of V += (0.25 - V) / 2 from 0: the state went from run to run.
    std::vector<float> v(64);
    ASSERT_EQ(synfire_layer_read_state(layer, "v", v.data(), 64 * sizeof(float)), SYNFIRE_OK) << last_error();
    float expected = 0;
    for (int i = 0; i < 12; ++i) expected += (0.25f - expected) / 2;
    EXPECT_NEAR(v[63], expected, 1e-6);
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
  }
  // Its runs are no replays of ours.
  uint64_t next = 0;
  ASSERT_EQ(synfire_graph_launch(graph, nullptr, &next), SYNFIRE_OK);
  EXPECT_EQ(next, first + 1);
  EXPECT_EQ(synfire_graph_wait(graph, next, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(GoodNeighbour, EagerCallsBecomeNodesOfTheCallersCapture) {
  ASSERT_EQ(synfire_buffer_fill(x, 0.25), SYNFIRE_OK);
  const double tau = 4;
  ASSERT_EQ(synfire_layer_set_parameter(layer, "tau", &tau, 1), SYNFIRE_OK);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(synfire_layer_reset_state(layer, stream), SYNFIRE_CAPTURED) << last_error();
  EXPECT_EQ(synfire_layer_forward(layer, &forward, stream), SYNFIRE_CAPTURED) << last_error();
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = spikes;
  synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
  bd.n_elements = 4 * 64;
  synfire_buffer grad_x = nullptr;
  ASSERT_EQ(synfire_buffer_create(context, &bd, &grad_x), SYNFIRE_OK) << last_error();
  backward.grad_x_seq = grad_x;
  EXPECT_EQ(synfire_layer_backward(layer, &backward, stream), SYNFIRE_CAPTURED) << last_error();
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  size_t n_nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(captured, nullptr, &n_nodes), cudaSuccess);
  EXPECT_EQ(n_nodes, 3u);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, captured, 0), cudaSuccess);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    std::vector<float> v(64);
    ASSERT_EQ(synfire_layer_read_state(layer, "v", v.data(), 64 * sizeof(float)), SYNFIRE_OK) << last_error();
    float expected = 0;
    for (int k = 0; k < 4; ++k) expected += (0.25f - expected) / 4;
    EXPECT_NEAR(v[0], expected, 1e-6) << "with the parameters of the capture";
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
  synfire_buffer_destroy(grad_x);
}

TEST_F(GoodNeighbour, AnInvalidCaptureIsLeftToItsOwner) {
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_NE(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(synfire_graph_launch(graph, stream, nullptr), SYNFIRE_ERROR_CAPTURING) << last_error();
  EXPECT_EQ(synfire_layer_forward(layer, &forward, stream), SYNFIRE_ERROR_CAPTURING) << last_error();
  cudaGraph_t captured = nullptr;
  EXPECT_NE(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  cudaGetLastError();
  EXPECT_EQ(synfire_graph_launch(graph, stream, nullptr), SYNFIRE_OK) << last_error();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

// Other threads allocate, free, load and destroy while this library captures, over and over.
TEST_F(GoodNeighbour, OtherThreadsNeverBreakOurCapture) {
  std::atomic<bool> stop{false};
  std::thread raw([&] {
    while (!stop.load()) {
      void* memory = nullptr;
      EXPECT_EQ(cudaMalloc(&memory, 1 << 16), cudaSuccess);
      EXPECT_EQ(cudaFree(memory), cudaSuccess);
    }
  });
  std::thread ours([&] {
    while (!stop.load()) {
      synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
      bd.n_elements = 1000;
      synfire_buffer buffer = nullptr;
      EXPECT_EQ(synfire_buffer_create(context, &bd, &buffer), SYNFIRE_OK);
      synfire_buffer_destroy(buffer);
      EXPECT_EQ(synfire_context_reclaim(nullptr, nullptr), SYNFIRE_OK);
    }
  });
#if CUDART_VERSION >= 12080
  std::thread modules([&] {
    const char* const ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n";
    while (!stop.load()) {
      cudaLibrary_t library = nullptr;
      cudaKernel_t kernel = nullptr;
      EXPECT_EQ(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
      EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, "nothing"), cudaSuccess);
      EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
    }
  });
#else
  std::thread modules([] {});
#endif
  for (int i = 0; i < 100; ++i) {
    synfire_graph another = nullptr;
    ASSERT_EQ(synfire_graph_create(context, nullptr, &another), SYNFIRE_OK);
    ASSERT_EQ(synfire_graph_record_forward(another, layer, &forward), SYNFIRE_OK);
    EXPECT_EQ(synfire_graph_instantiate(another), SYNFIRE_OK) << last_error();
    uint64_t ticket = 0;
    EXPECT_EQ(synfire_graph_launch(another, nullptr, &ticket), SYNFIRE_OK) << last_error();
    EXPECT_EQ(synfire_graph_wait(another, ticket, SYNFIRE_WAIT_YIELD, -1), SYNFIRE_OK) << last_error();
    synfire_graph_destroy(another);
  }
  stop.store(true);
  raw.join();
  ours.join();
  modules.join();
}

// Everything slow, on this thread, while this thread captures in the strictest mode: nothing breaks the capture.
TEST_F(GoodNeighbour, CreatingInstantiatingAndReclaimingDuringACaptureLeaveItAlone) {
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
  bd.n_elements = 1000;
  synfire_buffer buffer = nullptr;
  EXPECT_EQ(synfire_buffer_create(context, &bd, &buffer), SYNFIRE_OK) << last_error();
  const std::vector<float> zeros(1000);
  EXPECT_EQ(synfire_buffer_upload(buffer, 0, zeros.data(), 4000), SYNFIRE_OK) << last_error();
  EXPECT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  uint64_t ticket = 0;
  EXPECT_EQ(synfire_graph_launch(graph, nullptr, &ticket), SYNFIRE_OK) << last_error();
  EXPECT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK) << last_error();
  synfire_buffer_destroy(buffer);
  EXPECT_EQ(synfire_context_reclaim(context, nullptr), SYNFIRE_OK) << last_error();
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
}

TEST_F(GoodNeighbour, TheCallersLastErrorAndDeviceStay) {
  unsigned int flags = 0, flags_after = 0;
  const unsigned int usual = change_schedule();
  ASSERT_FALSE(HasFailure());
  ASSERT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
  int before = -1, after = -1;
  ASSERT_EQ(cudaGetDevice(&before), cudaSuccess);
  EXPECT_NE(cudaSetDevice(100000), cudaSuccess);
  const cudaError_t dirty = cudaPeekAtLastError();
  ASSERT_NE(dirty, cudaSuccess);
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  uint64_t ticket = 0;
  ASSERT_EQ(synfire_graph_launch(graph, nullptr, &ticket), SYNFIRE_OK);
  ASSERT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK);
  EXPECT_EQ(cudaPeekAtLastError(), dirty);
  ASSERT_EQ(cudaGetDevice(&after), cudaSuccess);
  EXPECT_EQ(before, after);
  ASSERT_EQ(cudaGetDeviceFlags(&flags_after), cudaSuccess);
  EXPECT_EQ(flags & callers_flags, flags_after & callers_flags);
  EXPECT_EQ(cudaSetDeviceFlags(usual), cudaSuccess);
  cudaGetLastError();
}

// A caller whose thread was in an unusual state before Synfire was first called: after every call it still is.
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
      ASSERT_EQ(cudaFree(nullptr), cudaSuccess) << "which makes the device's context";
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
    // Only an exchange tells the mode.
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

  // All that a program does with Synfire, from the first call to the last, on device 0.
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
  std::vector<unsigned int> usual_flags;  // of each device that the tests use
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
  EXPECT_EQ(flags & callers_flags, flags_after & callers_flags) << "of the device that Synfire used";
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

// A wait that asks CUDA whether the device lives is answered "not ready", which is nothing that the caller should find
// later.
TEST_F(GoodNeighbour, AWaitThatTimesOutLeavesNoErrorBehind) {
  ASSERT_EQ(user::load_kernels(), cudaSuccess);
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  for (const bool dirty : {false, true}) {
    cudaGetLastError();
    ASSERT_EQ(user::busy(30'000'000, stream), cudaSuccess);
    if (dirty) {
      EXPECT_NE(cudaSetDevice(100000), cudaSuccess);
    }
    const cudaError_t before = cudaPeekAtLastError();
    EXPECT_EQ(before != cudaSuccess, dirty);
    uint64_t ticket = 0;
    ASSERT_EQ(synfire_graph_launch(graph, stream, &ticket), SYNFIRE_OK) << last_error();
    for (const int32_t policy : {SYNFIRE_WAIT_SPIN, SYNFIRE_WAIT_YIELD, SYNFIRE_WAIT_BLOCK})
      EXPECT_EQ(synfire_graph_wait(graph, ticket, policy, 2'500'000), SYNFIRE_PENDING) << last_error();
    EXPECT_EQ(synfire_graph_poll(graph, ticket), SYNFIRE_PENDING);
    EXPECT_EQ(cudaPeekAtLastError(), before);
    EXPECT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1), SYNFIRE_OK) << last_error();
    EXPECT_EQ(cudaPeekAtLastError(), before);
  }
  cudaGetLastError();
}

// A replay on the caller's stream goes on with the values that it was launched with, and nobody waits for it.
TEST_F(GoodNeighbour, ValuesPerNeuronLeaveReplaysInFlightAlone) {
  ASSERT_EQ(user::load_kernels(), cudaSuccess);
  ASSERT_EQ(synfire_buffer_fill(x, 0.25), SYNFIRE_OK);
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  const auto set_tau = [&](double value) {
    const std::vector<double> tau(64, value);
    ASSERT_EQ(synfire_layer_set_parameter(layer, "tau", tau.data(), 64), SYNFIRE_OK) << last_error();
  };
  const auto state = [&](uint64_t ticket) {
    EXPECT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK) << last_error();
    std::vector<float> v(64);
    EXPECT_EQ(synfire_layer_read_state(layer, "v", v.data(), 64 * sizeof(float)), SYNFIRE_OK) << last_error();
    return v[63];
  };
  set_tau(1e9);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(synfire_layer_reset_state(layer, stream), SYNFIRE_OK) << last_error();
    ASSERT_EQ(user::busy(5'000'000, stream), cudaSuccess);
    uint64_t first = 0, second = 0;
    ASSERT_EQ(synfire_graph_launch(graph, stream, &first), SYNFIRE_OK) << last_error();
    set_tau(2);
    if (i > 0) {
      EXPECT_EQ(synfire_graph_poll(graph, first), SYNFIRE_PENDING);
    }
    EXPECT_LT(state(first), 1e-6f) << "with the values of before";
    ASSERT_EQ(synfire_graph_launch(graph, stream, &second), SYNFIRE_OK) << last_error();
    EXPECT_NEAR(state(second), 0.25 * (1 - 1.0 / 16), 1e-6);
    set_tau(1e9);
  }
}

// Their first values need memory and a kernel that is not loaded yet: neither breaks a capture that is open.
TEST_F(GoodNeighbour, TheFirstValuesPerNeuronDuringACapture) {
  ASSERT_EQ(synfire_buffer_fill(x, 0.25), SYNFIRE_OK);
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  const std::vector<double> tau(64, 4);
  ASSERT_EQ(synfire_layer_set_parameter(layer, "tau", tau.data(), 64), SYNFIRE_OK) << last_error();
  EXPECT_EQ(synfire_graph_launch(graph, stream, nullptr), SYNFIRE_CAPTURED) << last_error();
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, captured, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  std::vector<float> v(64);
  ASSERT_EQ(synfire_layer_read_state(layer, "v", v.data(), 64 * sizeof(float)), SYNFIRE_OK) << last_error();
  EXPECT_NEAR(v[63], 0.25 * (1 - 0.75 * 0.75 * 0.75 * 0.75), 1e-6);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
}

TEST_F(GoodNeighbour, BorrowedMemoryOfTheWrongKindIsRefused) {
  std::vector<float> pageable(1000);
  void* device_memory = nullptr;
  ASSERT_EQ(cudaMalloc(&device_memory, 4000), cudaSuccess);
  synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
  bd.n_elements = 1000;
  synfire_buffer buffer = nullptr;
  bd.data = pageable.data();
  bd.memory = SYNFIRE_MEMORY_DEVICE;
  EXPECT_EQ(synfire_buffer_create(context, &bd, &buffer), SYNFIRE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find("desc.data"), std::string::npos);
  EXPECT_EQ(buffer, nullptr);
  bd.memory = SYNFIRE_MEMORY_PINNED;
  EXPECT_EQ(synfire_buffer_create(context, &bd, &buffer), SYNFIRE_ERROR_INVALID_ARGUMENT);
  bd.data = device_memory;
  EXPECT_EQ(synfire_buffer_create(context, &bd, &buffer), SYNFIRE_ERROR_INVALID_ARGUMENT);
  bd.memory = SYNFIRE_MEMORY_DEVICE;
  EXPECT_EQ(synfire_buffer_create(context, &bd, &buffer), SYNFIRE_OK);
  synfire_buffer_destroy(buffer);
  EXPECT_EQ(synfire_context_reclaim(nullptr, nullptr), SYNFIRE_OK);
  EXPECT_EQ(cudaFree(device_memory), cudaSuccess);
}

TEST_F(GoodNeighbour, PageableBuffersAreRefusedInOperations) {
  synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
  bd.n_elements = 4 * 64;
  bd.memory = SYNFIRE_MEMORY_HOST;
  synfire_buffer host = nullptr;
  ASSERT_EQ(synfire_buffer_create(context, &bd, &host), SYNFIRE_OK);
  synfire_forward_desc bad = forward;
  bad.x = host;
  EXPECT_EQ(synfire_graph_record_forward(graph, layer, &bad), SYNFIRE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find("desc.x"), std::string::npos);
  EXPECT_EQ(synfire_layer_forward(layer, &bad, nullptr), SYNFIRE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(synfire_buffer_fill(host, 3), SYNFIRE_OK);
  float value = 0;
  EXPECT_EQ(synfire_buffer_download(host, 8, &value, 4), SYNFIRE_OK);
  EXPECT_EQ(value, 3.0f);
  synfire_buffer_destroy(host);
}

TEST_F(GoodNeighbour, MoreMemoryThanThereIsIsAnErrorAndNothingElse) {
  synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
  bd.n_elements = uint64_t{1} << 50;
  synfire_buffer buffer = nullptr;
  EXPECT_EQ(synfire_buffer_create(context, &bd, &buffer), SYNFIRE_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(buffer, nullptr);
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  uint64_t ticket = 0;
  ASSERT_EQ(synfire_graph_launch(graph, nullptr, &ticket), SYNFIRE_OK);
  EXPECT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1), SYNFIRE_OK);
}

TEST_F(GoodNeighbour, ADeviceThatDoesNotExistIsNamed) {
  synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
  cd.device = 1000;
  for (const int32_t backend : {SYNFIRE_BACKEND_AUTO, SYNFIRE_BACKEND_CUDA}) {
    cd.backend = backend;
    synfire_context none = nullptr;
    EXPECT_EQ(synfire_context_create(&cd, &none), SYNFIRE_ERROR_NO_DEVICE);
    EXPECT_EQ(none, nullptr);
    EXPECT_NE(last_error().find("1000"), std::string::npos);
  }
}

// Replays in flight when their graph, layer and buffers are destroyed finish first.
TEST_F(GoodNeighbour, DestroyingWhileReplaysAreInFlight) {
  for (int round = 0; round < 20; ++round) {
    synfire_graph flying = nullptr;
    ASSERT_EQ(synfire_graph_create(context, nullptr, &flying), SYNFIRE_OK);
    ASSERT_EQ(synfire_graph_record_forward(flying, layer, &forward), SYNFIRE_OK);
    ASSERT_EQ(synfire_graph_instantiate(flying), SYNFIRE_OK);
    for (int i = 0; i < 50; ++i) ASSERT_EQ(synfire_graph_launch(flying, nullptr, nullptr), SYNFIRE_OK);
    synfire_graph_destroy(flying);
    ASSERT_EQ(synfire_context_reclaim(context, nullptr), SYNFIRE_OK) << last_error();
  }
  EXPECT_EQ(synfire_context_synchronize(context), SYNFIRE_OK);
}

}  // namespace
