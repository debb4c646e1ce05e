// hand.cpp - see hand.hpp.
//
// SPDX-License-Identifier: MIT
#include "hand.hpp"

#include <algorithm>
#include <cmath>

namespace gestures {
namespace {

// A bone with flesh: all points that are not farther than the radius from the line between its ends.
struct Bone {
  Point from, to;
  double radius;
};

// In pixels, of a hand of size 1, whose fingers point upwards and whose thumb is at the right.
constexpr Bone palm = {{0, 0}, {0, 1}, 2.6}, thumb = {{1.6, 0.8}, {4.4, -1.4}, 0.8};
constexpr std::array<Bone, 4> fingers = {{{{-1.9, -1.4}, {-3.2, -4.4}, 0.7},
                                          {{-0.6, -1.8}, {-1, -5.6}, 0.7},
                                          {{0.7, -1.8}, {1.1, -5.4}, 0.7},
                                          {{1.9, -1.4}, {3.1, -4.2}, 0.7}}};
constexpr double dark = 0.02;  // light that a pixel sees in the dark

double distance(const Point& p, const Bone& bone) {
  const double along_x = bone.to.x - bone.from.x, along_y = bone.to.y - bone.from.y;
  const double x = p.x - bone.from.x, y = p.y - bone.from.y;
  const double part = std::clamp((x * along_x + y * along_y) / (along_x * along_x + along_y * along_y), 0.0, 1.0);
  const double off_x = x - part * along_x, off_y = y - part * along_y;
  return std::sqrt(off_x * off_x + off_y * off_y) - bone.radius;
}

double distance(const Point& p, const Shape& shape) {
  double least = distance(p, palm);
  for (int i = 0; i < shape.fingers; ++i) least = std::min(least, distance(p, fingers.at(static_cast<std::size_t>(i))));
  if (shape.thumb != 0) least = std::min(least, distance({p.x * shape.thumb, p.y}, thumb));
  return least;
}

}  // namespace

Point on_circle(double turns) {
  // From -1/8 to 1/8 of a turn by the series, the other quarters by exchanging and negating.
  const double quarters = std::floor(4 * turns + 0.5);
  const double angle = 6.283185307179586 * (turns - quarters / 4), square = angle * angle;
  const double sine = angle * (1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72))));
  const double cosine = 1 - square / 2 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56)));
  switch (static_cast<int>(quarters - 4 * std::floor(quarters / 4))) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

void draw_hand(const Shape& shape, const Pose& pose, const Light& light, Image& image) {
  constexpr double middle = static_cast<double>(side) / 2;
  const Point turned = on_circle(shape.tilt);
  const double reach = 7.2 * pose.size + 1;
  image.resize(side * side);
  for (std::size_t row = 0; row < side; ++row)
    for (std::size_t column = 0; column < side; ++column) {
      const double x = static_cast<double>(column) + 0.5 - middle, y = static_cast<double>(row) + 0.5 - middle;
      const double background = light.level * (1 + light.slope_x * (x / middle) + light.slope_y * (y / middle));
      const double off_x = x - pose.x, off_y = y - pose.y;
      double part = 0;
      if (pose.visible > 0 && off_x * off_x + off_y * off_y < reach * reach) {
        const Point at = {(off_x * turned.x + off_y * turned.y) / pose.size,
                          (off_y * turned.x - off_x * turned.y) / pose.size};
        part = pose.visible * std::clamp(0.5 - pose.size * distance(at, shape), 0.0, 1.0);
      }
      image[row * side + column] = static_cast<float>(dark + background * (1 + part * (light.contrast - 1)));
    }
}

}  // namespace gestures
