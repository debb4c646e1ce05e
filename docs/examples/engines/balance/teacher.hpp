// teacher.hpp - the controller that is known to be good: a linear-quadratic regulator, which sees how fast everything
// moves. It tries out how the cart moves, and finds its gains from that.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "cart.hpp"

namespace balance {

class Teacher {
 public:
  /// Leaves the cart somewhere.
  explicit Teacher(Cart& cart);

  /// The force for a state.
  double force(const State& state) const;

 private:
  State gains_{};
};

}  // namespace balance
