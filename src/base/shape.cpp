#include "shape.hpp"

namespace synfire::core {

namespace {

// The lengths other than 1.
Shape squeezed(std::span<const int64_t> lengths) noexcept {
  Shape shape;
  for (const int64_t length : lengths)
    if (length != 1) shape.lengths[shape.rank++] = length;
  return shape;
}

}  // namespace

bool fits(const Shape& shape, std::span<const int64_t> lengths) noexcept {
  const Shape known = squeezed(shape.all());
  if (known.rank <= 1) return true;
  const Shape needed = squeezed(lengths);
  if (known.rank != needed.rank) return false;
  for (int32_t i = 0; i < known.rank; ++i)
    if (known.lengths[i] != needed.lengths[i]) return false;
  return true;
}

std::string lengths_text(std::span<const int64_t> lengths) {
  std::string text = "[";
  for (const int64_t length : lengths) {
    if (text.size() > 1) text.append(", ");
    text.append(std::to_string(length));
  }
  return text.append("]");
}

}  // namespace synfire::core
