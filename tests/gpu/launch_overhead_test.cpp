// What synfire_graph_launch() adds to a bare cudaGraphLaunch(): both launch the same kernels in turn, in one process.
// The bare graph has Synfire's own nodes and edges as its child, and a kernel that does nothing in the place of the
// signal.
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

  std::vector<double> ours, theirs;
  for (int i = -1000; i < 20000; ++i) {
    const auto start = steady_clock::now();
    ASSERT_EQ(cudaGraphLaunch(bare, stream), cudaSuccess);
    const auto launched = steady_clock::now();
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    uint64_t ticket = 0;
    const auto next = steady_clock::now();
    ASSERT_EQ(synfire_graph_launch(step.graph, nullptr, &ticket), SYNFIRE_OK);
    const auto end = steady_clock::now();
    ASSERT_EQ(synfire_graph_wait(step.graph, ticket, SYNFIRE_WAIT_SPIN, -1), SYNFIRE_OK);
    if (i < 0) continue;
    theirs.push_back(microseconds(launched - start));
    ours.push_back(microseconds(end - next));
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
