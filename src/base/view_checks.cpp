#include <base/view_checks.hpp>

#include "error.hpp"

#include <cstdio>

namespace synfire::core {

void check_length(const char* rule, const char* name, int64_t value, Zero zero) {
  const bool may_be_zero = zero == Zero::means_one;
  if (value < (may_be_zero ? 0 : 1))
    fail_argument(rule, "desc.%s is %lld; at least 1 is needed%s", name, static_cast<long long>(value),
                  may_be_zero ? " (0 means 1)" : "");
}

bool is_addressable(std::initializer_list<int64_t> lengths) {
  // 2^59 elements of f64 are 2^62 bytes; 2^40 leaves room to round up to whole words and steps.
  constexpr int64_t largest = (int64_t{1} << 59) - (int64_t{1} << 40);
  int64_t elements = 1;
  for (const int64_t length : lengths)
    if (__builtin_mul_overflow(elements, length, &elements)) return false;
  return elements <= largest;
}

void check_memory(const Buffer& buffer, const char* name) {
  if (!buffer.on_host() && buffer.view().memory == SYNFIRE_MEMORY_HOST)
    fail_argument("SYN-BUFFER-KIND",
                  "%s is a buffer of pageable host memory; a CUDA context computes on device or pinned buffers", name);
}

void check_type(const Buffer& buffer, const char* name, std::span<const int32_t> allowed) {
  if (!is_among(allowed, buffer.dtype()))
    fail_argument("SYN-BUFFER-TYPE", "%s holds %s; it must hold %s", name, name_of_dtype(buffer.dtype()),
                  names_of_dtypes(allowed).c_str());
}

void check_shape(const Buffer& buffer, const char* name, std::span<const int64_t> lengths, const std::string& shape) {
  if (fits(buffer.shape(), lengths)) return;
  fail_argument("SYN-BUFFER-SHAPE", "%s has shape %s; %s is needed", name, lengths_text(buffer.shape().all()).c_str(),
                shape.c_str());
}

std::string packed_text(int32_t dtype, const Extents& e) {
  char text[128];
  if (dtype == SYNFIRE_DTYPE_BITS)
    std::snprintf(text, sizeof text, "bits [%lld, %lld, %lld words]", static_cast<long long>(e.n_steps),
                  static_cast<long long>(e.batch), static_cast<long long>(e.words_per_row()));
  else
    std::snprintf(text, sizeof text, "time-packed bits [%lld words, %lld, %lld]",
                  static_cast<long long>((e.n_steps + 31) / 32), static_cast<long long>(e.batch),
                  static_cast<long long>(e.n_neurons));
  return text;
}

View stepped(const Buffer& buffer, const char* name, std::initializer_list<int64_t> lengths, const std::string& shape,
             Memory memory) {
  check_shape(buffer, name, {lengths.begin(), lengths.size()}, shape);
  View view = buffer.view().shaped(lengths);
  const auto steps = static_cast<uint64_t>(view.shape[0]), wanted = static_cast<uint64_t>(view.row());
  // A single step has no next one, so its pitch does not matter.
  const uint64_t pitch = buffer.row_pitch() == 0 || steps <= 1 ? wanted : buffer.row_pitch();
  if (pitch < wanted)
    fail_argument("SYN-BUFFER-PITCH",
                  "%s has a row_pitch of %llu elements; a step of %s has %llu. Rows may have gaps but must not "
                  "overlap, and the elements of a row must be contiguous: copy other layouts into such a buffer first "
                  "(synfire_buffer_upload() takes any part of it)",
                  name, static_cast<unsigned long long>(pitch), shape.c_str(), static_cast<unsigned long long>(wanted));
  const uint64_t element = bytes_of_dtype(buffer.dtype());
  uint64_t bytes = 0;  // up to the end of the last row
  if (__builtin_mul_overflow(steps - 1, pitch * element, &bytes) ||
      __builtin_add_overflow(bytes, wanted * element, &bytes))
    bytes = ~uint64_t{0};
  if (view.bytes < bytes)
    fail_argument("SYN-BUFFER-SIZE", "%s holds %llu elements; %s has %llu%s", name,
                  static_cast<unsigned long long>(view.bytes / element), shape.c_str(),
                  static_cast<unsigned long long>(bytes == ~uint64_t{0} ? bytes : bytes / element),
                  pitch == wanted ? "" : " at the buffer's row_pitch");
  if (memory == Memory::of_device) check_memory(buffer, name);
  view.bytes = bytes;
  view.pitch = static_cast<int64_t>(pitch);
  return view;
}

View array_view(const Buffer& buffer, const char* name, std::initializer_list<int64_t> lengths, Memory memory) {
  std::string text = name_of_dtype(buffer.dtype());
  text.append(" ").append(lengths_text({lengths.begin(), lengths.size()}));
  if (is_packed(buffer.dtype())) text.append(" words");
  return stepped(buffer, name, lengths, text, memory);
}

}  // namespace synfire::core
