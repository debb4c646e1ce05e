// Stages described by names, and arrays of stages, for tests.
#ifndef SYNFIRE_TESTS_CAPI_DESCRIBED_STAGES_HPP
#define SYNFIRE_TESTS_CAPI_DESCRIBED_STAGES_HPP

#include "support.hpp"

namespace synfire_test {

using StageValues = std::vector<synfire_stage_value>;
using StageInputs = std::vector<synfire_stage_input>;
using StageArrays = std::vector<synfire_network_array>;

inline synfire_stage_value number(const char* name, double value) {
  return {name, nullptr, value};
}
inline synfire_stage_value text(const char* name, const char* value) {
  return {name, value, 0};
}
inline synfire_stage_input reads(const char* stage, const char* port = nullptr) {
  return {stage, port, 0};
}

inline synfire_stage_desc describe_stage(const char* kind, const char* name, const StageValues& values,
                                         const StageInputs& inputs) {
  synfire_stage_desc desc = SYNFIRE_STAGE_DESC_INIT;
  desc.kind = kind;
  desc.name = name;
  desc.inputs = inputs.data();
  desc.n_inputs = inputs.size();
  desc.values = values.data();
  desc.n_values = values.size();
  return desc;
}

inline synfire_status add_stage(synfire_network network, const char* kind, const char* name,
                                const StageValues& values = {}, const StageInputs& inputs = {}) {
  const synfire_stage_desc desc = describe_stage(kind, name, values, inputs);
  return synfire_network_add_stage(network, &desc);
}

inline synfire_network_array array_of(const char* stage, int32_t role, synfire_buffer buffer) {
  return {stage, role, 0, buffer};
}
inline synfire_status set_arrays(synfire_network network, int32_t set, int64_t n_rows, const StageArrays& arrays) {
  return synfire_network_set_arrays(network, set, n_rows, arrays.data(), arrays.size());
}
inline synfire_status infer_arrays(synfire_network network, int64_t n_rows, const StageArrays& arrays) {
  return synfire_network_infer_arrays(network, n_rows, arrays.data(), arrays.size());
}

}  // namespace synfire_test

#endif
