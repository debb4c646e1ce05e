#include "dense_spec.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>

#include <cmath>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Sums of this many weights on their grid are exact in f64, in which the host adds them.
constexpr int64_t most_inputs = int64_t{1} << 29;

void check_lengths(int64_t n_inputs, int64_t n_outputs) {
  if (n_inputs < 1 || n_inputs > most_inputs)
    fail_argument("SYN-SYNAPSE-INPUTS", "desc.n_inputs is %lld; 1 to 2^29 are allowed",
                  static_cast<long long>(n_inputs));
  if (n_outputs < 1)
    fail_argument("SYN-SYNAPSE-OUTPUTS", "desc.n_outputs is %lld; at least 1 is needed",
                  static_cast<long long>(n_outputs));
  constexpr int64_t most_weights = int64_t{1} << 58;
  int64_t n_weights = 0;
  if (n_outputs > most_weights || __builtin_mul_overflow(n_inputs + 32, n_outputs + 32, &n_weights) ||
      n_weights > most_weights)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-SYNAPSE-OVERFLOW",
         "desc.n_inputs is %lld and desc.n_outputs %lld; their product must stay below 2^58",
         static_cast<long long>(n_inputs), static_cast<long long>(n_outputs));
}

}  // namespace

DenseSpec::DenseSpec(const synfire_synapse_desc& desc)
    : n_inputs(desc.n_inputs), n_outputs(desc.n_outputs), seed(desc.seed) {
  check_lengths(n_inputs, n_outputs);
  if (desc.input_kind != SYNFIRE_INPUT_SPIKES && desc.input_kind != SYNFIRE_INPUT_VALUES)
    fail_argument("SYN-SYNAPSE-INPUT-KIND",
                  "desc.input_kind is %d; allowed are SYNFIRE_INPUT_SPIKES (0), _VALUES (1) and _COUNTS (2)",
                  desc.input_kind);
  check_dtype("SYN-SYNAPSE-DTYPE", desc.dtype, arithmetic_dtypes);
  if (desc.gradient_bits != 0 && desc.gradient_bits != 24 && desc.gradient_bits != 32)
    fail_argument("SYN-SYNAPSE-GRADIENT-BITS", "desc.gradient_bits is %d; allowed are 24, 32 and 0 for the default",
                  desc.gradient_bits);
  if (desc.weight_bits != 0 && desc.weight_bits != 8 && desc.weight_bits != 16 && desc.weight_bits != 24)
    fail_argument("SYN-SYNAPSE-WEIGHT-BITS", "desc.weight_bits is %d; allowed are 8, 16, 24 and 0 for the default",
                  desc.weight_bits);
  if (desc.weight_bits != 0 && desc.dtype == SYNFIRE_DTYPE_F64)
    fail_argument("SYN-SYNAPSE-WEIGHT-BITS", "desc.weight_bits is %d; weights in f64 have no grid, so it must be 0",
                  desc.weight_bits);
  if (desc.initialization < SYNFIRE_INITIALIZATION_UNIFORM || desc.initialization > SYNFIRE_INITIALIZATION_ZERO)
    fail_argument(
        "SYN-SYNAPSE-INITIALIZATION",
        "desc.initialization is %d; allowed are SYNFIRE_INITIALIZATION_UNIFORM (0), _NORMAL (1) and _ZERO (2)",
        desc.initialization);
  check_flag(desc.bias, "SYN-SYNAPSE-FLAG", "desc.bias");
  check_flag(desc.frozen, "SYN-SYNAPSE-FLAG", "desc.frozen");
  check_flag(desc.no_self_connections, "SYN-SYNAPSE-FLAG", "desc.no_self_connections");
  if (desc.no_self_connections == 1 && n_inputs != n_outputs)
    fail_argument("SYN-SYNAPSE-SELF",
                  "desc.no_self_connections is 1; the synapse has %lld inputs and %lld outputs, both must be the same",
                  static_cast<long long>(n_inputs), static_cast<long long>(n_outputs));
  if (!std::isfinite(desc.gain) || desc.gain < 0 || desc.gain > 1e30)
    fail_argument("SYN-SYNAPSE-GAIN", "desc.gain is %g; it must be positive and at most 1e30 (0 means 1)", desc.gain);
  const auto connections = static_cast<uint64_t>(n_weights());
  if (desc.mask ? desc.mask_length != connections : desc.mask_length != 0)
    fail_argument("SYN-SYNAPSE-MASK", "desc.mask_length is %llu; it must be %llu, %s",
                  static_cast<unsigned long long>(desc.mask_length),
                  static_cast<unsigned long long>(desc.mask ? connections : 0),
                  desc.mask ? "one byte for each weight" : "because desc.mask is null");
  if (desc.count_scale != 0 && desc.count_scale != 1)
    fail_argument("SYN-SYNAPSE-COUNTS", "desc.count_scale is %g; it must be 0 or 1 unless the input is counts",
                  static_cast<double>(desc.count_scale));
  input = static_cast<InputKind>(desc.input_kind);
  dtype = desc.dtype;
  has_bias = desc.bias == 1;
  frozen = desc.frozen == 1;
  no_self_connections = desc.no_self_connections == 1;
  masked = desc.mask || no_self_connections;
  gradient_bits = desc.gradient_bits == 0 ? default_gradient_bits(input) : desc.gradient_bits;
  weight_bits = !has_grid() ? 0 : desc.weight_bits == 0 ? 24 : desc.weight_bits;
  initialization = static_cast<Initialization>(desc.initialization);
  gain = desc.gain == 0 ? 1.0 : desc.gain;
}

}  // namespace synfire::operations
