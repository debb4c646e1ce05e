// Images of a sequence: the rows of elements, or of words of bits, of a step and a batch row, as host code, kernels and
// their twins find them.
#ifndef SYNFIRE_OPERATIONS_IMAGES_HPP
#define SYNFIRE_OPERATIONS_IMAGES_HPP

#include <base/view.hpp>

#include <synfire/model/platform.hpp>

namespace synfire::operations {

struct Images {
  void* data = nullptr;
  int64_t pitch = 0, length = 0;  // from one step to the next, and of an image

  template <class E>
  SYNFIRE_MODEL_FN E* image(int64_t t, int64_t b) const {
    return static_cast<E*>(data) + t * pitch + b * length;
  }
};
// Images of n elements.
inline Images images_of(const core::View& sequence, int64_t n) {
  return {sequence.data, sequence.pitch, sequence.dtype == SYNFIRE_DTYPE_BITS ? (n + 31) / 32 : n};
}

}  // namespace synfire::operations

#endif
