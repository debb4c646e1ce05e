// Models and surrogates that an application's build adds with synfire_add_model() of cmake/AddModel.cmake: their lists,
// their ids, and the checks of their headers. Without additions, both lists are empty. docs/pages/add-a-model.md has
// the rules for such headers, docs/examples/models/ examples.
#ifndef SYNFIRE_MODEL_ADDED_HPP
#define SYNFIRE_MODEL_ADDED_HPP

#include "dual.hpp"
#include "layout.hpp"
#include "list.hpp"
#include "recursion.hpp"

// How messages of the checks below begin.
#if defined(SYNFIRE_LOADED)
#define SYNFIRE_ADDED_BY "the text"
#else
#define SYNFIRE_ADDED_BY "synfire_add_model"
#endif

namespace synfire::model {

// The first id of added models, and of added surrogates. Each kind is numbered in the order of addition.
inline constexpr int first_added_id = 1000;

}  // namespace synfire::model

SYNFIRE_MODEL_BEGIN

// The structs of the added headers, in order.
template <class... T>
struct Types {};

SYNFIRE_MODEL_END

#if defined(SYNFIRE_ADDED_MODELS)
#include <synfire/added_models.hpp>  // generated; it includes the headers and defines AddedTypes
#else
SYNFIRE_MODEL_BEGIN
using AddedTypes = Types<>;
SYNFIRE_MODEL_END
#endif

SYNFIRE_MODEL_BEGIN

// ---- What a header is -----------------------------------------------------------------------------------------------

// clang-format 14 breaks requires-expressions over several lines, so it is off around them.
// clang-format off
template <class T>
concept HasCharge = requires(const float* c, float x) { T::charge(c, x, x); } ||
                    requires(const float* c, float x) { T::charge(c, x, x, x); } ||
                    requires(const float* c, float x) { T::charge(c, x, x, x, x); } ||
                    requires(const float* c, float x) { T::charge(c, x, x, x, x, x); };
// A charge with as many arguments as the model has variables.
template <class T>
concept HasOwnCharge = (T::n_states == 1 && requires(const float* c, float x) { T::charge(c, x, x); }) ||
                       (T::n_states == 2 && requires(const float* c, float x) { T::charge(c, x, x, x); }) ||
                       (T::n_states == 3 && requires(const float* c, float x) { T::charge(c, x, x, x, x); }) ||
                       (T::n_states == 4 && requires(const float* c, float x) { T::charge(c, x, x, x, x, x); });
// Further variable K has a function, in the short or the full form.
template <class T, int K>
concept HasAdapt = AdaptsAlone<T, K> ||
                   (T::n_states == 2 && requires(const float* c, float x) { adapted<T, K>(c, x, x, x, x, x); }) ||
                   (T::n_states == 3 && requires(const float* c, float x) { adapted<T, K>(c, x, x, x, x, x, x); }) ||
                   (T::n_states == 4 && requires(const float* c, float x) { adapted<T, K>(c, x, x, x, x, x, x, x); });
template <class T>
concept NamesThreshold = requires { &T::threshold; } || requires(const float* c, float x) { T::threshold(c, x); } ||
                         requires(const float* c, float x) { T::threshold(c, x, x); } ||
                         requires(const float* c, float x) { T::threshold(c, x, x, x); } ||
                         requires(const float* c, float x) { T::threshold(c, x, x, x, x); };
template <class T>
concept HasOwnDerivative = requires(const float* c, float x) { T::derivative(c, x); };
template <class T>
concept HasPrimitive = requires(const float* c, float x) { T::primitive(c, x); };
template <class T>
concept HasDerivative = HasOwnDerivative<T> || HasPrimitive<T>;
// clang-format on

