#ifndef SYNFIRE_SYNAPSES_DENSE_DENSE_SPEC_HPP
#define SYNFIRE_SYNAPSES_DENSE_DENSE_SPEC_HPP

#include <base/dtype.hpp>

#include <synfire/synfire.h>

namespace synfire::operations {

enum class InputKind : int32_t { spikes = SYNFIRE_INPUT_SPIKES, values = SYNFIRE_INPUT_VALUES };

// The bits of the grid of dL/dy in gradients of weights and bias, where the caller does not choose.
constexpr int default_gradient_bits(InputKind input) {
  return input == InputKind::spikes ? 24 : 32;
}

enum class Initialization : int32_t {
  uniform = SYNFIRE_INITIALIZATION_UNIFORM,
  normal = SYNFIRE_INITIALIZATION_NORMAL,
  zero = SYNFIRE_INITIALIZATION_ZERO,
};

// A descriptor with its defaults filled in and every field checked.
struct DenseSpec {
  int64_t n_inputs, n_outputs;
  InputKind input;
  int32_t dtype;  // of weights, bias and their gradients: f32 or f64
  bool has_bias, frozen, masked;
  bool no_self_connections;  // masked where the input has the number of the output
  int gradient_bits;         // of the grid of dL/dy in the weight gradient: 24 or 32
  int weight_bits;           // of weights on their grid: 8, 16 or 24; 0 in f64
  Initialization initialization;
  double gain;
  uint64_t seed;
  // A kernel has n_inputs / n_taps channels at each of its taps, and the byte planes of its rows add over taps and
  // outputs. 0: a kernel without these planes.
  int64_t n_taps = 1;

  explicit DenseSpec(const synfire_synapse_desc& desc);

  bool is_exact() const { return input == InputKind::spikes && dtype == SYNFIRE_DTYPE_F32; }
  // Products with values in f32 take the weights as they are; their weight gradients are sums of integers too.
  bool has_values() const { return input == InputKind::values && dtype == SYNFIRE_DTYPE_F32; }
  // Weights have a grid for each output, except in f64.
  bool has_grid() const { return dtype == SYNFIRE_DTYPE_F32; }
  // The lower bits that integers of weights lack (model/grid.hpp).
  int dropped_bits() const { return has_grid() ? 24 - weight_bits : 0; }
  int zero_planes() const { return dropped_bits() / 8; }  // the lowest byte planes of the weights, which are 0
  // Products with values read the integers, as numbers.
  bool has_rounded_values() const { return has_values() && weight_bits < 24; }
  uint64_t element_bytes() const { return core::bytes_of_dtype(dtype); }
  int64_t n_weights() const { return n_inputs * n_outputs; }
  uint64_t weight_bytes() const { return static_cast<uint64_t>(n_weights()) * element_bytes(); }
  uint64_t bias_bytes() const { return has_bias ? static_cast<uint64_t>(n_outputs) * element_bytes() : 0; }
  int64_t mask_words() const { return (n_inputs + 31) / 32; }  // of one output
  uint64_t mask_bytes() const { return masked ? static_cast<uint64_t>(n_outputs * mask_words()) * 4 : 0; }

  // Elements from row to row of the derived arrays [K, N] and [N, K], padded with zeros.
  static constexpr int64_t row_multiple = 32;
  static int64_t padded(int64_t count) { return (count + row_multiple - 1) / row_multiple * row_multiple; }
  int64_t table_pitch() const { return padded(n_outputs); }
  int64_t rows_pitch() const { return padded(n_inputs); }
  uint64_t table_bytes() const { return static_cast<uint64_t>(n_inputs * table_pitch()) * element_bytes(); }
  uint64_t rows_bytes() const { return static_cast<uint64_t>(n_outputs * rows_pitch()) * element_bytes(); }
  uint64_t grid_bytes() const { return has_grid() ? static_cast<uint64_t>(table_pitch()) * 4 : 0; }

  // Byte planes of weights on their grid for tensor cores (fragments.hpp): three bytes per weight. Those of the table
  // have an even number of words of 32 inputs and a multiple of 64 outputs, those of rows a multiple of 64 inputs of a
  // tap and of 32 outputs of all taps.
  static constexpr int64_t column_multiple = 64;
  static int64_t padded_columns(int64_t count) {
    return (count + column_multiple - 1) / column_multiple * column_multiple;
  }
  static int64_t even_words(int64_t count) { return (count + 63) / 64 * 2; }
  // Elements from row to row of arrays [.., K] in a weight gradient on CUDA.
  int64_t packed_pitch() const { return (n_inputs + 127) / 128 * 128; }
  uint64_t table_planes_bytes() const {
    return is_exact() ? static_cast<uint64_t>(even_words(n_inputs) * padded_columns(n_outputs)) * 96 : 0;
  }
  int64_t tap_inputs() const { return n_taps > 1 ? n_inputs / n_taps : n_inputs; }
  int64_t rows_planes_length() const { return padded(n_taps * n_outputs); }
  uint64_t rows_planes_bytes() const {
    return has_grid() ? static_cast<uint64_t>(rows_planes_length() * padded_columns(tap_inputs())) * 3 : 0;
  }
};

}  // namespace synfire::operations

#endif
