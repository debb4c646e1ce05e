// Buffers: descriptions that are refused, and a bad buffer in every field of a pass and of a copy. W and the gradients
// of parameters are in two_variable_test.cpp and parameter_test.cpp.
#include <limits>

#include "errors.hpp"

namespace synfire_test {
namespace {

TEST_F(BadBuffers, Stale) {
  synfire_buffer stale = nullptr;
  {
    const Buffer gone = make(SYNFIRE_DTYPE_F32, shape.sequence());
    stale = gone;
  }
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_HANDLE, [&](std::string_view) { return stale; });
}

TEST_F(BadBuffers, OfAnotherType) {
  for (const uintptr_t other : {value_of(context), value_of(rig.layer), value_of(graph), ~uintptr_t{0}})
    expect_refused_everywhere(SYNFIRE_ERROR_INVALID_HANDLE,
                              [&](std::string_view) { return as<synfire_buffer>(other); });
}

TEST_F(BadBuffers, OfAnotherContext) {
  const Context other = make_context();
  const Buffer foreign = make_buffer(other, SYNFIRE_DTYPE_F32, shape.sequence());
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_HANDLE, [&](std::string_view) { return foreign.get(); });
}

TEST_F(BadBuffers, TooSmall) {
  const Buffer sequence = make(SYNFIRE_DTYPE_F32, shape.sequence() - 1), row = make(SYNFIRE_DTYPE_F32, shape.row() - 1);
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_ARGUMENT,
                            [&](std::string_view name) { return is_row(name) ? row.get() : sequence.get(); });
}

TEST_F(BadBuffers, BitsTooSmall) {
  const Buffer bits = make(SYNFIRE_DTYPE_BITS, shape.words() - 1);
  synfire_forward_desc desc = rig.forward_desc();
  desc.spikes = bits;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("spikes"), synfire_layer_forward(rig.layer, &desc, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("spikes"), synfire_graph_record_forward(graph, rig.layer, &desc));
}

TEST_F(BadBuffers, OfTheOtherFloatType) {
  const Buffer wide = make(SYNFIRE_DTYPE_F64, shape.sequence());
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_ARGUMENT, [&](std::string_view) { return wide.get(); });
}

TEST_F(BadBuffers, BitsWhereNumbersAreNeeded) {
  const Buffer bits = make(SYNFIRE_DTYPE_BITS, shape.sequence());
  const Buffer too_few = make(SYNFIRE_DTYPE_BITS, 1);
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_ARGUMENT, [&](std::string_view name) {
    return name == "spikes" ? too_few.get() : bits.get();  // spikes may be bits, so too few of them
  });
}

TEST_F(BadBuffers, PageableMemoryOnAGpu) {
  if (on_host()) GTEST_SKIP() << "on a host context all memory is ordinary memory";
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_HOST;
  desc.n_elements = shape.sequence();
  synfire_buffer handle = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &desc, &handle));
  const Buffer pageable(handle);
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_ARGUMENT, [&](std::string_view) { return pageable.get(); });
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = pageable;
  copy.destination = rig.spikes;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("source"), synfire_graph_record_copy(graph, &copy));
}

TEST_F(BadBuffers, AbsentWhereOneIsNeeded) {
  synfire_forward_desc forward = rig.forward_desc();
  forward.x = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("x"), synfire_layer_forward(rig.layer, &forward, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("x"), synfire_graph_record_forward(graph, rig.layer, &forward));
  const synfire_backward_desc backward = rig.backward_desc({.grad_x_seq = false, .grad_v_init = false});
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("grad_x_seq", "grad_v_init"),
               synfire_layer_backward(rig.layer, &backward, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("grad_x_seq", "grad_v_init"),
               synfire_graph_record_backward(graph, rig.layer, &backward));
}

