// The functions of synfire.h for tensors of other libraries, by the structures of DLPack.
#include "held.hpp"

#include <base/dlpack.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

// ---- in -------------------------------------------------------------------------------------------------------------

void check_version(const dlpack::Versioned& managed) {
  if (managed.major != dlpack::major_version)
    core::fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-BUFFER-DLPACK-VERSION",
               "desc.tensor has version %u.%u of DLPack; this library knows version %u", managed.major, managed.minor,
               dlpack::major_version);
}

int32_t memory_of(const dlpack::Tensor& tensor, const core::Device& device) {
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  device.describe(properties);
  const bool is_host = device.is_host();
  switch (tensor.device.type) {
    case dlpack::cpu:
      return is_host ? SYNFIRE_MEMORY_DEVICE : SYNFIRE_MEMORY_HOST;
    case dlpack::cuda_host:
      return is_host ? SYNFIRE_MEMORY_DEVICE : SYNFIRE_MEMORY_PINNED;
    case dlpack::cuda:
      if (!is_host && tensor.device.number == properties.device) return SYNFIRE_MEMORY_DEVICE;
      break;
    case dlpack::cuda_managed:
      if (!is_host) return SYNFIRE_MEMORY_DEVICE;
      break;
    default:
      break;
  }
  core::fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-BUFFER-DLPACK-DEVICE",
             "desc.tensor is on device %d of DLPack's type %d; a context on %s takes %s", tensor.device.number,
             tensor.device.type, is_host ? "the host" : "a GPU",
             is_host ? "memory of processors (1) and page-locked memory (3)"
                     : "memory of its own GPU (2), managed (13), page-locked (3) and of processors (1)");
}

int32_t dtype_of(const dlpack::DataType& dtype, int32_t words) {
  if (words != 0 && words != SYNFIRE_DTYPE_U32 && words != SYNFIRE_DTYPE_BITS && words != SYNFIRE_DTYPE_TIME_BITS)
    core::fail_argument("SYN-BUFFER-DLPACK-WORDS",
                        "desc.words is %d; allowed are 0, SYNFIRE_DTYPE_U32 (7), _BITS (2) and _TIME_BITS (6)", words);
  const bool is_integer = dtype.code == dlpack::unsigned_integer || dtype.code == dlpack::signed_integer;
  if (dtype.lanes == 1) {
    if (dtype.code == dlpack::floating && dtype.bits == 32) return SYNFIRE_DTYPE_F32;
    if (dtype.code == dlpack::floating && dtype.bits == 64) return SYNFIRE_DTYPE_F64;
    if (dtype.code == dlpack::floating && dtype.bits == 16) return SYNFIRE_DTYPE_F16;
    if (dtype.code == dlpack::bfloat && dtype.bits == 16) return SYNFIRE_DTYPE_BF16;
    if (dtype.code == dlpack::unsigned_integer && dtype.bits == 8) return SYNFIRE_DTYPE_U8;
    if (dtype.code == dlpack::boolean && dtype.bits == 8) return SYNFIRE_DTYPE_U8;
    if (is_integer && dtype.bits == 32) return words == 0 ? SYNFIRE_DTYPE_U32 : words;
    if (is_integer && dtype.bits == 64) return SYNFIRE_DTYPE_U64;
  }
  core::fail(
      SYNFIRE_ERROR_UNSUPPORTED, "SYN-BUFFER-DLPACK-DTYPE",
      "desc.tensor has elements of %d bits with %d lanes and DLPack's type code %d; a buffer has floats of 16, 32 and "
      "64 bits, bfloat16, u8 or bool, and integers of 32 and 64 bits",
      dtype.bits, dtype.lanes, dtype.code);
}

