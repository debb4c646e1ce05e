// run.hpp - runs in stepped time: faster than the clock.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "brain.hpp"
#include "cart.hpp"
#include "pushes.hpp"

namespace balance {

/// Pushes, in newtons: those of the training are at most the first. Those of runs are stronger than any of them.
inline constexpr double learnt_push = 0.5, weakest_push = 0.6, strongest_push = 0.8;

struct Moment {
  State state;
  double force, push;
};

struct Run {
  std::vector<Moment> moments;  // one for each step
  bool fallen = false;
};

/// Who chooses the force.
using Control = std::function<double(const State&)>;

/// Places the cart and pushes the pole as drawn from the seed, until it falls or `steps` are over.
Run run(Cart& cart, const Control& control, std::uint64_t seed, std::size_t steps);

/// The brain, which forgets everything before each step if `forgets`.
Control control_of(Brain& brain, bool forgets);

/// The state that a run of this seed begins with.
State draw_state(learning::Random& random);

}  // namespace balance