// A surrogate with a derivative: its own, or that of its smooth primitive by dual numbers. Where the latter is not finite
// (as at infinity, or at a corner), and for a NaN, it is 0.
template <class T>
struct Differentiated : T {
  template <class R>
  static SYNFIRE_MODEL_FN R derivative(const R* constants, R x) {
    Dual<R, Zero> c[T::n_constants];
    for (int k = 0; k < T::n_constants; ++k) c[k] = constant(constants[k]);
    const R slope = number<R>(T::primitive(static_cast<const Dual<R, Zero>*>(c), variable(x)).derivative);
    return absolute(slope) <= largest_finite(R()) ? slope : R(0);
  }

 private:
  static SYNFIRE_MODEL_FN float largest_finite(float) { return 3.4028234663852886e38f; }
  static SYNFIRE_MODEL_FN double largest_finite(double) { return unbounded; }
};
template <class T>
struct WithDerivative {
  using type = Differentiated<T>;
};
template <class T>
  requires HasOwnDerivative<T>
struct WithDerivative<T> {
  using type = T;
};

// ---- Names and ranges -----------------------------------------------------------------------------------------------

constexpr bool same_text(const char* a, const char* b) {
  if (!a || !b) return false;
  for (; *a && *a == *b; ++a) ++b;
  return *a == *b;
}

// A letter, followed by letters, digits and underscores.
constexpr bool is_name(const char* text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!text || !is_letter(*text)) return false;
  for (; *text; ++text)
    if (!is_letter(*text) && *text != '_' && !(*text >= '0' && *text <= '9')) return false;
  return true;
}

constexpr bool is_finite(double x) {
  return x >= -unbounded && x <= unbounded;
}

// How many parameters have this name.
template <class T>
constexpr int count_parameter(const char* name) {
  int count = 0;
  for (int i = 0; i < T::n_parameters; ++i)
    count +=
        (same_text(T::parameters[i].name, name) ? 1 : 0) + (same_text(T::parameters[i].reciprocal_name, name) ? 1 : 0);
  return count;
}

template <class T>
constexpr bool parameters_have_names() {
  for (int i = 0; i < T::n_parameters; ++i)
    if (!is_name(T::parameters[i].name) ||
        (T::parameters[i].reciprocal_name && !is_name(T::parameters[i].reciprocal_name)))
      return false;
  return true;
}

template <class T>
constexpr bool parameters_are_distinct() {
  for (int i = 0; i < T::n_parameters; ++i) {
    const ParameterSpec& p = T::parameters[i];
    if (count_parameter<T>(p.name) != 1 || (p.reciprocal_name && count_parameter<T>(p.reciprocal_name) != 1))
      return false;
  }
  return count_parameter<T>(v_threshold_parameter.name) == 0 && count_parameter<T>(v_reset_parameter.name) == 0;
}

template <class T>
constexpr bool ranges_hold_defaults() {
  for (int i = 0; i < T::n_parameters; ++i) {
    const ParameterSpec& p = T::parameters[i];
    if (!is_finite(p.minimum) || !is_finite(p.maximum) || !is_finite(p.default_value)) return false;
    if (p.minimum >= p.maximum || p.default_value > p.maximum) return false;
    if (p.open_range ? p.default_value <= p.minimum : p.default_value < p.minimum) return false;
    if (p.reciprocal_name && p.minimum <= 0 && !(p.minimum == 0 && p.open_range)) return false;
  }
  return true;
}

template <class T>
constexpr int count_slope_rows() {
  int rows = 0;
  for (int i = 0; i < T::n_parameters; ++i) rows += T::parameters[i].reciprocal_name ? 2 : 1;
  return rows;
}

// V is "v", no other variable is called "v" and only the second "w", and all names differ.
template <class T>
constexpr bool states_have_names() {
  if constexpr (requires { T::states[0]; }) {
    if (!same_text(T::states[0], "v")) return false;
    for (int i = 1; i < T::n_states; ++i) {
      if (!is_name(T::states[i]) || (i > 1 && same_text(T::states[i], "w"))) return false;
      for (int j = 0; j < i; ++j)
        if (same_text(T::states[i], T::states[j])) return false;
    }
    return true;
  } else {
    return T::n_states < 3;
  }
}

