// learner.hpp - learns to drive from recorded drives of the teacher.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <synfire/synfire.hpp>
#include <vector>

#include "random.hpp"

namespace robot {

/// Steps T of a row: what the robot saw in the last 0.24 s, at the end of which the teacher gave a command.
inline constexpr std::size_t row_steps = 48;

struct Plan {
  std::size_t epochs = 40;
  std::size_t drives = 24;  // recorded for each epoch, in rooms of their own
  std::uint64_t seed = 1;   // of the weights and of all that is drawn
  std::int32_t threads = 0;
};

struct Epoch {
  std::size_t number;  // from 1 on
  std::size_t rows;
  double loss;  // of rows that were not seen before
};

class Learner {
 public:
  explicit Learner(const Plan& plan);

  /// Learns one epoch after the other, and calls `done` after each.
  void learn(const std::function<void(const Epoch&)>& done);

  /// Writes what drives need of the network.
  void save(const std::string& file) const;

  std::uint64_t hash_weights() const;

 private:
  // Rows of drives in rooms drawn for them, with the teacher's commands.
  struct Rows {
    std::vector<float> inputs, targets;
  };
  void record(Rows& rows);

  Plan plan_;
  Random random_;
  synfire::Context context_;
  synfire::Network network_;
};

}  // namespace robot
