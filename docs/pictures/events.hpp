// events.hpp - events of a bar that passes a line of pixels faster and faster, and the same events in bins.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_PICTURES_EVENTS_HPP
#define SYNFIRE_TOOLS_PICTURES_EVENTS_HPP

#include <string>
#include <synfire/synfire.hpp>

namespace synfire_pictures {

/// The picture as SVG: the events, binned by time, and by count.
std::string draw_events(const synfire::Context& context);

}  // namespace synfire_pictures

#endif
