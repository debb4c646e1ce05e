// The time that synfire_graph_launch() adds to a bare cudaGraphLaunch(). Both launch the same kernels, alternating in
// one process and in both orders, and both are waited for in the same way. The bare graph has Synfire's own nodes and
// edges as a child graph, and a kernel that does nothing instead of the signal.
#include "caller_kernels.hpp"
#include "driver_function.hpp"
#include "recorded_passes.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include <cuda.h>

namespace {

using std::chrono::steady_clock;

double microseconds(steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

double percentile(std::vector<double>& times, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(at), times.end());
  return times[at];
}

// Printed in separate blocks, because other programs slow the processor down for a while. All launches are judged.
constexpr int n_blocks = 15;

// Between blocks, as in the loop of a program that cannot wait: a processor that has slept is slow for a while.
void stay_awake(steady_clock::duration time) {
  const auto end = steady_clock::now() + time;
  while (steady_clock::now() < end) std::atomic_signal_fence(std::memory_order_seq_cst);
}

// `ours` is the stream that Synfire launches on; null is the context's own. The bare graph is launched on `stream`,
// after the CUDA queries in `asked`.
void compare_launches(const RecordedPasses& passes, cudaStream_t ours, cudaStream_t stream, const char* name,
                      const std::function<void()>& asked = {}) {
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(synfire_graph_launch(passes.graph, stream, nullptr), SYNFIRE_CAPTURED);
  ASSERT_EQ(caller::nothing(stream), cudaSuccess);
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  cudaGraphExec_t bare = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&bare, captured, cudaGraphInstantiateFlagUseNodePriority), cudaSuccess);
  ASSERT_EQ(cudaGraphUpload(bare, stream), cudaSuccess);

  uint64_t ticket = 0;
  ASSERT_EQ(synfire_graph_launch(passes.graph, ours, &ticket), SYNFIRE_OK);
  // Both kinds of wait follow every launch, so that each launch finds CUDA and Synfire in the same state.
  const auto wait = [&] {
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(synfire_graph_wait(passes.graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK);
  };
  ASSERT_NO_FATAL_FAILURE(wait());
  std::vector<double> all[2];
  for (int block = 0; block < n_blocks; ++block) {
    stay_awake(std::chrono::milliseconds(200));
    std::vector<double> times[2];
    for (int i = -200; i < 2000; ++i) {
      for (const bool synfire : {i % 2 != 0, i % 2 == 0}) {
        const auto start = steady_clock::now();
        if (synfire) {
          ASSERT_EQ(synfire_graph_launch(passes.graph, ours, &ticket), SYNFIRE_OK);
        } else {
          if (asked) asked();
          ASSERT_EQ(cudaGraphLaunch(bare, stream), cudaSuccess);
        }
        const auto end = steady_clock::now();
        ASSERT_NO_FATAL_FAILURE(wait());
        if (i >= 0) times[synfire].push_back(microseconds(end - start));
      }
    }
    auto& [theirs, synfires] = times;
    const double added = percentile(synfires, 0.5) - percentile(theirs, 0.5);
    for (const bool synfire : {false, true})
      all[synfire].insert(all[synfire].end(), times[synfire].begin(), times[synfire].end());
    std::printf(
        "cudaGraphLaunch: median %.3f us, 99 %% %.3f us; synfire_graph_launch: median %.3f us, 99 %% %.3f us; added "
        "%.0f ns, on %s\n",
        percentile(theirs, 0.5), percentile(theirs, 0.99), percentile(synfires, 0.5), percentile(synfires, 0.99),
        added * 1000, name);
  }
  EXPECT_LE(percentile(all[1], 0.5) - percentile(all[0], 0.5), 0.1);
  EXPECT_EQ(cudaGraphExecDestroy(bare), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
}

class LaunchOverhead : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(caller::load_kernels(), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override { EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess); }
  cudaStream_t stream = nullptr;
};

TEST_F(LaunchOverhead, IsAtMostAHundredNanoseconds) {
  const RecordedPasses passes;
  ASSERT_FALSE(HasFailure());
  compare_launches(passes, nullptr, stream, "the context's own stream");
}

// A caller's stream may be in a capture, or belong to another device, and CUDA must be queried for both. The bare
// launch includes these queries; the time without them is printed too.
TEST_F(LaunchOverhead, OnACallersStreamItIsTwoQuestionsMore) {
  const RecordedPasses passes;
  ASSERT_FALSE(HasFailure());
  const auto is_capturing = driver_function<decltype(&cuStreamIsCapturing)>("cuStreamIsCapturing");
  const auto get_context = driver_function<decltype(&cuStreamGetCtx)>("cuStreamGetCtx");
  ASSERT_FALSE(HasFailure());
  compare_launches(passes, stream, stream, "a stream of the caller's, asked what it is", [&] {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CUcontext context = nullptr;
    ASSERT_EQ(is_capturing(stream, &status), CUDA_SUCCESS);
    ASSERT_EQ(get_context(stream, &context), CUDA_SUCCESS);
  });
}

TEST_F(LaunchOverhead, OnACallersStreamInAll) {
  const RecordedPasses passes;
  ASSERT_FALSE(HasFailure());
  compare_launches(passes, stream, stream, "a stream of the caller's");
}

}  // namespace
