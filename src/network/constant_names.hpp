// Names of constants, for programs that describe a stage with texts: those of synfire.h in lower case, without their
// prefix; models and surrogates by their own names, loaded ones too.
#ifndef SYNFIRE_NETWORK_CONSTANT_NAMES_HPP
#define SYNFIRE_NETWORK_CONSTANT_NAMES_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace synfire::core {
class Context;
}  // namespace synfire::core

namespace synfire::network {

class ConstantNames {
 public:
  using Find = std::optional<int32_t> (*)(std::string_view name, const core::Context& context);
  using Known = std::string (*)();

  // Names of the constants from 0 on.
  constexpr explicit ConstantNames(std::span<const char* const> list) noexcept : list_(list) {}
  constexpr ConstantNames(Find find_one, Known list_all) noexcept : find_(find_one), known_(list_all) {}

  // The constant of this name, if there is one.
  std::optional<int32_t> find(std::string_view name, const core::Context& context) const;
  // All names, for texts.
  std::string known() const;

 private:
  std::span<const char* const> list_ = {};
  Find find_ = nullptr;
  Known known_ = nullptr;
};

namespace names {

extern const ConstantNames dtypes, initializations, models, resets, surrogates, tapes;

}  // namespace names

}  // namespace synfire::network

#endif
