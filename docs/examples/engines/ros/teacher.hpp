// teacher.hpp - the controller that is known to be good. It sees everything: where the robot is, and where the doors
// are.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "body.hpp"
#include "rooms.hpp"
#include "scan.hpp"

namespace robot {

/// Steers towards a point on the axis of the next door, ahead of the robot: so it comes to the axis, and then along it.
Command teach(const Rooms& rooms, const Body& body, const Progress& progress);

}  // namespace robot
