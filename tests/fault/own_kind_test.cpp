// A kind of operation that the library does not have: what declaring its operands gives a kind, on host and GPU. It
// doubles numbers through scratch memory, with two kernels on a GPU.
#include "../twins/twin.hpp"
#include "fake_cuda.hpp"

#include <backends/cuda/cuda_device.hpp>
#include <backends/cuda/cuda_launcher.hpp>
#include <backends/host/host_device.hpp>
#include <backends/host/host_launcher.hpp>
#include <backends/host/job_system.hpp>
#include <graph/eager_calls.hpp>
#include <graph/graph.hpp>
#include <graph/operands.hpp>
#include <kinds/operations_for_machines.hpp>
#include <operations/kind.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace synfire::operations {

struct Doubled {
  View source, destination, scratch;

  static constexpr const char* name = "doubled";
  static void operands(Doubled& op, OperandVisitor visit) {
    visit({"source", op.source, Access::read});
    visit({"scratch", op.scratch, Access::scratch});
    visit({"destination", op.destination, Access::write});
  }
};

OperationLabel label(const Doubled&) {
  return {nullptr, "by \"two\""};
}
bool wants_threads(const Doubled&) {
  return false;
}

struct Piece {
  const float* from;
  float* to;
  uint64_t n;
  float factor;
};
void piece(const Piece& piece) {
  for (uint64_t i = 0; i < piece.n; ++i) piece.to[i] = piece.factor * piece.from[i];
}
void for_each_piece(const Doubled& op, core::FunctionRef<void(const Piece&)> visit) {
  const uint64_t n = op.source.bytes / sizeof(float);
  visit({static_cast<const float*>(op.source.data), static_cast<float*>(op.scratch.data), n, -2});
  visit({static_cast<const float*>(op.scratch.data), static_cast<float*>(op.destination.data), n, -1});
}

void run(const Doubled& op, host::Launcher&) {
  for_each_piece(op, [](const Piece& one) { piece(one); });
}
cuda::Hints hints(const Doubled&, const cuda::GpuShape&) {
  return {};
}
void enqueue(const Doubled& op, cuda::Launcher& launcher) {
  const void* const kernel = cuda::twin<Piece>({}, piece);
  for_each_piece(op, [&](const Piece& one) { launcher.launch(kernel, launcher.over_elements(1), one); });
}

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Doubled);
template <>
constinit const synfire::core::OperationKind synfire::core::KindOf<synfire::operations::Doubled>::table =
    synfire::operations::make_kind<synfire::operations::Doubled>();

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

class OwnKind : public testing::TestWithParam<bool> {
 protected:
  static constexpr uint64_t n = 1000;

  void SetUp() override {
    fake::install();
    context_ = taken(new core::Context(
        GetParam() ? cuda::make_device(0, 0, operations::machine_operations) : host::make_device(1, {}), 0));
    source_ = buffer(SYNFIRE_MEMORY_PINNED);
    destination_ = buffer(SYNFIRE_MEMORY_PINNED);
    std::iota(data(*source_), data(*source_) + n, 1.0f);
  }
  void TearDown() override {
    source_ = {}, destination_ = {};
    context_ = {};
    while (core::drain() > 0) {
    }
    EXPECT_EQ(fake::live().allocations, 0);
  }

  Ref<core::Buffer> buffer(int32_t memory) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.memory = memory;
    desc.n_elements = n;
    return taken(new core::Buffer(*context_, desc));
  }
  static float* data(const core::Buffer& buffer) { return static_cast<float*>(buffer.view().data); }
  core::Operation doubled(const Ref<core::Buffer>& from, const Ref<core::Buffer>& to) {
    operations::Doubled op = {from->view(), to->view(), {}};
    op.scratch.bytes = n * sizeof(float);
    return op;
  }
  void expect_times(float factor) {
    for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(data(*destination_)[i], factor * static_cast<float>(i + 1)) << i;
  }

  Ref<core::Context> context_;
  Ref<core::Buffer> source_, destination_;
};

