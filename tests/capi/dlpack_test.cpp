// Tensors of other libraries by DLPack: made by hand here, with the structures as its documentation states them.
#include <atomic>

#include "dlpack_tensor.hpp"
#include "graph_support.hpp"

namespace synfire_test {
namespace {

constexpr DLDevice processor{1, 0};
constexpr DLDataType f32{2, 32, 1};

// A tensor that counts how often it is deleted. Both kinds at once, over the same memory.
class Tensor {
 public:
  Tensor(void* data, DLDataType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides = {})
      : shape_(std::move(shape)), strides_(std::move(strides)) {
    tensor().data = data;
    tensor().device = processor;
    tensor().dtype = dtype;
    tensor().ndim = static_cast<int32_t>(shape_.size());
    tensor().shape = shape_.data();
    tensor().strides = strides_.empty() ? nullptr : strides_.data();
    versioned.major = 1;
    versioned.manager_ctx = this;
    versioned.deleter = [](DLManagedTensorVersioned* self) { ++static_cast<Tensor*>(self->manager_ctx)->n_deleted; };
  }
  // A buffer over it that was declared later is gone by now, and is freed.
  ~Tensor() { still_queued(); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  DLTensor& tensor() { return versioned.dl_tensor; }
  synfire_from_dlpack_desc desc(bool unversioned = false) {
    synfire_from_dlpack_desc desc = SYNFIRE_FROM_DLPACK_DESC_INIT;
    desc.tensor = &versioned;
    if (!unversioned) return desc;
    plain = {versioned.dl_tensor, this,
             [](DLManagedTensor* self) { ++static_cast<Tensor*>(self->manager_ctx)->n_deleted; }};
    desc.tensor = &plain;
    desc.unversioned = 1;
    return desc;
  }

  DLManagedTensorVersioned versioned = {};
  DLManagedTensor plain = {};
  std::atomic<int> n_deleted = 0;

 private:
  std::vector<int64_t> shape_, strides_;
};

synfire_status take(synfire_context context, const synfire_from_dlpack_desc& desc, Buffer& buffer) {
  synfire_buffer made = reinterpret_cast<synfire_buffer>(uintptr_t{1});
  const synfire_status status = synfire_buffer_from_dlpack(context, &desc, &made);
  buffer = Buffer(made);
  return status;
}
synfire_buffer_desc described(synfire_buffer buffer) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  EXPECT_OK(synfire_buffer_get_desc(buffer, &desc));
  return desc;
}
DLManagedTensorVersioned* give(synfire_buffer buffer, bool with_sign = false) {
  synfire_to_dlpack_desc desc = SYNFIRE_TO_DLPACK_DESC_INIT;
  desc.with_sign = with_sign ? 1 : 0;
  void* tensor = nullptr;
  EXPECT_OK(synfire_buffer_to_dlpack(buffer, &desc, &tensor));
  return static_cast<DLManagedTensorVersioned*>(tensor);
}

// Memory of processors, which a CUDA context takes for uploads and downloads.
class DLPack : public testing::Test {
 protected:
  // Nothing was taken, and the tensor still belongs to the caller.
  void expect_refused(synfire_status expected, std::initializer_list<std::string_view> words, Tensor& tensor) {
    for (const bool unversioned : {false, true}) {
      Buffer buffer;
      EXPECT_FAILS(expected, words, take(context, tensor.desc(unversioned), buffer));
      EXPECT_EQ(buffer.get(), nullptr);
      still_queued();
      EXPECT_EQ(tensor.n_deleted, 0);
    }
  }

