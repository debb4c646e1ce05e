// The maps of a pool, and what one result of it is made of, for host code, kernels and their twins.
#ifndef SYNFIRE_OPERATIONS_POOL_POOL_SHAPE_HPP
#define SYNFIRE_OPERATIONS_POOL_POOL_SHAPE_HPP

#include <base/row_index.hpp>
#include <base/window_axis.hpp>
#include <operations/spikes/bits_of_row.hpp>

namespace synfire::operations {

// Maps [H, W, C] with the channels fastest. A place is a pixel.
struct PoolShape {
  core::WindowAxis y, x;
  int64_t channels = 1;

  SYNFIRE_MODEL_FN int64_t input_places() const { return int64_t{y.n_inputs} * x.n_inputs; }
  SYNFIRE_MODEL_FN int64_t places() const { return int64_t{y.n_outputs} * x.n_outputs; }
  SYNFIRE_MODEL_FN int64_t n_inputs() const { return input_places() * channels; }
  SYNFIRE_MODEL_FN int64_t n_outputs() const { return places() * channels; }
  SYNFIRE_MODEL_FN int64_t window() const { return int64_t{y.kernel} * x.kernel; }
};

// Calls f(input place) for the places of an output's window that are inside the map, row by row.
template <class F>
SYNFIRE_MODEL_FN void for_each_candidate(const PoolShape& shape, int64_t place, F f) {
  const core::RowIndex at = core::row_index(place, shape.x.n_outputs);
  const auto oy = static_cast<int32_t>(at.t), ox = static_cast<int32_t>(at.b);
  for (int32_t ky = 0; ky < shape.y.kernel; ++ky) {
    const int32_t iy = shape.y.input_of(oy, ky);
    if (iy < 0) continue;
    for (int32_t kx = 0; kx < shape.x.kernel; ++kx) {
      const int32_t ix = shape.x.input_of(ox, kx);
      if (ix >= 0) f(int64_t{iy} * shape.x.n_inputs + ix);
    }
  }
}
// Calls f(output place) for the outputs whose window has an input place, ascending.
template <class F>
SYNFIRE_MODEL_FN void for_each_window(const PoolShape& shape, int64_t place, F f) {
  const core::RowIndex at = core::row_index(place, shape.x.n_inputs);
  const auto iy = static_cast<int32_t>(at.t), ix = static_cast<int32_t>(at.b);
  for (int32_t ky = shape.y.kernel - 1; ky >= 0; --ky) {
    const int32_t oy = shape.y.output_of(iy, ky);
    if (oy < 0) continue;
    for (int32_t kx = shape.x.kernel - 1; kx >= 0; --kx) {
      const int32_t ox = shape.x.output_of(ix, kx);
      if (ox >= 0) f(int64_t{oy} * shape.x.n_outputs + ox);
    }
  }
}

// The place of the maximum among the candidates of a window: the first one, replaced by those that are above it, or
// NaN. `read` gives the number at a place.
template <class Read>
SYNFIRE_MODEL_FN int64_t place_of_maximum(const PoolShape& shape, int64_t place, Read read) {
  int64_t found = -1;
  decltype(read(place)) most = 0;
  for_each_candidate(shape, place, [&](int64_t at) {
    const auto value = read(at);
    if (found >= 0 && !(value > most) && value == value) return;  // NOLINT(misc-redundant-expression): false for NaN
    found = at;
    most = value;
  });
  return found;
}

// The sum over a window, from +0. Counts are added as integers.
template <class Read>
SYNFIRE_MODEL_FN auto sum_of_window(const PoolShape& shape, int64_t place, Read read) {
  decltype(read(place)) sum = 0;
  for_each_candidate(shape, place, [&](int64_t at) { sum = sum + read(at); });
  return sum;
}

// Word `word` of the maximum of spikes, a row of bits: those of the channels of one or several places.
SYNFIRE_MODEL_FN uint32_t word_of_maxima(const PoolShape& shape, const uint32_t* words, int64_t word) {
  uint32_t found = 0;
  const int64_t end = word * 32 + 32 < shape.n_outputs() ? word * 32 + 32 : shape.n_outputs();
  for (int64_t i = word * 32; i < end;) {
    const auto [place, c] = core::row_index(i, shape.channels);
    const int count = static_cast<int>(shape.channels - c < end - i ? shape.channels - c : end - i);
    uint32_t bits = 0;
    const int64_t first = c;
    for_each_candidate(shape, place, [&](int64_t at) { bits |= bits_at(words, at * shape.channels + first, count); });
    found |= bits << (i - word * 32);
    i += count;
  }
  return found;
}

}  // namespace synfire::operations

#endif