TEST_P(OwnKind, RunsEagerlyWithScratchOfItsOwn) {
  const core::Operation operation = doubled(source_, destination_);
  core::run_now(*context_, {operation}, nullptr);
  context_->device().synchronize();
  expect_times(2);
}

TEST_P(OwnKind, RunsInAReplay) {
  const auto graph = taken(new core::Graph(*context_, 1));
  const auto between = buffer(SYNFIRE_MEMORY_DEVICE);
  graph->record([&](core::Recorder&) { return core::OperationList{doubled(source_, between)}; });
  graph->record([&](core::Recorder&) { return core::OperationList{doubled(between, destination_)}; });
  graph->instantiate();
  for (int replay = 0; replay < 3; ++replay) {
    std::fill_n(data(*destination_), n, 7.0f);
    graph->wait(graph->launch(nullptr).ticket, core::WaitPolicy::spin, -1);
    expect_times(4);
  }
  EXPECT_NE(graph->dot().find("0: doubled\\nby \\\"two\\\""), std::string::npos) << graph->dot();
  EXPECT_NE(graph->dot().find("n0 -> n1;"), std::string::npos) << graph->dot();
}

TEST_P(OwnKind, HasSlotsAndIsReboundByItsOperands) {
  const auto graph = taken(new core::Graph(*context_, 2));
  graph->record([&](core::Recorder&) { return core::OperationList{doubled(source_, destination_)}; });
  graph->instantiate();
  const auto other = buffer(SYNFIRE_MEMORY_PINNED);
  std::fill_n(data(*other), n, 0.25f);
  graph->rebind(*source_, *other);
  graph->wait(graph->launch(nullptr).ticket, core::WaitPolicy::spin, -1);
  EXPECT_EQ(data(*destination_)[n - 1], 0.5f);
  const core::SlotMemory second = graph->slot_memory(0, *other);
  ASSERT_NE(second.data, data(*other));
  std::fill_n(static_cast<float*>(second.data), n, 3.0f);
  const uint64_t ticket = graph->launch(nullptr).ticket;
  graph->wait(ticket, core::WaitPolicy::spin, -1);
  EXPECT_EQ(static_cast<float*>(graph->slot_memory(ticket, *destination_).data)[0], 6.0f);
}

TEST_P(OwnKind, OverlapsAreFoundByItsOperands) {
  const core::Operation operation = doubled(source_, source_);
  EXPECT_THROW(core::check_overlap({&operation, 1}), core::Failure);
}

INSTANTIATE_TEST_SUITE_P(Machines, OwnKind, testing::Bool(),
                         [](const auto& machine) { return machine.param ? "Cuda" : "Host"; });

// Replays of the caller's graph can use the scratch memory as long as the context lives.
TEST(OwnKindInACapture, KeepsItsScratch) {
  fake::install();
  auto context = taken(new core::Context(cuda::make_device(0, 0, operations::machine_operations), 0));
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.n_elements = 3;
  auto from = taken(new core::Buffer(*context, desc)), to = taken(new core::Buffer(*context, desc));
  auto* const in = static_cast<float*>(from->view().data);
  auto* const out = static_cast<float*>(to->view().data);
  operations::Doubled op = {from->view(), to->view(), {}};
  op.scratch.bytes = 3 * sizeof(float);
  const cudaStream_t stream = fake::make_stream();
  fake::begin_capture(stream, cudaStreamCaptureModeGlobal);
  EXPECT_TRUE(core::run_now(*context, {op}, stream));
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(fake::end_capture(stream, &graph), cudaSuccess);
  for (const float value : {1.0f, 5.0f}) {
    in[0] = in[1] = in[2] = value;
    EXPECT_EQ(fake::launch_graph(graph, stream), cudaSuccess);
    EXPECT_EQ(out[2], 2 * value);
  }
  fake::destroy_graph(graph);
  fake::destroy_stream(stream);
  from = {}, to = {}, context = {};
  while (core::drain() > 0) {
  }
  EXPECT_EQ(fake::live().allocations, 0);
}

}  // namespace
}  // namespace synfire_test