  Context context = make_context();
  std::vector<float> numbers = Random(1).values<float>(4096, -1, 1);
};

// ---- in -------------------------------------------------------------------------------------------------------------

TEST_F(DLPack, ABufferIsOverTheTensorsMemoryAndDeletesItOnce) {
  for (const bool unversioned : {false, true}) {
    Tensor tensor(numbers.data(), f32, {3, 5, 7});
    Buffer buffer;
    ASSERT_OK(take(context, tensor.desc(unversioned), buffer));
    const synfire_buffer_desc desc = described(buffer);
    EXPECT_EQ(desc.data, numbers.data());
    EXPECT_EQ(desc.dtype, SYNFIRE_DTYPE_F32);
    EXPECT_EQ(desc.memory, on_host() ? SYNFIRE_MEMORY_DEVICE : SYNFIRE_MEMORY_HOST);
    EXPECT_EQ(desc.n_elements, 105u);
    EXPECT_EQ(desc.row_pitch, 0u);
    EXPECT_EQ(std::vector<uint64_t>(desc.shape, desc.shape + 4), (std::vector<uint64_t>{3, 5, 7, 0}));
    EXPECT_TRUE(same_bits(download<float>(buffer, 105), slice(numbers, 0, 105)));
    EXPECT_OK(synfire_buffer_fill(buffer, 2));
    EXPECT_EQ(numbers[104], 2.0F);
    buffer.reset();
    EXPECT_EQ(tensor.n_deleted, 0) << "a destroy function frees nothing";
    still_queued();
    still_queued();
    EXPECT_EQ(tensor.n_deleted, 1);
  }
}

TEST_F(DLPack, ATensorWithoutADeleter) {
  Tensor tensor(numbers.data(), f32, {8});
  tensor.versioned.deleter = nullptr;
  Buffer buffer;
  ASSERT_OK(take(context, tensor.desc(), buffer));
  buffer.reset();
  still_queued();
}

// A graph needs the memory for longer than the buffer lives.
TEST_F(DLPack, AGraphKeepsTheTensor) {
  if (!on_host()) GTEST_SKIP() << "no operation on a GPU takes pageable memory";
  Tensor tensor(numbers.data(), f32, {64});
  Graph graph = make_graph(context);
  const Buffer copy = make_buffer(context, SYNFIRE_DTYPE_F32, 64);
  {
    Buffer buffer;
    ASSERT_OK(take(context, tensor.desc(), buffer));
    record_copy(graph, buffer, copy);
  }
  EXPECT_OK(synfire_graph_instantiate(graph));
  still_queued();
  EXPECT_EQ(tensor.n_deleted, 0);
  replay(graph);
  EXPECT_TRUE(same_bits(download<float>(copy, 64), slice(numbers, 0, 64)));
  graph.reset();
  still_queued();
  EXPECT_EQ(tensor.n_deleted, 1);
}

struct TypeCase {
  DLDataType dtype;
  int32_t words, expected;
};

TEST_F(DLPack, Types) {
  for (const TypeCase& one :
       {TypeCase{{2, 32, 1}, 0, SYNFIRE_DTYPE_F32}, TypeCase{{2, 64, 1}, 0, SYNFIRE_DTYPE_F64},
        TypeCase{{2, 16, 1}, 0, SYNFIRE_DTYPE_F16}, TypeCase{{4, 16, 1}, 0, SYNFIRE_DTYPE_BF16},
        TypeCase{{1, 8, 1}, 0, SYNFIRE_DTYPE_U8}, TypeCase{{6, 8, 1}, 0, SYNFIRE_DTYPE_U8},
        TypeCase{{1, 32, 1}, 0, SYNFIRE_DTYPE_U32}, TypeCase{{0, 32, 1}, SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_U32},
        TypeCase{{0, 32, 1}, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_BITS},
        TypeCase{{1, 32, 1}, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_TIME_BITS},
        TypeCase{{1, 64, 1}, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U64}, TypeCase{{0, 64, 1}, 0, SYNFIRE_DTYPE_U64}}) {
    SCOPED_TRACE(testing::Message() << int{one.dtype.code} << ", " << int{one.dtype.bits} << " bits");
    Tensor tensor(numbers.data(), one.dtype, {3, 4});
    synfire_from_dlpack_desc desc = tensor.desc();
    desc.words = one.words;
    Buffer buffer;
    ASSERT_OK(take(context, desc, buffer));
    EXPECT_EQ(described(buffer).dtype, one.expected);
    EXPECT_EQ(described(buffer).n_elements, 12u);
  }
  for (const DLDataType dtype : {DLDataType{2, 32, 4}, DLDataType{0, 8, 1}, DLDataType{0, 16, 1}, DLDataType{1, 16, 1},
                                 DLDataType{5, 64, 1}, DLDataType{3, 64, 1}, DLDataType{2, 8, 1}, DLDataType{9, 8, 1},
                                 DLDataType{6, 1, 1}, DLDataType{2, 128, 1}, DLDataType{2, 32, 0}}) {
    Tensor tensor(numbers.data(), dtype, {3, 4});
    expect_refused(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-BUFFER-DLPACK-DTYPE", "desc.tensor"), tensor);
  }
  Tensor tensor(numbers.data(), {1, 32, 1}, {3, 4});
  for (const int32_t words : {1, 5, 8, 9, -1}) {
    synfire_from_dlpack_desc desc = tensor.desc();
    desc.words = words;
    Buffer buffer;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-DLPACK-WORDS", "desc.words"),
                 take(context, desc, buffer));
  }
}

struct StrideCase {
  std::vector<int64_t> shape, strides;
  std::vector<uint64_t> expected;
  uint64_t pitch;
};

TEST_F(DLPack, ShapesAndStrides) {
  for (const StrideCase& one :
       {StrideCase{{7}, {}, {7, 0, 0, 0}, 0}, StrideCase{{7}, {1}, {7, 0, 0, 0}, 0},
        StrideCase{{7}, {3}, {7, 0, 0, 0}, 3}, StrideCase{{3, 5}, {5, 1}, {3, 5, 0, 0}, 0},
        StrideCase{{3, 5}, {9, 1}, {3, 5, 0, 0}, 9}, StrideCase{{1, 5}, {-4, 1}, {1, 5, 0, 0}, 0},
        StrideCase{{3, 1, 5}, {5, 77, 1}, {3, 1, 5, 0}, 0}, StrideCase{{2, 3, 4, 5}, {60, 20, 5, 1}, {2, 3, 4, 5}, 0},
        StrideCase{{2, 3, 2, 4, 5}, {}, {2, 3, 40, 0}, 0},
        StrideCase{{2, 3, 2, 4, 5}, {150, 40, 20, 5, 1}, {2, 3, 40, 0}, 150},
        StrideCase{{2, 1, 1, 1, 1, 3}, {3, 3, 3, 3, 3, 1}, {2, 1, 3, 0}, 0}}) {
    SCOPED_TRACE(testing::PrintToString(one.shape) + testing::PrintToString(one.strides));
    Tensor tensor(numbers.data(), f32, one.shape, one.strides);
    Buffer buffer;
    ASSERT_OK(take(context, tensor.desc(), buffer));
    const synfire_buffer_desc desc = described(buffer);
    EXPECT_EQ(std::vector<uint64_t>(desc.shape, desc.shape + 4), one.expected);
    EXPECT_EQ(desc.row_pitch, one.pitch);
  }
  for (const StrideCase& one : {StrideCase{{3, 5}, {1, 3}, {}, 0}, StrideCase{{3, 5}, {5, 2}, {}, 0},
                                StrideCase{{3, 5}, {4, 1}, {}, 0}, StrideCase{{3, 5}, {0, 1}, {}, 0},
                                StrideCase{{3, 5}, {-5, 1}, {}, 0}, StrideCase{{2, 3, 4}, {24, 8, 1}, {}, 0}}) {
    Tensor tensor(numbers.data(), f32, one.shape, one.strides);
    expect_refused(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-BUFFER-DLPACK-STRIDES", "desc.tensor"), tensor);
  }
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, std::vector<int64_t>{3, 0}, std::vector<int64_t>{-1}, std::vector<int64_t>(65, 1)}) {
    Tensor tensor(numbers.data(), f32, shape);
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-DLPACK-SHAPE", "desc.tensor"), tensor);
  }
  Tensor lengthless(numbers.data(), f32, {3});
  lengthless.tensor().shape = nullptr;
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-DLPACK-SHAPE"), lengthless);
  Tensor huge(numbers.data(), f32, {int64_t{1} << 40, int64_t{1} << 40});
  expect_refused(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-BUFFER-OVERFLOW"), huge);
}

TEST_F(DLPack, AddressesAndDevices) {
  {
    Tensor tensor(numbers.data(), f32, {10});
    tensor.tensor().byte_offset = 12;
    Buffer buffer;
    ASSERT_OK(take(context, tensor.desc(), buffer));
    EXPECT_EQ(described(buffer).data, &numbers[3]);
  }
  Tensor crooked(numbers.data(), f32, {10});
  crooked.tensor().byte_offset = 2;
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-DLPACK-DATA", "desc.tensor"), crooked);
  // Offsets are not negative; the second one would lead to the address 0.
  for (const uint64_t offset : {-uint64_t{16}, -reinterpret_cast<uint64_t>(numbers.data())}) {
    Tensor before(numbers.data(), f32, {10});
    before.tensor().byte_offset = offset;
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-DLPACK-DATA", "desc.tensor", "beyond"), before);
  }
  Tensor nowhere(nullptr, f32, {10});
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-DLPACK-DATA", "desc.tensor"), nowhere);
  for (const DLDevice device : {DLDevice{2, 77}, DLDevice{4, 0}, DLDevice{10, 0}, DLDevice{0, 0}, DLDevice{-1, 0}}) {
    Tensor elsewhere(numbers.data(), f32, {10});
    elsewhere.tensor().device = device;
    expect_refused(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-BUFFER-DLPACK-DEVICE", "desc.tensor"), elsewhere);
  }
  if (!on_host()) return;
  Tensor locked(numbers.data(), f32, {10});
  locked.tensor().device = {3, 0};
  Buffer buffer;
  EXPECT_OK(take(context, locked.desc(), buffer));
  for (const int32_t of_gpu : {2, 13}) {
    Tensor elsewhere(numbers.data(), f32, {10});
    elsewhere.tensor().device = {of_gpu, 0};
    expect_refused(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-BUFFER-DLPACK-DEVICE", "host"), elsewhere);
  }
}

TEST_F(DLPack, OtherMistakes) {
  Tensor tensor(numbers.data(), f32, {10});
  Buffer buffer;
  for (const uint32_t major : {0u, 2u}) {
    tensor.versioned.major = major;
    EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-BUFFER-DLPACK-VERSION", "desc.tensor"),
                 take(context, tensor.desc(), buffer));
  }
  tensor.versioned.major = 1;
  tensor.versioned.minor = 99;
  synfire_from_dlpack_desc desc = tensor.desc();
  desc.unversioned = 2;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-FLAG", "desc.unversioned"),
               take(context, desc, buffer));
  desc = tensor.desc();
  desc.tensor = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-ARGUMENT-NULL", "desc.tensor"), take(context, desc, buffer));
  desc = tensor.desc();
  desc.reserved = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-RESERVED", "desc.reserved"), take(context, desc, buffer));
  if (on_host()) {
    desc = tensor.desc();
    desc.stream = reinterpret_cast<synfire_stream>(uintptr_t{64});
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-STREAM-HOST"), take(context, desc, buffer));
  }
  EXPECT_EQ(tensor.n_deleted, 0);
  EXPECT_OK(take(context, tensor.desc(), buffer)) << "a later minor version";
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-ARGUMENT-NULL", "tensor"),
               synfire_buffer_to_dlpack(buffer, nullptr, nullptr));
}

// ---- only read ------------------------------------------------------------------------------------------------------

TEST_F(DLPack, ReadOnlyMemoryIsNeverWritten) {
  Tensor tensor(numbers.data(), f32, {64});
  tensor.versioned.flags = 1;
  Buffer buffer;
  ASSERT_OK(take(context, tensor.desc(), buffer));
  const std::vector<float> before = numbers;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-READ-ONLY", "buffer"),
               synfire_buffer_upload(buffer, 0, numbers.data(), 4));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-READ-ONLY", "buffer"), synfire_buffer_fill(buffer, 0));
  EXPECT_TRUE(same_bits(download<float>(buffer, 64), slice(numbers, 0, 64)));
  synfire_to_dlpack_desc desc = SYNFIRE_TO_DLPACK_DESC_INIT;
  desc.unversioned = 1;
  void* out = &desc;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-READ-ONLY", "buffer"),
               synfire_buffer_to_dlpack(buffer, &desc, &out));
  EXPECT_EQ(out, nullptr);
  DLManagedTensorVersioned* const again = give(buffer);
  EXPECT_EQ(again->flags, 1u);
  again->deleter(again);
  if (on_host()) {
    const Buffer other = make_buffer(context, SYNFIRE_DTYPE_F32, 64);
    synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
    copy.source = other;
    copy.destination = buffer;
    const Graph graph = make_graph(context);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-READ-ONLY", "desc.destination"),
                 synfire_graph_record_copy(graph, &copy));
    synfire_scale_add_desc add = SYNFIRE_SCALE_ADD_DESC_INIT;
    add.source = other;
    add.destination = buffer;
    add.scale = 1;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-READ-ONLY", "desc.destination"),
                 synfire_scale_add(context, &add, nullptr));
    // It takes the place of one that is read, and not of one that is written.
    const Buffer third = make_buffer(context, SYNFIRE_DTYPE_F32, 64);
    copy.source = third;
    copy.destination = other;
    EXPECT_OK(synfire_graph_record_copy(graph, &copy));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-READ-ONLY", "new_buffer"),
                 synfire_graph_rebind(graph, other, buffer));
    EXPECT_OK(synfire_graph_rebind(graph, third, buffer));
  }
  EXPECT_TRUE(same_bits(numbers, before));
}

