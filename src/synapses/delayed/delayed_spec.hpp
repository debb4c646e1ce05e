#ifndef SYNFIRE_SYNAPSES_DELAYED_DELAYED_SPEC_HPP
#define SYNFIRE_SYNAPSES_DELAYED_DELAYED_SPEC_HPP

#include <synapses/dense/dense_spec.hpp>

namespace synfire::operations {

// The parts that have a delay of their own, and the longest one.
enum class DelaysOf : int32_t { connections, inputs, outputs };
constexpr int64_t longest_delay(DelaysOf of) {
  return of == DelaysOf::connections ? 255 : 65'535;
}
// More taps than any synapse has.
constexpr int64_t most_taps = longest_delay(DelaysOf::connections) + 1;

// A descriptor with its defaults filled in and every field checked.
struct DelayedSpec {
  DenseSpec weights;  // [N, K]
  DenseSpec planes;   // [N, taps, padded K]: what products read
  int64_t max_delay;  // M
  DelaysOf delays_of;
  bool learns;
  double width;  // at the start; 0 with fixed delays

  explicit DelayedSpec(const synfire_delayed_desc& desc);

  int64_t n_inputs() const { return weights.n_inputs; }
  int64_t n_outputs() const { return weights.n_outputs; }
  int32_t dtype() const { return weights.dtype; }
  // The planes: one of each delay, or one alone, if connections share delays.
  int64_t n_taps() const { return delays_of == DelaysOf::connections ? max_delay + 1 : 1; }
  int64_t n_delays() const {
    return delays_of == DelaysOf::connections ? weights.n_weights()
           : delays_of == DelaysOf::inputs    ? n_inputs()
                                              : n_outputs();
  }
  // The steps of a product before those of its pass: their outputs arrive within it.
  int64_t steps_before() const { return delays_of == DelaysOf::outputs ? max_delay : 0; }
  int64_t words() const { return (n_inputs() + 31) / 32; }  // of the inputs of one row
  int64_t padded_inputs() const { return words() * 32; }
  uint64_t delay_bytes() const { return static_cast<uint64_t>(n_delays()) * weights.element_bytes(); }
  uint64_t width_bytes() const { return learns ? weights.element_bytes() : 0; }
  // The arrays and the mask take these bytes, what is derived from them those, and gradients the last ones.
  uint64_t array_bytes() const {
    return weights.weight_bytes() + delay_bytes() + weights.bias_bytes() + width_bytes() + weights.mask_bytes();
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