// Sets the shape and the pitch of the description.
void read_shape(const dlpack::Tensor& tensor, synfire_buffer_desc& desc) {
  constexpr int32_t most_dimensions = 64;
  if (tensor.n_dimensions < 1 || tensor.n_dimensions > most_dimensions || !tensor.shape)
    core::fail_argument("SYN-BUFFER-DLPACK-SHAPE", "desc.tensor has %d dimensions%s; 1 to %d are needed, with lengths",
                        tensor.n_dimensions, tensor.shape ? "" : " without lengths", most_dimensions);
  const int32_t rank = tensor.n_dimensions;
  int64_t row = 1;  // elements of the dimensions after the current one
  for (int32_t i = rank; i-- > 0;) {
    const int64_t length = tensor.shape[i];
    if (length < 1)
      core::fail_argument("SYN-BUFFER-DLPACK-SHAPE",
                          "desc.tensor has the length %lld in dimension %d; 1 or more is needed",
                          static_cast<long long>(length), i);
    const int64_t stride = tensor.strides ? tensor.strides[i] : row;
    // Steps may be further apart than they are long. What has one element has no next one.
    if (length > 1 && (i == 0 ? stride < row : stride != row))
      core::fail(
          SYNFIRE_ERROR_UNSUPPORTED, "SYN-BUFFER-DLPACK-STRIDES",
          "desc.tensor has the stride %lld in dimension %d; %s%lld is needed: copy it to a contiguous tensor first",
          static_cast<long long>(stride), i, i == 0 ? "at least " : "", static_cast<long long>(row));
    if (i == 0 && length > 1 && stride > row) desc.row_pitch = static_cast<uint64_t>(stride);
    if (__builtin_mul_overflow(row, length, &row))
      core::fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-BUFFER-OVERFLOW",
                 "desc.tensor has more elements than can be addressed");
  }
  constexpr int32_t most = core::Shape::max_rank;
  const int32_t kept = rank <= most ? rank : 3;
  for (int32_t i = 0; i < kept; ++i) desc.shape[i] = static_cast<uint64_t>(tensor.shape[i]);
  for (int32_t i = kept; i < rank; ++i) desc.shape[kept - 1] *= static_cast<uint64_t>(tensor.shape[i]);
}

template <class Managed>
void SYNFIRE_CALL release_managed(void* tensor) {
  auto* const managed = static_cast<Managed*>(tensor);
  if (managed->deleter) managed->deleter(managed);
}

core::Buffer* buffer_of(core::Context& context, const dlpack::Tensor& tensor, bool read_only,
                        const synfire_from_dlpack_desc& given, synfire_release_callback release) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory_of(tensor, context.device());
  desc.dtype = dtype_of(tensor.dtype, given.words);
  read_shape(tensor, desc);
  if (!tensor.data) core::fail_argument("SYN-BUFFER-DLPACK-DATA", "desc.tensor has no memory: its data is null");
  uintptr_t address = 0;
  if (__builtin_add_overflow(reinterpret_cast<uintptr_t>(tensor.data), tensor.byte_offset, &address))
    core::fail_argument("SYN-BUFFER-DLPACK-DATA",
                        "desc.tensor begins %llu bytes after %p, which is beyond the end of all memory",
                        static_cast<unsigned long long>(tensor.byte_offset), tensor.data);
  desc.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (reinterpret_cast<uintptr_t>(desc.data) % core::bytes_of_dtype(desc.dtype) != 0)
    core::fail_argument("SYN-BUFFER-DLPACK-DATA",
                        "desc.tensor begins at %p; an address aligned to the element size, %llu, is needed", desc.data,
                        static_cast<unsigned long long>(core::bytes_of_dtype(desc.dtype)));
  desc.release = release;
  desc.release_user = given.tensor;
  auto* const made = core::charged_as(SYNFIRE_TAG_BUFFER, [&] { return new core::Buffer(context, desc); });
  if (read_only) made->only_read();
  return made;
}

// ---- out ------------------------------------------------------------------------------------------------------------

dlpack::Device device_of(const core::Buffer& buffer) {
  const core::Device& device = buffer.context()->device();
  if (device.is_host() || buffer.memory() == SYNFIRE_MEMORY_HOST) return {dlpack::cpu, 0};
  if (buffer.memory() == SYNFIRE_MEMORY_PINNED) return {dlpack::cuda_host, 0};
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  device.describe(properties);
  return {dlpack::cuda, properties.device};
}

dlpack::DataType type_of(int32_t dtype, bool with_sign) {
  const dlpack::Code integer = with_sign ? dlpack::signed_integer : dlpack::unsigned_integer;
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
      return {dlpack::floating, 64, 1};
    case SYNFIRE_DTYPE_F16:
      return {dlpack::floating, 16, 1};
    case SYNFIRE_DTYPE_BF16:
      return {dlpack::bfloat, 16, 1};
    case SYNFIRE_DTYPE_U8:
      return {dlpack::unsigned_integer, 8, 1};
    case SYNFIRE_DTYPE_BITS:
    case SYNFIRE_DTYPE_TIME_BITS:
    case SYNFIRE_DTYPE_U32:
      return {integer, 32, 1};
    case SYNFIRE_DTYPE_U64:
      return {integer, 64, 1};
    default:
      return {dlpack::floating, 32, 1};
  }
}

