// live.hpp - a network names gestures millisecond by millisecond: of a recording, or of a hand before the simulated
// camera.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <synfire/synfire.hpp>

namespace gestures {

struct Live {
  std::string recording;  // empty: a hand moves before the simulated camera
  std::size_t seconds = 10;
  std::uint64_t seed = 1;
  bool realtime = false;
  bool spins = false;
};

/// Prints each name when it changes, and at the end how long a name took, and how often one was late or wrong.
void name_live(const synfire::Context& context, const std::string& network, const Live& live);

/// Writes what the simulated camera sends as a recording.
void record_live(const std::string& file, const Live& live);

}  // namespace gestures