// The network computes nothing for it.
TEST_F(DLPack, ANetworkDoesNotInferIntoReadOnlyMemory) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 2;
  desc.batch = 3;
  synfire_network made = nullptr;
  ASSERT_OK(synfire_network_create(context, &desc, &made));
  const Network network(made);
  ASSERT_OK(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_VALUES, 5));
  ASSERT_OK(synfire_network_add_synapse(network, "s", 4));
  ASSERT_OK(synfire_network_add_neurons(network, "out", SYNFIRE_MODEL_LI));
  ASSERT_OK(synfire_network_add_readout(network, "mean", SYNFIRE_READOUT_MEAN, 0));
  ASSERT_OK(synfire_network_build(network));
  Tensor in(numbers.data(), f32, {7, 2, 5}), out(numbers.data() + 1000, f32, {7, 4});
  in.versioned.flags = out.versioned.flags = 1;
  Buffer inputs, outputs;
  ASSERT_OK(take(context, in.desc(), inputs));
  ASSERT_OK(take(context, out.desc(), outputs));
  const std::vector<float> before = numbers;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-READ-ONLY", "outputs"),
               synfire_network_infer(network, inputs, 7, outputs));
  synfire_network_array arrays[2] = {};
  arrays[0].stage = "in", arrays[0].role = SYNFIRE_ARRAY_INPUTS, arrays[0].buffer = inputs;
  arrays[1].stage = "mean", arrays[1].role = SYNFIRE_ARRAY_OUTPUTS, arrays[1].buffer = outputs;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-READ-ONLY", "outputs", "mean"),
               synfire_network_infer_arrays(network, 7, arrays, 2));
  EXPECT_TRUE(same_bits(numbers, before));
}

