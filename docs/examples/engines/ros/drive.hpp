// drive.hpp - drives in stepped time: the same numbers on every machine, faster than the clock.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "brain.hpp"
#include "rooms.hpp"

namespace robot {

/// A drive ends after this many seconds at the latest.
inline constexpr double longest_drive = 90;

struct Drive {
  Rooms rooms;
  std::vector<Vector> path;  // five places a second
  bool arrived = false, touched = false;
  double seconds = 0;
};

/// Drives through the rooms of a seed.
Drive drive(Brain& brain, std::uint64_t seed);

}  // namespace robot