TEST_F(Errors, ALayerOfAnotherContextIsNotRecorded) {
  const Context other = make_context();
  Rig<float> foreign(other, describe(shape, SYNFIRE_DTYPE_F32));
  EXPECT_OK(foreign.run_forward());
  const synfire_forward_desc forward = foreign.forward_desc();
  const synfire_backward_desc backward = foreign.backward_desc();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
               synfire_graph_record_forward(graph, foreign.layer, &forward));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
               synfire_graph_record_backward(graph, foreign.layer, &backward));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));  // still empty
  expect_usable();
}

TEST_F(Errors, Copies) {
  const Context other = make_context();
  const Buffer foreign = make_buffer(other, SYNFIRE_DTYPE_F32, 100), small = make_buffer(context, SYNFIRE_DTYPE_F32, 3);
  Buffer gone = make_buffer(context, SYNFIRE_DTYPE_F32, 100);
  const synfire_buffer stale = gone;
  gone.reset();
  const auto copy = [&](synfire_buffer source, synfire_buffer destination, uint64_t source_offset = 0,
                        uint64_t destination_offset = 0, uint64_t bytes = 0) {
    synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
    desc.source = source;
    desc.destination = destination;
    desc.source_offset = source_offset;
    desc.destination_offset = destination_offset;
    desc.bytes = bytes;
    return synfire_graph_record_copy(graph, &desc);
  };
  for (const synfire_buffer bad :
       {synfire_buffer{nullptr}, stale, foreign.get(), as<synfire_buffer>(rig.layer.get())}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("source"), copy(bad, rig.x));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("destination"), copy(rig.x, bad));
  }
  const uint64_t bytes = shape.sequence() * sizeof(float);
  const synfire_status refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
  EXPECT_FAILS(refused, WORDS("destination"), copy(rig.x, small));
  EXPECT_FAILS(refused, WORDS("source", "bytes"), copy(small, rig.x, 0, 0, 16));
  EXPECT_FAILS(refused, WORDS("source_offset"), copy(rig.x, rig.spikes, bytes + 4));
  EXPECT_FAILS(refused, WORDS("source_offset"), copy(rig.x, rig.spikes, 4, 0, bytes));
  EXPECT_FAILS(refused, WORDS("source_offset"), copy(rig.x, rig.spikes, ~uint64_t{0} - 3, 0, 8));
  EXPECT_FAILS(refused, WORDS("destination_offset"), copy(rig.x, rig.spikes, 0, bytes + 4, 4));
  EXPECT_FAILS(refused, WORDS("destination_offset"), copy(rig.x, rig.spikes, 0, 4));
  EXPECT_FAILS(refused, WORDS("destination_offset"), copy(rig.x, rig.spikes, 0, ~uint64_t{0} - 3, 8));
  EXPECT_FAILS(refused, WORDS("bytes"), copy(rig.x, rig.spikes, 0, 0, ~uint64_t{0}));
  EXPECT_FAILS(refused, WORDS("source", "destination"), copy(rig.x, rig.x));
  EXPECT_FAILS(refused, WORDS("source", "destination"), copy(rig.x, rig.x, 0, 4, 8));
  const Buffer window = make_window(context, rig.x, SYNFIRE_DTYPE_F32, 4, 2);
  EXPECT_FAILS(refused, WORDS("source", "destination"), copy(window, rig.x));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));  // nothing was recorded
  expect_usable();
}

// ---- Descriptions ---------------------------------------------------------------------------------------------------

