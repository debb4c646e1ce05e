// Launches on every kind of stream that a caller can pass, from threads with every kind of CUDA context: the
// assumptions of src/backends/cuda/cuda_device.cpp about a driver (streams_have_contexts()).
#include "caller_kernels.hpp"
#include "driver_function.hpp"
#include "good_neighbour.hpp"

#include <cuda.h>

#include <functional>
#include <thread>
#include <vector>

namespace {

class CallersStreams : public GoodNeighbour {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(GoodNeighbour::SetUp());
    ASSERT_EQ(caller::load_kernels(), cudaSuccess);
    // V = (4 - 0) / 2 reaches the threshold of 1 in every step.
    ASSERT_EQ(synfire_buffer_fill(x, 4), SYNFIRE_OK) << last_error();
    ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
    get_current = driver_function<decltype(get_current)>("cuCtxGetCurrent");
    set_current = driver_function<decltype(set_current)>("cuCtxSetCurrent");
    ASSERT_FALSE(HasFailure());
  }

  void expect_spikes(float all) {
    std::vector<float> values(4 * 64, 7);
    ASSERT_EQ(synfire_buffer_download(spikes, 0, values.data(), values.size() * sizeof(float)), SYNFIRE_OK);
    EXPECT_EQ(values, std::vector<float>(4 * 64, all));
  }
  void expect_current(CUcontext expected) {
    CUcontext current = nullptr;
    ASSERT_EQ(get_current(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, expected);
  }
  void launch_and_look(synfire_stream on) {
    ASSERT_EQ(synfire_buffer_fill(spikes, 0), SYNFIRE_OK) << last_error();
    uint64_t ticket = 0;
    ASSERT_EQ(synfire_graph_launch(graph, on, &ticket), SYNFIRE_OK) << last_error();
    ASSERT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK) << last_error();
    expect_spikes(1);
  }

  decltype(&cuCtxGetCurrent) get_current = nullptr;
  decltype(&cuCtxSetCurrent) set_current = nullptr;
};

void in_a_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

TEST_F(CallersStreams, FromAThreadWithoutAContext) {
  in_a_thread([&] {
    for (const synfire_stream on : {synfire_stream{}, stream, cudaStreamLegacy, cudaStreamPerThread}) {
      ASSERT_NO_FATAL_FAILURE(expect_current(nullptr));
      ASSERT_NO_FATAL_FAILURE(launch_and_look(on));
      ASSERT_NO_FATAL_FAILURE(expect_current(nullptr)) << "the thread has none afterwards either";
    }
  });
}

TEST_F(CallersStreams, FromAThreadInAContextOfItsOwn) {
  using Create = CUresult(CUDAAPI*)(CUcontext*, unsigned int, CUdevice);
  // The runtime would return the newest version, which has another signature.
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuCtxCreate", &found, 3020, cudaEnableDefault, &status), cudaSuccess);
  ASSERT_EQ(status, cudaDriverEntryPointSuccess);
  const auto create = reinterpret_cast<Create>(found);
  const auto destroy = driver_function<decltype(&cuCtxDestroy)>("cuCtxDestroy");
  in_a_thread([&] {
    CUcontext own = nullptr;
    ASSERT_EQ(create(&own, 0, 0), CUDA_SUCCESS);
    for (const synfire_stream on : {synfire_stream{}, stream, cudaStreamLegacy, cudaStreamPerThread}) {
      ASSERT_NO_FATAL_FAILURE(launch_and_look(on));
      ASSERT_NO_FATAL_FAILURE(expect_current(own));
    }
    EXPECT_EQ(destroy(own), CUDA_SUCCESS);
  });
}

// Another thread without a context adds to what the caller captures on this thread.
TEST_F(CallersStreams, ACaptureFromAThreadWithoutAContext) {
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  in_a_thread([&] {
    EXPECT_EQ(synfire_graph_launch(graph, stream, nullptr), SYNFIRE_CAPTURED) << last_error();
    ASSERT_NO_FATAL_FAILURE(expect_current(nullptr));
  });
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, captured, 0), cudaSuccess);
  ASSERT_EQ(synfire_buffer_fill(spikes, 0), SYNFIRE_OK) << last_error();
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  expect_spikes(1);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
}

// The replay is ordered in the default stream that the handle refers to. On another thread the same handle is another
// stream.
TEST_F(CallersStreams, DefaultStreamsAreStreamsLikeOthers) {
  for (const cudaStream_t on : {cudaStreamLegacy, cudaStreamPerThread}) {
    ASSERT_EQ(caller::busy(50'000'000, on), cudaSuccess);
    uint64_t ticket = 0;
    ASSERT_EQ(synfire_graph_launch(graph, on, &ticket), SYNFIRE_OK) << last_error();
    EXPECT_EQ(synfire_graph_poll(graph, ticket), SYNFIRE_PENDING) << "other work in the stream precedes it";
    in_a_thread([&] {
      const synfire_status expected = on == cudaStreamLegacy ? SYNFIRE_OK : SYNFIRE_ERROR_WRONG_ORDER;
      EXPECT_EQ(synfire_graph_launch(graph, on, nullptr), expected) << last_error();
      EXPECT_EQ(synfire_graph_launch(graph, stream, nullptr), SYNFIRE_ERROR_WRONG_ORDER);
    });
    ASSERT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK) << last_error();
    EXPECT_EQ(cudaStreamSynchronize(on), cudaSuccess);
    expect_spikes(1);
  }
}

}  // namespace
