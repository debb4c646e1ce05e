// Synfire beside a program's own CUDA work: the caller's device, stream and captures stay as they were.
#include "good_neighbour.hpp"
#include "caller_kernels.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace {

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
    // Twelve steps of V += (0.25 - V) / 2 from 0: the state continued from run to run.
    std::vector<float> v(64);
    ASSERT_EQ(synfire_layer_read_state(layer, "v", v.data(), 64 * sizeof(float)), SYNFIRE_OK) << last_error();
    float expected = 0;
    for (int i = 0; i < 12; ++i) expected += (0.25f - expected) / 2;
    EXPECT_NEAR(v[63], expected, 1e-6);
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
  }
  // Its runs are not replays of our graph.
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

// Other threads allocate, free, load and destroy while this library repeatedly captures.
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

// This thread does everything slow while it captures in the strictest mode: nothing breaks the capture.
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

// When a wait asks CUDA about the device, it gets "not ready". The caller must not find that error later.
TEST_F(GoodNeighbour, AWaitThatTimesOutLeavesNoErrorBehind) {
  ASSERT_EQ(caller::load_kernels(), cudaSuccess);
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  for (const bool dirty : {false, true}) {
    cudaGetLastError();
    ASSERT_EQ(caller::busy(30'000'000, stream), cudaSuccess);
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

// A replay on the caller's stream completes with the values at its launch, without anyone waiting for it.
TEST_F(GoodNeighbour, ValuesPerNeuronLeaveReplaysInFlightAlone) {
  ASSERT_EQ(caller::load_kernels(), cudaSuccess);
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
    ASSERT_EQ(caller::busy(5'000'000, stream), cudaSuccess);
    uint64_t first = 0, second = 0;
    ASSERT_EQ(synfire_graph_launch(graph, stream, &first), SYNFIRE_OK) << last_error();
    set_tau(2);
    if (i > 0) {
      EXPECT_EQ(synfire_graph_poll(graph, first), SYNFIRE_PENDING);
    }
    EXPECT_LT(state(first), 1e-6f) << "with the old values";
    ASSERT_EQ(synfire_graph_launch(graph, stream, &second), SYNFIRE_OK) << last_error();
    EXPECT_NEAR(state(second), 0.25 * (1 - 1.0 / 16), 1e-6);
    set_tau(1e9);
  }
}

// Their first values need memory and a kernel that is not yet loaded. Neither breaks an open capture.
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

// Replays in flight complete when their graph, layer and buffers are destroyed.
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
