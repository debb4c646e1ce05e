#ifndef SYNFIRE_SYNAPSES_CONV2D_CONV2D_SPEC_HPP
#define SYNFIRE_SYNAPSES_CONV2D_CONV2D_SPEC_HPP

#include "conv2d_shape.hpp"

#include <base/flow.hpp>
#include <synapses/dense/dense_spec.hpp>

namespace synfire::operations {

// A descriptor with its defaults filled in and every field checked. The weights are a matrix of output channels and the
// K inputs that the kernel meets.
struct Conv2dSpec {
  bool is_dense = false;  // a dense synapse of counts
  Conv2dShape shape;
  core::Elements elements;  // of the input
  int32_t count_bound;      // the largest count; 1 for spikes
  float count_scale;        // the value of a count of 1
  int input_gradient_bits;  // of the grid of dL/dy in the gradient of the input: 16, 24 or 32
  DenseSpec matrix;

  explicit Conv2dSpec(const synfire_conv2d_desc& desc);
  // A dense synapse of counts has a map of one place, whose channels are the inputs.
  explicit Conv2dSpec(const synfire_synapse_desc& desc);

  bool is_exact() const { return elements != core::Elements::values && matrix.has_grid(); }
  bool has_values() const { return elements == core::Elements::values && matrix.has_grid(); }
  // On a GPU, the places of inputs that all outputs read are rows of a matrix. Its sums of counts fit 32 bits for each
  // byte of the weights, whatever the bound is.
  bool has_rows() const {
    return is_exact() && shape.groups == 1 &&
           (elements == core::Elements::spikes || matrix.n_inputs <= most_row_counts);
  }
  static constexpr int64_t most_row_counts = (int64_t{1} << 23) / 255;
  // On a GPU, in the gradient of the input, places of the input are rows of the product of a dense synapse, whose
  // outputs are those of all taps.
  bool has_input_rows() const;
  core::Flow input() const;
  core::Flow output() const;
};

}  // namespace synfire::operations

#endif
