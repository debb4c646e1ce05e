#include "given_arrays.hpp"

#include <base/error.hpp>

#include <algorithm>
#include <utility>

namespace synfire::network {

using namespace synfire::core;

namespace {

// "inputs", "labels or targets", "nothing": what the places of a stage take.
std::string roles_of(std::span<const ArrayPlace> places, size_t stage) {
  std::string text;
  for (const ArrayPlace& place : places)
    if (place.stage == stage) text.append(text.empty() ? "" : " or ").append(name_of(place.role));
  return text.empty() ? "nothing" : text;
}

// The stages that take arrays of a role: "\"a\" and \"b\"".
std::string stages_of(const Design& design, std::span<const ArrayPlace> places, DataRole role) {
  std::string text;
  for (const ArrayPlace& place : places)
    if (place.stage && place.role == role)
      text.append(text.empty() ? "\"" : ", \"").append(design.stages()[*place.stage].name).append("\"");
  return text;
}

}  // namespace

size_t place_of(const Design& design, const GivenArray& one, const ListEntry& entry,
                std::span<const ArrayPlace> places) {
  const char* const role = name_of(one.role);
  if (one.stage) {
    const size_t stage = design.find(one.stage);
    const auto at = std::ranges::find_if(
        places, [&](const ArrayPlace& place) { return place.stage == stage && place.role == one.role; });
    if (at == places.end())
      fail_argument("SYN-NETWORK-ARRAY", "%s[%zu] has %s of stage \"%s\" of kind %s, which takes %s", entry.list,
                    entry.index, role, one.stage, design.stages()[stage].kind->traits.name,
                    roles_of(places, stage).c_str());
    return static_cast<size_t>(at - places.begin());
  }
  const auto has_role = [&](const ArrayPlace& place) { return place.role == one.role; };
  const auto at = std::ranges::find_if(places, has_role);
  if (at == places.end())
    fail_argument("SYN-NETWORK-ARRAY", "%s[%zu] has %s, which nothing here takes", entry.list, entry.index, role);
  if (std::ranges::count_if(places, has_role) > 1)
    fail_argument("SYN-NETWORK-ARRAY", "%s[%zu] has %s without a stage; those that take them are %s", entry.list,
                  entry.index, role, stages_of(design, places, one.role).c_str());
  return static_cast<size_t>(at - places.begin());
}

std::vector<Buffer*> arrays_of(const Design& design, std::span<const GivenArray> given,
                               std::span<const ArrayPlace> places) {
  std::vector<Buffer*> arrays(places.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const size_t place = place_of(design, given[i], {"arrays", i}, places);
    if (arrays[place])
      fail_argument("SYN-NETWORK-ARRAY", "arrays[%zu] has %s%s, which an array before it has", i,
                    name_of(given[i].role),
                    places[place].stage
                        ? std::string(" of stage \"").append(design.stages()[*places[place].stage].name + "\"").c_str()
                        : "");
    arrays[place] = given[i].buffer;
  }
  return arrays;
}

void fail_missing(const Design& design, const char* list, const ArrayPlace& place) {
  fail_argument("SYN-NETWORK-ARRAY", "%s has no %s of stage \"%s\", which needs them", list, name_of(place.role),
                design.stages()[*place.stage].name.c_str());
}

std::vector<ArrayPlace> data_places(const Design& design) {
  std::vector<ArrayPlace> places;
  for (const DataNeed& need : design.data_needs()) places.push_back({need.stage, need.role});
  places.push_back({std::nullopt, DataRole::lengths});
  places.push_back({std::nullopt, DataRole::sample_weights});
  return places;
}

NeededArrays needed_arrays(const Design& design, std::span<const GivenArray> given) {
  const std::vector<ArrayPlace> places = data_places(design);
  const size_t n_needs = places.size() - 2;
  std::vector<Buffer*> arrays = arrays_of(design, given, places);
  for (size_t i = 0; i < n_needs; ++i)
    if (!arrays[i]) fail_missing(design, "arrays", places[i]);
  Buffer *const lengths = arrays[n_needs], *const sample_weights = arrays[n_needs + 1];
  arrays.resize(n_needs);
  return {std::move(arrays), lengths, sample_weights};
}

namespace {

// Labels are for all stages that take labels, and targets likewise.
void check_roles(const Design& design, std::span<const DataNeed> needs, const DataArrays& given) {
  const auto first_of = [&](DataRole role) { return std::ranges::find(needs, role, &DataNeed::role); };
  for (const auto& [role, other] :
       {std::pair(DataRole::labels, DataRole::targets), std::pair(DataRole::targets, DataRole::labels)}) {
    const auto need = first_of(role), instead = first_of(other);
    const bool is_needed = need != needs.end(), is_given = given.of(role) != nullptr;
    if (is_needed == is_given || (!is_needed && instead == needs.end())) continue;
    fail_argument("SYN-NETWORK-DATA", "labels are %s and targets %s; stage \"%s\" needs %s, by its value \"targets\"",
                  given.labels ? "given" : "null", given.targets ? "given" : "null",
                  design.stages()[is_needed ? need->stage : instead->stage].name.c_str(),
                  name_of(is_needed ? role : other));
  }
}

}  // namespace

NeededArrays needed_arrays(const Design& design, const DataArrays& given) {
  const std::vector<DataNeed> needs = design.data_needs();
  check_roles(design, needs, given);
  NeededArrays needed = {{}, given.lengths, given.sample_weights};
  for (const DataNeed& need : needs) needed.arrays.push_back(given.of(need.role));
  return needed;
}

}  // namespace synfire::network
