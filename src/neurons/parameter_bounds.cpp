#include "parameter_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace synfire::core {

namespace {

// The bounds apply to the stored value.
ParameterBounds default_bounds(const model::ParameterSpec& spec) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double most_steps = 1e4, factor = 1e3;
  const double usual = spec.default_value;
  const std::string_view unit = spec.unit ? spec.unit : "";
  const bool above_zero = spec.minimum == 0 && spec.open_range;
  // Also a time that is at least a step, as in models with a current.
  if (unit == "steps" && (above_zero || spec.minimum > 0)) return {std::min(1.0, usual), std::max(most_steps, usual)};
  if (!above_zero) return {-infinity, infinity};
  if (unit == "1/steps") return {std::min(1 / most_steps, usual), std::max(1.0, usual)};
  return {usual / factor, usual * factor};
}

}  // namespace

ParameterBounds trained_bounds(const ParameterSet& parameters, ParameterName name, ParameterBounds wanted) {
  ParameterBounds usual = default_bounds(parameters.spec(name.index));
  if (name.reciprocal && std::isfinite(usual.lower)) usual = {1 / usual.upper, 1 / usual.lower};
  return {std::isnan(wanted.lower) ? usual.lower : wanted.lower, std::isnan(wanted.upper) ? usual.upper : wanted.upper};
}

}  // namespace synfire::core
