// curves.hpp - a surrogate's derivative, and its primitive where it has one.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_PICTURES_CURVES_HPP
#define SYNFIRE_TOOLS_PICTURES_CURVES_HPP

#include <string>
#include <string_view>
#include <synfire/synfire.hpp>

namespace synfire_pictures {

/// The picture of a surrogate as SVG, computed in f64 by backward passes. Empty if there is no scene for a surrogate
/// of that name.
std::string draw_curves(const synfire::Context& context, std::string_view surrogate, std::int32_t id);

}  // namespace synfire_pictures

#endif
