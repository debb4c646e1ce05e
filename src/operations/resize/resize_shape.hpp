// Maps that are copied to larger or smaller ones, place by place, for host code, kernels and their twins.
#ifndef SYNFIRE_OPERATIONS_RESIZE_RESIZE_SHAPE_HPP
#define SYNFIRE_OPERATIONS_RESIZE_RESIZE_SHAPE_HPP

#include <operations/spikes/bits_of_row.hpp>

namespace synfire::operations {

// One axis: every input becomes `scale` outputs, after `before` outputs that are 0; if `before` is negative, the first
// ones are left out.
struct ResizeAxis {
  int32_t n_inputs = 1, n_outputs = 1;
  int32_t scale = 1, before = 0;

  // -1: none.
  SYNFIRE_MODEL_FN int32_t input_of(int32_t output) const {
    const int32_t at = output - before;
    return at >= 0 && at / scale < n_inputs ? at / scale : -1;
  }
  // The outputs [begin, end) of an input.
  SYNFIRE_MODEL_FN int32_t begin_of(int32_t input) const {
    const int32_t at = input * scale + before;
    return at < 0 ? 0 : at;
  }
  SYNFIRE_MODEL_FN int32_t end_of(int32_t input) const {
    const int32_t at = input * scale + before + scale;
    return at < n_outputs ? at : n_outputs;
  }
};

// Maps [H, W, C] with the channels fastest. A place is a pixel.
struct ResizeShape {
  ResizeAxis y, x;
  int64_t channels = 1;

  SYNFIRE_MODEL_FN int64_t input_places() const { return int64_t{y.n_inputs} * x.n_inputs; }
  SYNFIRE_MODEL_FN int64_t places() const { return int64_t{y.n_outputs} * x.n_outputs; }
  SYNFIRE_MODEL_FN int64_t n_inputs() const { return input_places() * channels; }
  SYNFIRE_MODEL_FN int64_t n_outputs() const { return places() * channels; }

  // The input place that an output place copies; -1: it is 0.
  SYNFIRE_MODEL_FN int64_t source_of(int64_t place) const {
    const int32_t iy = y.input_of(static_cast<int32_t>(place / x.n_outputs)),
                  ix = x.input_of(static_cast<int32_t>(place % x.n_outputs));
    return iy < 0 || ix < 0 ? -1 : int64_t{iy} * x.n_inputs + ix;
  }
};

// Calls f(output place) for the copies of an input place, row by row.
template <class F>
SYNFIRE_MODEL_FN void for_each_copy(const ResizeShape& shape, int64_t place, F f) {
  const auto iy = static_cast<int32_t>(place / shape.x.n_inputs), ix = static_cast<int32_t>(place % shape.x.n_inputs);
  for (int32_t oy = shape.y.begin_of(iy); oy < shape.y.end_of(iy); ++oy)
    for (int32_t ox = shape.x.begin_of(ix); ox < shape.x.end_of(ix); ++ox) f(int64_t{oy} * shape.x.n_outputs + ox);
}

// Word `word` of a row of bits that is copied: the channels of one or several places.
SYNFIRE_MODEL_FN uint32_t word_of_copies(const ResizeShape& shape, const uint32_t* words, int64_t word) {
  uint32_t found = 0;
  const int64_t end = word * 32 + 32 < shape.n_outputs() ? word * 32 + 32 : shape.n_outputs();
  for (int64_t i = word * 32; i < end;) {
    const int64_t c = i % shape.channels, from = shape.source_of(i / shape.channels);
    const int count = static_cast<int>(shape.channels - c < end - i ? shape.channels - c : end - i);
    if (from >= 0) found |= bits_at(words, from * shape.channels + c, count) << (i - word * 32);
    i += count;
  }
  return found;
}

}  // namespace synfire::operations

#endif
