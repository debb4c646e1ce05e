// Descriptions of models and surrogates as plain data. A text that was compiled at run time passes its own to the
// library, from the host and from a GPU alike.
#ifndef SYNFIRE_MODEL_DESCRIBE_HPP
#define SYNFIRE_MODEL_DESCRIBE_HPP

#include "added.hpp"
#include "recursion.hpp"

namespace synfire::model {

// Bytes of a name and of a unit, with the terminating null.
inline constexpr int name_bytes = 64;
inline constexpr int unit_bytes = 32;

struct DescribedParameter {
  char name[name_bytes];
  char reciprocal_name[name_bytes];  // empty if there is none
  char unit[unit_bytes];
  char reciprocal_unit[unit_bytes];
  double default_value, minimum, maximum;
  int open_range;
};

struct Description {
  int bytes;  // sizeof, by which the library knows it
  int is_model;
  char name[name_bytes];
  int n_states, n_parameters, n_constants;
  char states[max_states][name_bytes];
  double default_v_reset;
  int has_input_decay, slope_reads_input, slope_reads_w, many_instructions, follows_input, never_fires, rational,
      adapts_threshold;
  DescribedParameter parameters[max_slope_rows];
};

inline constexpr int checked_primitive = 4, checked_threshold = 5;

// The result of a check of its functions (check.hpp).
struct CheckResult {
  // The largest |derivative − central difference| / (1 + |derivative|), in f64, and of what: of H (0), of further
  // variable 1 to 3, of the surrogate's primitive (4), of the threshold (5); along a variable of recursion.hpp, or
  // parameter p as 100 + p.
  double largest_error;
  int worst_function, worst_along;
  long long n_samples;
  long long n_non_finite;  // values and derivatives in f32 that are infinite or not a number
  // Slopes that depend on X, or on a further variable, though the model says that none does.
  int wrong_slope_reads_input, wrong_slope_reads_w;
};

}  // namespace synfire::model

SYNFIRE_MODEL_BEGIN

template <class T>
inline constexpr bool has_many_instructions = false;
template <class T>
  requires requires {
    T::many_instructions;
  }
inline constexpr bool has_many_instructions<T> = T::many_instructions;

template <class T>
inline constexpr bool says_rational = false;
template <class T>
  requires requires {
    T::rational;
  }
inline constexpr bool says_rational<T> = T::rational;

constexpr int text_length(const char* text) {
  int length = 0;
  if (text)
    while (text[length]) ++length;
  return length;
}

template <int n>
constexpr void copy_text(char (&to)[n], const char* from) {
  for (int i = 0; i < text_length(from); ++i) to[i] = from[i];
}

// True if all names and units fit.
template <class T>
constexpr bool names_fit() {
  bool fit = text_length(T::name) < name_bytes;
  for (int i = 0; i < T::n_parameters; ++i) {
    const ParameterSpec& p = T::parameters[i];
    fit = fit && text_length(p.name) < name_bytes && text_length(p.reciprocal_name) < name_bytes &&
          text_length(p.unit) < unit_bytes && text_length(p.reciprocal_unit) < unit_bytes;
  }
  return fit;
}

template <class T>
constexpr Description describe() {
  static_assert(names_fit<T>(), SYNFIRE_ADDED_BY ": names have at most 63 characters, units 31");
  Description d = {};
  d.bytes = static_cast<int>(sizeof(Description));
  d.is_model = HasCharge<T> ? 1 : 0;
  copy_text(d.name, T::name);
  d.n_parameters = T::n_parameters;
  d.n_constants = T::n_constants;
  d.rational = says_rational<T> ? 1 : 0;
  for (int i = 0; i < T::n_parameters; ++i) {
    const ParameterSpec& p = T::parameters[i];
    copy_text(d.parameters[i].name, p.name);
    copy_text(d.parameters[i].reciprocal_name, p.reciprocal_name);
    copy_text(d.parameters[i].unit, p.unit);
    copy_text(d.parameters[i].reciprocal_unit, p.reciprocal_unit);
    d.parameters[i].default_value = p.default_value;
    d.parameters[i].minimum = p.minimum;
    d.parameters[i].maximum = p.maximum;
    d.parameters[i].open_range = p.open_range ? 1 : 0;
  }
  if constexpr (HasCharge<T>) {
    d.n_states = T::n_states;
    for (int i = 0; i < T::n_states; ++i) copy_text(d.states[i], state_name<T>(i));
    d.default_v_reset = T::default_v_reset;
    d.has_input_decay = T::has_input_decay ? 1 : 0;
    d.slope_reads_input = slope_reads_input<T> ? 1 : 0;
    d.slope_reads_w = slope_reads_w<T> ? 1 : 0;
    d.many_instructions = has_many_instructions<T> ? 1 : 0;
    d.follows_input = follows_input<T>() ? 1 : 0;
    d.never_fires = is_silent<T> ? 1 : 0;
    d.adapts_threshold = AdaptsThreshold<T> ? 1 : 0;
  }
  return d;
}

SYNFIRE_MODEL_END

#endif
