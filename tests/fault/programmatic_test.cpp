// Programmatic launches: which kernels of a replay may begin before their predecessor has ended, and the effect of
// disabled operations. That memory accesses stay in order is tested on a GPU, by tests/capi/chain_test.cpp.
#include "../capi/recording_support.hpp"
#include "fake_cuda.hpp"

namespace synfire_test {
namespace {

class Programmatic : public testing::TestWithParam<int> {
 protected:
  static constexpr uint64_t n = 64,
                            n_large = uint64_t{1} << 19;  // 256 bytes, which a kernel copies across the bus, and 2 MiB

  void SetUp() override { fake::install(1, GetParam()); }
  bool expected() const { return GetParam() >= 9; }
  static Buffer make(synfire_context context) { return make_frame(context, n, SYNFIRE_MEMORY_DEVICE); }
  static std::vector<bool> kernels_of(synfire_graph graph) {
    fake::reset_calls();
    EXPECT_OK(synfire_graph_instantiate(graph));
    return fake::captured_kernels();
  }
};

TEST_P(Programmatic, OnlyBehindKernelsOfThisLibrary) {
  const Context context = make_context();
  const Buffer frame = make_frame(context, n), a = make(context), b = make(context);
  const Buffer large = make_frame(context, n_large), there = make_frame(context, n_large, SYNFIRE_MEMORY_DEVICE);
  const Graph graph = make_graph(context);
  record_fill(graph, a, 1);             // has no predecessor
  record_scale_add(graph, a, b, 1, 0);  // after a kernel
  record_copy(graph, b, frame);         // a kernel
  record_copy(graph, there, large);     // not a kernel
  record_scale_add(graph, a, b, 1, 1);  // after a copy
  record_scale_add(graph, a, b, 1, 1);
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = [](void*, const synfire_native_call* call) -> synfire_status {
    return fake::launch(static_cast<cudaStream_t>(call->stream), [] {}) == cudaSuccess ? 0 : -1;
  };
  EXPECT_OK(synfire_graph_record_native(graph, &native));
  record_scale_add(graph, a, b, 1, 1);  // after a kernel of the caller's
  const bool p = expected();
  EXPECT_EQ(kernels_of(graph), (std::vector<bool>{false, p, p, false, p, false, p})) << "the last one counts replays";
}

TEST_P(Programmatic, OnlyAPassLetsTheNextBeginEarly) {
  const Context context = make_context();
  const Layer layer = make_layer(context, describe(Shape{4, 1, n / 4}, SYNFIRE_DTYPE_F32));
  const Buffer x = make(context), grad = make(context);
  const Graph graph = make_graph(context);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = x;
  backward.grad_x_seq = grad;
  const auto record_forward = [&] { EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward)); };
  const auto record_backward = [&] { EXPECT_OK(synfire_graph_record_backward(graph, layer, &backward)); };
  record_scale_add(graph, x, grad, 1, 0);  // does not let its successor begin early
  record_forward();
  record_forward();  // small: begins when its predecessor has ended
  record_backward();
  record_backward();
  record_forward();
  record_scale_add(graph, x, grad, 1, 0);  // waits
  record_forward();
  record_backward();  // followed only by the signal
  EXPECT_OK(synfire_graph_instantiate(graph));
  fake::reset_calls();
  wait(graph, launch(graph));
  const bool p = expected();
  EXPECT_EQ(fake::passes(), (std::vector<bool>{false, p, p, false, false, p, false}));
}