// A tensor that was given to another library, which deletes it.
template <class Managed>
struct Given {
  Managed managed = {};
  core::Ref<core::Buffer> buffer;
  int64_t shape[core::Shape::max_rank] = {}, strides[core::Shape::max_rank] = {};

  static void remove(Managed* self) {
    const core::FloatEnvironment ieee;  // called by another library, and it may call the program's function for memory
    delete static_cast<Given*>(self->manager);
  }
};

template <class Managed>
Managed* give(core::Buffer& buffer, bool with_sign) {
  auto given = std::make_unique<Given<Managed>>();
  dlpack::Tensor& tensor = given->managed.tensor;
  tensor.data = buffer.view().data;
  tensor.device = device_of(buffer);
  tensor.dtype = type_of(buffer.dtype(), with_sign);
  tensor.shape = given->shape;
  tensor.strides = given->strides;
  const core::Shape& shape = buffer.shape();
  if (shape.rank == 0) {
    tensor.n_dimensions = 1;
    given->shape[0] = static_cast<int64_t>(buffer.view().bytes / core::bytes_of_dtype(buffer.dtype()));
    given->strides[0] = 1;
  } else {
    tensor.n_dimensions = shape.rank;
    int64_t row = 1;
    for (int32_t i = shape.rank; i-- > 0;) {
      given->shape[i] = shape.lengths[i];
      given->strides[i] = i == 0 && buffer.row_pitch() != 0 ? static_cast<int64_t>(buffer.row_pitch()) : row;
      row *= shape.lengths[i];
    }
  }
  given->buffer = core::Ref<core::Buffer>(&buffer);
  given->managed.manager = given.get();
  given->managed.deleter = Given<Managed>::remove;
  return &given.release()->managed;
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_buffer_from_dlpack(synfire_context context, const synfire_from_dlpack_desc* desc,
                                                       synfire_buffer* buffer) noexcept {
  return guarded(__func__, [&] {
    check_pointer(buffer, "buffer");
    *buffer = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_from_dlpack_desc checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    check_flag(checked.unversioned, "SYN-BUFFER-FLAG", "desc.unversioned");
    check_pointer(checked.tensor, "desc.tensor");
    owner->device().check_stream(checked.stream);
    core::Buffer* made = nullptr;
    if (checked.unversioned == 1) {
      const auto& managed = *static_cast<const dlpack::Unversioned*>(checked.tensor);
      made = buffer_of(*owner, managed.tensor, false, checked, release_managed<dlpack::Unversioned>);
    } else {
      const auto& managed = *static_cast<const dlpack::Versioned*>(checked.tensor);
      check_version(managed);
      made = buffer_of(*owner, managed.tensor, (managed.flags & dlpack::flag_read_only) != 0, checked,
                       release_managed<dlpack::Versioned>);
    }
    made->retain();
    try {
      if (checked.stream) owner->device().put_in_order(checked.stream, nullptr);
      *buffer = registered<synfire_buffer>(made);
    } catch (...) {
      made->forget_release();
      made->release();
      throw;
    }
    made->release();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_buffer_to_dlpack(synfire_buffer buffer, const synfire_to_dlpack_desc* desc,
                                                     void** tensor) noexcept {
  return guarded(__func__, [&] {
    check_pointer(tensor, "tensor");
    *tensor = nullptr;
    const auto found = held(buffer);
    synfire_to_dlpack_desc checked = SYNFIRE_TO_DLPACK_DESC_INIT;
    if (desc) checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    check_flag(checked.unversioned, "SYN-BUFFER-FLAG", "desc.unversioned");
    check_flag(checked.with_sign, "SYN-BUFFER-FLAG", "desc.with_sign");
    found->check_has_memory("buffer");
    if (found->is_only_read() && checked.unversioned == 1)
      found->fail_only_read("buffer", "a DLManagedTensor cannot say so: ask for a versioned one");
    core::Device& device = found->context()->device();
    device.check_stream(checked.stream);
    if (checked.stream) device.put_in_order(nullptr, checked.stream);
    if (checked.unversioned == 1) {
      *tensor = give<dlpack::Unversioned>(*found, checked.with_sign == 1);
    } else {
      auto* const managed = give<dlpack::Versioned>(*found, checked.with_sign == 1);
      managed->major = dlpack::major_version;
      managed->flags = found->is_only_read() ? dlpack::flag_read_only : 0;
      *tensor = managed;
    }
    return SYNFIRE_OK;
  });
}

}  // extern "C"
