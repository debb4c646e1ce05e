// The base of tests that observe the device: a fresh fake CUDA runtime, a context on it, and a stream of the caller's
// in addition to the context's.
#ifndef SYNFIRE_TESTS_FAULT_STREAM_FIXTURE_HPP
#define SYNFIRE_TESTS_FAULT_STREAM_FIXTURE_HPP

#include "../capi/recording_support.hpp"
#include "fake_cuda.hpp"

namespace synfire_test {

class WithStream : public testing::Test {
 protected:
  Context context;
  cudaStream_t stream = nullptr;

  void SetUp() override {
    fake::install();
    context = make_context();
    stream = fake::make_stream();
  }
  void TearDown() override {
    fake::release();
    fake::destroy_stream(stream);
  }
  synfire_stream callers() const { return reinterpret_cast<synfire_stream>(stream); }
};

// The same with a layer of one step, and the graphs that the tests of streams launch.
class WithLayer : public WithStream {
 protected:
  static constexpr uint64_t n = 8;
  Layer layer;
  Buffer x, h;

  void SetUp() override {
    WithStream::SetUp();
    layer = make_layer(context, describe(Shape{1, 1, n}, SYNFIRE_DTYPE_F32));
    x = make_frame(context, n);
    h = make_frame(context, n);
    EXPECT_OK(synfire_buffer_fill(x, 1));
  }
  void TearDown() override {
    fake::release();
    EXPECT_OK(synfire_context_synchronize(context));
    WithStream::TearDown();
  }

  // H is X / tau, because the state is reset first.
  Graph forward(uint32_t n_slots, synfire_buffer to) const {
    Graph graph = make_slotted_graph(context, n_slots);
    const synfire_state_desc all = rows_desc(0, 0);
    EXPECT_OK(synfire_graph_record_reset_rows(graph, layer, &all));
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    desc.h_seq = to;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &desc));
    return graph;
  }
  Graph copy() const {
    Graph graph = make_slotted_graph(context, 2);
    record_copy(graph, x, h);
    return graph;
  }
};

}  // namespace synfire_test

#endif
