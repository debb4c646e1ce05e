// Borrowed memory on a device that takes time: it is released when no work in flight reads it any more, and destroying
// it never blocks. What keeps it alive: tests/capi/borrowed_test.cpp.
#include "../capi/dlpack_tensor.hpp"
#include "stream_fixture.hpp"

#include <limits>
#include <memory>

namespace synfire_test {
namespace {

class Borrowed : public WithLayer {
 protected:
  // Overwrites its memory on release.
  class Lender {
   public:
    Lender(synfire_context context, int32_t memory = SYNFIRE_MEMORY_DEVICE) {
      synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
      desc.memory = memory;
      desc.n_elements = n;
      synfire_buffer owner = nullptr;
      EXPECT_OK(synfire_buffer_create(context, &desc, &owner));
      owner_ = Buffer(owner);
      EXPECT_OK(synfire_buffer_fill(owner, 1));
      EXPECT_OK(synfire_buffer_get_data(owner, &desc.data, nullptr));
      values_ = static_cast<float*>(desc.data);
      desc.release_user = this;
      desc.release = [](void* user) {
        auto& own = *static_cast<Lender*>(user);
        std::fill_n(own.values_, n, std::numeric_limits<float>::quiet_NaN());
        ++own.n_releases_;
      };
      synfire_buffer lent = nullptr;
      EXPECT_OK(synfire_buffer_create(context, &desc, &lent));
      lent_ = Buffer(lent);
    }
    Buffer& lent() { return lent_; }
    int n_releases() const { return n_releases_; }

   private:
    Buffer owner_, lent_;
    float* values_ = nullptr;
    int n_releases_ = 0;
  };

  synfire_forward_desc inference(synfire_buffer input) const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.tape = SYNFIRE_TAPE_NONE;
    desc.x = input;
    desc.h_seq = h;
    return desc;
  }
  // H is half of X, which is 1.
  void enqueue(synfire_buffer input, bool replayed, synfire_stream on) {
    const synfire_forward_desc desc = inference(input);
    if (!replayed) {
      EXPECT_OK(synfire_layer_reset_state(layer, on));
      EXPECT_OK(synfire_layer_forward(layer, &desc, on));
      return;
    }
    const Graph graph = make_slotted_graph(context, SYNFIRE_SLOTS_SHARED);
    const synfire_state_desc all = rows_desc(0, 0);
    EXPECT_OK(synfire_graph_record_reset_rows(graph, layer, &all));
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    fake::hold();
    EXPECT_OK(synfire_graph_launch(graph, on, nullptr));
  }
  void expect_result() {
    fake::release();
    for (uint64_t i = 0; i < n; ++i) EXPECT_EQ(data_of(h)[i], 0.5f) << i;
    EXPECT_OK(synfire_context_synchronize(context));
    EXPECT_OK(synfire_buffer_fill(h, 7));
  }
};

TEST_F(Borrowed, IsGivenBackAfterTheWorkInFlight) {
  enqueue(x, false, nullptr);  // one-time work of a first call
  expect_result();
  for (const bool replayed : {false, true})
    for (const synfire_stream on : {callers(), synfire_stream{nullptr}})
      for (const char* const exhausted : {"", "cudaMalloc", "cudaHostAlloc"}) {
        SCOPED_TRACE(testing::Message() << "replayed " << replayed << ", own stream " << (on == nullptr) << ", without "
                                        << exhausted);
        Lender lender(context);
        EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
        if (!replayed) fake::hold();
        enqueue(lender.lent(), replayed, on);
        fake::reset_calls();
        lender.lent().reset();
        EXPECT_EQ(fake::calls(), 0u) << "destroying makes no CUDA call";
        EXPECT_EQ(lender.n_releases(), 0);
        if (*exhausted) fake::fail("cudaMalloc", cudaErrorMemoryAllocation);
        if (*exhausted == 'c' && exhausted[4] == 'H') fake::fail("cudaHostAlloc", cudaErrorMemoryAllocation);
        EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
        EXPECT_EQ(lender.n_releases(), 1);
        expect_result();
      }
}

TEST_F(Borrowed, ManyAreGivenBackAfterOneWait) {
  std::vector<std::unique_ptr<Lender>> lenders;
  for (int i = 0; i < 5; ++i) lenders.push_back(std::make_unique<Lender>(context));
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  for (const auto& lender : lenders) lender->lent().reset();
  fake::reset_calls();
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  for (const auto& lender : lenders) EXPECT_EQ(lender->n_releases(), 1);
  EXPECT_EQ(fake::calls("cudaFree") + fake::calls("cudaDeviceSynchronize"), 1u);
}

TEST_F(Borrowed, PageableMemoryWaitsForNothing) {
  Lender lender(context, SYNFIRE_MEMORY_HOST);
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  lender.lent().reset();
  fake::reset_calls();
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  EXPECT_EQ(lender.n_releases(), 1);
  EXPECT_EQ(fake::calls(), 0u);
}

TEST_F(Borrowed, GivingBackDisturbsNoCapture) {
  Lender lender(context);
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  EXPECT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  lender.lent().reset();
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  EXPECT_EQ(lender.n_releases(), 1);
  EXPECT_TRUE(fake::capture_is_valid(stream));
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
  fake::destroy_graph(captured);
}

TEST_F(Borrowed, ALostDeviceGivesBackToo) {
  Lender lender(context);
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  fake::hold();
  enqueue(lender.lent(), false, callers());
  fake::lose(cudaErrorIllegalAddress);
  lender.lent().reset();
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  EXPECT_EQ(lender.n_releases(), 1);
  SetUp();  // expected by TearDown()
}

// ---- tensors by DLPack ----------------------------------------------------------------------------------------------

class Tensors : public WithStream {
 protected:
  static constexpr uint64_t n = 8;
  void SetUp() override {
    WithStream::SetUp();
    source = make_buffer(context, SYNFIRE_DTYPE_F32, n);
    made = make_buffer(context, SYNFIRE_DTYPE_F32, n);
    EXPECT_OK(synfire_buffer_fill(source, 3));
  }
  void TearDown() override {
    fake::release();
    EXPECT_EQ(fake::live().events, 0);
    WithStream::TearDown();
  }
  DLManagedTensorVersioned* give(synfire_stream on) const {
    synfire_to_dlpack_desc desc = SYNFIRE_TO_DLPACK_DESC_INIT;
    desc.stream = on;
    void* tensor = nullptr;
    EXPECT_OK(synfire_buffer_to_dlpack(made, &desc, &tensor));
    return static_cast<DLManagedTensorVersioned*>(tensor);
  }

