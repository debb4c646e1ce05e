// names.hpp - the names that the tools share: models, surrogates, backends.
//
// The library's own lists (synfire/model/models.hpp) as tables of names and ids.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_NAMES_NAMES_HPP
#define SYNFIRE_TOOLS_NAMES_NAMES_HPP

#include <synfire/synfire.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <synfire/model/models.hpp>

namespace synfire_tools {

struct NamedId {
  std::string_view name;
  std::int32_t id;
};

template <typename... Entries>
constexpr std::array<NamedId, sizeof...(Entries)> names_of(synfire::model::List<Entries...>) {
  return {NamedId{Entries::type::name, Entries::id}...};
}

// True for a model that never fires.
template <typename... Entries>
constexpr bool is_silent(synfire::model::List<Entries...>, std::int32_t model) {
  return ((Entries::id == model && synfire::model::is_silent<typename Entries::type>) || ...);
}
constexpr bool is_silent(std::int32_t model) {
  return is_silent(synfire::model::Models{}, model);
}

inline constexpr auto models = names_of(synfire::model::Models{});
inline constexpr auto surrogates = names_of(synfire::model::Surrogates{});

inline constexpr NamedId backends[] = {
    {"auto", SYNFIRE_BACKEND_AUTO}, {"host", SYNFIRE_BACKEND_HOST}, {"cuda", SYNFIRE_BACKEND_CUDA}};

template <typename Table>
constexpr std::optional<std::int32_t> find_id(const Table& table, std::string_view name) {
  for (const NamedId& entry : table) {
    if (entry.name == name) return entry.id;
  }
  return std::nullopt;
}

}  // namespace synfire_tools

#endif
