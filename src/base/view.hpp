// A view: a range of memory of a known kind, and the layout of its elements, as operations see it. Whoever makes a view
// checks it and keeps the memory alive.
#ifndef SYNFIRE_BASE_VIEW_HPP
#define SYNFIRE_BASE_VIEW_HPP

#include <synfire/synfire.h>

#include <cstdint>
#include <initializer_list>

namespace synfire::core {

class Object;

struct View {
  static constexpr int max_rank = 4;
  static constexpr int32_t most_shared = 2;

  void* data = nullptr;  // null: not given
  int64_t pitch = 0;     // elements (words) from one step to the next: the stride of the first dimension
  int32_t dtype = SYNFIRE_DTYPE_F32;
  int32_t memory = SYNFIRE_MEMORY_DEVICE;
  uint64_t bytes = 0;       // up to the end of the last element
  Object* owner = nullptr;  // the buffer or layer that owns the memory; null: the replay does
  // Lengths, in elements or packed words; with rank 0, only `bytes` is known. All but the first are contiguous.
  int32_t rank = 0;
  // 0: memory of one entry alone. Otherwise, entries of an operation with the same number see the same memory; without
  // an owner it is scratch memory that keeps its contents from entry to entry.
  int32_t shared = 0;
  int64_t shape[max_rank] = {};

  explicit operator bool() const noexcept { return data != nullptr; }
  bool is_shared_scratch() const noexcept { return shared > 0 && !owner; }
  // Elements of one step.
  int64_t row() const noexcept {
    int64_t elements = 1;
    for (int32_t i = 1; i < rank; ++i) elements *= shape[i];
    return elements;
  }
  // Elements from one index of a dimension to the next.
  int64_t stride(int32_t dimension) const noexcept {
    if (dimension == 0) return pitch;
    int64_t elements = 1;
    for (int32_t i = dimension + 1; i < rank; ++i) elements *= shape[i];
    return elements;
  }
  bool is_padded() const noexcept { return rank > 0 && shape[0] > 1 && pitch != row(); }

  View shaped(std::initializer_list<int64_t> lengths) const noexcept {
    View view = *this;
    view.rank = 0;
    for (const int64_t length : lengths) view.shape[view.rank++] = length;
    return view;
  }
};

}  // namespace synfire::core

#endif
