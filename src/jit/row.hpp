// The rows of loaded models and surrogates, made from their descriptions.
#ifndef SYNFIRE_JIT_ROW_HPP
#define SYNFIRE_JIT_ROW_HPP

#include <neurons/parameters.hpp>

#include <synfire/model/describe.hpp>

#include <array>
#include <string>

namespace synfire::jit {

using ParameterSpecs = std::array<model::ParameterSpec, model::max_slope_rows>;

// Converts the texts and tables of the description; the results point into both arguments.
inline void fill(ParameterSpecs& specs, const model::Description& of) {
  const auto given = [](const char* text) { return *text ? text : nullptr; };
  for (int i = 0; i < of.n_parameters; ++i) {
    const model::DescribedParameter& p = of.parameters[i];
    specs[static_cast<size_t>(i)] = {p.name,        p.default_value,         p.minimum,
                                     p.maximum,     p.open_range != 0,       given(p.reciprocal_name),
                                     given(p.unit), given(p.reciprocal_unit)};
  }
}

inline void fill(core::ModelRow& row, const ParameterSpecs& specs, const model::Description& of) {
  row.name = of.name;
  row.n_states = of.n_states;
  for (int i = 0; i < of.n_states; ++i) row.states[static_cast<size_t>(i)] = of.states[i];
  row.n_constants = of.n_constants;
  row.default_v_reset = of.default_v_reset;
  row.has_input_decay = of.has_input_decay != 0;
  row.slope_reads_input = of.slope_reads_input != 0;
  row.slope_reads_w = of.slope_reads_w != 0;
  row.many_instructions = of.many_instructions != 0;
  row.follows_input = of.follows_input != 0;
  row.adapts_threshold = of.adapts_threshold != 0;
  row.never_fires = of.never_fires != 0;
  row.linear = row.never_fires && of.n_states == 1;
  row.parameters = {specs.data(), static_cast<size_t>(of.n_parameters)};
}

inline void fill(core::SurrogateRow& row, const ParameterSpecs& specs, const model::Description& of) {
  row.name = of.name;
  row.n_constants = of.n_constants;
  row.rational = of.rational != 0;
  row.parameters = {specs.data(), static_cast<size_t>(of.n_parameters)};
}

void report(const model::Description& of, const model::CheckResult& result, synfire_check_report& answer);

}  // namespace synfire::jit

#endif
