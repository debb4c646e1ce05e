// The parts of one result of a convolution, for host code, kernels and their twins: the places that the taps of a
// kernel meet, and sums in the fixed order.
#ifndef SYNFIRE_SYNAPSES_CONV2D_CONV2D_ELEMENTS_HPP
#define SYNFIRE_SYNAPSES_CONV2D_CONV2D_ELEMENTS_HPP

#include "conv2d_shape.hpp"

#include <base/row_index.hpp>
#include <operations/spikes/bits_of_row.hpp>

#include <synfire/model/grid.hpp>

namespace synfire::operations {

// The grid of an image with a dL/dy that is not finite.
inline constexpr int32_t conv2d_not_finite = INT32_MAX;

// The magnitude of x * 2^grid in the order of magnitudes; 0 for 0, and above all others where x is not finite.
inline constexpr uint64_t conv2d_key_not_finite = uint64_t{1} << 62;
SYNFIRE_MODEL_FN uint64_t largest_key(float x, int32_t grid) {
  if (!model::is_finite_magnitude(model::magnitude_bits(x))) return conv2d_key_not_finite;
  return static_cast<uint64_t>(model::magnitude_of(x, grid) - model::magnitude_of(0.0f, 0));
}
// The grid of an image with this largest key.
SYNFIRE_MODEL_FN int32_t grid_of_key(uint64_t key, int32_t bits) {
  if (key == conv2d_key_not_finite) return conv2d_not_finite;
  return model::grid_of_magnitude(static_cast<int64_t>(key) + model::magnitude_of(0.0f, 0), bits);
}

// ---- taps -----------------------------------------------------------------------------------------------------------

// Calls f(tap, input place) for the taps of an output place that meet an input, in order.
template <class F>
SYNFIRE_MODEL_FN void for_each_input_place(const Conv2dShape& shape, int64_t place, F f) {
  const core::RowIndex at = core::row_index(place, shape.x.n_outputs);
  const auto oy = static_cast<int32_t>(at.t), ox = static_cast<int32_t>(at.b);
  for (int32_t ky = 0; ky < shape.y.kernel; ++ky) {
    const int32_t iy = shape.y.input_of(oy, ky);
    if (iy < 0) continue;
    for (int32_t kx = 0; kx < shape.x.kernel; ++kx) {
      const int32_t ix = shape.x.input_of(ox, kx);
      if (ix >= 0) f(int64_t{ky} * shape.x.kernel + kx, int64_t{iy} * shape.x.n_inputs + ix);
    }
  }
}
// Calls f(tap, output place) for the taps that meet an input place, in order.
template <class F>
SYNFIRE_MODEL_FN void for_each_output_place(const Conv2dShape& shape, int64_t place, F f) {
  const core::RowIndex at = core::row_index(place, shape.x.n_inputs);
  const auto iy = static_cast<int32_t>(at.t), ix = static_cast<int32_t>(at.b);
  for (int32_t ky = 0; ky < shape.y.kernel; ++ky) {
    const int32_t oy = shape.y.output_of(iy, ky);
    if (oy < 0) continue;
    for (int32_t kx = 0; kx < shape.x.kernel; ++kx) {
      const int32_t ox = shape.x.output_of(ix, kx);
      if (ox >= 0) f(int64_t{ky} * shape.x.kernel + kx, int64_t{oy} * shape.x.n_outputs + ox);
    }
  }
}

// ---- sums in the fixed order (model/grid.hpp) -----------------------------------------------------------------------

template <class R>
class OrderedSum {
 public:
  SYNFIRE_MODEL_FN void add(R a, R b) {
    chain_ = model::fma(a, b, chain_);
    skip(1);
  }
  // Leaves out terms that would add +0.
  SYNFIRE_MODEL_FN void skip(int64_t count) {
    const int64_t before = n_;
    n_ += count;
    if (before / model::chain_length == n_ / model::chain_length) return;
    block_ += chain_;
    chain_ = R(0);
    if (before / model::block_length == n_ / model::block_length) return;
    total_ += static_cast<double>(block_);
    block_ = R(0);
  }
  SYNFIRE_MODEL_FN double total() const { return total_ + static_cast<double>(block_ + chain_); }

 private:
  int64_t n_ = 0;
  R chain_ = R(0), block_ = R(0);
  double total_ = 0;
};

}  // namespace synfire::operations

#endif
