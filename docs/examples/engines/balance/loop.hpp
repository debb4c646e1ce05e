// loop.hpp - a run by the clock: 500 steps a second, each of which is due at a point in time.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "run.hpp"

namespace balance {

/// How the loop kept its time.
struct Pace {
  std::size_t steps = 0;            // that were due
  std::size_t late = 0;             // of them: not done, or not even begun, when the next one was due
  std::vector<std::int64_t> times;  // from when a step was due until its force was there, in nanoseconds; sorted
};

/// Nanoseconds between two steps.
inline constexpr std::int64_t period = 2000000;

/// As run(), by the clock. A step that was missed leaves the motor as it was.
Run run_by_clock(Cart& cart, const Control& control, std::uint64_t seed, std::size_t steps, Pace& pace);

/// The smallest time that at least this share of them does not exceed, in microseconds; 0 without steps.
double percentile(const Pace& pace, double share);

}  // namespace balance
