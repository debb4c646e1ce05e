// What synfire_graph_launch() adds to a bare cudaGraphLaunch(): both replay the same kernels in one process, in blocks
// of replays that take turns, so that each finds the caches as a loop of its own leaves them. The bare graph has
// Synfire's own nodes and edges as its child, and a kernel that does nothing in the place of the signal.
#include "recorded_step.hpp"
#include "user_kernels.hpp"

#include <algorithm>
#include <chrono>
#include <string>
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

TEST(LaunchOverhead, IsAtMostAHundredNanoseconds) {
  ASSERT_EQ(user::load_kernels(), cudaSuccess);
  const RecordedStep step;
  ASSERT_FALSE(HasFailure());

  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(synfire_graph_launch(step.graph, stream, nullptr), SYNFIRE_CAPTURED);
  ASSERT_EQ(user::nothing(stream), cudaSuccess);
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &captured), cudaSuccess);
  cudaGraphExec_t bare = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&bare, captured, cudaGraphInstantiateFlagUseNodePriority), cudaSuccess);
  ASSERT_EQ(cudaGraphUpload(bare, stream), cudaSuccess);

  constexpr int n_blocks = 101, n_replays = 200;
  std::vector<double> ours, theirs;
  for (int block = 0; block < n_blocks; ++block) {
    for (int i = 0; i < n_replays; ++i) {
      const auto start = steady_clock::now();
      ASSERT_EQ(cudaGraphLaunch(bare, stream), cudaSuccess);
      const auto launched = steady_clock::now();
      while (cudaStreamQuery(stream) == cudaErrorNotReady) {
      }
      if (block > 0) theirs.push_back(microseconds(launched - start));
    }
    for (int i = 0; i < n_replays; ++i) {
      uint64_t ticket = 0;
      const auto start = steady_clock::now();
      ASSERT_EQ(synfire_graph_launch(step.graph, nullptr, &ticket), SYNFIRE_OK);
      const auto launched = steady_clock::now();
      ASSERT_EQ(synfire_graph_wait(step.graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK);
      if (block > 0) ours.push_back(microseconds(launched - start));
    }
  }
  const double added = percentile(ours, 0.5) - percentile(theirs, 0.5);
  std::printf(
      "cudaGraphLaunch: median %.3f us, 99 %% %.3f us; synfire_graph_launch: median %.3f us, 99 %% %.3f us; added %.0f "
      "ns\n",
      percentile(theirs, 0.5), percentile(theirs, 0.99), percentile(ours, 0.5), percentile(ours, 0.99), added * 1000);
  EXPECT_LE(added, 0.1);
  cudaGraphExecDestroy(bare);
  cudaGraphDestroy(captured);
  cudaStreamDestroy(stream);
}

}  // namespace
