#include "constant_names.hpp"

#include <base/dtype.hpp>
#include <neurons/loaded.hpp>

#include <algorithm>

namespace synfire::network {

using namespace synfire::core;

std::optional<int32_t> ConstantNames::find(std::string_view name, const Context& context) const {
  if (find_) return find_(name, context);
  const auto at = std::ranges::find(list_, name, [](const char* one) { return std::string_view(one); });
  if (at == list_.end()) return std::nullopt;
  return static_cast<int32_t>(at - list_.begin());
}

std::string ConstantNames::known() const {
  if (known_) return known_();
  std::string text;
  for (const char* const one : list_) text.append(text.empty() ? "" : ", ").append(one);
  return text;
}

namespace {

// "time_bits" of SYNFIRE_DTYPE_TIME_BITS.
std::string lower_case_of(const DtypeRow& row) {
  std::string text = row.symbol;
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::optional<int32_t> find_dtype(std::string_view name, const Context&) {
  for (const DtypeRow& row : dtypes)
    if (lower_case_of(row) == name) return row.dtype;
  return std::nullopt;
}
std::string known_dtypes() {
  std::string text;
  for (const DtypeRow& row : dtypes) text.append(text.empty() ? "" : ", ").append(lower_case_of(row));
  return text;
}

std::optional<int32_t> model_of(std::string_view name, const Context& context) {
  if (const FoundModel model = find_model(name, context)) return model->id;
  return std::nullopt;
}
std::optional<int32_t> surrogate_of(std::string_view name, const Context& context) {
  if (const FoundSurrogate surrogate = find_surrogate(name, context)) return surrogate->id;
  return std::nullopt;
}

constexpr const char* initialization_list[] = {"uniform", "normal", "zero"};
constexpr const char* reset_list[] = {"hard", "soft", "soft_delayed"};
constexpr const char* tape_list[] = {"recompute", "none", "store", "store_narrow"};

}  // namespace

namespace names {

constinit const ConstantNames dtypes(find_dtype, known_dtypes);
constinit const ConstantNames initializations{initialization_list};
constinit const ConstantNames models(model_of, [] { return std::string(model_names()); });
constinit const ConstantNames resets{reset_list};
constinit const ConstantNames surrogates(surrogate_of, [] { return std::string(surrogate_names()); });
constinit const ConstantNames tapes{tape_list};

}  // namespace names

}  // namespace synfire::network
