#include "kept_arrays.hpp"

#include "parts.hpp"

#include <base/text.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace synfire::network {

using namespace synfire::core;

// Stages between inputs and losses have an output of their own, unless they pass on what they read.
std::vector<std::string_view> StageKind::keepable(const StageView& view) const {
  if (traits.reads == 0 || traits.of_training || hands_on(view.stage())) return {};
  std::vector<std::string_view> names = {kept_arrays::output, kept_arrays::grad_output};
  if (has_weights(view)) names.push_back(kept_arrays::monitor);
  return names;
}

namespace {

struct Named {
  std::string_view stage, array;
};

// Names of stages may have dots, those of arrays have none.
Named split(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? Named{name, {}} : Named{name.substr(0, dot), name.substr(dot + 1)};
}

[[noreturn]] void fail_unknown(const Design& design, std::string_view name) {
  std::vector<std::string> known;
  for (size_t i = 0; i < design.stages().size(); ++i)
    for (const std::string_view array : design.stages()[i].kind->keepable(design.view(i)))
      known.push_back(std::string(design.stages()[i].name).append(".").append(array));
  std::string list;
  for (const std::string& one : known) list.append(list.empty() ? "\"" : ", \"").append(one).append("\"");
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string wanted(name);
  fail_argument("SYN-NETWORK-KEEP", "names has \"%.140s\"%s; the network can keep %.700s", wanted.c_str(),
                suggestion(name, names).c_str(), list.empty() ? "nothing" : list.c_str());
}

bool can_keep(const Design& design, size_t index, std::string_view array) {
  return std::ranges::count(design.stages()[index].kind->keepable(design.view(index)), array) > 0;
}

}  // namespace

void keep(Design& design, const char* names) {
  std::vector<std::pair<size_t, std::string>> wanted;
  std::string_view rest = names;
  while (!(rest = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()))).empty()) {
    const std::string_view name = rest.substr(0, rest.find(' '));
    rest.remove_prefix(name.size());
    const Named named = split(name);
    const std::optional<size_t> index = design.find_if(named.stage);
    if (!index || !can_keep(design, *index, named.array)) fail_unknown(design, name);
    wanted.emplace_back(*index, named.array);
  }
  if (wanted.empty()) fail_argument("SYN-NETWORK-KEEP", "names is \"%.16s\"; at least one name is needed", names);
  design.keep(wanted);
}

namespace {

// True if the network would keep it. A gradient that nothing computes cannot be asked for.
bool could_keep(const Parts& parts, size_t index, std::string_view array) {
  const Stage& stage = parts.design.stages()[index];
  if (stage.keeps(array) || !can_keep(parts.design, index, array)) return false;
  if (!array.starts_with("grad_")) return true;
  if (!parts.gradients[index].has_backward) return false;
  if (array == kept_arrays::grad_initial_spikes && parts.delays[index] == 0) return false;
  const Port port = array == kept_arrays::grad_v ? Port::v : Port::output;
  return stage.kind->traits.ports.empty() || parts.stages[index]->gradient(port) != nullptr;
}

}  // namespace

std::vector<std::string> keepable_arrays(const Parts& parts) {
  std::vector<std::string> names;
  for (size_t i = 0; i < parts.design.stages().size(); ++i)
    for (const std::string_view array : parts.design.stages()[i].kind->keepable(parts.design.view(i)))
      if (array != kept_arrays::monitor && could_keep(parts, i, array))
        names.push_back(std::string(parts.design.stages()[i].name).append(".").append(array));
  return names;
}

void check_kept(const Parts& parts, std::string_view name) {
  const Named named = split(name);
  const std::optional<size_t> index = parts.design.find_if(named.stage);
  if (!index || !could_keep(parts, *index, named.array)) return;
  const std::string wanted(name);
  fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-NOT-KEPT",
       "the network does not keep \"%.140s\", because nothing asked for it; call synfire_network_keep with this name "
       "before it is built, or give synfire_network_file_desc::keep where it is made of a file",
       wanted.c_str());
}

std::string_view kept_name_of(const Stage& source, Port port) noexcept {
  if (source.kind->traits.ports.empty()) return kept_arrays::output;
  return port == Port::v ? kept_arrays::v : kept_arrays::spikes;
}

}  // namespace synfire::network
