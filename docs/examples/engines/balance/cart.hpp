// cart.hpp - the body for C++: what body.h has, with objects that close themselves and errors that are thrown.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>

#include "body.h"

namespace balance {

inline constexpr double steps_per_second = 500;
inline constexpr double strongest = 20;  // newtons, of the motor

/// As in body.h: the place, the angle, and how fast both change.
using State = std::array<double, BODY_STATES>;

/// From here on, the pole has fallen or the cart has left its rail.
inline bool fell(const State& state) {
  return !(std::fabs(state[0]) < 1.5 && std::fabs(state[1]) < 0.8);
}

class Cart {
 public:
  explicit Cart(const std::string& model) : body_(nullptr, body_close) {
    std::array<char, 512> error{};
    body_.reset(body_open(model.c_str(), error.data(), static_cast<int>(error.size())));
    if (!body_) throw std::runtime_error(error.data());
  }

  void place(const State& state) { body_place(body_.get(), state.data()); }

  State state() const {
    State state{};
    body_read(body_.get(), state.data());
    return state;
  }

  /// One step of the time.
  void step(double force, double push) { body_step(body_.get(), force, push); }

 private:
  std::unique_ptr<Body, void (*)(Body*)> body_;
};

}  // namespace balance
