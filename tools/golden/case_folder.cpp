// case_folder.cpp - reads cases.json and cases.bin and refuses anything that does not have the documented form.
//
// SPDX-License-Identifier: MIT
#include "case_folder.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace synfire_golden {
namespace {

using Json = nlohmann::json;

// No golden case is larger. Refusing larger sizes keeps every product below 2^63.
constexpr std::int64_t largest_extent = std::int64_t{1} << 24;

enum class Shape { steps_by_neurons, neurons, one };

struct KnownArray {
  const char* name;
  Shape shape;
  bool required;
};

constexpr KnownArray known_arrays[] = {
    {"x_seq", Shape::steps_by_neurons, true},      {"v_init", Shape::neurons, true},
    {"h_seq", Shape::steps_by_neurons, true},      {"spike_seq", Shape::steps_by_neurons, true},
    {"v_seq", Shape::steps_by_neurons, true},      {"grad_spike_seq", Shape::steps_by_neurons, true},
    {"grad_v_seq", Shape::steps_by_neurons, true}, {"grad_x_seq", Shape::steps_by_neurons, true},
    {"grad_v_init", Shape::neurons, true},         {"w_init", Shape::neurons, false},
    {"w_seq", Shape::steps_by_neurons, false},     {"grad_w_seq", Shape::steps_by_neurons, false},
    {"grad_w_init", Shape::neurons, false},        {"grad_reciprocal_tau", Shape::one, false},
};

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i != 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw MalformedFolder("cannot open " + path + ": " + std::strerror(errno));
  }
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) {
    throw MalformedFolder("cannot read " + path + ": " + std::strerror(errno));
  }
  return bytes;
}

// Refuses deeper nesting than any golden case has, so that no other code must handle it.
Json parsed(const std::string& text) {
  constexpr int deepest = 16;
  return Json::parse(text, [](int depth, Json::parse_event_t, Json&) {
    if (depth > deepest) {
      throw MalformedFolder("cases.json is nested more than " + std::to_string(deepest) + " deep");
    }
    return true;
  });
}

// Turns one JSON object into a Case. Knows which case and key it reads, for error texts.
class CaseReader {
 public:
  CaseReader(const Json& object, std::size_t index, const std::string& binary)
      : object_(object), where_("cases.json: cases[" + std::to_string(index) + "]"), binary_(binary) {}

  Case read() {
    if (!object_.is_object()) {
      throw MalformedFolder(where_ + " is not an object");
    }
    Case result;
    result.id = text("id");
    where_ += " (" + result.id + ")";
    result.model = text("model");
    result.surrogate = text("surrogate");
    const std::string reset = text("reset");
    if (reset != "hard" && reset != "soft") {
      throw MalformedFolder(where_ + ": reset is \"" + reset + "\"; allowed are \"hard\" and \"soft\"");
    }
    result.soft_reset = reset == "soft";
    const Json& detach = member(object_, "detach_reset");
    if (!detach.is_boolean()) {
      throw MalformedFolder(where_ + ": detach_reset is not true or false");
    }
    result.detach_reset = detach.get<bool>();
    result.n_steps = extent("T");
    result.n_neurons = extent("N");
    read_parameters("params", result.parameters, &result.switches);
    read_parameters("surrogate_params", result.surrogate_parameters, nullptr);
    read_arrays(result);
    return result;
  }

