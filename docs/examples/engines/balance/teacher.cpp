// teacher.cpp - see teacher.hpp.
//
// SPDX-License-Identifier: MIT
#include "teacher.hpp"

#include <algorithm>

namespace balance {
namespace {

constexpr std::size_t n = BODY_STATES;
using Matrix = std::array<State, n>;

// The costs of a metre, a radian, and their changes per second, beside a newton. A metre costs so much that a force
// which is wrong by 1 N moves the cart by no more than 10 cm.
constexpr State costs = {100, 100, 1, 1};
constexpr double nudge = 1e-4;

State after(Cart& cart, const State& state, double force) {
  cart.place(state);
  cart.step(force, 0);
  return cart.state();
}

}  // namespace

// [teacher]
Teacher::Teacher(Cart& cart) {
  // Near the upright, a step is: state' = A state + b force.
  Matrix a{};
  for (std::size_t j = 0; j < n; ++j) {
    State more{}, less{};
    more.at(j) = nudge;
    less.at(j) = -nudge;
    const State above = after(cart, more, 0), below = after(cart, less, 0);
    for (std::size_t i = 0; i < n; ++i) a.at(i).at(j) = (above.at(i) - below.at(i)) / (2 * nudge);
  }
  const State b = after(cart, {}, 1);
  // Backwards from the end of a long time (the equation of Riccati), what is still to be paid is state' P state.
  Matrix p{};
  for (int step = 0; step < 20000; ++step) {
    State pb{};
    Matrix pa{};
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k) {
        pb.at(i) += p.at(i).at(k) * b.at(k);
        for (std::size_t j = 0; j < n; ++j) pa.at(i).at(j) += p.at(i).at(k) * a.at(k).at(j);
      }
    double weight = 1;
    State bpa{};
    for (std::size_t i = 0; i < n; ++i) {
      weight += b.at(i) * pb.at(i);
      for (std::size_t j = 0; j < n; ++j) bpa.at(j) += b.at(i) * pa.at(i).at(j);
    }
    for (std::size_t j = 0; j < n; ++j) gains_.at(j) = -bpa.at(j) / weight;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = (i == j ? costs.at(i) : 0) - bpa.at(i) * bpa.at(j) / weight;
        for (std::size_t k = 0; k < n; ++k) sum += a.at(k).at(i) * pa.at(k).at(j);
        p.at(i).at(j) = p.at(j).at(i) = sum;  // both halves: roundings must not make it lopsided
      }
  }
}

double Teacher::force(const State& state) const {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += gains_.at(i) * state.at(i);
  return std::clamp(sum, -strongest, strongest);
}
// [teacher]

}  // namespace balance
