// hand.hpp - a hand, drawn as the light that a camera gets from it.
//
// All numbers are made of sums, products, quotients and square roots of doubles, in the order of the text and without
// fused multiply-adds, so that a picture has the same bits on every machine.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace gestures {

/// Rows and columns of the sensor.
inline constexpr std::size_t side = 24;

struct Point {
  double x, y;
};

/// The point on the circle of radius 1 after a number of turns, clockwise from the right: {cos, sin}.
Point on_circle(double turns);

/// The looks of a hand.
struct Shape {
  int fingers;   // 0 to 4; 0: a fist
  double thumb;  // 1: at the right, -1: at the left, 0: none
  double tilt;   // in turns
};

/// Where it is: the middle of the palm, in pixels from the middle of the sensor; its size, as a factor; and how much of
/// it is to be seen, from 0 to 1.
struct Pose {
  double x, y, size, visible;
};

/// The light: that of the background in the middle, by how much it grows from the left to the right and from the top to
/// the bottom, and how many times as bright as the background the hand is.
struct Light {
  double level, slope_x, slope_y, contrast;
};

using Image = std::vector<float>;  // [side, side]

/// Draws the hand.
void draw_hand(const Shape& shape, const Pose& pose, const Light& light, Image& image);

}  // namespace gestures
