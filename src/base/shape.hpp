// The shape of a buffer: up to four lengths, the slowest dimension first; or none.
#ifndef SYNFIRE_BASE_SHAPE_HPP
#define SYNFIRE_BASE_SHAPE_HPP

#include <cstdint>
#include <span>
#include <string>

namespace synfire::core {

struct Shape {
  static constexpr int32_t max_rank = 4;

  int32_t rank = 0;  // 0: not known
  int64_t lengths[max_rank] = {};

  std::span<const int64_t> all() const noexcept { return {lengths, static_cast<size_t>(rank)}; }
};

// Returns true if a buffer of this shape can hold an array of these lengths. Lengths of 1 are ignored. A buffer with
// one other length, or none, is a plain array, which fits any shape.
bool fits(const Shape& shape, std::span<const int64_t> lengths) noexcept;

std::string lengths_text(std::span<const int64_t> lengths);

}  // namespace synfire::core

#endif
