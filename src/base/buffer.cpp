#include "buffer.hpp"

#include "error.hpp"

#include <platform/float_environment.hpp>

#include <atomic>

namespace synfire::core {

namespace {

constexpr uint64_t most_bytes = uint64_t{1} << 62;

// Throws INVALID_ARGUMENT if a length follows a 0, OUT_OF_MEMORY if the shape is too large.
Shape checked_shape(const synfire_buffer_desc& desc, uint64_t element) {
  Shape shape;
  uint64_t bytes = element;
  for (const uint64_t length : desc.shape) {
    if (length == 0) break;
    if (__builtin_mul_overflow(bytes, length, &bytes) || bytes > most_bytes)
      fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-BUFFER-OVERFLOW",
           "desc.shape has the length %llu; at most 2^62 bytes can be addressed",
           static_cast<unsigned long long>(length));
    shape.lengths[shape.rank++] = static_cast<int64_t>(length);
  }
  for (int32_t i = shape.rank; i < Shape::max_rank; ++i)
    if (desc.shape[i] != 0)
      fail_argument("SYN-BUFFER-SHAPE", "desc.shape[%d] is %llu, after a length of 0; lengths come first, then zeros",
                    i, static_cast<unsigned long long>(desc.shape[i]));
  return shape;
}

// The fewest elements of a buffer with this shape, and the most, which include the whole pitch of its last step.
struct ElementRange {
  uint64_t least, most;
};
ElementRange elements_of(const Shape& shape, uint64_t row_pitch, uint64_t element) {
  const auto steps = static_cast<uint64_t>(shape.lengths[0]);
  uint64_t row = 1;
  for (int32_t i = 1; i < shape.rank; ++i) row *= static_cast<uint64_t>(shape.lengths[i]);
  const uint64_t pitch = row_pitch == 0 ? row : row_pitch;
  if (steps > 1 && pitch < row)
    fail_argument("SYN-BUFFER-PITCH", "desc.row_pitch is %llu; a step of shape %s has %llu elements",
                  static_cast<unsigned long long>(row_pitch), lengths_text(shape.all()).c_str(),
                  static_cast<unsigned long long>(row));
  uint64_t least = 0, most = 0;
  if (__builtin_mul_overflow(steps, pitch, &most) || most > most_bytes / element)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-BUFFER-OVERFLOW",
         "desc.shape %s at a desc.row_pitch of %llu is too large; at most 2^62 bytes can be addressed",
         lengths_text(shape.all()).c_str(), static_cast<unsigned long long>(row_pitch));
  least = (steps - 1) * pitch + row;
  return {least, most < least ? least : most};
}

uint64_t checked_elements(const synfire_buffer_desc& desc, const Shape& shape, uint64_t element) {
  if (shape.rank == 0) {
    if (desc.n_elements == 0)
      fail_argument("SYN-BUFFER-EMPTY", "desc.n_elements is 0 and desc.shape has no lengths; one of the two is needed");
    return desc.n_elements;
  }
  const auto [least, most] = elements_of(shape, desc.row_pitch, element);
  if (desc.n_elements == 0) return least;
  if (desc.n_elements < least || desc.n_elements > most)
    fail_argument("SYN-BUFFER-SHAPE", "desc.n_elements is %llu; desc.shape %s has %llu elements%s",
                  static_cast<unsigned long long>(desc.n_elements), lengths_text(shape.all()).c_str(),
                  static_cast<unsigned long long>(least), desc.row_pitch == 0 ? "" : " at desc.row_pitch");
  return desc.n_elements;
}

// So that the views of two transient buffers do not overlap.
void* address_of_no_memory(uint64_t bytes) {
  constexpr uint64_t first = uint64_t{1} << 63, end = uint64_t{3} << 62, alignment = 256;
  static constinit std::atomic<uint64_t> next{first};
  const uint64_t taken = (bytes + alignment) / alignment * alignment;
  uint64_t address = next.load(std::memory_order_relaxed);
  do {
    if (taken > end - address)
      fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-TRANSIENT-OVERFLOW",
           "transient buffers of more than 2^62 bytes in all have been created in this process");
  } while (!next.compare_exchange_weak(address, address + taken, std::memory_order_relaxed));
  return reinterpret_cast<void*>(address);
}

}  // namespace

