// cells.hpp - the cells of a population code: where each is active, and the spikes that neurons make of it.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_PICTURES_CELLS_HPP
#define SYNFIRE_TOOLS_PICTURES_CELLS_HPP

#include <string>
#include <synfire/synfire.hpp>

namespace synfire_pictures {

/// The picture as SVG: activities by x, and spikes of neurons that integrate them while x rises.
std::string draw_cells(const synfire::Context& context);

}  // namespace synfire_pictures

#endif
