#include "delayed_spec.hpp"

#include <base/error.hpp>

#include <cmath>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr int64_t most_plane_inputs = int64_t{1} << 29;

synfire_synapse_desc dense_desc_of(const synfire_delayed_desc& desc) {
  synfire_synapse_desc dense = SYNFIRE_SYNAPSE_DESC_INIT;
  dense.input_kind = SYNFIRE_INPUT_SPIKES;
  dense.n_inputs = desc.n_inputs;
  dense.n_outputs = desc.n_outputs;
  dense.dtype = desc.dtype;
  dense.bias = desc.bias;
  dense.frozen = desc.frozen;
  dense.gradient_bits = desc.gradient_bits;
  dense.initialization = desc.initialization;
  dense.gain = desc.gain;
  dense.seed = desc.seed;
  dense.mask = desc.mask;
  dense.mask_length = desc.mask_length;
  dense.weight_bits = desc.weight_bits;
  return dense;
}

// After the matrix of the weights has been checked.
DenseSpec planes_of(const synfire_delayed_desc& desc) {
  if (desc.delays_of < SYNFIRE_DELAYS_OF_CONNECTIONS || desc.delays_of > SYNFIRE_DELAYS_OF_OUTPUTS)
    fail_argument("SYN-SYNAPSE-DELAY",
                  "desc.delays_of is %d; allowed are SYNFIRE_DELAYS_OF_CONNECTIONS (0), _INPUTS (1) and _OUTPUTS (2)",
                  desc.delays_of);
  const auto of = static_cast<DelaysOf>(desc.delays_of);
  if (desc.max_delay < 1 || desc.max_delay > longest_delay(of))
    fail_argument("SYN-SYNAPSE-DELAY", "desc.max_delay is %d; 1 to %lld are allowed with delays of %s", desc.max_delay,
                  static_cast<long long>(longest_delay(of)),
                  of == DelaysOf::connections ? "connections"
                  : of == DelaysOf::inputs    ? "inputs"
                                              : "outputs");
  const int64_t n_taps = of == DelaysOf::connections ? desc.max_delay + int64_t{1} : 1,
                padded = (desc.n_inputs + 31) / 32 * 32;
  if (padded > most_plane_inputs / n_taps)
    fail_argument(
        "SYN-SYNAPSE-INPUTS",
        "desc.n_inputs is %lld and desc.max_delay %d; (max_delay + 1) * (n_inputs rounded up to a multiple of "
        "32) must be at most 2^29",
        static_cast<long long>(desc.n_inputs), desc.max_delay);
  synfire_synapse_desc dense = dense_desc_of(desc);
  dense.n_inputs = n_taps * padded;
  dense.mask = nullptr;
  dense.mask_length = 0;
  return DenseSpec(dense);
}

}  // namespace

void check_delay(const DelayedSpec& spec, const char* name, int64_t index, double delay) {
  const bool is_inside = delay >= 0 && delay <= static_cast<double>(spec.max_delay);
  if (is_inside && (spec.learns || delay == std::floor(delay))) return;
  fail_argument("SYN-SYNAPSE-DELAY", "%s[%lld] is %g; %s from 0 to %lld is needed", name, static_cast<long long>(index),
                delay, spec.learns ? "a number" : "an integer, because the delays are fixed,",
                static_cast<long long>(spec.max_delay));
}

void check_width(const char* name, double width) {
  if (!(width >= least_width && width <= largest_width))
    fail_argument("SYN-SYNAPSE-WIDTH", "%s is %g; it must be at least 1e-3 and at most 1e6", name, width);
}

DelayedSpec::DelayedSpec(const synfire_delayed_desc& desc)
    : weights(dense_desc_of(desc)),
      planes(planes_of(desc)),
      max_delay(desc.max_delay),
      delays_of(static_cast<DelaysOf>(desc.delays_of)),
      learns(desc.learn_delays == 1) {
  check_flag(desc.learn_delays, "SYN-SYNAPSE-FLAG", "desc.learn_delays");
  if (learns && delays_of != DelaysOf::connections)
    fail_argument("SYN-SYNAPSE-DELAY",
                  "desc.learn_delays is 1 and desc.delays_of %d; delays of inputs and of outputs are fixed",
                  desc.delays_of);
  if (!learns && desc.width != 0)
    fail_argument("SYN-SYNAPSE-WIDTH", "desc.width is %g; it must be 0 unless desc.learn_delays is 1", desc.width);
  width = !learns ? 0 : desc.width == 0 ? static_cast<double>(max_delay) / 2 : desc.width;
  if (learns) check_width("desc.width", width);
  const auto wanted = static_cast<uint64_t>(n_delays());
  if (desc.delays ? desc.delays_length != wanted : desc.delays_length != 0)
    fail_argument("SYN-SYNAPSE-DELAY", "desc.delays_length is %llu; it must be %llu, %s",
                  static_cast<unsigned long long>(desc.delays_length),
                  static_cast<unsigned long long>(desc.delays ? wanted : 0),
                  !desc.delays                         ? "because desc.delays is null"
                  : delays_of == DelaysOf::connections ? "one number for each connection"
                  : delays_of == DelaysOf::inputs      ? "one number for each input"
                                                       : "one number for each output");
  if (!desc.delays) return;
  for (int64_t i = 0; i < n_delays(); ++i) check_delay(*this, "desc.delays", i, desc.delays[i]);
}

uint64_t DelayedSpec::derived_bytes() const {
  const uint64_t of_one = planes.weight_bytes() + planes.bias_bytes() + planes.table_bytes() + planes.rows_bytes() +
                          2 * planes.grid_bytes() + planes.table_planes_bytes() + planes.rows_planes_bytes();
  return (learns ? 2 : 1) * of_one;
}

}  // namespace synfire::operations