  Buffer source, made;
};

// The stream of the other library waits for the context's own; the host waits for nothing.
TEST_F(Tensors, AnotherLibraryReadsWhatTheContextComputes) {
  Graph graph = make_graph(context);
  record_copy(graph, source, made);
  EXPECT_OK(synfire_graph_instantiate(graph));
  fake::hold();
  launch(graph);
  DLManagedTensorVersioned* const tensor = give(callers());
  EXPECT_EQ(tensor->dl_tensor.device.device_type, 2);
  EXPECT_EQ(tensor->dl_tensor.device.device_id, 0);
  const auto* const data = static_cast<const float*>(tensor->dl_tensor.data);
  EXPECT_NE(data[0], 3.0F) << "the host waited";
  float seen = 0;
  fake::launch(stream, [&] { seen = data[n - 1]; });
  fake::synchronize(stream);
  EXPECT_EQ(seen, 3.0F);
  tensor->deleter(tensor);
}

TEST_F(Tensors, TheContextReadsWhatAnotherLibraryComputes) {
  DLManagedTensorVersioned* const tensor = give(nullptr);
  auto* const data = static_cast<float*>(tensor->dl_tensor.data);
  fake::hold();
  fake::launch(stream, [=] { std::fill_n(data, n, 5.0F); });
  synfire_from_dlpack_desc desc = SYNFIRE_FROM_DLPACK_DESC_INIT;
  desc.tensor = tensor;
  desc.stream = callers();
  synfire_buffer taken = nullptr;
  EXPECT_OK(synfire_buffer_from_dlpack(context, &desc, &taken));
  const Buffer buffer(taken);
  EXPECT_NE(data[0], 5.0F) << "the host waited";
  EXPECT_EQ(download<float>(buffer, n)[n - 1], 5.0F);
}

// A capture is neither broken nor joined to the context's own stream.
TEST_F(Tensors, ACaptureIsLeftAlone) {
  EXPECT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  DLManagedTensorVersioned* const tensor = give(callers());
  synfire_from_dlpack_desc desc = SYNFIRE_FROM_DLPACK_DESC_INIT;
  desc.tensor = tensor;
  desc.stream = callers();
  synfire_buffer taken = nullptr;
  EXPECT_OK(synfire_buffer_from_dlpack(context, &desc, &taken));
  const Buffer buffer(taken);
  EXPECT_TRUE(fake::capture_is_valid(stream));
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
  EXPECT_EQ(fake::count_nodes(captured), 0u);
  fake::destroy_graph(captured);
}

TEST_F(Tensors, OfAnotherDeviceOrWithAFailingEventAreNotTaken) {
  DLManagedTensorVersioned* const tensor = give(nullptr);
  synfire_from_dlpack_desc desc = SYNFIRE_FROM_DLPACK_DESC_INIT;
  desc.tensor = tensor;
  synfire_buffer taken = nullptr;
  tensor->dl_tensor.device.device_id = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-BUFFER-DLPACK-DEVICE", "desc.tensor"),
               synfire_buffer_from_dlpack(context, &desc, &taken));
  tensor->dl_tensor.device.device_id = 0;
  desc.stream = callers();
  for (const char* const call : {"cudaEventCreateWithFlags", "cudaEventRecord", "cudaStreamWaitEvent"}) {
    fake::fail(call, cudaErrorInvalidValue);
    EXPECT_FAILS(SYNFIRE_ERROR_CUDA, WORDS(call), synfire_buffer_from_dlpack(context, &desc, &taken));
    EXPECT_EQ(taken, nullptr);
    EXPECT_EQ(fake::live().events, 0);
  }
  EXPECT_EQ(still_queued(context), 0u);
  tensor->deleter(tensor);
}

}  // namespace
}  // namespace synfire_test
