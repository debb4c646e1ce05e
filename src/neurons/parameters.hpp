// The parameters of a layer: names, ranges, values (doubles: one, or one per channel or neuron), and the constants of
// kernels, derived from them in f64.
#ifndef SYNFIRE_NEURONS_PARAMETERS_HPP
#define SYNFIRE_NEURONS_PARAMETERS_HPP

#include <base/flow.hpp>

#include <synfire/model/layout.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace synfire::core {

class LoadedModel;  // loaded.hpp
class LoadedSurrogate;

struct ModelRow {
  int32_t id;
  const char* name;
  int n_states;
  std::array<const char*, model::max_states> states;  // their names
  int n_constants;
  double default_v_reset;
  bool has_input_decay;
  bool slope_reads_input;  // ∂H/∂V or ∂H/∂X depends on X, so that backward needs X even where H is kept
  bool slope_reads_w;      // a derivative of H or W depends on W, so that backward needs W before each step
  bool many_instructions;  // passes are bound by instructions, not by memory
  bool follows_input;      // a further variable depends on V or X before the step
  bool adapts_threshold;   // the threshold depends on further variables
  bool never_fires;        // no spikes, v_threshold, v_reset or surrogate
  bool linear;             // never fires, and backward needs H for gradients of parameters only
  std::span<const model::ParameterSpec> parameters;
  void (*derive)(const ModelRow& model, const double* parameters, bool undecayed_input, double* constants);
  void (*derive_along)(const ModelRow& model, const double* parameters, int parameter, bool undecayed_input,
                       double* slopes);
  // True if the constants of every neuron are finite and at most this large. Of C values of a parameter, neuron i has
  // value i mod C.
  bool (*constants_fit)(const ModelRow& model, const std::vector<double>* values, int64_t n_neurons,
                        bool undecayed_input, double largest);
  LoadedModel* loaded;  // null unless it was loaded at run time
  int32_t dynamics;     // the listed model whose charge it shares, or itself

  // The id by which kernels know it.
  int32_t kernel_id() const noexcept { return loaded ? model::loaded_id : id; }
};

struct SurrogateRow {
  int32_t id;
  const char* name;
  int n_constants;
  bool rational;  // a few additions, products and at most a reciprocal
  std::span<const model::ParameterSpec> parameters;
  void (*derive)(const SurrogateRow& surrogate, const double* parameters, double* constants);
  LoadedSurrogate* loaded;  // null unless it was loaded at run time

  int32_t kernel_id() const noexcept { return loaded ? model::loaded_id : id; }
};

// For models that never fire: no constants, no parameters. No other surrogate has its id, 0.
extern const SurrogateRow no_surrogate;

// The index of the state variable of this name; the second is also "w". Throws INVALID_ARGUMENT; `argument` is the
// caller's name for it.
int find_state(const ModelRow& model, const char* name, const char* argument);

// A model's row for layers with a countdown, which is one more state variable.
ModelRow with_countdown(const ModelRow& model);
// The same row of a listed model.
const ModelRow* counting(const ModelRow& listed);

// Searches the lists in model/models.hpp, without those that were loaded at run time. Null if there is none.
const ModelRow* find_listed_model(int32_t id);
const SurrogateRow* find_listed_surrogate(int32_t id);
const ModelRow* find_model(std::string_view name);
const SurrogateRow* find_surrogate(std::string_view name);
// The allowed values for error texts: "if (1), lif (2)".
const char* model_names();
const char* surrogate_names();
std::string suggested_model(std::string_view name);
std::string suggested_surrogate(std::string_view name);

// Constants that a kernel may read: v_threshold, v_reset, the model's, and as many as any surrogate has, so that one
// kernel serves several surrogates.
int n_constants(const ModelRow& model);
// v_threshold and v_reset, or none.
int n_firing_parameters(const ModelRow& model);
// The most gradients of parameters in one backward: one for each row of slopes and parameter of firing.
int n_gradients(const ModelRow& model);
// One row per parameter of the model, then one per second name.
int n_slope_rows(const ModelRow& model);

// A parameter as the caller names it. A second name stands for the reciprocal of the stored value.
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
  Scope scope(uint32_t index) const noexcept { return scope_of(values_[index].size()); }
  // Throws INVALID_ARGUMENT for an unknown name, listing the known ones; `argument` is the caller's name for it.
  ParameterName find(std::string_view name, const char* argument = "name") const;

  // Converts the caller's values under this name to stored ones. Throws unless their number divides that of the neurons
  // and each value is allowed.
  std::vector<double> checked(ParameterName name, std::span<const double> values) const;
  void set(uint32_t index, std::vector<double> values) noexcept { values_[index].swap(values); }
  void exchange(uint32_t index, std::vector<double>& values) noexcept { values_[index].swap(values); }

  // Throws unless every constant of the model is finite and at most this large, so that the kernels can represent it;
  // `changed` is the parameter that was set last.
  void check_constants(ParameterName changed, double largest) const;

  int n_own() const noexcept { return static_cast<int>(model_.parameters.size()) + n_firing_parameters(model_); }

  bool per_neuron() const noexcept;
  int n_constants() const noexcept { return n_constants_; }
  void constants(int64_t neuron, double* constants) const;

  // ---- gradients
  // The source of a parameter's gradient: a row of slopes, or model::gradient_of_*. Throws INVALID_ARGUMENT for a
  // parameter of the surrogate, which has no gradient.
  int32_t gradient_row(ParameterName name, const char* argument) const;
  // Slopes [n_slope_rows, max_model_constants] of the constants of one neuron.
  void slopes(int64_t neuron, double* slopes) const;

 private:
  bool all_constants_fit(double largest) const;

  const ModelRow& model_;
  const SurrogateRow& surrogate_;
  double value(uint32_t index, int64_t neuron) const { return values_[index][entry(index, neuron)]; }
  // The entry of a parameter that a neuron has.
  size_t entry(uint32_t index, int64_t neuron) const { return static_cast<size_t>(neuron) % values_[index].size(); }
  Scope scope_of(size_t count) const noexcept {
    return count == 1 ? Scope::layer : count == static_cast<size_t>(n_neurons_) ? Scope::neuron : Scope::channel;
  }

  int64_t n_neurons_;
  bool undecayed_input_;
  int n_constants_;
  std::vector<model::ParameterSpec> specs_;  // the model's, those of firing, the surrogate's
  std::vector<std::vector<double>> values_;
};

}  // namespace synfire::core

#endif