 private:
  const Json& member(const Json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) {
      throw MalformedFolder(where_ + ": \"" + key + "\" is missing");
    }
    return *found;
  }

  std::string text(const char* key) const {
    const Json& value = member(object_, key);
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      throw MalformedFolder(where_ + ": \"" + key + "\" is not a non-empty string");
    }
    return value.get<std::string>();
  }

  // An integer in [0, 2^63), in any notation.
  std::uint64_t whole_number(const Json& value, const std::string& name) const {
    if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) ||
        value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw MalformedFolder(where_ + ": " + name + " is " + value.dump() + "; allowed are integers of at least 0");
    }
    return value.get<std::uint64_t>();
  }

  std::int64_t extent(const char* key) const {
    const std::uint64_t value = whole_number(member(object_, key), key);
    if (value < 1 || value > static_cast<std::uint64_t>(largest_extent)) {
      throw MalformedFolder(where_ + ": " + key + " is " + std::to_string(value) + "; allowed are 1 to " +
                            std::to_string(largest_extent));
    }
    return static_cast<std::int64_t>(value);
  }

  void read_parameters(const char* key, std::map<std::string, double>& numbers,
                       std::map<std::string, bool>* switches) const {
    const Json& object = member(object_, key);
    if (!object.is_object()) {
      throw MalformedFolder(where_ + ": \"" + key + "\" is not an object");
    }
    for (const auto& [name, value] : object.items()) {
      if (value.is_null()) {
        continue;
      }
      if (value.is_number()) {
        numbers.emplace(name, value.get<double>());
      } else if (value.is_boolean() && switches != nullptr) {
        switches->emplace(name, value.get<bool>());
      } else {
        throw MalformedFolder(where_ + ": " + key + "." + name + " is " + value.dump() + "; it must be a number");
      }
    }
  }

  void read_arrays(Case& result) const {
    const Json& arrays = member(object_, "arrays");
    if (!arrays.is_object()) {
      throw MalformedFolder(where_ + ": \"arrays\" is not an object");
    }
    for (const KnownArray& known : known_arrays) {
      if (known.required && !arrays.contains(known.name)) {
        throw MalformedFolder(where_ + ": the array \"" + known.name + "\" is missing");
      }
    }
    for (const auto& [name, description] : arrays.items()) {
      result.arrays.emplace(name, read_array(name, description, result));
    }
  }

  Array read_array(const std::string& name, const Json& description, const Case& owner) const {
    const std::string what = "array \"" + name + "\"";
    if (!description.is_object()) {
      throw MalformedFolder(where_ + ": " + what + " is not an object");
    }
    const Json& shape = member(description, "shape");
    if (!shape.is_array() || shape.empty()) {
      throw MalformedFolder(where_ + ": " + what + ": shape is not a list of numbers");
    }
    Array result;
    std::uint64_t count = 1;
    const std::uint64_t largest_count = binary_.size() / sizeof(double);
    for (const Json& item : shape) {
      result.shape.push_back(whole_number(item, what + ": shape"));
      const std::uint64_t size = result.shape.back();
      if (size != 0 && count > largest_count / size) {
        throw MalformedFolder(where_ + ": " + what + " of shape " + shape.dump() + " does not fit into cases.bin of " +
                              std::to_string(binary_.size()) + " bytes");
      }
      count *= size;
    }
    require_known_shape(name, result.shape, owner);
    const std::uint64_t offset = whole_number(member(description, "offset"), what + ": offset");
    const std::uint64_t bytes = count * sizeof(double);
    if (offset > binary_.size() || bytes > binary_.size() - offset) {
      throw MalformedFolder(where_ + ": " + what + " needs bytes " + std::to_string(offset) + " to " +
                            std::to_string(offset + bytes) + ", but cases.bin has " + std::to_string(binary_.size()));
    }
    result.values.resize(static_cast<std::size_t>(count));
    static_assert(std::endian::native == std::endian::little, "cases.bin is little-endian");
    std::memcpy(result.values.data(), binary_.data() + offset, static_cast<std::size_t>(bytes));
    return result;
  }

  void require_known_shape(const std::string& name, const std::vector<std::uint64_t>& shape, const Case& owner) const {
    const auto steps = static_cast<std::uint64_t>(owner.n_steps);
    const auto neurons = static_cast<std::uint64_t>(owner.n_neurons);
    for (const KnownArray& known : known_arrays) {
      if (name != known.name) {
        continue;
      }
      const std::vector<std::uint64_t> expected = known.shape == Shape::steps_by_neurons
                                                      ? std::vector<std::uint64_t>{steps, neurons}
                                                  : known.shape == Shape::neurons ? std::vector<std::uint64_t>{neurons}
                                                                                  : std::vector<std::uint64_t>{1};
      if (shape != expected) {
        throw MalformedFolder(where_ + ": array \"" + name + "\" has shape " + shape_text(shape) +
                              ", but T = " + std::to_string(steps) + " and N = " + std::to_string(neurons) +
                              " require " + shape_text(expected));
      }
    }
  }

  const Json& object_;
  std::string where_;
  const std::string& binary_;
};

}  // namespace

std::vector<Case> read_case_folder(const std::string& folder) {
  const std::string json_path = folder + "/cases.json";
  const std::string json_text = read_file(json_path);
  const std::string binary = read_file(folder + "/cases.bin");
  Json document;
  try {
    document = parsed(json_text);
  } catch (const Json::exception& error) {
    throw MalformedFolder(json_path + " is not JSON: " + error.what());
  }
  if (!document.is_object() || !document.contains("cases") || !document["cases"].is_array()) {
    throw MalformedFolder(json_path + " has no list \"cases\"");
  }
  std::vector<Case> cases;
  std::set<std::string> ids;
  for (const Json& object : document["cases"]) {
    cases.push_back(CaseReader(object, cases.size(), binary).read());
    if (!ids.insert(cases.back().id).second) {
      throw MalformedFolder(json_path + ": the id \"" + cases.back().id + "\" occurs twice");
    }
  }
  if (cases.empty()) {
    throw MalformedFolder(json_path + " holds no case");
  }
  return cases;
}

}  // namespace synfire_golden
