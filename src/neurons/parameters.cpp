#include "parameters.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <base/text.hpp>

#include <synfire/model/models.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <type_traits>

namespace synfire::core {
namespace {

template <class Model>
void derive_along(const ModelRow&, const double* parameters, int parameter, bool undecayed_input, double* slopes) {
  using Number = model::Dual<double, double>;
  Number values[model::max_slope_rows], constants[model::max_model_constants];
  for (int i = 0; i < Model::n_parameters; ++i) values[i] = {parameters[i], i == parameter ? 1.0 : 0.0};
  Model::derive(static_cast<const Number*>(values), undecayed_input, constants);
  for (int k = 0; k < Model::n_constants; ++k) slopes[k] = constants[k].derivative;
}

template <class Model>
void derive_model(const ModelRow&, const double* parameters, bool undecayed_input, double* constants) {
  Model::derive(parameters, undecayed_input, constants);
}
template <class Surrogate>
void derive_surrogate(const SurrogateRow&, const double* parameters, double* constants) {
  Surrogate::derive(parameters, constants);
}

// Counts in as many accumulators as a processor has lanes, because compilers keep the order of a single sum.
struct Misfits {
  static constexpr int64_t block = 64;
  double counts[block] = {};

  void note(int64_t i, bool fits) { counts[i] += fits ? 0.0 : 1.0; }
  bool any() const {
    return std::any_of(std::begin(counts), std::end(counts), [](double count) { return count > 0; });
  }
};

template <class Model>
bool constants_fit(const ModelRow&, const std::vector<double>* values, int64_t n_neurons, bool undecayed_input,
                   double largest) {
  constexpr int64_t block = Misfits::block;
  Misfits too_large;
  double rows[Model::n_parameters > 0 ? Model::n_parameters : 1][block];
  for (int p = 0; p < Model::n_parameters; ++p) std::fill_n(rows[p], block, values[p][0]);
  for (int64_t first = 0; first < n_neurons; first += block) {
    // The rest of a shorter last block holds values of the block before, which have already passed.
    for (int p = 0; p < Model::n_parameters; ++p) {
      const auto length = static_cast<int64_t>(values[p].size()), count = std::min(block, n_neurons - first);
      if (length == n_neurons)
        std::copy_n(values[p].begin() + first, count, rows[p]);
      else if (length > 1)
        for (int64_t i = 0; i < count; ++i) rows[p][i] = values[p][static_cast<size_t>((first + i) % length)];
    }
    for (int64_t i = 0; i < block; ++i) {
      double own[Model::n_parameters > 0 ? Model::n_parameters : 1], constants[model::max_model_constants];
      for (int p = 0; p < Model::n_parameters; ++p) own[p] = rows[p][i];
      Model::derive(static_cast<const double*>(own), undecayed_input, constants);
      for (int k = 0; k < Model::n_constants; ++k) too_large.note(i, std::fabs(constants[k]) <= largest);
    }
  }
  return !too_large.any();
}

template <class Model>
constexpr bool has_many_instructions() {
  if constexpr (requires { Model::many_instructions; }) return Model::many_instructions;
  return false;
}
template <class Surrogate>
constexpr bool is_rational() {
  if constexpr (requires { Surrogate::rational; }) return Surrogate::rational;
  return false;
}

template <class Model>
constexpr std::array<const char*, model::max_states> state_names() {
  std::array<const char*, model::max_states> names = {};
  for (int i = 0; i < Model::n_states; ++i) names[static_cast<size_t>(i)] = model::state_name<Model>(i);
  return names;
}

template <class Dynamics, class... E>
constexpr int32_t id_of(model::List<E...>) {
  return ((std::is_same_v<typename E::type, Dynamics> ? E::id : 0) + ...);
}

template <class... E>
constexpr std::array<ModelRow, sizeof...(E)> model_table(model::List<E...>) {
  return {ModelRow{E::id,
                   E::type::name,
                   E::type::n_states,
                   state_names<typename E::type>(),
                   E::type::n_constants,
                   E::type::default_v_reset,
                   E::type::has_input_decay,
                   model::slope_reads_input<typename E::type>,
                   model::slope_reads_w<typename E::type>,
                   has_many_instructions<typename E::type>(),
                   model::follows_input<typename E::type>(),
                   model::AdaptsThreshold<typename E::type>,
                   model::is_silent<typename E::type>,
                   model::never_fires<typename E::type>,
                   std::span<const model::ParameterSpec>(E::type::parameters, E::type::n_parameters),
                   &derive_model<typename E::type>,
                   &derive_along<typename E::type>,
                   &constants_fit<typename E::type>,
                   nullptr,
                   id_of<typename E::dynamics>(model::List<E...>{})}...};
}

template <class... E>
constexpr std::array<SurrogateRow, sizeof...(E)> surrogate_table(model::List<E...>) {
  return {SurrogateRow{E::id, E::type::name, E::type::n_constants, is_rational<typename E::type>(),
                       std::span<const model::ParameterSpec>(E::type::parameters, E::type::n_parameters),
                       &derive_surrogate<typename E::type>, nullptr}...};
}

constexpr ModelRow countdown_added(ModelRow row) {
  if (row.n_states == model::max_states) return row;  // has no room for it
  row.states[static_cast<size_t>(row.n_states)] = model::countdown_name;
  ++row.n_states;
  row.slope_reads_w = true;
  return row;
}

template <size_t n>
constexpr std::array<ModelRow, n> countdowns_added(std::array<ModelRow, n> table) {
  for (ModelRow& row : table) row = countdown_added(row);
  return table;
}

constexpr auto models = model_table(model::Models{});
constexpr auto counting_models = countdowns_added(models);
constexpr auto surrogates = surrogate_table(model::Surrogates{});

void derive_nothing(const SurrogateRow&, const double*, double*) {}

constexpr bool constants_fit() {
  for (const auto& surrogate : surrogates)
    if (surrogate.n_constants > model::max_surrogate_constants) return false;
  for (const auto& model : models) {
    if (model::first_model_constant + model.n_constants + model::max_surrogate_constants > model::max_constants ||
        model.n_constants > model::max_model_constants)
      return false;
    int rows = 0;
    for (const auto& parameter : model.parameters) rows += parameter.reciprocal_name ? 2 : 1;
    if (rows > model::max_slope_rows) return false;
  }
  for (const auto& surrogate : surrogates)
    if (surrogate.parameters.size() > model::max_surrogate_constants) return false;
  return true;
}
static_assert(constants_fit(), "raise the limits in model/layout.hpp");

template <class Table>
auto find_row(const Table& table, int32_t id) -> decltype(&table[0]) {
  for (const auto& row : table)
    if (row.id == id) return &row;
  return nullptr;
}

template <class Table>
auto find_row(const Table& table, std::string_view name) -> decltype(&table[0]) {
  for (const auto& row : table)
    if (name == row.name) return &row;
  return nullptr;
}

// "if (1), lif (2)", built once into storage that needs no destructor.
template <class Table>
const char* names_of(const Table& table, char (&text)[1024]) {
  std::string names;
  for (const auto& row : table)
    names += (names.empty() ? "" : ", ") + std::string(row.name) + " (" + std::to_string(row.id) + ")";
  names.resize(std::min(names.size(), sizeof text - 1));
  std::char_traits<char>::copy(text, names.c_str(), names.size() + 1);
  return text;
}

}  // namespace

const SurrogateRow no_surrogate = {0, "none", 0, true, {}, &derive_nothing, nullptr};

int find_state(const ModelRow& model, const char* name, const char* argument) {
  const std::string_view wanted = name;
  for (int i = 0; i < model.n_states; ++i)
    if (wanted == model.states[static_cast<size_t>(i)]) return i;
  if (model.n_states > 1 && wanted == "w") return 1;
  std::string known;
  for (int i = 0; i < model.n_states; ++i)
    known.append(i == 0                    ? "\""
                 : i + 1 == model.n_states ? "\" and \""
                                           : "\", \"")
        .append(model.states[static_cast<size_t>(i)]);
  fail_argument("SYN-STATE-NAME", "%s is \"%.64s\"; model \"%s\" has the state variable%s %s\"", argument, name,
                model.name, model.n_states > 1 ? "s" : "", known.c_str());
}

ModelRow with_countdown(const ModelRow& model) {
  return countdown_added(model);
}
const ModelRow* counting(const ModelRow& listed) {
  return find_row(counting_models, listed.id);
}

const ModelRow* find_listed_model(int32_t id) {
  return find_row(models, id);
}
const SurrogateRow* find_listed_surrogate(int32_t id) {
  return find_row(surrogates, id);
}
const ModelRow* find_model(std::string_view name) {
  return find_row(models, name);
}
const SurrogateRow* find_surrogate(std::string_view name) {
  return find_row(surrogates, name);
}

const char* model_names() {
  static thread_local char text[1024];
  return names_of(models, text);
}

const char* surrogate_names() {
  static thread_local char text[1024];
  return names_of(surrogates, text);
}

namespace {

template <class Table>
std::string suggested(const Table& table, std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(std::size(table));
  for (const auto& row : table) names.emplace_back(row.name);
  return suggestion(name, names);
}

}  // namespace

std::string suggested_model(std::string_view name) {
  return suggested(models, name);
}

std::string suggested_surrogate(std::string_view name) {
  return suggested(surrogates, name);
}

int n_constants(const ModelRow& model) {
  return model::first_model_constant + model.n_constants + (model.linear ? 0 : model::max_surrogate_constants);
}

int n_slope_rows(const ModelRow& model) {
  int rows = 0;
  for (const auto& parameter : model.parameters) rows += parameter.reciprocal_name ? 2 : 1;
  return rows;
}

int n_firing_parameters(const ModelRow& model) {
  return model.never_fires ? 0 : 2;
}

int n_gradients(const ModelRow& model) {
  return n_slope_rows(model) + n_firing_parameters(model);
}

ParameterSet::ParameterSet(const ModelRow& model, const SurrogateRow& surrogate, int64_t n_neurons,
                           bool undecayed_input)
    : model_(model),
      surrogate_(surrogate),
      n_neurons_(n_neurons),
      undecayed_input_(undecayed_input),
      n_constants_(core::n_constants(model)) {
  specs_.assign(model.parameters.begin(), model.parameters.end());
  if (!model.never_fires) {
    specs_.push_back(model::v_threshold_parameter);
    specs_.push_back(model::v_reset_parameter);
    specs_.back().default_value = model.default_v_reset;
  }
  specs_.insert(specs_.end(), surrogate.parameters.begin(), surrogate.parameters.end());
  for (const auto& spec : specs_) values_.push_back({spec.default_value});
}

ParameterName ParameterSet::find(std::string_view name, const char* argument) const {
  for (uint32_t i = 0; i < size(); ++i) {
    if (name == specs_[i].name) return {i, false};
    if (specs_[i].reciprocal_name && name == specs_[i].reciprocal_name) return {i, true};
  }
  std::string known;
  std::vector<std::string_view> names;
  for (const auto& spec : specs_) {
    known.append(known.empty() ? "" : ", ").append(spec.name);
    names.emplace_back(spec.name);
    if (!spec.reciprocal_name) continue;
    known.append(" or ").append(spec.reciprocal_name);
    names.emplace_back(spec.reciprocal_name);
  }
  fail_argument("SYN-PARAMETER-NAME", "%s is \"%.*s\"%s; this layer has %s", argument,
                static_cast<int>(std::min<size_t>(name.size(), 64)), name.data(), suggestion(name, names).c_str(),
                known.c_str());
}

std::vector<double> ParameterSet::checked(ParameterName name, std::span<const double> values) const {
  const auto& spec = specs_[name.index];
  const char* const known_as = name.reciprocal ? spec.reciprocal_name : spec.name;
  if (values.empty() || static_cast<uint64_t>(n_neurons_) % values.size() != 0)
    fail_argument(
        "SYN-PARAMETER-COUNT",
        "count is %llu; \"%s\" takes 1 value, %lld, one per neuron, or a number that divides %lld, one per channel",
        static_cast<unsigned long long>(values.size()), known_as, static_cast<long long>(n_neurons_),
        static_cast<long long>(n_neurons_));
  require_host_memory(values.size_bytes(), Paging::pageable);
  std::vector<double> stored(values.begin(), values.end());
  if (name.reciprocal)
    for (double& v : stored) v = 1.0 / v;
  // First checks all values without a branch, so that many are checked side by side.
  const double lowest = spec.open_range ? std::nextafter(spec.minimum, model::unbounded) : spec.minimum;
  const auto in_range = [&](size_t i) {
    const int finite = std::fabs(values[i]) <= model::unbounded, above = stored[i] >= lowest,
              below = stored[i] <= spec.maximum;
    return (finite & above & below) != 0;
  };
  Misfits refused;
  for (size_t first = 0; first < stored.size(); first += Misfits::block) {
    const size_t count = std::min<size_t>(Misfits::block, stored.size() - first);
    for (size_t i = 0; i < count; ++i) refused.note(static_cast<int64_t>(i), in_range(first + i));
  }
  if (!refused.any()) return stored;
  for (size_t i = 0;; ++i) {
    if (in_range(i)) continue;
    if (spec.minimum == -model::unbounded)
      fail_argument("SYN-PARAMETER-RANGE", "values[%zu] is %g; \"%s\" must be finite", i, values[i], known_as);
    if (spec.maximum != model::unbounded)
      fail_argument("SYN-PARAMETER-RANGE", "values[%zu] is %g; \"%s\" must be %s %g and at most %g", i, values[i],
                    known_as, spec.open_range ? "greater than" : "at least", spec.minimum, spec.maximum);
    fail_argument("SYN-PARAMETER-RANGE", "values[%zu] is %g; \"%s\" must be finite and %s %g", i, values[i], known_as,
                  spec.open_range ? "greater than" : "at least", spec.minimum);
  }
}

bool ParameterSet::all_constants_fit(double largest) const {
  for (size_t i = model_.parameters.size(); i < static_cast<size_t>(n_own()); ++i)
    for (const double value : values_[i])
      if (!(std::fabs(value) <= largest)) return false;
  return model_.constants_fit(model_, values_.data(), per_neuron() ? n_neurons_ : 1, undecayed_input_, largest);
}

void ParameterSet::check_constants(ParameterName changed, double largest) const {
  const auto& spec = specs_[changed.index];
  const char* const known_as = changed.reciprocal ? spec.reciprocal_name : spec.name;
  const int first_checked = model_.never_fires ? model::first_model_constant : 0;
  const int n_checked = model::first_model_constant + model_.n_constants;
  if (all_constants_fit(largest)) return;
  for (int64_t neuron = 0; neuron < (per_neuron() ? n_neurons_ : 1); ++neuron) {
    double constants[model::max_constants];
    this->constants(neuron, constants);
    for (int k = first_checked; k < n_checked; ++k) {
      if (std::fabs(constants[k]) <= largest) continue;  // false for a NaN
      const size_t i = entry(changed.index, neuron);
      const double stored = value(changed.index, neuron);
      fail_argument("SYN-PARAMETER-OVERFLOW",
                    "values[%zu] is %g; with it, and the other parameters as they are, \"%s\" gives model \"%s\" a "
                    "constant, such as 1/tau, of %g; at most %g is allowed in the layer's arithmetic",
                    i, changed.reciprocal ? 1.0 / stored : stored, known_as, model_.name, constants[k], largest);
    }
  }
}

bool ParameterSet::per_neuron() const noexcept {
  for (uint32_t i = 0; i < size(); ++i)
    if (scope(i) != Scope::layer) return true;
  return false;
}

void ParameterSet::constants(int64_t neuron, double* constants) const {
  double values[model::max_parameters];
  for (uint32_t i = 0; i < size(); ++i) values[i] = value(i, neuron);
  const double* const common = values + model_.parameters.size();
  constants[model::constant_v_threshold] =
      model_.never_fires ? model::threshold_of_silence(model_.n_states) : common[0];
  constants[model::constant_v_reset] = model_.never_fires ? 0.0 : common[1];
  double* const own = constants + model::first_model_constant;
  model_.derive(model_, values, undecayed_input_, own);
  if (model_.linear) return;
  std::fill_n(own + model_.n_constants, model::max_surrogate_constants, 0.0);
  surrogate_.derive(surrogate_, values + n_own(), own + model_.n_constants);
}

// ---- gradients ------------------------------------------------------------------------------------------------------

int32_t ParameterSet::gradient_row(ParameterName name, const char* argument) const {
  const auto n_own = static_cast<uint32_t>(model_.parameters.size());
  if (!model_.never_fires && name.index == n_own) return model::gradient_of_v_threshold;
  if (!model_.never_fires && name.index == n_own + 1) return model::gradient_of_v_reset;
  if (name.index > n_own + 1)
    fail_argument("SYN-GRADIENT-SURROGATE",
                  "%s is \"%s\", a parameter of the surrogate, which has no gradient; the model's, v_threshold and "
                  "v_reset have one",
                  argument, specs_[name.index].name);
  if (!name.reciprocal) return static_cast<int32_t>(name.index);
  int32_t row = static_cast<int32_t>(n_own);
  for (uint32_t i = 0; i < name.index; ++i) row += specs_[i].reciprocal_name ? 1 : 0;
  return row;
}

void ParameterSet::slopes(int64_t neuron, double* slopes) const {
  const int n_own = static_cast<int>(model_.parameters.size());
  double own[model::max_slope_rows] = {};
  for (int i = 0; i < n_own; ++i) own[i] = value(static_cast<uint32_t>(i), neuron);
  std::fill_n(slopes, n_slope_rows(model_) * model::max_model_constants, 0.0);
  for (int i = 0; i < n_own; ++i)
    model_.derive_along(model_, own, i, undecayed_input_, slopes + int64_t{i} * model::max_model_constants);
  int row = n_own;
  for (int i = 0; i < n_own; ++i) {
    if (!specs_[static_cast<size_t>(i)].reciprocal_name) continue;
    for (int k = 0; k < model_.n_constants; ++k)
      slopes[row * model::max_model_constants + k] = -own[i] * own[i] * slopes[i * model::max_model_constants + k];
    ++row;
  }
}

}  // namespace synfire::core