TEST_P(Programmatic, ADisabledKernelIsReplacedWhereEdgesAreProgrammatic) {
  const Context context = make_context();
  const Buffer frame = make_frame(context, n_large), a = make_frame(context, n_large, SYNFIRE_MEMORY_DEVICE);
  const Buffer b = make_frame(context, n_large, SYNFIRE_MEMORY_DEVICE);
  const Graph graph = make_graph(context);
  record_fill(graph, a, 3);
  const int32_t add = record_scale_add(graph, a, b, 1, 1);
  record_copy(graph, b, frame);
  const int32_t copy = last_operation(graph);
  EXPECT_OK(synfire_graph_instantiate(graph));
  const auto run = [&] {
    wait(graph, launch(graph));
    return data_of(frame)[7];
  };
  EXPECT_EQ(run(), 3);
  fake::reset_calls();
  EXPECT_OK(synfire_graph_set_enabled(graph, add, 0));
  EXPECT_EQ(fake::calls("cudaGraphExecKernelNodeSetParams"), expected() ? 1u : 0u);
  EXPECT_EQ(fake::calls("cudaGraphNodeSetEnabled"), expected() ? 0u : 1u);
  EXPECT_EQ(run(), 3);
  EXPECT_EQ(run(), 3);
  EXPECT_OK(synfire_graph_set_enabled(graph, add, 1));
  EXPECT_EQ(run(), 6);
  fake::reset_calls();
  EXPECT_OK(synfire_graph_set_enabled(graph, copy, 0));
  EXPECT_EQ(fake::calls("cudaGraphNodeSetEnabled"), 1u) << "a copy has no programmatic edges";
  EXPECT_EQ(run(), 6);
  EXPECT_OK(synfire_graph_set_enabled(graph, copy, 1));
  EXPECT_EQ(run(), 12);
}

TEST_P(Programmatic, AChangeThatCudaRefusesIsNoChange) {
  const Context context = make_context();
  const Buffer frame = make_frame(context, n), a = make(context);
  const Graph graph = make_graph(context);
  const int32_t fill = record_fill(graph, a, 3);
  record_copy(graph, a, frame);
  EXPECT_OK(synfire_graph_instantiate(graph));
  const char* const change = expected() ? "cudaGraphExecKernelNodeSetParams" : "cudaGraphNodeSetEnabled";
  fake::fail(change, cudaErrorInvalidValue);
  EXPECT_FAILS(SYNFIRE_ERROR_CUDA, {change}, synfire_graph_set_enabled(graph, fill, 0));
  wait(graph, launch(graph));
  EXPECT_EQ(data_of(frame)[0], 3);
  EXPECT_OK(synfire_graph_set_enabled(graph, fill, 0));
  if (expected()) {
    fake::fail("cudaGraphKernelNodeGetParams", cudaErrorInvalidValue);
    EXPECT_FAILS(SYNFIRE_ERROR_CUDA, {"cudaGraphKernelNodeGetParams"}, synfire_graph_set_enabled(graph, fill, 1));
  }
  EXPECT_OK(synfire_graph_set_enabled(graph, fill, 1));
}

TEST_P(Programmatic, AChangeIsInAllSlotsOrInNone) {
  const Context context = make_context();
  const Buffer frame = make_frame(context, n), a = make(context);
  const Graph graph = make_slotted_graph(context, 2);
  const int32_t fill = record_fill(graph, a, 3), add = record_scale_add(graph, a, a, 1, 1);
  record_copy(graph, a, frame);
  EXPECT_OK(synfire_graph_instantiate(graph));
  const char* const change = expected() ? "cudaGraphExecKernelNodeSetParams" : "cudaGraphNodeSetEnabled";
  const auto run = [&] {
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    return slot_of(graph, ticket, frame)[0];
  };
  for (const int32_t operation : {add, fill}) {
    fake::fail(change, cudaErrorInvalidValue, 2);
    EXPECT_FAILS(SYNFIRE_ERROR_CUDA, {change}, synfire_graph_set_enabled(graph, operation, 0));
    for (int replay = 0; replay < 4; ++replay) EXPECT_EQ(run(), 6) << operation << ", replay " << replay;
  }
  EXPECT_OK(synfire_graph_set_enabled(graph, add, 0));
  for (int replay = 0; replay < 4; ++replay) EXPECT_EQ(run(), 3);
  fake::fail(change, cudaErrorInvalidValue, 2);
  EXPECT_FAILS(SYNFIRE_ERROR_CUDA, {change}, synfire_graph_set_enabled(graph, add, 1));
  for (int replay = 0; replay < 4; ++replay) EXPECT_EQ(run(), 3);
  EXPECT_OK(synfire_graph_set_enabled(graph, add, 1));
  for (int replay = 0; replay < 4; ++replay) EXPECT_EQ(run(), 6);
}

INSTANTIATE_TEST_SUITE_P(Devices, Programmatic, testing::Values(8, 9), [](const auto& device) {
  return std::string("Compute").append(std::to_string(device.param));
});

}  // namespace
}  // namespace synfire_test