// ---- out ------------------------------------------------------------------------------------------------------------

TEST_F(DLPack, ATensorIsOverTheBuffersMemoryAndKeepsIt) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_HOST;
  desc.shape[0] = 3, desc.shape[1] = 2, desc.shape[2] = 7;
  desc.row_pitch = 20;
  synfire_buffer made = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &desc, &made));
  Buffer buffer(made);
  DLManagedTensorVersioned* const tensor = give(buffer);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->major, 1u);
  EXPECT_EQ(tensor->flags, 0u);
  const DLTensor& inner = tensor->dl_tensor;
  EXPECT_EQ(inner.data, data_of(buffer));
  EXPECT_EQ(inner.byte_offset, 0u);
  EXPECT_EQ(inner.device.device_type, 1);
  EXPECT_EQ(inner.device.device_id, 0);
  EXPECT_EQ(std::vector<int64_t>(inner.shape, inner.shape + inner.ndim), (std::vector<int64_t>{3, 2, 7}));
  EXPECT_EQ(std::vector<int64_t>(inner.strides, inner.strides + inner.ndim), (std::vector<int64_t>{20, 7, 1}));
  buffer.reset();
  EXPECT_EQ(still_queued(context), 1u) << "the tensor keeps the memory";
  static_cast<float*>(inner.data)[53] = 5;
  tensor->deleter(tensor);
  EXPECT_EQ(still_queued(context), 0u);
}

