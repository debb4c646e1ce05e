// Keepers of tapes that the library does not have (graph/tape_keeper.hpp): when a graph plans, checks, stamps, leaves
// and spoils them, on host and GPU.
#include "fake_cuda.hpp"

#include <backends/cuda/cuda_device.hpp>
#include <backends/host/host_device.hpp>
#include <backends/host/job_system.hpp>
#include <base/error.hpp>
#include <graph/graph.hpp>
#include <kinds/operations_for_machines.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/native/native.hpp>

#include <gtest/gtest.h>

#include <string>

namespace synfire_test {
namespace {

using namespace synfire;
using core::Ref;

template <class T>
Ref<T> taken(T* made) {
  Ref<T> reference(made);
  made->release();  // the initial reference
  return reference;
}

std::string events;
uint64_t version_when_left;
bool stale;  // what the next check finds

// Writes down what happens to it, and the version of a buffer that the replay writes.
template <char name>
class Keeper final : public core::KeeperOf<Keeper<name>> {
 public:
  explicit Keeper(const core::Graph&) {}
  ~Keeper() override { note("destroy"); }

  void commit() noexcept override { note("commit"); }
  void drop() noexcept override { note("drop"); }
  void instantiate() override { note("instantiate"); }
  void plan(std::span<const uint8_t> enabled) noexcept override {
    note("plan");
    this->checks_ = enabled.front() != 0;
  }
  void rebind(core::Buffer&, core::Buffer&) noexcept override { note("rebind"); }
  void check() const override {
    note("check");
    if (stale) core::fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-NONE", "the test says so");
  }
  void before(uint32_t operation) override { note("before" + std::to_string(operation)); }
  void stamp() noexcept { note("stamp"); }
  void leave(bool captured) {
    note(captured ? "leave captured" : "leave");
    version_when_left = written ? written->version() : 0;
  }
  void spoil() noexcept { note("spoil"); }

  const core::Buffer* written = nullptr;

 private:
  static void note(const std::string& event) { events += std::string(1, name) + " " + event + ", "; }
};

class OwnKeeper : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    fake::install();
    context_ = taken(new core::Context(
        GetParam() ? cuda::make_device(0, 0, operations::machine_operations) : host::make_device(1, {}), 0));
    buffer_ = make_buffer();
    graph_ = taken(new core::Graph(*context_, 1));
    events.clear();
    stale = false;
  }
  void TearDown() override {
    buffer_ = {}, graph_ = {}, context_ = {};
    while (core::drain() > 0) {
    }
  }
  Ref<core::Buffer> make_buffer() const {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.n_elements = 4;
    return taken(new core::Buffer(*context_, desc));
  }
  // A fill of which two rooms keep tapes.
  void record() {
    graph_->record([&](core::Recorder& recorder) {
      recorder.keeper<Keeper<'a'>>().written = buffer_.get();
      recorder.keeper<Keeper<'b'>>();
      EXPECT_EQ(&recorder.keeper<Keeper<'b'>>(), &recorder.keeper<Keeper<'b'>>());
      return core::OperationList{operations::Fill{
          buffer_->view(), 1, recorder.value("value", core::GraphValues::Kind::fill, SYNFIRE_DTYPE_F32, 1)}};
    });
  }
  static std::string taken_events() { return std::exchange(events, {}); }

  Ref<core::Context> context_;
  Ref<core::Buffer> buffer_;
  Ref<core::Graph> graph_;
};

