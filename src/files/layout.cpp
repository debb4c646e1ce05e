#include "layout.hpp"

#include <base/error.hpp>
#include <base/shape.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <bit>

namespace synfire::files {

static_assert(std::endian::native == std::endian::little, "the bytes of tensors are copied as they are");

uint64_t checked_size(std::string_view name, Dtype dtype, std::span<const int64_t> shape) {
  int64_t bytes = static_cast<int64_t>(std::max<uint64_t>(1, bytes_of(dtype)));
  bool empty = false;
  for (const int64_t length : shape) {
    if (length == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, length, &bytes)) {
      core::fail_argument("SYN-FILE-OVERFLOW",
                          "tensor %s has the shape %s; the product of its lengths, in bytes, must stay below 2^63",
                          shown(name).c_str(), shown(shape).c_str());
    }
  }
  return empty ? 0 : static_cast<uint64_t>(bytes);
}

std::string shown(std::string_view name) {
  return core::quoted(name, 120);
}

std::string shown(std::span<const int64_t> shape) {
  constexpr size_t most = 8;
  std::string text = core::lengths_text(shape.first(std::min(shape.size(), most)));
  if (shape.size() > most) text.replace(text.size() - 1, 1, ", ... " + std::to_string(shape.size()) + " lengths]");
  return text;
}

}  // namespace synfire::files
