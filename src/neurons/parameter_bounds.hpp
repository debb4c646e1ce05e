// The default bounds of a parameter in training.
#ifndef SYNFIRE_NEURONS_PARAMETER_BOUNDS_HPP
#define SYNFIRE_NEURONS_PARAMETER_BOUNDS_HPP

#include "parameters.hpp"

namespace synfire::core {

struct ParameterBounds {
  double lower, upper;  // infinite: none
};

// Bounds in the terms of the name; NaN is the default. A parameter that must be positive has default bounds, because
// gradients are 0 or infinite at the edge of its range, from where it cannot return. A time in steps stays from 1 to
// 10,000, so that a leak never overshoots; other such parameters stay within a factor of 1000 of their default value,
// which the bounds always include. All others have no bounds.
ParameterBounds trained_bounds(const ParameterSet& parameters, ParameterName name, ParameterBounds wanted);

}  // namespace synfire::core

#endif
