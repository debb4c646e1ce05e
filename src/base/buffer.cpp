#include "buffer.hpp"

#include "error.hpp"
#include "float_environment.hpp"

#include <atomic>

namespace synfire::core {

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
  if (desc.n_elements == 0) fail_argument("SYN-BUFFER-EMPTY", "desc.n_elements is 0; at least 1 is needed");
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
  view_.bytes = desc.n_elements * element;
  view_.memory = desc.memory;
  view_.dtype = desc.dtype;
  view_.owner = this;
  if (owned_) {
    view_.data = device().allocate(desc.memory, view_.bytes);
    return;
  }
  if (reinterpret_cast<uintptr_t>(desc.data) % element != 0)
    fail_argument("SYN-BUFFER-ALIGNMENT", "desc.data is %p; an address aligned to the element size, %llu, is needed",
                  desc.data, static_cast<unsigned long long>(element));
  device().check_borrowed(desc.memory, desc.data);
  view_.data = desc.data;
}

void Buffer::dispose() noexcept {
  if (owned_) return device().release(view_.memory, view_.data);
  if (!release_ && !release_flag_) return;
  // Pageable memory is read and written by calls that wait.
  if (view_.memory != SYNFIRE_MEMORY_HOST && must_finish(*context())) device().finish();
  if (release_) {
    try {
      const CallersFloatEnvironment theirs;
      release_(release_user_);
    } catch (...) {  // no caller waits for the result
    }
  }
  if (release_flag_) std::atomic_ref(*release_flag_).store(1, std::memory_order_release);
}

void Buffer::check_range(uint64_t offset, const void* host, const char* host_name, uint64_t bytes) const {
  if (!host && bytes > 0) fail_argument("SYN-ARGUMENT-NULL", "%s is null", host_name);
  if (offset > view_.bytes || bytes > view_.bytes - offset)
    fail_argument("SYN-BUFFER-RANGE", "offset is %llu and bytes is %llu; the buffer holds %llu bytes",
                  static_cast<unsigned long long>(offset), static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(view_.bytes));
}

void Buffer::upload(uint64_t offset, const void* source, uint64_t bytes) {
  check_range(offset, source, "source", bytes);
  if (bytes == 0) return;
  mark_written();
  device().upload(static_cast<char*>(view_.data) + offset, source, bytes);
}

void Buffer::download(uint64_t offset, void* destination, uint64_t bytes) const {
  check_range(offset, destination, "destination", bytes);
  if (bytes > 0) device().download(destination, static_cast<const char*>(view_.data) + offset, bytes);
}

}  // namespace synfire::core