struct OutCase {
  int32_t dtype;
  DLDataType expected;
};

TEST_F(DLPack, TypesOfTensors) {
  for (const OutCase& one : {OutCase{SYNFIRE_DTYPE_F32, {2, 32, 1}}, OutCase{SYNFIRE_DTYPE_F64, {2, 64, 1}},
                             OutCase{SYNFIRE_DTYPE_F16, {2, 16, 1}}, OutCase{SYNFIRE_DTYPE_BF16, {4, 16, 1}},
                             OutCase{SYNFIRE_DTYPE_U8, {1, 8, 1}}, OutCase{SYNFIRE_DTYPE_U32, {1, 32, 1}},
                             OutCase{SYNFIRE_DTYPE_U64, {1, 64, 1}}, OutCase{SYNFIRE_DTYPE_BITS, {1, 32, 1}},
                             OutCase{SYNFIRE_DTYPE_TIME_BITS, {1, 32, 1}}}) {
    const Buffer buffer = make_frame(context, 5, SYNFIRE_MEMORY_HOST, one.dtype);
    for (const bool with_sign : {false, true}) {
      DLManagedTensorVersioned* const tensor = give(buffer, with_sign);
      const bool changes = with_sign && one.expected.code == 1 && one.expected.bits > 8;
      EXPECT_EQ(tensor->dl_tensor.dtype.code, changes ? 0 : one.expected.code) << one.dtype;
      EXPECT_EQ(tensor->dl_tensor.dtype.bits, one.expected.bits) << one.dtype;
      EXPECT_EQ(tensor->dl_tensor.dtype.lanes, 1);
      EXPECT_EQ(tensor->dl_tensor.ndim, 1);
      EXPECT_EQ(tensor->dl_tensor.shape[0], 5);
      EXPECT_EQ(tensor->dl_tensor.strides[0], 1);
      tensor->deleter(tensor);
    }
  }
}

