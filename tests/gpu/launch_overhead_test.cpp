// What synfire_graph_launch() adds to a bare cudaGraphLaunch(): both launch the same kernels in turn, in one process,
// now the one first and now the other, and both are waited for alike. The bare graph has Synfire's own nodes and edges
// as its child, and a kernel that does nothing in the place of the signal.
#include "recorded_step.hpp"
#include "user_kernels.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

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

// `ours` is the stream that Synfire launches on: null is the context's own. The bare graph is launched on `stream`.
void compare_launches(const RecordedStep& step, cudaStream_t ours, cudaStream_t stream, const char* name) {
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(synfire_graph_launch(step.graph, stream, nullptr), SYNFIRE_CAPTURED);
  ASSERT_EQ(user::nothing(stream), cudaSuccess);
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  cudaGraphExec_t bare = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&bare, captured, cudaGraphInstantiateFlagUseNodePriority), cudaSuccess);
  ASSERT_EQ(cudaGraphUpload(bare, stream), cudaSuccess);

  uint64_t ticket = 0;
  ASSERT_EQ(synfire_graph_launch(step.graph, ours, &ticket), SYNFIRE_OK);
  // Whichever launch it was, both kinds of wait follow: the next one finds CUDA and Synfire as every other does.
  const auto wait = [&] {
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(synfire_graph_wait(step.graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK);
  };
  ASSERT_NO_FATAL_FAILURE(wait());
  std::vector<double> times[2];
  for (int i = -1000; i < 20000; ++i) {
    for (const bool synfire : {i % 2 != 0, i % 2 == 0}) {
      const auto start = steady_clock::now();
      if (synfire) {
        ASSERT_EQ(synfire_graph_launch(step.graph, ours, &ticket), SYNFIRE_OK);
      } else {
        ASSERT_EQ(cudaGraphLaunch(bare, stream), cudaSuccess);
      }
      const auto end = steady_clock::now();
      ASSERT_NO_FATAL_FAILURE(wait());
      if (i >= 0) times[synfire].push_back(microseconds(end - start));
    }
  }
  auto& [theirs, synfires] = times;
  const double added = percentile(synfires, 0.5) - percentile(theirs, 0.5);
  std::printf(
      "cudaGraphLaunch: median %.3f us, 99 %% %.3f us; synfire_graph_launch: median %.3f us, 99 %% %.3f us; added %.0f "
      "ns, on %s\n",
      percentile(theirs, 0.5), percentile(theirs, 0.99), percentile(synfires, 0.5), percentile(synfires, 0.99),
      added * 1000, name);
  EXPECT_LE(added, 0.1);
  EXPECT_EQ(cudaGraphExecDestroy(bare), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
}

class LaunchOverhead : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(user::load_kernels(), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override { EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess); }
  cudaStream_t stream = nullptr;
};

TEST_F(LaunchOverhead, IsAtMostAHundredNanoseconds) {
  const RecordedStep step;
  ASSERT_FALSE(HasFailure());
  compare_launches(step, nullptr, stream, "the context's own stream");
}

TEST_F(LaunchOverhead, OnACallersStreamToo) {
  const RecordedStep step;
  ASSERT_FALSE(HasFailure());
  compare_launches(step, stream, stream, "a stream of the caller's");
}

}  // namespace
