// eye.hpp - the simulated event camera (camera.h of docs/examples/events) as all parts of the program use it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "camera.h"
#include "hand.hpp"

namespace gestures {

class Eye {
 public:
  /// A camera whose thresholds follow from the seed. `noise` is how many events a pixel sends without a cause per
  /// second.
  Eye(double noise, std::uint64_t seed) : camera_(nullptr, &camera_destroy) {
    const camera_settings settings = {side, side, 0.2, 0.15, noise, 500, seed};
    camera_.reset(camera_create(&settings));
    if (!camera_) throw std::runtime_error("no memory for a camera");
  }

  /// Looks at an image and appends the events since the last look.
  void look(const Image& image, std::uint64_t microseconds, std::vector<std::uint64_t>& events) {
    const std::uint64_t* sent = nullptr;
    std::size_t n_sent = 0;
    if (!camera_look(camera_.get(), image.data(), microseconds, &sent, &n_sent))
      throw std::runtime_error("no memory for the camera's events");
    events.insert(events.end(), sent, sent + n_sent);
  }

 private:
  std::unique_ptr<camera, void (*)(camera*)> camera_;
};

}  // namespace gestures
