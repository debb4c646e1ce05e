// rooms.cpp - see rooms.hpp.
//
// SPDX-License-Identifier: MIT
#include "rooms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "random.hpp"

namespace robot {
namespace {

constexpr std::size_t n_rooms = 5;
constexpr double smallest_room = 2.6, largest_room = 3.6;
constexpr double corner = 0.9;  // from the corner of a room to the middle of a door, at least

// The rooms are cells of a grid; its lines are drawn too.
constexpr std::size_t n_cells = 2 * n_rooms + 1;

struct Cell {
  std::size_t column, row;
};

bool same(Cell a, Cell b) {
  return a.column == b.column && a.row == b.row;
}

constexpr std::array<Vector, 4> directions = {{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};  // each a quarter to the left

Cell beside(Cell cell, std::size_t side) {
  constexpr std::array<std::size_t, 4> columns = {1, 0, static_cast<std::size_t>(-1), 0},
                                       rows = {0, 1, 0, static_cast<std::size_t>(-1)};
  return {cell.column + columns.at(side), cell.row + rows.at(side)};  // modulo 2^n
}

struct Grid {
  std::array<double, n_cells + 1> x{}, y{};

  explicit Grid(Random& random) {
    for (std::size_t i = 0; i < n_cells; ++i) {
      x.at(i + 1) = x.at(i) + random.number(smallest_room, largest_room);
      y.at(i + 1) = y.at(i) + random.number(smallest_room, largest_room);
    }
  }

  Wall wall(Cell cell, std::size_t side) const {
    const double left = x.at(cell.column), right = x.at(cell.column + 1), low = y.at(cell.row),
                 high = y.at(cell.row + 1);
    switch (side) {
      case 0:
        return {{right, low}, {right, high}};
      case 1:
        return {{left, high}, {right, high}};
      case 2:
        return {{left, low}, {left, high}};
      default:
        return {{left, low}, {right, low}};
    }
  }
};

// The cells in the order in which the robot visits them, none twice; the last one is outside.
std::vector<Cell> draw_way(Random& random) {
  std::vector<Cell> way = {{n_rooms, n_rooms}};
  while (way.size() <= n_rooms) {
    const Cell next = beside(way.back(), random.below(4));
    if (std::none_of(way.begin(), way.end(), [&](Cell cell) { return same(cell, next); })) way.push_back(next);
  }
  return way;
}

void add_door(Rooms& rooms, const Wall& wall, Vector out, Random& random) {
  const Vector along = wall.to - wall.from;
  const double length = std::max(along.x, along.y), middle = random.number(corner, length - corner);
  const auto at = [&](double distance) { return wall.from + (distance / length) * along; };
  rooms.walls.push_back({wall.from, at(middle - door_width / 2)});
  rooms.walls.push_back({at(middle + door_width / 2), wall.to});
  rooms.doors.push_back({at(middle), out});
}

}  // namespace

Rooms draw_rooms(std::uint64_t seed) {
  Random random(seed);
  const Grid grid(random);
  const std::vector<Cell> way = draw_way(random);
  Rooms rooms;
  for (std::size_t i = 0; i < n_rooms; ++i)
    for (std::size_t side = 0; side < directions.size(); ++side) {
      const Cell next = beside(way[i], side);
      const auto earlier = way.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::any_of(way.begin(), earlier, [&](Cell cell) { return same(cell, next); })) continue;  // has this wall
      if (same(next, way[i + 1]))
        add_door(rooms, grid.wall(way[i], side), directions.at(side), random);
      else
        rooms.walls.push_back(grid.wall(way[i], side));
    }
  const Wall east = grid.wall(way.front(), 0), south = grid.wall(way.front(), 3);
  rooms.start = 0.5 * (south.from + east.to) + Vector{random.number(-0.4, 0.4), random.number(-0.4, 0.4)};
  // Somewhere between a quarter to the left and a quarter to the right of the first door's wall.
  const Vector out = rooms.doors.front().out, left = {-out.y, out.x};
  const Vector facing = out + random.number(-1.5, 1.5) * left;
  rooms.facing = (1 / std::sqrt(dot(facing, facing))) * facing;
  return rooms;
}

double distance_to_walls(const Rooms& rooms, Vector place) {
  double least = HUGE_VAL;
  for (const Wall& wall : rooms.walls) {
    const Vector nearest = {std::clamp(place.x, wall.from.x, wall.to.x), std::clamp(place.y, wall.from.y, wall.to.y)};
    const Vector apart = place - nearest;
    least = std::min(least, dot(apart, apart));
  }
  return std::sqrt(least);
}

double distance_along(const Rooms& rooms, Vector place, Vector direction, double most) {
  for (const Wall& wall : rooms.walls) {
    const Vector along = wall.to - wall.from, apart = wall.from - place;
    const double turned = cross(direction, along);
    if (turned == 0) continue;
    const double distance = cross(apart, along) / turned, share = cross(apart, direction) / turned;
    if (distance >= 0 && distance < most && share >= 0 && share <= 1) most = distance;
  }
  return most;
}

}  // namespace robot
