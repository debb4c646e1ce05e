// rooms.hpp - a row of rooms with doors between them, drawn at random from a seed. Lengths are in metres.
//
// All that the drives compute is sums, products, quotients and square roots of doubles, which have the same bits on
// every machine: so does what is learnt from them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace robot {

struct Vector {
  double x = 0, y = 0;
};

inline Vector operator+(Vector a, Vector b) {
  return {a.x + b.x, a.y + b.y};
}
inline Vector operator-(Vector a, Vector b) {
  return {a.x - b.x, a.y - b.y};
}
inline Vector operator*(double factor, Vector a) {
  return {factor * a.x, factor * a.y};
}
inline double dot(Vector a, Vector b) {
  return a.x * b.x + a.y * b.y;
}
inline double cross(Vector a, Vector b) {
  return a.x * b.y - a.y * b.x;
}

/// From end to end along x or along y.
struct Wall {
  Vector from, to;
};

struct Door {
  Vector middle;
  Vector out;  // the direction in which the robot passes it
};

struct Rooms {
  std::vector<Wall> walls;
  std::vector<Door> doors;  // one after the other; the last one leads outside
  Vector start;
  Vector facing;  // the direction in which the robot begins
};

inline constexpr double door_width = 1.0;

/// Five rooms of 2.6 to 3.6 m, each entered by one door and left by another one, which is in any of the other walls.
Rooms draw_rooms(std::uint64_t seed);

/// How far it is from a place to the nearest wall.
double distance_to_walls(const Rooms& rooms, Vector place);

/// How far it is from a place to the first wall in a direction, at most `most`.
double distance_along(const Rooms& rooms, Vector place, Vector direction, double most);

}  // namespace robot
