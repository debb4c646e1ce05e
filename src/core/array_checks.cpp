#include "array_checks.hpp"

#include "error.hpp"

#include <cstdio>

namespace synfire::core {

void check_memory(const Buffer& buffer, const char* name, bool host_device) {
  if (!host_device && buffer.array().memory == SYNFIRE_MEMORY_HOST)
    fail_argument("SYN-BUFFER-KIND",
                  "%s is a buffer of pageable host memory; a CUDA context computes on device or pinned buffers", name);
}

std::string words_text(const char* kind, int64_t steps, int64_t batch, int64_t words) {
  char text[128];
  std::snprintf(text, sizeof text, "%s [%lld, %lld, %lld words]", kind, static_cast<long long>(steps),
                static_cast<long long>(batch), static_cast<long long>(words));
  return text;
}

Array stepped(const Buffer& buffer, const char* name, int64_t steps, int64_t row, const std::string& shape,
              bool host_device) {
  Array array = buffer.array();
  const auto wanted = static_cast<uint64_t>(row);
  const uint64_t pitch = buffer.row_pitch() == 0 ? wanted : buffer.row_pitch();
  if (steps > 1 && pitch < wanted)
    fail_argument(
        "SYN-BUFFER-PITCH",
        "%s has a row_pitch of %llu elements; a step of %s has %llu. Rows may be spaced out, not overlap, and "
        "elements of a row follow each other directly: copy other strides into such a buffer first "
        "(synfire_buffer_upload() takes any part of it)",
        name, static_cast<unsigned long long>(pitch), shape.c_str(), static_cast<unsigned long long>(wanted));
  const uint64_t element = bytes_of_dtype(buffer.dtype());
  uint64_t bytes = 0;  // up to the end of the last row
  if (__builtin_mul_overflow(static_cast<uint64_t>(steps - 1), pitch * element, &bytes) ||
      __builtin_add_overflow(bytes, wanted * element, &bytes))
    bytes = ~uint64_t{0};
  if (array.bytes < bytes)
    fail_argument("SYN-BUFFER-SIZE", "%s holds %llu bytes; at least %llu bytes, %s%s, are needed", name,
                  static_cast<unsigned long long>(array.bytes), static_cast<unsigned long long>(bytes), shape.c_str(),
                  pitch == wanted ? "" : " at its row_pitch");
  check_memory(buffer, name, host_device);
  array.bytes = bytes;
  array.pitch = static_cast<int64_t>(pitch);
  array.padded = steps > 1 && pitch != wanted;
  array.row = row;
  return array;
}

namespace {

uint64_t row_bytes(const Array& array) { return static_cast<uint64_t>(array.row) * bytes_of_dtype(array.dtype); }

// Rows of one matrix: both arrays have the same padded pitch, and their rows do not meet.
bool interleaved(const Array& a, const Array& b) {
  const uint64_t pitch = static_cast<uint64_t>(a.pitch) * bytes_of_dtype(a.dtype);
  if (!a.padded || !b.padded || pitch != static_cast<uint64_t>(b.pitch) * bytes_of_dtype(b.dtype)) return false;
  const auto a0 = reinterpret_cast<uintptr_t>(a.data), b0 = reinterpret_cast<uintptr_t>(b.data);
  const uint64_t ahead = b0 >= a0 ? (b0 - a0) % pitch : (pitch - (a0 - b0) % pitch) % pitch;  // of a's row to b's
  return ahead >= row_bytes(a) && ahead + row_bytes(b) <= pitch;
}

}  // namespace

void check_overlap(std::span<const NamedArray> arrays, const Array* output, const Array* replaced) {
  for (const NamedArray& a : arrays)
    for (const NamedArray& b : arrays) {
      if (&a == &b || !a.written || !a.array.data || !b.array.data) continue;
      if ((&a.array == output && &b.array == replaced) || (&a.array == replaced && &b.array == output)) continue;
      const auto a0 = reinterpret_cast<uintptr_t>(a.array.data), b0 = reinterpret_cast<uintptr_t>(b.array.data);
      if (a0 < b0 + b.array.bytes && b0 < a0 + a.array.bytes && !interleaved(a.array, b.array))
        fail_argument("SYN-BUFFER-OVERLAP", "%s is written and overlaps %s; each output needs memory of its own",
                      a.name, b.name);
    }
}

}  // namespace synfire::core
