#include "buffer.hpp"

#include "element_operations.hpp"
#include "error.hpp"
#include "float_environment.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

namespace synfire::core {

uint64_t bytes_of_dtype(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
    case SYNFIRE_DTYPE_U64: return 8;
    case SYNFIRE_DTYPE_F16:
    case SYNFIRE_DTYPE_BF16: return 2;
    case SYNFIRE_DTYPE_U8: return 1;
    default: return 4;
  }
}

const char* name_of_dtype(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F32: return "f32";
    case SYNFIRE_DTYPE_F64: return "f64";
    case SYNFIRE_DTYPE_F16: return "f16";
    case SYNFIRE_DTYPE_BF16: return "bf16";
    case SYNFIRE_DTYPE_U8: return "u8";
    case SYNFIRE_DTYPE_TIME_BITS: return "time-packed bits (32-bit words)";
    case SYNFIRE_DTYPE_U32: return "u32";
    case SYNFIRE_DTYPE_U64: return "u64";
    default: return "bits (32-bit words)";
  }
}

bool is_packed(int32_t dtype) { return dtype == SYNFIRE_DTYPE_BITS || dtype == SYNFIRE_DTYPE_TIME_BITS; }

const char* name_of_memory(int32_t memory) {
  switch (memory) {
    case SYNFIRE_MEMORY_DEVICE: return "device";
    case SYNFIRE_MEMORY_PINNED: return "pinned";
    default: return "host";
  }
}

namespace {

// The nearest number with `precision` significant bits and no finer steps than 2^(minimum_exponent + 1 − precision).
double rounded_to(double value, int precision, int minimum_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), minimum_exponent) - (precision - 1);
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

uint64_t f16_bits(double value) {
  const uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7FFF;
  const double magnitude = std::fabs(rounded_to(value, 11, -14));
  if (magnitude >= 65536) return sign | 0x7C00;
  if (magnitude < 0x1p-14) return sign | static_cast<uint64_t>(magnitude * 0x1p24);
  const int exponent = std::ilogb(magnitude);
  const auto significand = static_cast<uint64_t>(std::ldexp(magnitude, 10 - exponent));  // with the leading one
  return sign | ((static_cast<uint64_t>(exponent + 14) << 10) + significand);
}

uint64_t bf16_bits(double value) {
  if (std::isnan(value)) return 0x7FFF;
  return std::bit_cast<uint32_t>(static_cast<float>(rounded_to(value, 8, -126))) >> 16;
}

}  // namespace

uint64_t element_bits(int32_t dtype, double value) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64: return std::bit_cast<uint64_t>(value);
    case SYNFIRE_DTYPE_F32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case SYNFIRE_DTYPE_F16: return f16_bits(value);
    case SYNFIRE_DTYPE_BF16: return bf16_bits(value);
    default: return static_cast<uint64_t>(value);
  }
}

Buffer::Buffer(Context& context, const synfire_buffer_desc& desc)
    : Child(ObjectType::buffer, context),
      dtype_(desc.dtype),
      owned_(desc.data == nullptr),
      row_pitch_(desc.row_pitch),
      release_(desc.release),
      release_user_(desc.release_user),
      release_flag_(desc.release_flag) {
  if (desc.memory < SYNFIRE_MEMORY_DEVICE || desc.memory > SYNFIRE_MEMORY_HOST)
    fail_argument("SYN-BUFFER-MEMORY",
                  "desc.memory is %d; allowed are SYNFIRE_MEMORY_DEVICE (0), _PINNED (1), _HOST (2)", desc.memory);
  if (desc.dtype < SYNFIRE_DTYPE_F32 || desc.dtype > SYNFIRE_DTYPE_U64)
    fail_argument(
        "SYN-BUFFER-DTYPE",
        "desc.dtype is %d; allowed are SYNFIRE_DTYPE_F32 (0), _F64 (1), _BITS (2), _F16 (3), _BF16 (4), _U8 (5), "
        "_TIME_BITS (6), _U32 (7), _U64 (8)",
        desc.dtype);
  const uint64_t element = bytes_of_dtype(desc.dtype);
  if (desc.n_elements == 0)
    fail_argument("SYN-BUFFER-EMPTY", "desc.n_elements is 0; at least 1 is needed");
  if (desc.n_elements > (uint64_t{1} << 62) / element)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-BUFFER-OVERFLOW",
         "desc.n_elements is %llu; at most 2^62 bytes can be addressed",
         static_cast<unsigned long long>(desc.n_elements));
  if (desc.row_pitch > desc.n_elements)
    fail_argument("SYN-BUFFER-PITCH", "desc.row_pitch is %llu; the buffer has %llu elements in all",
                  static_cast<unsigned long long>(desc.row_pitch), static_cast<unsigned long long>(desc.n_elements));
  if (owned_ && (desc.release || desc.release_flag))
    fail_argument("SYN-BUFFER-RELEASE", "desc.%s is given and desc.data is null; only borrowed memory is given back",
                  desc.release ? "release" : "release_flag");
  array_.bytes = desc.n_elements * element;
  array_.memory = desc.memory;
  array_.dtype = desc.dtype;
  array_.owner = this;
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

void Buffer::dispose() noexcept {
  if (owned_) return device().release(array_.memory, array_.data);
  if (!release_ && !release_flag_) return;
  // Pageable memory is read and written by calls that wait.
  if (array_.memory != SYNFIRE_MEMORY_HOST && must_finish(*context())) device().finish();
  if (release_) {
    try {
      const CallersFloatEnvironment theirs;
      release_(release_user_);
    } catch (...) {  // there is no call of the lender's to answer
    }
  }
  if (release_flag_) std::atomic_ref(*release_flag_).store(1, std::memory_order_release);
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
  if (bytes == 0) return;
  mark_written();
  device().upload(static_cast<char*>(array_.data) + offset, source, bytes);
}

void Buffer::download(uint64_t offset, void* destination, uint64_t bytes) const {
  check_range(offset, destination, "destination", bytes);
  if (bytes > 0) device().download(destination, static_cast<const char*>(array_.data) + offset, bytes);
}

void Buffer::fill(double value) {
  fill_bits(dtype_, value);  // refuses what the type cannot hold
  mark_written();
  const Operation operation = FillOperation{array_, dtype_, value};
  device().execute({&operation, 1}, nullptr);
  device().synchronize();
}

}  // namespace synfire::core