template <class... Entries>
constexpr int count_name(List<Entries...>, const char* name) {
  return ((same_text(Entries::type::name, name) ? 1 : 0) + ... + 0);
}

// True if T and an entry of the list share the name of a parameter.
template <class T, class... Entries>
constexpr bool shares_parameter(List<Entries...>) {
  bool shares = false;
  const auto with = [&](auto entry) {
    using Other = typename decltype(entry)::type;
    for (int i = 0; i < T::n_parameters; ++i) {
      const ParameterSpec& p = T::parameters[i];
      shares =
          shares || count_parameter<Other>(p.name) || (p.reciprocal_name && count_parameter<Other>(p.reciprocal_name));
    }
  };
  (with(Entries{}), ...);
  return shares;
}

// ---- Checks, one after the other so that the first message is the one that helps ------------------------------------

template <class T>
struct IsAddable {
  static_assert(HasCharge<T> || HasDerivative<T>, SYNFIRE_ADDED_BY
                ": the struct has neither charge(constants, v, x), which makes it a model, nor "
                "derivative(constants, x) or primitive(constants, x), which make it a surrogate");
  static_assert(!(HasCharge<T> && HasDerivative<T>),
                SYNFIRE_ADDED_BY ": the struct has charge() and derivative(); a header adds a model or a surrogate");
  // clang-format off
  static_assert(requires { T::name; }, SYNFIRE_ADDED_BY ": the struct has no `static constexpr const char* name`");
  static_assert(requires { T::n_parameters; T::parameters; },
                SYNFIRE_ADDED_BY ": the struct has no `n_parameters` or no `parameters`");
  static_assert(requires { T::n_constants; }, SYNFIRE_ADDED_BY ": the struct has no `n_constants`");
  // clang-format on
  static constexpr bool value = true;
};

template <class T>
struct IsWellFormed {
  static_assert(is_name(T::name), SYNFIRE_ADDED_BY ": `name` must be letters, digits and underscores after a letter");
  static_assert(parameters_have_names<T>(),
                SYNFIRE_ADDED_BY ": a parameter's name must be letters, digits and underscores after a letter");
  static_assert(parameters_are_distinct<T>(),
                SYNFIRE_ADDED_BY ": two parameters share a name, or one is called v_threshold or v_reset");
  static_assert(ranges_hold_defaults<T>(), SYNFIRE_ADDED_BY
                ": bad range: a parameter needs finite minimum < maximum with its default inside, and "
                "a minimum > 0 (or an open range from 0) where it has a reciprocal name");
  static constexpr bool value = true;
};

