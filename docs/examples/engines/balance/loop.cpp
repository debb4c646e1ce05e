// loop.cpp - see loop.hpp.
//
// SPDX-License-Identifier: MIT
#include "loop.hpp"

#include <algorithm>
#include <cmath>

#include "clock.h"

namespace balance {

// [loop]
Run run_by_clock(Cart& cart, const Control& control, std::uint64_t seed, std::size_t steps, Pace& pace) {
  learning::Random random(seed);
  Pushes pushes(random, weakest_push, strongest_push);
  cart.place(draw_state(random));
  Run result;
  result.moments.reserve(steps);
  pace.times.reserve(steps);
  double force = 0;
  const std::int64_t start = clock_now() + period;
  // A step is due at a point in time, not after a pause: one that woke late does not delay the next.
  for (std::size_t t = 0; t < steps && !result.fallen; ++t) {
    const std::int64_t due = start + static_cast<std::int64_t>(t) * period;
    clock_wait_until(due, false);
    const State state = cart.state();
    const bool missed = clock_now() - due >= period;  // the system ran something else: this step is lost, and late
    if (!missed) {
      force = control(state);
      pace.times.push_back(clock_now() - due);
    }
    ++pace.steps;
    pace.late += missed || pace.times.back() > period ? 1U : 0U;
    const double push = pushes.next();
    result.moments.push_back({state, force, push});
    cart.step(force, push);
    result.fallen = fell(cart.state());
  }
  std::sort(pace.times.begin(), pace.times.end());
  return result;
}
// [loop]

double percentile(const Pace& pace, double share) {
  if (pace.times.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(pace.times.size())));
  return static_cast<double>(pace.times.at(std::max<std::size_t>(rank, 1) - 1)) * 1e-3;
}

}  // namespace balance
