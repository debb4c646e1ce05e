// The maps of a convolution, as host code, kernels and their twins see them.
#ifndef SYNFIRE_SYNAPSES_CONV2D_CONV2D_SHAPE_HPP
#define SYNFIRE_SYNAPSES_CONV2D_CONV2D_SHAPE_HPP

#include <base/window_axis.hpp>

namespace synfire::operations {

// Maps [H, W, C] with the channels fastest. An output has K = kernel height * kernel width * C / groups inputs, in this
// order; a place is a pixel of an output map, and an output of a place is one of its channels.
struct Conv2dShape {
  core::WindowAxis y, x;
  int64_t channels = 1, output_channels = 1, groups = 1;

  SYNFIRE_MODEL_FN int64_t group_inputs() const { return channels / groups; }
  SYNFIRE_MODEL_FN int64_t group_outputs() const { return output_channels / groups; }
  SYNFIRE_MODEL_FN bool is_depthwise() const { return group_inputs() == 1 && group_outputs() == 1; }
  SYNFIRE_MODEL_FN int32_t n_taps() const { return y.kernel * x.kernel; }
  SYNFIRE_MODEL_FN int64_t n_terms() const { return n_taps() * group_inputs(); }  // K
  SYNFIRE_MODEL_FN int64_t input_places() const { return int64_t{y.n_inputs} * x.n_inputs; }
  SYNFIRE_MODEL_FN int64_t places() const { return int64_t{y.n_outputs} * x.n_outputs; }
  SYNFIRE_MODEL_FN int64_t n_inputs() const { return input_places() * channels; }
  SYNFIRE_MODEL_FN int64_t n_outputs() const { return places() * output_channels; }
  // The input place that a tap of an output place meets, and the reverse; -1 if there is none.
  SYNFIRE_MODEL_FN int64_t input_place(int32_t oy, int32_t ox, int32_t ky, int32_t kx) const {
    const int32_t iy = y.input_of(oy, ky), ix = x.input_of(ox, kx);
    return iy < 0 || ix < 0 ? -1 : int64_t{iy} * x.n_inputs + ix;
  }
  SYNFIRE_MODEL_FN int64_t output_place(int32_t iy, int32_t ix, int32_t ky, int32_t kx) const {
    const int32_t oy = y.output_of(iy, ky), ox = x.output_of(ix, kx);
    return oy < 0 || ox < 0 ? -1 : int64_t{oy} * x.n_outputs + ox;
  }
};

}  // namespace synfire::operations

#endif