template <class T>
struct IsModel : IsWellFormed<T> {
  // clang-format off
  static_assert(requires { T::n_states; T::default_v_reset; T::has_input_decay; },
                SYNFIRE_ADDED_BY ": a model needs `n_states`, `default_v_reset` and `has_input_decay`");
  // clang-format on
  static_assert(T::n_states >= 1 && T::n_states <= max_states,
                SYNFIRE_ADDED_BY ": `n_states` must be 1 (V), 2 (V and W), 3 or 4 (max_states)");
  static_assert(states_have_names<T>(), SYNFIRE_ADDED_BY
                ": a model with three or four variables has `states`, an array of n_states different "
                "names, of which the first is \"v\"; only the second may be \"w\"");
  static_assert(HasOwnCharge<T>, SYNFIRE_ADDED_BY
                ": charge() takes the constants, a number for each of the `n_states` variables, and x");
  static_assert(T::n_states < 2 || HasAdapt<T, 1>, SYNFIRE_ADDED_BY
                ": a model with a second variable has adapt(constants, w, h, s), or "
                "adapt(constants, v, w, ..., x, h, s) with all of its variables");
  static_assert(T::n_states < 3 || HasAdapt<T, 2>, SYNFIRE_ADDED_BY
                ": a model with a third variable has adapt_third(constants, u, h, s), or "
                "adapt_third(constants, v, w, ..., x, h, s) with all of its variables");
  static_assert(T::n_states < 4 || HasAdapt<T, 3>, SYNFIRE_ADDED_BY
                ": a model with a fourth variable has adapt_fourth(constants, u, h, s), or "
                "adapt_fourth(constants, v, w, ..., x, h, s) with all of its variables");
  static_assert(
      !NamesThreshold<T> || AdaptsThreshold<T>, SYNFIRE_ADDED_BY
      ": threshold() takes the constants, v_threshold and a number for each variable but V, of which there is "
      "at least one");
  static_assert(!NamesThreshold<T> || !is_silent<T>, SYNFIRE_ADDED_BY ": a model that never fires has no threshold()");
  static_assert(is_finite(T::default_v_reset), SYNFIRE_ADDED_BY ": `default_v_reset` must be finite");
  static_assert(T::n_constants >= 0 && T::n_constants <= max_model_constants,
                SYNFIRE_ADDED_BY ": a model has at most 8 constants (max_model_constants)");
  static_assert(count_slope_rows<T>() <= max_slope_rows,
                SYNFIRE_ADDED_BY ": a model has at most 8 parameters, reciprocal names counted (max_slope_rows)");
  static constexpr bool value = true;
};

template <class T>
struct IsSurrogate : IsWellFormed<T> {
  static_assert(T::n_constants >= 1 && T::n_constants <= max_surrogate_constants,
                SYNFIRE_ADDED_BY ": a surrogate has 1 to 4 constants (max_surrogate_constants)");
  static_assert(T::n_parameters <= max_surrogate_constants, SYNFIRE_ADDED_BY ": a surrogate has at most 4 parameters");
  static constexpr bool value = true;
};

// T must be distinct from all entries of its own kind (`All`) and share no parameter name with the other kind
// (`Others`).
template <class T, class All, class Others>
struct IsDistinct {
  static_assert(count_name(All{}, T::name) == 1,
                SYNFIRE_ADDED_BY ": duplicate name: another model or surrogate of this library has the same `name`");
  static_assert(!shares_parameter<T>(Others{}), SYNFIRE_ADDED_BY
                ": a model and a surrogate share the name of a parameter, which could then not be set "
                "in a layer that has both");
  static constexpr bool value = true;
};

// ---- The lists ------------------------------------------------------------------------------------------------------

template <class Models, class Surrogates, class... Left>
struct Sort {
  using models = Models;
  using surrogates = Surrogates;
};
template <class... M, class... S, class T, class... Left>
  requires(HasCharge<T>)
struct Sort<List<M...>, List<S...>, T, Left...>
    : Sort<List<M..., Entry<first_added_id + int(sizeof...(M)), T>>, List<S...>, Left...> {
  static_assert(IsModel<T>::value);
};
template <class... M, class... S, class T, class... Left>
  requires(!HasCharge<T>)
struct Sort<List<M...>, List<S...>, T, Left...>
    : Sort<List<M...>, List<S..., Entry<first_added_id + int(sizeof...(S)), typename WithDerivative<T>::type>>,
           Left...> {
  static_assert(IsSurrogate<T>::value);
};

template <class T>
struct SortAdded;
template <class... T>
struct SortAdded<Types<T...>> : Sort<List<>, List<>, T...> {
  static_assert((IsAddable<T>::value && ... && true));
};

using AddedModels = SortAdded<AddedTypes>::models;
using AddedSurrogates = SortAdded<AddedTypes>::surrogates;

template <class All, class Others, class... Entries>
constexpr bool are_distinct(List<Entries...>) {
  return (IsDistinct<typename Entries::type, All, Others>::value && ... && true);
}

SYNFIRE_MODEL_END

#endif
