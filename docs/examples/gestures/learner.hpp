// learner.hpp - the network that names gestures, and its training.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <synfire/synfire.hpp>
#include <vector>

#include "binner.hpp"
#include "film.hpp"

namespace gestures {

/// The maps of the first and of the second layer: rows and columns, and channels.
inline constexpr std::size_t edges_side = view / 2, edges_channels = 16, motions_side = edges_side / 2,
                             motions_channels = 32;

struct Plan {
  std::size_t films = 250;  // of each gesture, to learn from
  std::size_t tests = 50;   // of each gesture, to test with
  std::size_t epochs = 20;
  std::size_t batch = 50;
  double learning_rate = 5e-3;  // in the first epoch
  std::uint64_t seed = 1;
  bool without_time = false;  // the events of a film exchange their times
};

struct Epoch {
  std::size_t number;  // from 1 on
  double loss;
  double learnt;  // share of the films named rightly while learning, with dropout
  double unseen;  // share of those that are not learnt
};

/// The network while it sees one film. Maps have the sums over the channels.
struct Inside {
  std::vector<std::uint32_t> events, edges, motions;  // [steps, rows, columns]
  std::vector<float> potentials;                      // [steps, names]
};

/// The network, built: two convolutions with spiking neurons, and a readout of one potential for each name. Only the
/// readout has biases, so that no neuron fires where there are no events.
synfire::Network make_network(const synfire::Context& context, const Plan& plan);

/// A hash of the bits of all weights and biases: the same on every machine that learnt the same.
std::uint64_t hash_weights(const synfire::Network& network);

/// Each epoch draws anew what is seen of each film: windows that begin up to 40 ms earlier or later, and which 20 rows
/// and columns of the sensor's 24.
class Learner {
 public:
  Learner(const synfire::Context& context, const std::vector<Film>& learnt, const std::vector<Film>& unseen,
          const Plan& plan);

  /// Learns one epoch after the other, and calls `done` after each.
  void learn(const std::function<void(const Epoch&)>& done);

  /// The names that the network has for the unseen films, by the window around the middle of the motion.
  std::vector<std::uint32_t> name_unseen();

  /// Looks into the network while it sees one of the unseen films.
  Inside look_inside(const Film& film);

  const synfire::Network& network() const { return network_; }

 private:
  void set_rows(std::int32_t set, const std::vector<Row>& rows, Binner& binner);

  const synfire::Context& context_;
  const std::vector<Film>&learnt_, &unseen_;
  Plan plan_;
  Binner moving_, still_;
  synfire::Network network_;
};

}  // namespace gestures