// Out and in again, of both kinds, on another context: the bytes are the same, and everything is deleted in the end.
TEST_F(DLPack, RoundTrip) {
  const Context other = make_context();
  for (const int32_t unversioned : {0, 1}) {
    Buffer buffer = make_frame(context, 100, SYNFIRE_MEMORY_HOST);
    upload(buffer, slice(numbers, 0, 100));
    synfire_to_dlpack_desc out = SYNFIRE_TO_DLPACK_DESC_INIT;
    out.unversioned = unversioned;
    void* tensor = nullptr;
    ASSERT_OK(synfire_buffer_to_dlpack(buffer, &out, &tensor));
    buffer.reset();
    synfire_from_dlpack_desc in = SYNFIRE_FROM_DLPACK_DESC_INIT;
    in.unversioned = unversioned;
    in.tensor = tensor;
    Buffer again;
    ASSERT_OK(take(other, in, again));
    EXPECT_TRUE(same_bits(download<float>(again, 100), slice(numbers, 0, 100)));
    again.reset();
    EXPECT_EQ(still_queued(), 0u);
  }
}

TEST_F(DLPack, TransientBuffersHaveNoMemoryToGive) {
  const Buffer buffer = make_frame(context, 5, SYNFIRE_MEMORY_TRANSIENT);
  void* tensor = &tensor;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-TRANSIENT-MEMORY", "buffer"),
               synfire_buffer_to_dlpack(buffer, nullptr, &tensor));
  EXPECT_EQ(tensor, nullptr);
  synfire_to_dlpack_desc desc = SYNFIRE_TO_DLPACK_DESC_INIT;
  desc.with_sign = 2;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-FLAG", "desc.with_sign"),
               synfire_buffer_to_dlpack(buffer, &desc, &tensor));
}

}  // namespace
}  // namespace synfire_test