TEST_P(OwnKeeper, IsToldWhatHappens) {
  record();
  EXPECT_EQ(taken_events(), "a commit, b commit, ");
  EXPECT_THROW(graph_->record([](core::Recorder&) -> core::OperationList {
    core::fail(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-TAPE-NONE", "the test says so");
  }),
               core::Failure);
  EXPECT_EQ(taken_events(), "a drop, b drop, ");
  graph_->instantiate();
  EXPECT_EQ(taken_events(), "a instantiate, b instantiate, a plan, b plan, ");
  const uint64_t before = buffer_->version();
  graph_->launch(nullptr);
  EXPECT_EQ(taken_events(), "a check, b check, a stamp, b stamp, b leave, a leave, ");
  EXPECT_EQ(version_when_left, before + 1) << "the graph's writes are counted when tapes are left";
  graph_->set_enabled(0, false);
  EXPECT_EQ(taken_events(), "a plan, b plan, ");
  graph_->launch(nullptr);
  EXPECT_EQ(taken_events(), "a stamp, b stamp, b leave, a leave, ") << "nothing is checked";
  const auto other = make_buffer();
  graph_->rebind(*buffer_, *other);
  EXPECT_EQ(taken_events(), "a rebind, b rebind, a plan, b plan, ");
  graph_ = {};
  while (core::drain() > 0) {
  }
  EXPECT_EQ(taken_events(), "a destroy, b destroy, ");
}

// Then nothing has been launched, and nothing is written.
TEST_P(OwnKeeper, RefusesALaunch) {
  record();
  graph_->instantiate();
  taken_events();
  const uint64_t before = buffer_->version();
  stale = true;
  EXPECT_THROW(graph_->launch(nullptr), core::Failure);
  EXPECT_EQ(taken_events(), "a check, ");
  EXPECT_EQ(buffer_->version(), before);
  stale = false;
  EXPECT_EQ(graph_->launch(nullptr).ticket, 1u);
}

// On the host a callback runs between two operations, and may make a tape stale.
TEST_P(OwnKeeper, SeesTheOperationsOfAReplayThatCallsBack) {
  record();
  operations::NativeRequest request = {};
  request.callback = [](void*, const synfire_native_call*) -> synfire_status { return SYNFIRE_OK; };
  if (!GetParam()) {
    operations::record_native(*graph_, request);
  }
  graph_->instantiate();
  EXPECT_EQ(graph_->is_observed(), !GetParam());
  taken_events();
  graph_->launch(nullptr);
  EXPECT_EQ(taken_events(), GetParam() ? "a check, b check, a stamp, b stamp, b leave, a leave, "
                                       : "a check, b check, a stamp, b stamp, a before0, b before0, a before1, "
                                         "b before1, b leave, a leave, ");
}

INSTANTIATE_TEST_SUITE_P(Machines, OwnKeeper, testing::Bool(),
                         [](const auto& machine) { return machine.param ? "Cuda" : "Host"; });

class OwnKeeperOnCuda : public OwnKeeper {};

TEST_P(OwnKeeperOnCuda, SpoilsWhatAFailedReplayLeaves) {
  record();
  graph_->instantiate();
  taken_events();
  const uint64_t before = buffer_->version();
  fake::fail("cuGraphLaunch", cudaErrorLaunchOutOfResources);
  EXPECT_THROW(graph_->launch(nullptr), core::Failure);
  EXPECT_EQ(taken_events(), "a check, b check, a stamp, b stamp, b spoil, a spoil, ");
  EXPECT_EQ(buffer_->version(), before + 1) << "it may have been written";
}

// A replay in the caller's capture leaves tapes for the replays of the caller's graph. One that cannot be added has run
// nothing: tapes stay as they are.
TEST_P(OwnKeeperOnCuda, KnowsOfTheCallersCapture) {
  record();
  graph_->instantiate();
  taken_events();
  const cudaStream_t stream = fake::make_stream();
  fake::begin_capture(stream, cudaStreamCaptureModeGlobal);
  EXPECT_TRUE(graph_->launch(stream).captured);
  EXPECT_EQ(taken_events(), "a check, b check, a stamp, b stamp, b leave captured, a leave captured, ");
  const uint64_t before = buffer_->version();
  fake::fail("cudaGraphClone", cudaErrorMemoryAllocation);
  EXPECT_THROW(graph_->launch(stream), core::Failure);
  EXPECT_EQ(taken_events(), "a check, b check, a stamp, b stamp, ");
  EXPECT_EQ(buffer_->version(), before);
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
  fake::destroy_graph(captured);
  fake::destroy_stream(stream);
}

INSTANTIATE_TEST_SUITE_P(Machines, OwnKeeperOnCuda, testing::Values(true));

}  // namespace
}  // namespace synfire_test