TEST_F(Errors, BufferDescriptions) {
  const auto create = [&](auto change) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.n_elements = 4;
    change(desc);
    synfire_buffer handle = some_handle<synfire_buffer>();
    const synfire_status status = synfire_buffer_create(context, &desc, &handle);
    EXPECT_EQ(status < 0, handle == nullptr);
    synfire_buffer_destroy(handle);
    return status;
  };
  for (const int32_t bad : {-1, 4, std::numeric_limits<int32_t>::max()})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("memory"), create([&](auto& desc) { desc.memory = bad; }));
  for (const int32_t bad : {-1, 9, std::numeric_limits<int32_t>::max()})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("dtype"), create([&](auto& desc) { desc.dtype = bad; }));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("n_elements"), create([](auto& desc) { desc.n_elements = 0; }));
  for (const uint64_t huge : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 62, (uint64_t{1} << 61) + 1}) {
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_BITS}) {
      EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("n_elements"), create([&](auto& desc) {
                     desc.n_elements = huge;
                     desc.dtype = dtype;
                   }));
    }
  }
  void* data = nullptr;
  ASSERT_OK(synfire_buffer_get_data(rig.x, &data, nullptr));
  const auto borrow = [&](int32_t dtype, int offset) {
    return create([&](auto& desc) {
      desc.dtype = dtype;
      desc.data = static_cast<char*>(data) + offset;
    });
  };
  for (const int offset : {1, 2, 3}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("data"), borrow(SYNFIRE_DTYPE_F32, offset));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("data"), borrow(SYNFIRE_DTYPE_BITS, offset));
  }
  for (const int offset : {1, 2, 4, 7})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("data"), borrow(SYNFIRE_DTYPE_F64, offset));
  EXPECT_OK(borrow(SYNFIRE_DTYPE_F32, 4));
  expect_usable();
}

TEST_F(Errors, MoreMemoryThanThereIs) {
  if (is_sanitized()) GTEST_SKIP() << "the sanitizer's allocator ends the process instead of refusing";
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.n_elements = uint64_t{1} << 48;  // 1 PiB: representable, never available
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED, SYNFIRE_MEMORY_HOST}) {
    desc.memory = memory;
    synfire_buffer handle = some_handle<synfire_buffer>();
    EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS(), synfire_buffer_create(context, &desc, &handle));
    EXPECT_EQ(handle, nullptr);
  }
  const synfire_layer_desc layer_desc = describe(Shape{1, 1, int64_t{1} << 48}, SYNFIRE_DTYPE_F32);
  synfire_layer layer = some_handle<synfire_layer>();
  EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS(), synfire_layer_create(context, &layer_desc, &layer));
  EXPECT_EQ(layer, nullptr);
  expect_usable();
}

TEST_F(Errors, UploadsAndDownloadsBeyondTheBuffer) {
  const std::vector<float> before = {1, 2, 3, 4};
  const Buffer buffer = make_buffer_of(context, before);
  std::vector<float> values(5, 9);
  for (const auto& [offset, bytes] : {std::pair<uint64_t, uint64_t>{0, 17},
                                      {0, 20},
                                      {4, 13},
                                      {16, 1},
                                      {17, 0},
                                      {~uint64_t{0}, 4},
                                      {~uint64_t{0} - 3, 8},
                                      {8, ~uint64_t{0}},
                                      {8, ~uint64_t{0} - 7}}) {
    SCOPED_TRACE(testing::Message() << "offset " << offset << ", bytes " << bytes);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("offset", "bytes"),
                 synfire_buffer_upload(buffer, offset, values.data(), bytes));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("offset", "bytes"),
                 synfire_buffer_download(buffer, offset, values.data(), bytes));
  }
  EXPECT_TRUE(all_are(values, 9.0f));
  EXPECT_TRUE(same_bits(download<float>(buffer, 4), before));
}

TEST_F(Errors, FillingBits) {
  const Buffer bits = make_buffer(context, SYNFIRE_DTYPE_BITS, 3);
  EXPECT_OK(synfire_buffer_fill(bits, 4294967295.0));
  for (const double bad : {-1.0, 0.5, 4294967296.0, 1e300, nan, infinity, -infinity})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("value"), synfire_buffer_fill(bits, bad));
  EXPECT_TRUE(all_are(download<uint32_t>(bits, 3), 0xFFFFFFFFu));
  EXPECT_OK(synfire_buffer_fill(bits, 0));
  EXPECT_TRUE(all_are(download<uint32_t>(bits, 3), 0u));
  EXPECT_OK(synfire_buffer_fill(rig.v_final, 0.1));
  EXPECT_TRUE(all_are(download<float>(rig.v_final, shape.row()), 0.1f));
}

}  // namespace
}  // namespace synfire_test
