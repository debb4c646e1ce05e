// learner.hpp - the network that names the digits, and its training.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <synfire/synfire.hpp>
#include <vector>

#include "data.hpp"
#include "random.hpp"

namespace digits {

/// Steps T of a row: silence before the word, then the word.
inline constexpr std::size_t steps = max_frames + 20;

struct Plan {
  std::size_t sounds = 127, parts = 77;  // neurons of the first and of the second layer
  std::size_t recurrent = 0;             // frames until the parts hear their own spikes; 0: they do not
  std::size_t delays = 0;  // the longest delay from a fibre to a sound, in frames, learnt; 0: there are none
  std::size_t epochs = 50;
  std::size_t batch = 64;
  std::size_t manners = SIZE_MAX;  // learn only what is spoken in this many of them
  double learning_rate = 5e-3;     // in the first epoch
  std::uint64_t seed = 1;
  int weight_bits = 24;
};

struct Epoch {
  std::size_t number;  // from 1 on
  double loss;
  double learnt;   // share of the digits named rightly while learning, with dropout
  double unheard;  // share of those of the voices that are not learnt
};

/// The network, built: two layers of spiking neurons and a readout of one potential for each word. Without biases, so
/// that nothing happens in silence: it does not matter when a word begins, and how long nobody speaks after it. A plan
/// can let it remember in other ways than by its potentials: by recurrence or by delays. With a communicator, its ranks
/// learn it together.
synfire::Network make_network(const synfire::Context& context, const Plan& plan, std::size_t n_steps, std::size_t batch,
                              synfire_communicator together);

/// The utterances of voices that are learnt or tested, in the first manners.
std::vector<const Utterance*> select(const Data& data, bool tested, std::size_t n_manners);

/// Each epoch draws anew when each word begins, how long it is and how high: silence of 0 to 0.2 s, 90 to 110 % of the
/// frames, up to two fibres up or down. The numbers are integers, so that they are the same on every machine.
class Learner {
 public:
  Learner(const synfire::Context& context, const Data& data, const Plan& plan, synfire_communicator together);

  /// Learns one epoch after the other, and calls `done` after each.
  void learn(const std::function<void(const Epoch&)>& done);

  /// The word that the network recognises in each row.
  std::vector<std::uint32_t> name(const std::vector<const Utterance*>& rows);

  const std::vector<const Utterance*>& learnt() const { return learnt_; }
  const std::vector<const Utterance*>& unheard() const { return unheard_; }
  const synfire::Network& network() const { return network_; }
  const Plan& plan() const { return plan_; }

 private:
  // With drawn changes, or without any.
  void set_rows(std::int32_t set, const std::vector<const Utterance*>& rows, learning::Random* random);

  const synfire::Context& context_;
  Plan plan_;
  std::vector<const Utterance*> learnt_, unheard_;
  synfire::Network network_;
};

}  // namespace digits
