#include "parameters.hpp"

#include "error.hpp"

#include <synfire/model/models.hpp>

#include <array>
#include <cmath>
#include <string>

namespace synfire::core {
namespace {

template <class... E>
constexpr std::array<ModelRow, sizeof...(E)> model_table(model::List<E...>) {
  return {ModelRow{E::id, E::type::name, E::type::n_constants, E::type::default_v_reset, E::type::has_input_decay,
                   std::span<const model::ParameterSpec>(E::type::parameters, E::type::n_parameters),
                   &E::type::derive}...};
}

template <class... E>
constexpr std::array<SurrogateRow, sizeof...(E)> surrogate_table(model::List<E...>) {
  return {SurrogateRow{E::id, E::type::name, E::type::n_constants,
                       std::span<const model::ParameterSpec>(E::type::parameters, E::type::n_parameters),
                       &E::type::derive}...};
}

constexpr auto models = model_table(model::Models{});
constexpr auto surrogates = surrogate_table(model::Surrogates{});

template <class Table>
auto find_row(const Table& table, int32_t id) -> decltype(&table[0]) {
  for (const auto& row : table)
    if (row.id == id) return &row;
  return nullptr;
}

// "if (1), lif (2)", built once into storage that needs no destructor.
template <class Table>
const char* names_of(const Table& table, char (&text)[512]) {
  std::string names;
  for (const auto& row : table) names += (names.empty() ? "" : ", ") + std::string(row.name) + " (" + std::to_string(row.id) + ")";
  names.resize(std::min(names.size(), sizeof text - 1));
  std::char_traits<char>::copy(text, names.c_str(), names.size() + 1);
  return text;
}

}  // namespace

const ModelRow* find_model(int32_t id) { return find_row(models, id); }
const SurrogateRow* find_surrogate(int32_t id) { return find_row(surrogates, id); }

const char* model_names() {
  static thread_local char text[512];
  return names_of(models, text);
}

const char* surrogate_names() {
  static thread_local char text[512];
  return names_of(surrogates, text);
}

int n_constants(const ModelRow& model, const SurrogateRow& surrogate) {
  return model::first_model_constant + model.n_constants + surrogate.n_constants;
}

ParameterSet::ParameterSet(const ModelRow& model, const SurrogateRow& surrogate, int64_t n_neurons,
                           bool undecayed_input)
    : model_(model),
      surrogate_(surrogate),
      n_neurons_(n_neurons),
      undecayed_input_(undecayed_input),
      n_constants_(core::n_constants(model, surrogate)) {
  using model::unbounded;
  specs_.assign(model.parameters.begin(), model.parameters.end());
  specs_.push_back({"v_threshold", 1.0, -unbounded, unbounded, false});
  specs_.push_back({"v_reset", model.default_v_reset, -unbounded, unbounded, false});
  specs_.insert(specs_.end(), surrogate.parameters.begin(), surrogate.parameters.end());
  for (const auto& spec : specs_) values_.push_back({spec.default_value});
}

uint32_t ParameterSet::find(std::string_view name) const {
  std::string known;
  for (uint32_t i = 0; i < size(); ++i) {
    if (name == specs_[i].name) return i;
    known += (i == 0 ? "" : ", ") + std::string(specs_[i].name);
  }
  fail_argument("SYN-PARAMETER-NAME", "name is \"%.*s\"; this layer has %s", static_cast<int>(std::min<size_t>(name.size(), 64)),
                name.data(), known.c_str());
}

void ParameterSet::check(uint32_t index, std::span<const double> values) const {
  const auto& spec = specs_[index];
  if (values.size() != 1 && values.size() != static_cast<uint64_t>(n_neurons_))
    fail_argument("SYN-PARAMETER-COUNT", "count is %llu; \"%s\" takes 1 value, or %lld, one per neuron",
                  static_cast<unsigned long long>(values.size()), spec.name, static_cast<long long>(n_neurons_));
  for (size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    const bool above = spec.open_range ? v > spec.minimum : v >= spec.minimum;
    if (std::isfinite(v) && above && v <= spec.maximum) continue;
    if (spec.minimum == -model::unbounded)
      fail_argument("SYN-PARAMETER-RANGE", "values[%zu] is %g; \"%s\" must be finite", i, v, spec.name);
    fail_argument("SYN-PARAMETER-RANGE", "values[%zu] is %g; \"%s\" must be finite and %s %g", i, v, spec.name,
                  spec.open_range ? "greater than" : "at least", spec.minimum);
  }
}

bool ParameterSet::per_neuron() const noexcept {
  for (const auto& values : values_)
    if (values.size() > 1) return true;
  return false;
}

void ParameterSet::derive(int64_t neuron, double* constants) const {
  double chosen[model::max_constants] = {};
  for (uint32_t i = 0; i < size(); ++i)
    chosen[i] = values_[i][values_[i].size() > 1 ? static_cast<size_t>(neuron) : 0];
  const double* own = chosen;
  const double* common = own + model_.parameters.size();
  const double* surrogate = common + 2;
  constants[model::constant_v_threshold] = common[0];
  constants[model::constant_v_reset] = common[1];
  model_.derive(own, undecayed_input_, constants + model::first_model_constant);
  surrogate_.derive(surrogate, constants + model::first_model_constant + model_.n_constants);
}

}  // namespace synfire::core
