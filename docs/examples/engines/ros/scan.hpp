// scan.hpp - what goes into the brain and what comes out of it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

namespace robot {

/// Beams of a scan, from the right to the left, and their angles in radians: 120 degrees to each side.
inline constexpr std::size_t n_beams = 61;
inline constexpr double first_angle = -2.0943951023931953, angle_step = 0.06981317007977318;

/// The laser sees as far as this, in metres.
inline constexpr double farthest = 5;

/// The rate of the brain, and of the simulation.
inline constexpr double steps_per_second = 200;

/// Metres along each beam.
using Scan = std::array<float, n_beams>;

/// Takes what a laser has sent: a beam that is not a number keeps its range from before, and one without an echo, which
/// is infinite, is far. Throws std::runtime_error if the beams are not those above, and then keeps the scan.
void take_scan(const float* ranges, std::size_t n, double first, double step, Scan& scan);

/// Metres per second forward, and radians per second to the left.
struct Command {
  double forward = 0, turn = 0;
};

inline constexpr double fastest_forward = 0.6, fastest_turn = 1.5;

}  // namespace robot
