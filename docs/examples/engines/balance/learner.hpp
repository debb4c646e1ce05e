// learner.hpp - learns to balance from what the teacher would have done.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <synfire/synfire.hpp>
#include <vector>

#include "brain.hpp"
#include "cart.hpp"
#include "pushes.hpp"
#include "random.hpp"
#include "teacher.hpp"

namespace balance {

/// Steps T of a window of backpropagation through time, 0.128 s, and carts that learn at the same time, the rows B.
inline constexpr std::size_t window_steps = 64, n_carts = 32;

/// Windows of an epoch, one after the other: the next goes on where the one before ended.
inline constexpr std::size_t n_windows = 10;

/// Steps of the training in an epoch: one for each window that it has recorded, and of four earlier epochs.
inline constexpr std::size_t n_recordings = 5, epoch_steps = n_recordings * n_windows;

struct Plan {
  std::size_t epochs = 60;
  bool recurrence = true;  // the neurons read their own spikes
  std::uint64_t seed = 1;  // of the weights and of all that is drawn
  std::int32_t threads = 0;
};

struct Epoch {
  std::size_t number;  // from 1 on
  double loss;         // of what was just recorded, before it is learnt
  std::size_t falls;   // while it was recorded
};

class Learner {
 public:
  Learner(const std::string& model, const Plan& plan);

  /// Learns one epoch after the other, and calls `done` after each.
  void learn(const std::function<void(const Epoch&)>& done);

  /// Writes what runs need of the network.
  void save(const std::string& file) const;

  std::uint64_t hash_weights() const;

 private:
  // An epoch of all carts, step after step.
  struct Recording {
    std::vector<float> inputs, targets;  // [steps, carts, n_seen]; what the teacher would have done [steps, carts]
    std::vector<float> counts;           // [steps, carts]: 1, or 0 if the network cannot know yet
    std::vector<unsigned char> begins;   // [windows, carts]: 1 if the cart begins anew
    std::size_t falls = 0;
  };
  Recording record(double share);
  double learn(const Recording& recording);

  Plan plan_;
  learning::Random random_;
  std::vector<Cart> carts_;
  std::vector<Pushes> pushes_;
  std::vector<char> fallen_;
  Teacher teacher_;
  synfire::Context context_;
  synfire::Network network_;
};

}  // namespace balance
