// brain.hpp - the network that balances: of where the cart is and how the pole leans it makes a force, step by step. It
// includes nothing of MuJoCo.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <synfire/synfire.hpp>
#include <vector>

#include "cart.hpp"

namespace balance {

/// The network reads two numbers of each position.
inline constexpr std::size_t n_seen = std::size_t{2} * BODY_POSITIONS;

/// Writes what the network reads of a state [n_seen]: of its positions, without their speeds, each one as it is, and
/// once more five times as large, cut at 1, for what is near the upright.
void write_input(const State& state, float* input);

/// A network's output of 1 is 10 N.
double to_force(float output);
float to_output(double force);

class Brain {
 public:
  /// The network of a file, on the calling thread alone. Throws std::exception if the file is damaged, or if its
  /// network does not read two positions and write a force.
  explicit Brain(const std::string& file);

  /// The network of what synfire::save_to_memory() has returned, for several carts at a time.
  Brain(const std::vector<unsigned char>& bytes, std::size_t carts);

  /// One step of 2 ms. The state of the neurons goes on from step to step.
  double step(const State& state);

  /// The same for all carts: from write_input() to the row of each [carts, n_seen], to the network's outputs [carts].
  float* inputs() { return in_; }
  const float* step();

  /// Forgets what it has seen.
  void reset();
  void reset(std::size_t cart);

 private:
  void open(const std::string& name, std::size_t carts);

  synfire::Context context_;
  synfire::Network network_;
  synfire::Graph graph_;
  synfire::Buffer input_, output_;
  float *in_ = nullptr, *out_ = nullptr;
};

}  // namespace balance
