// membrane.hpp - the response of a neuron to a step of input: X, H and V, S, and W if the model has one.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_PICTURES_MEMBRANE_HPP
#define SYNFIRE_TOOLS_PICTURES_MEMBRANE_HPP

#include <string>
#include <string_view>
#include <synfire/synfire.hpp>

namespace synfire_pictures {

/// The picture of a model as SVG, computed in f64. Empty if there is no scene for a model of that name.
std::string draw_membrane(const synfire::Context& context, std::string_view model, std::int32_t id);

}  // namespace synfire_pictures

#endif
