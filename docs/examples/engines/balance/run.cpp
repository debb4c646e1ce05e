// run.cpp - see run.hpp.
//
// SPDX-License-Identifier: MIT
#include "run.hpp"

namespace balance {

State draw_state(learning::Random& random) {
  return {draw(random, -0.3, 0.3), draw(random, -0.1, 0.1), draw(random, -0.2, 0.2), draw(random, -0.2, 0.2)};
}

// [run]
Run run(Cart& cart, const Control& control, std::uint64_t seed, std::size_t steps) {
  learning::Random random(seed);
  Pushes pushes(random, weakest_push, strongest_push);
  cart.place(draw_state(random));
  Run result;
  for (std::size_t t = 0; t < steps && !result.fallen; ++t) {
    const State state = cart.state();
    const double force = control(state), push = pushes.next();
    result.moments.push_back({state, force, push});
    cart.step(force, push);
    result.fallen = fell(cart.state());
  }
  return result;
}
// [run]

Control control_of(Brain& brain, bool forgets) {
  brain.reset();
  return [&brain, forgets](const State& state) {
    if (forgets) brain.reset();
    return brain.step(state);
  };
}

}  // namespace balance
