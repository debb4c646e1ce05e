// drive.cpp - see drive.hpp.
//
// SPDX-License-Identifier: MIT
#include "drive.hpp"

#include "body.hpp"

namespace robot {

Drive drive(Brain& brain, std::uint64_t seed) {
  constexpr auto longest = static_cast<std::size_t>(longest_drive * steps_per_second);
  constexpr std::size_t steps_per_place = 40;
  Drive result;
  result.rooms = draw_rooms(seed);
  Body body(result.rooms);
  Progress progress(result.rooms);
  Random random(seed);
  Scan scan{};
  brain.reset();
  std::size_t t = 0;
  for (; t < longest && !progress.arrived() && !progress.touched(); ++t) {
    if (t % steps_per_scan == 0) scan = body.scan(result.rooms, random);
    if (t % steps_per_place == 0) result.path.push_back(body.place);
    body.step(brain.step(scan));
    progress.note(body);
  }
  result.path.push_back(body.place);
  result.arrived = progress.arrived();
  result.touched = progress.touched();
  result.seconds = static_cast<double>(t) / steps_per_second;
  return result;
}

}  // namespace robot
