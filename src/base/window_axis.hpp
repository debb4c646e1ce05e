// Windows that slide along one axis of a map, of convolutions and pools: which input a place of the window meets. Host
// code, kernels and their twins ask it, and nothing else knows strides, paddings and dilations.
#ifndef SYNFIRE_BASE_WINDOW_AXIS_HPP
#define SYNFIRE_BASE_WINDOW_AXIS_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::core {

// Lengths are checked: every index computed here fits 32 bits. A place of the window is a tap of the kernel.
// Transposed: inputs and outputs are exchanged.
struct WindowAxis {
  int32_t n_inputs = 1, n_outputs = 1;
  int32_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  bool transposed = false;

  // The input that a tap of an output meets, and the output whose tap meets an input; -1 if there is none.
  SYNFIRE_MODEL_FN int32_t input_of(int32_t output, int32_t tap) const {
    return transposed ? apart(output, tap, n_inputs) : together(output, tap, n_inputs);
  }
  SYNFIRE_MODEL_FN int32_t output_of(int32_t input, int32_t tap) const {
    return transposed ? together(input, tap, n_outputs) : apart(input, tap, n_outputs);
  }

 private:
  SYNFIRE_MODEL_FN int32_t together(int32_t at, int32_t tap, int32_t length) const {
    const int32_t to = at * stride + tap * dilation - padding;
    return to >= 0 && to < length ? to : -1;
  }
  SYNFIRE_MODEL_FN int32_t apart(int32_t at, int32_t tap, int32_t length) const {
    const int32_t distance = at + padding - tap * dilation;
    if (distance < 0 || (stride > 1 && distance % stride != 0)) return -1;
    const int32_t to = stride > 1 ? distance / stride : distance;
    return to < length ? to : -1;
  }
};

}  // namespace synfire::core

#endif
