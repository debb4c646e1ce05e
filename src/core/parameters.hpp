// The parameters of one layer: their names, ranges and values (doubles, one or one per neuron), and the constants that
// kernels use, derived from them in f64.
#ifndef SYNFIRE_CORE_PARAMETERS_HPP
#define SYNFIRE_CORE_PARAMETERS_HPP

#include <synfire/model/layout.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace synfire::core {

struct ModelRow {
  int32_t id;
  const char* name;
  int n_constants;
  double default_v_reset;
  bool has_input_decay;
  std::span<const model::ParameterSpec> parameters;
  void (*derive)(const double* parameters, bool undecayed_input, double* constants);
};

struct SurrogateRow {
  int32_t id;
  const char* name;
  int n_constants;
  std::span<const model::ParameterSpec> parameters;
  void (*derive)(const double* parameters, double* constants);
};

// Null when there is no such model or surrogate.
const ModelRow* find_model(int32_t id);
const SurrogateRow* find_surrogate(int32_t id);
// "if (1), lif (2)": what an error text lists as allowed.
const char* model_names();
const char* surrogate_names();

// What the constants of a layer are, all models alike: v_threshold, v_reset, the model's, the surrogate's.
int n_constants(const ModelRow& model, const SurrogateRow& surrogate);

class ParameterSet {
 public:
  ParameterSet(const ModelRow& model, const SurrogateRow& surrogate, int64_t n_neurons, bool undecayed_input);

  uint32_t size() const noexcept { return static_cast<uint32_t>(specs_.size()); }
  const model::ParameterSpec& spec(uint32_t index) const { return specs_[index]; }
  std::span<const double> values(uint32_t index) const { return values_[index]; }
  // Throws INVALID_ARGUMENT for an unknown name, listing the known ones.
  uint32_t find(std::string_view name) const;

  // Throws unless `values` are as many as allowed, finite and in range.
  void check(uint32_t index, std::span<const double> values) const;
  // Takes over values that check() has accepted.
  void set(uint32_t index, std::vector<double> values) noexcept { values_[index].swap(values); }

  bool per_neuron() const noexcept;
  int n_constants() const noexcept { return n_constants_; }
  // The constants of one neuron (of every neuron when nothing is per neuron).
  void derive(int64_t neuron, double* constants) const;

 private:
  const ModelRow& model_;
  const SurrogateRow& surrogate_;
  int64_t n_neurons_;
  bool undecayed_input_;
  int n_constants_;
  std::vector<model::ParameterSpec> specs_;  // the model's, v_threshold, v_reset, the surrogate's
  std::vector<std::vector<double>> values_;
};

}  // namespace synfire::core

#endif
