// How frames of pinned memory reach the GPU and return: by a kernel, by the copy engine, or written in place,
// depending on their size and type. The contents must be the same in all cases.
#include "../capi/recording_support.hpp"
#include "fake_cuda.hpp"

namespace synfire_test {
namespace {

constexpr uint64_t kib = 1024, mib = 1024 * kib;

class Frames : public testing::Test {
 protected:
  void SetUp() override { fake::install(); }

  struct Seen {
    uint64_t engine_copies;  // copy nodes of the graph
    uint64_t kernels;        // its kernels
    uint64_t arena_bytes;    // device memory that it holds for frames
  };

  // A graph of one forward over one time step of n neurons, from x to v or to packed spikes.
  struct OneForward {
    Context context = make_context();
    Layer layer;
    Buffer x, out;
    Graph graph = make_graph(context);

    OneForward(uint64_t n, int32_t x_memory, int32_t out_memory, int32_t out_dtype = SYNFIRE_DTYPE_F32)
        : layer(make_layer(context, describe(Shape{1, 1, static_cast<int64_t>(n)}, SYNFIRE_DTYPE_F32))),
          x(make_frame(context, n, x_memory)),
          out(make_frame(context, out_dtype == SYNFIRE_DTYPE_BITS ? n / 32 : n, out_memory, out_dtype)) {
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.x = x;
      (out_dtype == SYNFIRE_DTYPE_BITS ? forward.spikes : forward.v_seq) = out;
      forward.tape = SYNFIRE_TAPE_NONE;
      EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    }
    Seen instantiate() const {
      EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
      const uint64_t before = fake::device_bytes();
      fake::reset_calls();
      EXPECT_OK(synfire_graph_instantiate(graph));
      return {fake::calls("cudaMemcpyAsync"), fake::captured_kernels().size(),
              fake::device_bytes() - before - sizeof(uint64_t)};  // the counter of replays
    }
    void replay() const { wait(graph, launch(graph)); }
  };
};

TEST_F(Frames, InputsAreCopiedByAKernelUpToAMebibyte) {
  for (const uint64_t bytes : {uint64_t{64}, uint64_t{100}, 64 * kib, mib, mib + 32, 3 * mib}) {
    SCOPED_TRACE(bytes);
    const uint64_t n = bytes / sizeof(float);
    const OneForward graph(n, SYNFIRE_MEMORY_PINNED, SYNFIRE_MEMORY_DEVICE);
    const Seen seen = graph.instantiate();
    EXPECT_EQ(seen.engine_copies, bytes <= mib ? 0u : 1u);
    EXPECT_EQ(seen.kernels, bytes <= mib ? 3u : 2u);
    EXPECT_EQ(seen.arena_bytes, (bytes + 255) / 256 * 256);
    for (uint64_t i = 0; i < n; ++i) data_of(graph.x)[i] = static_cast<float>(i % 16) / 32;
    graph.replay();
    const std::vector<float> got = download<float>(graph.out, n);
    for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(got[i], static_cast<float>(i % 16) / 64) << i;
  }
}

TEST_F(Frames, OutputsAreWrittenInPlaceUpToTwoMebibytes) {
  for (const uint64_t bytes : {uint64_t{64}, 128 * kib, 2 * mib, 2 * mib + 32}) {
    SCOPED_TRACE(bytes);
    const uint64_t n = bytes / sizeof(float);
    const OneForward graph(n, SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED);
    const Seen seen = graph.instantiate();
    EXPECT_EQ(seen.engine_copies, bytes <= 2 * mib ? 0u : 1u);
    EXPECT_EQ(seen.kernels, 2u);
    EXPECT_EQ(seen.arena_bytes, bytes <= 2 * mib ? 0 : (bytes + 255) / 256 * 256);
    upload(graph.x, std::vector<float>(n, 0.5f));
    graph.replay();
    for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(data_of(graph.out)[i], 0.25f) << i;
  }
}

// A word is four bytes, written by one lane; larger outputs go through the GPU's memory.
TEST_F(Frames, PackedSpikesAreWrittenInPlaceUpTo64Kibibytes) {
  for (const uint64_t bytes : {uint64_t{64}, 64 * kib, 64 * kib + 256, mib}) {
    SCOPED_TRACE(bytes);
    const uint64_t n = bytes * 8;
    const OneForward graph(n, SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_BITS);
    const Seen seen = graph.instantiate();
    EXPECT_EQ(seen.engine_copies, 0u);
    EXPECT_EQ(seen.kernels, bytes <= 64 * kib ? 2u : 3u);
    EXPECT_EQ(seen.arena_bytes, bytes <= 64 * kib ? 0 : bytes);
    std::vector<float> in(n);
    for (uint64_t i = 0; i < n; ++i) in[i] = i % 3 == 0 ? 2.5f : 0.0f;
    upload(graph.x, in);
    graph.replay();
    const auto* const got = reinterpret_cast<const uint32_t*>(data_of(graph.out));
    for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(got[i / 32] >> i % 32 & 1u, i % 3 == 0 ? 1u : 0u) << i;
  }
}

// A data set may be larger than the device: its rows are read where they are, and only the indices are staged.
TEST_F(Frames, PinnedDataSetsAreNeitherStagedNorCopied) {
  constexpr uint64_t n_rows = 1000, n = 1024;  // 4 MB
  const Context context = make_context();
  const Buffer source = make_frame(context, n_rows * n),
               indices = make_frame(context, 2, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U32),
               batch = make_buffer(context, SYNFIRE_DTYPE_F32, 2 * n);
  const Graph graph = make_graph(context);
  synfire_gather_rows_desc gather = SYNFIRE_GATHER_ROWS_DESC_INIT;
  gather.n_rows = n_rows;
  gather.n_elements = n;
  gather.batch = 2;
  gather.source = source;
  gather.indices = indices;
  gather.destination = batch;
  ASSERT_OK(synfire_graph_record_gather_rows(graph, &gather));
  const uint64_t before = fake::device_bytes();
  fake::reset_calls();
  ASSERT_OK(synfire_graph_instantiate(graph));
  EXPECT_EQ(fake::calls("cudaMemcpyAsync"), 0u);
  EXPECT_EQ(fake::captured_kernels().size(), 3u) << "of the indices, the gather and the count of replays";
  EXPECT_EQ(fake::device_bytes() - before - sizeof(uint64_t), 256u);
  for (uint64_t i = 0; i < n; ++i) data_of(source)[999 * n + i] = static_cast<float>(i);
  const uint32_t chosen[] = {999, 0};
  std::memcpy(data_of(indices), chosen, sizeof chosen);
  wait(graph, launch(graph));
  const std::vector<float> got = download<float>(batch, 2 * n);
  for (uint64_t i = 0; i < 2 * n; ++i) ASSERT_EQ(got[i], i < n ? static_cast<float>(i) : 0.0f) << i;
}

}  // namespace
}  // namespace synfire_test
