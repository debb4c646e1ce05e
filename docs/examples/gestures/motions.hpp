// motions.hpp - the gestures: what a hand does, and how much what a camera sees of it differs.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hand.hpp"
#include "random.hpp"

namespace gestures {

enum Motion : std::uint32_t { left, right, up, down, clockwise, anticlockwise, closer, away, wave, rest };

inline constexpr std::array<const char*, 10> names = {"left",          "right",  "up",   "down", "clockwise",
                                                      "anticlockwise", "closer", "away", "wave", "rest"};

/// One gesture before one camera. Everything but the motion is drawn.
struct Scene {
  Motion motion;
  Shape shape;
  Light light;
  double speed;        // as a factor: a motion of speed 1 takes 320 ms
  double size;         // of the hand
  double x, y;         // where the middle of the motion is, in pixels
  double start;        // of circles and waves, in turns
  double noise;        // events of a pixel without a cause, per second
  std::uint64_t seed;  // of the camera
};

/// With `unseen`, speeds, sizes, lightings, shapes and noise from ranges from which the others are never drawn.
Scene draw_scene(Motion motion, bool unseen, learning::Random& random);

/// Seconds that the motion takes.
double duration(const Scene& scene);

/// The hand, some seconds after its motion began. Before and after it, it fades in and out where it is.
Pose pose_at(const Scene& scene, double seconds);

}  // namespace gestures
