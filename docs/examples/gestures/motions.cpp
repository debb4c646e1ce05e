// motions.cpp - see motions.hpp.
//
// SPDX-License-Identifier: MIT
#include "motions.hpp"

#include <algorithm>

namespace gestures {
namespace {

constexpr double usual_duration = 0.32, fading = 0.12;  // seconds

// From `least` to `most`.
double between(learning::Random& random, double least, double most) {
  return least + (most - least) * static_cast<double>(random.number());
}

// A range, and what lies beside it, on both sides or above, from which only what is unseen is drawn.
struct Range {
  double lowest, least, most, highest;
  double draw(bool unseen, learning::Random& random) const {
    if (!unseen) return between(random, least, most);
    return lowest < least && random.below(2) == 0 ? between(random, lowest, least) : between(random, most, highest);
  }
};

constexpr Range speeds = {0.7, 0.8, 1.25, 1.45}, sizes = {0.75, 0.85, 1.25, 1.4}, levels = {0.05, 0.1, 0.6, 1},
                contrasts = {1.7, 2, 3.5, 4.5}, noises = {0, 0, 1.5, 2.5}, slopes = {0, 0, 0.3, 0.5};

// There and back again, from 1 to -1.
double swing(double turns) {
  return on_circle(turns).x;
}

}  // namespace

Scene draw_scene(Motion motion, bool unseen, learning::Random& random) {
  Scene scene{};
  scene.motion = motion;
  scene.shape.fingers = unseen ? static_cast<int>(1 + 2 * random.below(2)) : static_cast<int>(2 * random.below(3));
  scene.shape.thumb = static_cast<double>(random.below(3)) - 1;
  scene.shape.tilt = between(random, -0.07, 0.07);
  scene.speed = speeds.draw(unseen, random);
  scene.size = sizes.draw(unseen, random);
  scene.light.level = levels.draw(unseen, random);
  scene.light.slope_x = slopes.draw(unseen, random) * (random.below(2) == 0 ? 1 : -1);
  scene.light.slope_y = slopes.draw(unseen, random) * (random.below(2) == 0 ? 1 : -1);
  scene.light.contrast = contrasts.draw(unseen, random);
  if (random.below(2) == 0) scene.light.contrast = 1 / scene.light.contrast;
  scene.noise = noises.draw(unseen, random);
  scene.x = between(random, -2, 2);
  scene.y = between(random, -2, 2);
  scene.start = between(random, 0, 1);
  scene.seed = static_cast<std::uint64_t>(random.below(1U << 31)) << 16 ^ random.below(1U << 31);
  return scene;
}

double duration(const Scene& scene) {
  return usual_duration / scene.speed;
}

Pose pose_at(const Scene& scene, double seconds) {
  constexpr double beyond = static_cast<double>(side) / 2 + 6, circle = 5.5, width = 5;
  const double end = duration(scene), part = std::clamp(seconds / end, 0.0, 1.0);
  const double outside = seconds < 0 ? -seconds : seconds > end ? seconds - end : 0;
  Pose pose{scene.x, scene.y, scene.size, std::max(0.0, 1 - outside / fading)};
  const double way = beyond * (2 * part - 1);
  switch (scene.motion) {
    case left:
      pose.x = -way;
      break;
    case right:
      pose.x = way;
      break;
    case up:
      pose.y = -way;
      break;
    case down:
      pose.y = way;
      break;
    case clockwise:
    case anticlockwise: {
      const Point at = on_circle(scene.start + (scene.motion == clockwise ? 1.25 : -1.25) * part);
      pose.x += circle * at.x;
      pose.y += circle * at.y;
      break;
    }
    case closer:
      pose.size *= 0.35 + 2 * part;
      break;
    case away:
      pose.size *= 2.35 - 2 * part;
      break;
    case wave:
      pose.x += width * swing(scene.start + 1.5 * part);
      break;
    case rest:
      pose.visible = scene.start < 0.25 ? 0 : 1;
      break;
  }
  return pose;
}

}  // namespace gestures
