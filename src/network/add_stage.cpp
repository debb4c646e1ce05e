#include "add_stage.hpp"

#include "constant_names.hpp"
#include "stages/stage_kinds.hpp"

#include <base/text.hpp>

#include <algorithm>
#include <cmath>

namespace synfire::network {

using namespace synfire::core;

namespace {

// "\"a\", \"b\"", or a text for none.
std::string list_of(std::span<const std::string_view> known, const char* none) {
  std::string list;
  for (const std::string_view one : known) list.append(list.empty() ? "\"" : ", \"").append(one).append("\"");
  return list.empty() ? none : list;
}

const StageKind& kind_of(const char* name) {
  if (const StageKind* const kind = find_kind(name)) return *kind;
  std::vector<std::string_view> known;
  for (const StageKind* const kind : all_kinds()) known.emplace_back(kind->traits.name);
  fail_argument("SYN-NETWORK-KIND", "desc.kind is \"%.64s\"%s; the kinds are %s", name, suggestion(name, known).c_str(),
                list_of(known, "none").c_str());
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

uint32_t number_of_input(const Design& design, const synfire_stage_desc& desc, uint64_t i) {
  const char* const stage = desc.inputs[i].stage;
  const auto position = static_cast<unsigned long long>(i);
  if (const std::optional<size_t> found = design.find_if(stage)) return static_cast<uint32_t>(*found);
  if (std::string_view(stage) == desc.name)
    fail_argument("SYN-NETWORK-READS",
                  "desc.inputs[%llu].stage is \"%.64s\", the stage itself, which is a cycle; in a cycle, a synapse, a "
                  "convolution or a scale reads neurons with a delay",
                  position, stage);
  std::vector<std::string_view> known;
  for (const Stage& one : design.stages()) known.emplace_back(one.name);
  fail_argument("SYN-NETWORK-READS",
                "desc.inputs[%llu].stage is \"%.64s\"%s; without a delay, a stage reads stages that were added before "
                "it: %.512s",
                position, stage, suggestion(stage, known).c_str(), list_of(known, "there are none").c_str());
}

std::optional<Port> port_of_input(const Stage& from, const synfire_stage_desc& desc, uint64_t i) {
  const char* const port = desc.inputs[i].port;
  if (!port) return std::nullopt;
  std::vector<std::string_view> known;
  for (const PortName& one : from.kind->traits.ports) {
    if (std::string_view(one.name) == port) return one.port;
    known.emplace_back(one.name);
  }
  fail_argument("SYN-NETWORK-PORT", "desc.inputs[%llu].port is \"%.64s\"%s; the ports of stage \"%s\" are %s",
                static_cast<unsigned long long>(i), port, suggestion(port, known).c_str(), from.name.c_str(),
                list_of(known, "without names: null is needed").c_str());
}

// Neurons that are added later are read at their spikes.
void check_later(const synfire_stage_desc& desc, uint64_t i) {
  const synfire_stage_input& input = desc.inputs[i];
  if (!input.port || std::string_view(input.port) == "spikes") return;
  fail_argument(
      "SYN-NETWORK-PORT",
      "desc.inputs[%llu].port is \"%.64s\"; stage \"%.64s\", which is not there yet, is read at its \"spikes\"",
      static_cast<unsigned long long>(i), input.port, input.stage);
}

Reads inputs_of(const Design& design, const synfire_stage_desc& desc) {
  if (desc.n_inputs == 0) return std::nullopt;
  std::vector<StageInput> inputs;
  for (uint64_t i = 0; i < desc.n_inputs; ++i) {
    const synfire_stage_input& input = desc.inputs[i];
    if (input.delay < 0 || input.delay > most_delay)
      fail_argument("SYN-NETWORK-DELAY", "desc.inputs[%llu].delay is %lld; 0 to %lld are allowed",
                    static_cast<unsigned long long>(i), static_cast<long long>(input.delay),
                    static_cast<long long>(most_delay));
    const auto delay = static_cast<int32_t>(input.delay);
    if (delay > 0 && std::string_view(input.stage) != desc.name && !design.find_if(input.stage)) {
      check_later(desc, i);
      inputs.emplace_back(std::string(input.stage), delay);
      continue;
    }
    const uint32_t from = number_of_input(design, desc, i);
    inputs.emplace_back(from, port_of_input(design.stages()[from], desc, i), delay);
  }
  return inputs;
}

// ---- choices and values ---------------------------------------------------------------------------------------------

// The number that a value is given as, or that its text names. `names`: of its constants; null: it has none.
double number_of(const synfire_stage_desc& desc, const synfire_stage_value& given, const ConstantNames* names,
                 const Context& context) {
  if (!given.text) return given.number;
  if (!names)
    fail_argument("SYN-NETWORK-VALUE", "\"%.64s\" of stage \"%.64s\" is \"%.64s\"; a number is needed", given.name,
                  desc.name, given.text);
  if (const std::optional<int32_t> found = names->find(given.text, context)) return *found;
  fail_argument("SYN-NETWORK-VALUE", "\"%.64s\" of stage \"%.64s\" is \"%.64s\"; allowed are %s", given.name, desc.name,
                given.text, names->known().c_str());
}

// Constants have 32 bits; all other choices are integers that a double has.
int64_t choice_of(const synfire_stage_desc& desc, const ChoiceSpec& choice, double number) {
  const double most = choice.names ? 0x7FFFFFFF : value::most_whole;
  if (std::isfinite(number) && number == std::floor(number) && std::fabs(number) <= most)
    return static_cast<int64_t>(number);
  fail_argument("SYN-NETWORK-VALUE", "\"%s\" of stage \"%.64s\" is %g; an integer is needed", choice.name, desc.name,
                number);
}

// The choice of an earlier stage: its number plus 1.
int64_t stage_of(const Design& design, const synfire_stage_desc& desc, const synfire_stage_value& given) {
  if (!given.text)
    fail_argument("SYN-NETWORK-VALUE", "\"%.64s\" of stage \"%.64s\" is %g; the name of a stage is needed", given.name,
                  desc.name, given.number);
  if (const std::optional<size_t> found = design.find_if(given.text)) return static_cast<int64_t>(*found) + 1;
  std::vector<std::string_view> known;
  for (const Stage& one : design.stages()) known.emplace_back(one.name);
  fail_argument("SYN-NETWORK-VALUE",
                "\"%.64s\" of stage \"%.64s\" is \"%.64s\"%s; the stages that were added before it are %.512s",
                given.name, desc.name, given.text, suggestion(given.text, known).c_str(),
                list_of(known, "none").c_str());
}

const synfire_stage_value* find_value(std::span<const synfire_stage_value> values, std::string_view name) {
  for (const synfire_stage_value& one : values)
    if (name == one.name) return &one;
  return nullptr;
}

void check_once(const synfire_stage_desc& desc) {
  for (uint64_t i = 0; i < desc.n_values; ++i)
    if (find_value({desc.values, i}, desc.values[i].name))
      fail_argument("SYN-NETWORK-VALUE", "\"%.64s\" of stage \"%.64s\" is given twice", desc.values[i].name, desc.name);
}

}  // namespace

size_t add_stage(Design& design, const synfire_stage_desc& desc, const Context& context) {
  const StageKind& kind = kind_of(desc.kind);
  check_once(desc);
  const std::span<const synfire_stage_value> given(desc.values, desc.n_values);
  std::vector<int64_t> choices;
  for (const ChoiceSpec& choice : kind.traits.choices) {
    const synfire_stage_value* const found = find_value(given, choice.name);
    const bool has_other = choice.in_place_of && find_value(given, choice.in_place_of);
    if (!found && choice.is_needed && !has_other)
      fail_argument("SYN-NETWORK-VALUE", "stage \"%.64s\" of kind %s has no \"%s\", which is needed", desc.name,
                    kind.traits.name, choice.name);
    choices.push_back(!found            ? choice.absent
                      : choice.of_stage ? stage_of(design, desc, *found)
                                        : choice_of(desc, choice, number_of(desc, *found, choice.names, context)));
  }
  std::vector<InitialValue> values;
  for (const synfire_stage_value& one : given) {
    const auto has_name = [&](const auto& spec) { return std::string_view(spec.name) == one.name; };
    if (std::ranges::any_of(kind.traits.choices, has_name)) continue;
    const auto spec = std::ranges::find_if(kind.traits.values, has_name);
    const ConstantNames* const names = spec == kind.traits.values.end() ? nullptr : spec->names;
    values.push_back({one.name, number_of(desc, one, names, context)});
  }
  return design.add(kind, desc.name, choices, inputs_of(design, desc), values);
}

}  // namespace synfire::network
