// body.cpp - see body.hpp.
//
// SPDX-License-Identifier: MIT
#include "body.hpp"

#include <algorithm>
#include <cmath>

namespace robot {
namespace {

constexpr double wheels_delay = 0.1;  // seconds
constexpr double laser_error = 0.01;  // metres
constexpr double beyond_door = 0.35;  // metres: the body is through

// Turned to the left by 2 atan(t): no sines, which differ in their last bits from machine to machine.
Vector turn(Vector facing, double t) {
  const double c = (1 - t * t) / (1 + t * t), s = 2 * t / (1 + t * t);
  const Vector turned = {c * facing.x - s * facing.y, s * facing.x + c * facing.y};
  return (1 / std::sqrt(dot(turned, turned))) * turned;
}

}  // namespace

void Body::step(const Command& command) {
  constexpr double seconds = 1 / steps_per_second, share = seconds / wheels_delay;
  moves.forward += share * (std::clamp(command.forward, 0.0, fastest_forward) - moves.forward);
  moves.turn += share * (std::clamp(command.turn, -fastest_turn, fastest_turn) - moves.turn);
  facing = turn(facing, 0.5 * seconds * moves.turn);
  place = place + seconds * moves.forward * facing;
}

Scan Body::scan(const Rooms& rooms, Random& random) const {
  // From the middle to both sides: each beam is turned by the same angle, 2 atan(tangent), which is 4 degrees.
  constexpr double tangent = 0.03492076949174773;
  Scan scan{};
  std::array<Vector, n_beams> beams;
  beams[n_beams / 2] = facing;
  for (std::size_t i = n_beams / 2; i > 0; --i) {
    beams.at(i - 1) = turn(beams.at(i), -tangent);
    beams.at(n_beams - i) = turn(beams.at(n_beams - 1 - i), tangent);
  }
  for (std::size_t i = 0; i < n_beams; ++i)
    scan.at(i) = static_cast<float>(distance_along(rooms, place, beams.at(i), farthest) +
                                    random.number(-laser_error, laser_error));
  return scan;
}

void Progress::note(const Body& body) {
  touched_ = touched_ || distance_to_walls(rooms_, body.place) < radius;
  if (arrived()) return;
  const Door& next = rooms_.doors.at(door_);
  if (dot(body.place - next.middle, next.out) > beyond_door) ++door_;
}

}  // namespace robot