Buffer::Buffer(Context& context, const synfire_buffer_desc& desc)
    : Child(ObjectType::buffer, context),
      dtype_(desc.dtype),
      owned_(desc.data == nullptr),
      row_pitch_(desc.row_pitch),
      release_(desc.release),
      release_user_(desc.release_user),
      release_flag_(desc.release_flag) {
  if (desc.memory < SYNFIRE_MEMORY_DEVICE || desc.memory > SYNFIRE_MEMORY_TRANSIENT)
    fail_argument("SYN-BUFFER-MEMORY",
                  "desc.memory is %d; allowed are SYNFIRE_MEMORY_DEVICE (0), _PINNED (1), _HOST (2), _TRANSIENT (3)",
                  desc.memory);
  check_dtype("SYN-BUFFER-DTYPE", desc.dtype, all_dtypes);
  const uint64_t element = bytes_of_dtype(desc.dtype);
  shape_ = checked_shape(desc, element);
  const uint64_t n_elements = checked_elements(desc, shape_, element);
  if (n_elements > most_bytes / element)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-BUFFER-OVERFLOW",
         "desc.n_elements is %llu; at most 2^62 bytes can be addressed",
         static_cast<unsigned long long>(desc.n_elements));
  // It may be above n_elements: a single step has no next one.
  if (desc.row_pitch > most_bytes / element)
    fail_argument("SYN-BUFFER-PITCH", "desc.row_pitch is %llu elements; at most 2^62 bytes can be addressed",
                  static_cast<unsigned long long>(desc.row_pitch));
  if (owned_ && (desc.release || desc.release_flag))
    fail_argument("SYN-BUFFER-RELEASE", "desc.%s is given and desc.data is null; only borrowed memory is given back",
                  desc.release ? "release" : "release_flag");
  view_.bytes = n_elements * element;
  view_.memory = desc.memory;
  view_.dtype = desc.dtype;
  view_.owner = this;
  if (desc.memory == SYNFIRE_MEMORY_TRANSIENT) {
    if (desc.data)
      fail_argument("SYN-TRANSIENT-DATA", "desc.data is %p; a transient buffer has memory during replays only",
                    desc.data);
    owned_ = false;
    view_.memory = SYNFIRE_MEMORY_DEVICE;
    view_.transient = 1;  // a graph gives it another number
    view_.data = address_of_no_memory(view_.bytes);
    return;
  }
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

void Buffer::fail_transient(const char* name) {
  fail_argument(
      "SYN-TRANSIENT-MEMORY",
      "%s is transient: it has contents during a replay only, and nothing but the operations of a graph can use "
      "them",
      name);
}

void Buffer::fail_only_read(const char* name, const char* why) {
  fail_argument("SYN-BUFFER-READ-ONLY", "%s is over memory that its owner gave to be read only; %s", name, why);
}

void Buffer::check_range(uint64_t offset, const void* host, const char* host_name, uint64_t bytes) const {
  if (!host && bytes > 0) fail_argument("SYN-ARGUMENT-NULL", "%s is null", host_name);
  if (offset > view_.bytes || bytes > view_.bytes - offset)
    fail_argument("SYN-BUFFER-RANGE", "offset is %llu and bytes is %llu; the buffer holds %llu bytes",
                  static_cast<unsigned long long>(offset), static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(view_.bytes));
}

void Buffer::upload(uint64_t offset, const void* source, uint64_t bytes) {
  check_has_memory("buffer");
  check_may_be_written("buffer");
  check_range(offset, source, "source", bytes);
  if (bytes == 0) return;
  mark_written();
  device().upload(static_cast<char*>(view_.data) + offset, source, bytes);
}

void Buffer::download(uint64_t offset, void* destination, uint64_t bytes) const {
  check_has_memory("buffer");
  check_range(offset, destination, "destination", bytes);
  if (bytes > 0) device().download(destination, static_cast<const char*>(view_.data) + offset, bytes);
}

}  // namespace synfire::core
