// body.hpp - the simulated robot: two wheels, a round body, a laser that turns.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include "random.hpp"
#include "rooms.hpp"
#include "scan.hpp"

namespace robot {

inline constexpr double radius = 0.2;  // metres

/// The laser turns 50 times a second.
inline constexpr std::size_t steps_per_scan = 4;

class Body {
 public:
  explicit Body(const Rooms& rooms) : place(rooms.start), facing(rooms.facing) {}

  /// A step of the time: the wheels follow the command with a delay of 0.1 s.
  void step(const Command& command);

  /// Returns the distances that the laser sees now, with errors of up to 1 cm.
  Scan scan(const Rooms& rooms, Random& random) const;

  Vector place, facing;
  Command moves;  // what it does now
};

/// How far a drive is along the rooms.
class Progress {
 public:
  explicit Progress(const Rooms& rooms) : rooms_(rooms) {}

  /// Notes where the body is.
  void note(const Body& body);

  bool arrived() const { return door_ == rooms_.doors.size(); }
  bool touched() const { return touched_; }

  /// The next door.
  std::size_t door() const { return door_; }

 private:
  const Rooms& rooms_;
  std::size_t door_ = 0;
  bool touched_ = false;
};

}  // namespace robot
