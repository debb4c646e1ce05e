// Between which values a parameter is trained if the caller does not say.
#ifndef SYNFIRE_LAYER_PARAMETER_BOUNDS_HPP
#define SYNFIRE_LAYER_PARAMETER_BOUNDS_HPP

#include "parameters.hpp"

namespace synfire::core {

struct ParameterBounds {
  double lower, upper;  // infinite: none
};

// Bounds in the terms of the name, where NaN stands for a default. A parameter that must be positive has default
// bounds, because a step that takes it to the edge of its range leaves it where gradients are 0 or infinite, and it
// cannot come back. A time in steps stays from 1 to 10,000, so that a leak never overshoots; any other such parameter
// stays from a thousandth of its default value to a thousand times that; each includes the default value. Others have
// no bounds.
ParameterBounds trained_bounds(const ParameterSet& parameters, ParameterName name, ParameterBounds wanted);

}  // namespace synfire::core

#endif
