#ifndef SYNFIRE_SYNAPSES_DELAYED_DELAYED_SPEC_HPP
#define SYNFIRE_SYNAPSES_DELAYED_DELAYED_SPEC_HPP

#include <synapses/dense/dense_spec.hpp>

namespace synfire::operations {

constexpr int64_t longest_delay = 255;

// A descriptor with its defaults filled in and every field checked.
struct DelayedSpec {
  DenseSpec weights;  // [N, K]
  DenseSpec planes;   // [N, M + 1, padded K]: what products read
  int64_t max_delay;  // M
  bool learns;
  double width;  // at the start; 0 with fixed delays

  explicit DelayedSpec(const synfire_delayed_desc& desc);

  int64_t n_inputs() const { return weights.n_inputs; }
  int64_t n_outputs() const { return weights.n_outputs; }
  int32_t dtype() const { return weights.dtype; }
  int64_t n_taps() const { return max_delay + 1; }
  int64_t words() const { return (n_inputs() + 31) / 32; }  // of the inputs of one row
  int64_t padded_inputs() const { return words() * 32; }
  uint64_t width_bytes() const { return learns ? weights.element_bytes() : 0; }
  // The arrays and the mask take these bytes, what is derived from them those, and gradients the last ones.
  uint64_t array_bytes() const {
    return 2 * weights.weight_bytes() + weights.bias_bytes() + width_bytes() + weights.mask_bytes();
  }
  uint64_t derived_bytes() const;
  uint64_t gradient_bytes() const {
    return weights.frozen ? 0 : (learns ? 2 : 1) * weights.weight_bytes() + weights.bias_bytes();
  }
};

// The widths that learnt delays may have.
constexpr double least_width = 1e-3, largest_width = 1e6;
// Throw INVALID_ARGUMENT for a delay beyond the bounds of a synapse, or one that is not whole where they are fixed; for
// a width beyond its bounds. The name is that of the array or the field.
void check_delay(const DelayedSpec& spec, const char* name, int64_t index, double delay);
void check_width(const char* name, double width);

}  // namespace synfire::operations

#endif
