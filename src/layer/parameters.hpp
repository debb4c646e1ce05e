// The parameters of one layer: their names, ranges and values (doubles, one or one per neuron), and the constants that
// kernels use, derived from them in f64.
#ifndef SYNFIRE_LAYER_PARAMETERS_HPP
#define SYNFIRE_LAYER_PARAMETERS_HPP

#include <synfire/model/layout.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace synfire::core {

struct ModelRow {
  int32_t id;
  const char* name;
  int n_states;
  int n_constants;
  double default_v_reset;
  bool has_input_decay;
  bool slope_reads_input;  // ∂H/∂V or ∂H/∂X depends on X, so that backward needs X even where H is kept
  bool slope_reads_w;      // a derivative of H or W depends on W, so that backward needs W before each step
  bool many_instructions;  // passes wait for them, not for the memory
  std::span<const model::ParameterSpec> parameters;
  void (*derive)(const double* parameters, bool undecayed_input, double* constants);
  // The slopes of the constants along one parameter.
  void (*derive_along)(const double* parameters, int parameter, bool undecayed_input, double* slopes);
  // Whether the constants of every neuron are numbers of at most this size: one or N values of each parameter.
  bool (*constants_fit)(const std::vector<double>* values, int64_t n_neurons, bool undecayed_input, double largest);
};

struct SurrogateRow {
  int32_t id;
  const char* name;
  int n_constants;
  bool rational;  // a few additions, products and at most a reciprocal
  std::span<const model::ParameterSpec> parameters;
  void (*derive)(const double* parameters, double* constants);
};

// Null when there is no such model or surrogate.
const ModelRow* find_model(int32_t id);
const SurrogateRow* find_surrogate(int32_t id);
const ModelRow* find_model(std::string_view name);
const SurrogateRow* find_surrogate(std::string_view name);
// "if (1), lif (2)": what an error text lists as allowed.
const char* model_names();
const char* surrogate_names();

// Constants a kernel may read for a layer: v_threshold, v_reset, the model's, and as many as any surrogate has, so that
// one kernel can serve several surrogates.
int n_constants(const ModelRow& model);
// Rows of slopes: one per parameter of the model, then one per second name.
int n_slope_rows(const ModelRow& model);

// A parameter as a caller names it: some have a second name for the reciprocal of the stored value.
struct ParameterName {
  uint32_t index;
  bool reciprocal;
};

class ParameterSet {
 public:
  ParameterSet(const ModelRow& model, const SurrogateRow& surrogate, int64_t n_neurons, bool undecayed_input);

  uint32_t size() const noexcept { return static_cast<uint32_t>(specs_.size()); }
  const model::ParameterSpec& spec(uint32_t index) const { return specs_[index]; }
  std::span<const double> values(uint32_t index) const { return values_[index]; }
  // Throws INVALID_ARGUMENT for an unknown name, listing the known ones; `argument` is what the caller calls it.
  ParameterName find(std::string_view name, const char* argument = "name") const;

  // The values to store for what a caller set under this name; throws unless they are as many as allowed, finite and in
  // range.
  std::vector<double> checked(ParameterName name, std::span<const double> values) const;
  // Takes over values that checked() has made.
  void set(uint32_t index, std::vector<double> values) noexcept { values_[index].swap(values); }
  void exchange(uint32_t index, std::vector<double>& values) noexcept { values_[index].swap(values); }

  // Throws unless every constant of the model's formula is a number of at most this size, which the kernels can hold;
  // `changed` is the parameter that was set last.
  void check_constants(ParameterName changed, double largest) const;

  int n_own() const noexcept { return static_cast<int>(model_.parameters.size()) + 2; }  // without the surrogate's

  bool per_neuron() const noexcept;
  int n_constants() const noexcept { return n_constants_; }
  // The constants [n_constants] of one neuron.
  void constants(int64_t neuron, double* constants) const;

  // ---- gradients
  // What the gradient of a parameter is taken along: a row of slopes, or model::gradient_of_*. Throws INVALID_ARGUMENT
  // for the surrogate's, which have none.
  int32_t gradient_row(ParameterName name, const char* argument) const;
  // Slopes [n_slope_rows, max_model_constants] of the constants of one neuron.
  void slopes(int64_t neuron, double* slopes) const;

 private:
  bool all_constants_fit(double largest) const;

  const ModelRow& model_;
  const SurrogateRow& surrogate_;
  double value(uint32_t index, int64_t neuron) const {
    return values_[index][values_[index].size() > 1 ? static_cast<size_t>(neuron) : 0];
  }

  int64_t n_neurons_;
  bool undecayed_input_;
  int n_constants_;
  std::vector<model::ParameterSpec> specs_;  // the model's, v_threshold, v_reset, the surrogate's
  std::vector<std::vector<double>> values_;
};

}  // namespace synfire::core

#endif
