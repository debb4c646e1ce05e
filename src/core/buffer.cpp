#include "buffer.hpp"

#include "error.hpp"
#include "float_environment.hpp"

#include <cmath>

namespace synfire::core {

uint64_t bytes_of_dtype(int32_t dtype) { return dtype == SYNFIRE_DTYPE_F64 ? 8 : 4; }

const char* name_of_dtype(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F32: return "f32";
    case SYNFIRE_DTYPE_F64: return "f64";
    default: return "bits (32-bit words)";
  }
}

const char* name_of_memory(int32_t memory) {
  switch (memory) {
    case SYNFIRE_MEMORY_DEVICE: return "device";
    case SYNFIRE_MEMORY_PINNED: return "pinned";
    default: return "host";
  }
}

Buffer::Buffer(Context& context, const synfire_buffer_desc& desc)
    : Child(ObjectType::buffer, context), dtype_(desc.dtype), owned_(desc.data == nullptr) {
  if (desc.memory < SYNFIRE_MEMORY_DEVICE || desc.memory > SYNFIRE_MEMORY_HOST)
    fail_argument("SYN-BUFFER-MEMORY", "desc.memory is %d; allowed are SYNFIRE_MEMORY_DEVICE (0), _PINNED (1), _HOST (2)",
                  desc.memory);
  if (desc.dtype < SYNFIRE_DTYPE_F32 || desc.dtype > SYNFIRE_DTYPE_BITS)
    fail_argument("SYN-BUFFER-DTYPE", "desc.dtype is %d; allowed are SYNFIRE_DTYPE_F32 (0), _F64 (1), _BITS (2)",
                  desc.dtype);
  const uint64_t element = bytes_of_dtype(desc.dtype);
  if (desc.n_elements == 0)
    fail_argument("SYN-BUFFER-EMPTY", "desc.n_elements is 0; at least 1 is needed");
  if (desc.n_elements > (uint64_t{1} << 62) / element)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-BUFFER-OVERFLOW",
         "desc.n_elements is %llu; at most 2^62 bytes can be addressed",
         static_cast<unsigned long long>(desc.n_elements));
  array_.bytes = desc.n_elements * element;
  array_.memory = desc.memory;
  if (owned_) {
    array_.data = device().allocate(desc.memory, array_.bytes);
    return;
  }
  if (reinterpret_cast<uintptr_t>(desc.data) % element != 0)
    fail_argument("SYN-BUFFER-ALIGNMENT", "desc.data is %p; an address aligned to the element size, %llu, is needed",
                  desc.data, static_cast<unsigned long long>(element));
  device().check_borrowed(desc.memory, desc.data);
  array_.data = desc.data;
}

Buffer::~Buffer() {
  if (owned_ && array_.data) device().release(array_.memory, array_.data);
}

void Buffer::check_range(uint64_t offset, const void* host, const char* host_name, uint64_t bytes) const {
  if (!host && bytes > 0) fail_argument("SYN-ARGUMENT-NULL", "%s is null", host_name);
  if (offset > array_.bytes || bytes > array_.bytes - offset)
    fail_argument("SYN-BUFFER-RANGE", "offset is %llu and bytes is %llu; the buffer holds %llu bytes",
                  static_cast<unsigned long long>(offset), static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(array_.bytes));
}

void Buffer::upload(uint64_t offset, const void* source, uint64_t bytes) {
  check_range(offset, source, "source", bytes);
  if (bytes > 0) device().upload(static_cast<char*>(array_.data) + offset, source, bytes);
}

void Buffer::download(uint64_t offset, void* destination, uint64_t bytes) const {
  check_range(offset, destination, "destination", bytes);
  if (bytes > 0) device().download(destination, static_cast<const char*>(array_.data) + offset, bytes);
}

void Buffer::fill(double value) {
  if (dtype_ == SYNFIRE_DTYPE_BITS && !(value >= 0 && value < 4294967296.0 && value == std::floor(value)))
    fail_argument("SYN-BUFFER-FILL", "value is %g; a buffer of bits takes a whole number in [0, 2^32) for each word",
                  value);
  const FloatEnvironment ieee;  // the value is rounded to the buffer's type
  const Operation operation = FillOperation{array_, dtype_, value};
  device().execute({&operation, 1}, nullptr);
  device().synchronize();
}

}  // namespace synfire::core
