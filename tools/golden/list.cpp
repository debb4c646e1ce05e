// list.cpp - prints the library's lists of models and surrogates. It only formats: names, defaults, ranges and units
// all come from the library.
//
// SPDX-License-Identifier: MIT
#include "list.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <span>
#include <synfire/model/models.hpp>
#include <vector>

namespace synfire_golden {
namespace {

namespace model = synfire::model;

// ---- Facts ----------------------------------------------------------------------------------------------------------

struct Model {
  std::string name;
  int id;
  bool has_w, has_input_decay;
  std::vector<model::ParameterSpec>
      parameters;  // its own, v_threshold, v_reset (if it fires): in the order in which a layer has them
};

struct Surrogate {
  std::string name;
  int id;
  std::span<const model::ParameterSpec> parameters;
  double (*derivative)(double x);  // g'(x), every parameter at its default
};

template <typename M>
std::vector<model::ParameterSpec> parameters_of() {
  std::vector<model::ParameterSpec> all;
  if constexpr (M::n_parameters > 0) all.assign(M::parameters, M::parameters + M::n_parameters);
  if (model::is_silent<M>) return all;
  all.push_back(model::v_threshold_parameter);
  all.push_back(model::v_reset_parameter);
  all.back().default_value = M::default_v_reset;
  return all;
}

template <typename S>
double derivative_by_default(double x) {
  double values[S::n_parameters], constants[S::n_constants];
  for (int i = 0; i < S::n_parameters; ++i) values[i] = S::parameters[i].default_value;
  S::derive(values, constants);
  return S::derivative(static_cast<const double*>(constants), x);
}

template <typename... E>
std::vector<Model> all_models(model::List<E...>) {
  return {
      {E::type::name, E::id, E::type::n_states == 2, E::type::has_input_decay, parameters_of<typename E::type>()}...};
}

template <typename... E>
std::vector<Surrogate> all_surrogates(model::List<E...>) {
  return {{E::type::name,
           E::id,
           {E::type::parameters, static_cast<std::size_t>(E::type::n_parameters)},
           &derivative_by_default<typename E::type>}...};
}

// The points at which derivatives are listed: both infinities, both zeros, either side of the threshold, NaN.
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::array<double, 10> shown_x = {-infinity, -1, -0.5, -0.0,     0,
                                            0.5,       1,  10,   infinity, std::numeric_limits<double>::quiet_NaN()};

// ---- Words ----------------------------------------------------------------------------------------------------------

// The shortest form that keeps every digit of a default or a bound (2, -0.1, 1e30); 5 digits of a derivative.
std::string number(double value, int digits = 15) {
  if (value == infinity) return "inf";
  if (value == -infinity) return "-inf";
  if (value != value) return "NaN";
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  std::string result = text;
  if (const std::size_t e = result.find('e'); e != std::string::npos) {
    std::size_t begin = e + 1;
    if (result[begin] == '+') result.erase(begin, 1);
    if (result[begin] == '-') ++begin;
    while (result[begin] == '0') result.erase(begin, 1);
  }
  return result;
}

std::string range(const model::ParameterSpec& spec) {
  const bool bounded_below = spec.minimum > -model::unbounded, bounded_above = spec.maximum < model::unbounded;
  const std::string low = number(spec.minimum), high = number(spec.maximum);
  if (!bounded_below && !bounded_above) return "finite";
  if (!bounded_below) return std::string("at most ") + high;
  if (!bounded_above) return std::string("finite, ") + (spec.open_range ? "greater than " : "at least ") + low;
  return spec.open_range ? std::string("greater than ") + low + ", at most " + high : low + " to " + high;
}

std::string unit(const char* known) {
  return known == nullptr ? "" : known;
}

using Row = std::vector<std::string>;
using Table = std::vector<Row>;  // the first row is the heading

Table table_of(const Model& m) {
  Table table = {{"parameter", "default", "range", "unit", "gradient", "per neuron"}};
  for (const model::ParameterSpec& spec : m.parameters) {
    table.push_back({spec.name, number(spec.default_value), range(spec), unit(spec.unit), "yes", "yes"});
    if (spec.reciprocal_name == nullptr) continue;
    table.push_back({std::string(spec.reciprocal_name) + " = 1/" + spec.name, number(1 / spec.default_value),
                     range(spec), unit(spec.reciprocal_unit), "yes", "yes"});
  }
  return table;
}

Table table_of(const Surrogate& s) {
  Table table = {{"parameter", "default", "range", "gradient", "per neuron"}};
  for (const model::ParameterSpec& spec : s.parameters)
    table.push_back({spec.name, number(spec.default_value), range(spec), "no", "yes"});
  return table;
}

Table values_of(const Surrogate& s) {
  Table table = {{"x"}, {"g'(x)"}};
  for (const double x : shown_x) {
    // The sign of a zero is shown for x, where it could matter, but not for g'.
    table[0].push_back(x == 0 && 1 / x < 0 ? "-0" : number(x, 5));
    table[1].push_back(number(s.derivative(x) + 0.0, 5));
  }
  return table;
}

// ---- Text -----------------------------------------------------------------------------------------------------------

std::string as_text(const Table& table) {
  std::vector<std::size_t> widths(table.front().size());
  for (const Row& row : table)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : table) {
    std::string line = "   ";
    for (std::size_t i = 0; i < row.size(); ++i) line += ' ' + row[i] + std::string(widths[i] - row[i].size() + 1, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

// ---- Markdown -------------------------------------------------------------------------------------------------------

// The leading word of a cell as code: "tau = 1/x" becomes "`tau` = 1/x".
std::string code(const std::string& cell) {
  const std::size_t end = std::min(cell.find(' '), cell.size());
  return '`' + cell.substr(0, end) + '`' + cell.substr(end);
}

std::string as_markdown(const Table& table, bool code_in_first_column = true) {
  std::string text;
  for (std::size_t i = 0; i < table.size(); ++i) {
    text += '|';
    for (std::size_t k = 0; k < table[i].size(); ++k)
      text += ' ' + (i > 0 && k == 0 && code_in_first_column ? code(table[i][k]) : table[i][k]) + " |";
    text += '\n';
    if (i > 0) continue;
    text += '|';
    for (std::size_t k = 0; k < table[0].size(); ++k) text += " --- |";
    text += '\n';
  }
  return text;
}

std::string block(const std::string& name, const std::string& content) {
  return "<!-- table " + name + " -->\n\n" + content + "\n<!-- end of table -->\n";
}

// All parameters of models, each once: which models have it, grouped by default.
Table parameters_by_name(const std::vector<Model>& models) {
  struct Default {
    double value;
    std::string models;
    int n_models;
  };
  struct Parameter {
    std::string name, range, unit;
    std::vector<Default> defaults;
  };
  std::vector<Parameter> all;
  const auto enter = [&](const std::string& name, const model::ParameterSpec& spec, const char* of_unit, double value,
                         const std::string& model_name) {
    auto known = std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.name == name; });
    if (known == all.end()) known = all.insert(known, {name, range(spec), unit(of_unit), {}});
    auto& defaults = known->defaults;
    auto same = std::find_if(defaults.begin(), defaults.end(), [&](const Default& d) { return d.value == value; });
    if (same == defaults.end()) same = defaults.insert(same, {value, "", 0});
    same->models += (same->models.empty() ? "" : ", ") + model_name;
    ++same->n_models;
  };
  for (const Model& m : models)
    for (const model::ParameterSpec& spec : m.parameters) {
      enter(spec.name, spec, spec.unit, spec.default_value, m.name);
      if (spec.reciprocal_name != nullptr)
        enter(spec.reciprocal_name, spec, spec.reciprocal_unit, 1 / spec.default_value, m.name);
    }
  Table table = {{"parameter", "default: models", "range", "unit"}};
  for (const Parameter& p : all) {
    std::string defaults;
    for (const Default& d : p.defaults)
      defaults += (defaults.empty() ? "" : "; ") + number(d.value) + ": " +
                  (d.n_models == static_cast<int>(models.size()) ? "all" : d.models);
    table.push_back({p.name, defaults, p.range, p.unit});
  }
  return table;
}

Table overview(const std::vector<Model>& models) {
  Table table = {{"model", "id", "state", "input can stay undecayed", "parameters"}};
  for (const Model& m : models) {
    std::string names;
    for (const model::ParameterSpec& spec : m.parameters)
      names += (names.empty() ? "`" : ", `") + std::string(spec.name) + '`';
    table.push_back({m.name, std::to_string(m.id), m.has_w ? "V, W" : "V", m.has_input_decay ? "yes" : "no", names});
  }
  return table;
}

Table overview(const std::vector<Surrogate>& surrogates) {
  Table table = {{"surrogate", "id", "parameters: default (range)"}};
  for (const Surrogate& s : surrogates) {
    std::string text;
    for (const model::ParameterSpec& spec : s.parameters)
      text += (text.empty() ? "`" : "; `") + std::string(spec.name) + "`: " + number(spec.default_value) + " (" +
              range(spec) + ')';
    table.push_back({s.name, std::to_string(s.id), text});
  }
  return table;
}

}  // namespace

std::string list_as_text() {
  std::string text;
  for (const Model& m : all_models(model::Models{}))
    text += "model " + m.name + " (" + std::to_string(m.id) + "): state " + (m.has_w ? "V and W" : "V") +
            (m.has_input_decay ? "; the input decays with tau or stays undecayed" : "") + '\n' + as_text(table_of(m)) +
            '\n';
  for (const Surrogate& s : all_surrogates(model::Surrogates{}))
    text += "surrogate " + s.name + " (" + std::to_string(s.id) + ")\n" + as_text(table_of(s)) + '\n';
  return text +
         "Every parameter is one number, or one per neuron. Gradients are those of parameters, along that name.\n";
}

std::string list_as_markdown() {
  const std::vector<Model> models = all_models(model::Models{});
  const std::vector<Surrogate> surrogates = all_surrogates(model::Surrogates{});
  std::string text = block("models", as_markdown(overview(models))) +
                     block("parameters", as_markdown(parameters_by_name(models))) +
                     block("surrogates", as_markdown(overview(surrogates)));
  for (const Model& m : models) text += block("model-" + m.name, as_markdown(table_of(m)));
  for (const Surrogate& s : surrogates)
    text += block("surrogate-" + s.name, as_markdown(table_of(s)) + "\nWith every parameter at its default:\n\n" +
                                             as_markdown(values_of(s), false));
  return text;
}

}  // namespace synfire_golden
