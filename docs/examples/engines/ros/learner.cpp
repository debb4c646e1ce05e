// learner.cpp - see learner.hpp.
//
// SPDX-License-Identifier: MIT
#include "learner.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "body.hpp"
#include "brain.hpp"
#include "teacher.hpp"

namespace robot {
namespace {

constexpr std::size_t seen = 96, turned = 48, n_outputs = 2;  // neurons of the layers
constexpr double learning_rate = 3e-3;                        // in the first epoch
constexpr std::size_t batch = 64;
constexpr std::uint64_t first_learnt = 1000000;  // rooms of smaller seeds are never recorded

// [network]
synfire::Network make_network(const synfire::Context& context, const Plan& plan) {
  synfire_network_desc desc = synfire::network_desc(synfire::steps(std::int64_t{row_steps}));
  desc.batch = std::int64_t{batch};
  desc.seed = plan.seed;
  synfire::Network network(context, desc);
  network.add_input("scan", SYNFIRE_NETWORK_INPUT_VALUES, std::int64_t{n_beams});
  network.add_synapse("to-seen", std::int64_t{seen});
  network.set_value("to-seen", "gain", 2);
  network.add_neurons("seen", SYNFIRE_MODEL_LIF);
  network.set_value("seen", "tau", 4);  // 20 ms
  network.set_value("seen", "undecayed_input", 1);
  network.add_synapse("to-turned", std::int64_t{turned});
  network.set_value("to-turned", "gain", 2);
  network.add_neurons("turned", SYNFIRE_MODEL_LIF);
  network.set_value("turned", "tau", 8);
  network.set_value("turned", "undecayed_input", 1);
  network.add_synapse("to-wheels", std::int64_t{n_outputs});
  network.add_neurons("wheels", SYNFIRE_MODEL_LI);
  network.set_value("wheels", "tau", 16);
  network.add_readout("command", SYNFIRE_READOUT_LAST);
  network.add_loss("difference", SYNFIRE_LOSS_MEAN_SQUARED_ERROR);
  network.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM, learning_rate);
  network.build();
  return network;
}
// [network]

// Now and then something pushes the robot from its way, and the teacher shows how to come back.
class Pushes {
 public:
  explicit Pushes(Random& random) : random_(random) {}

  Command on(const Command& command) {
    if (left_ == 0) {
      left_ = 40 + random_.below(80);
      pushed_ = random_.below(3) == 0;
      push_ = {random_.number(0, fastest_forward), random_.number(-fastest_turn, fastest_turn)};
    }
    --left_;
    return pushed_ ? push_ : command;
  }

 private:
  Random& random_;
  std::size_t left_ = 0;
  bool pushed_ = false;
  Command push_;
};

}  // namespace

Learner::Learner(const Plan& plan)
    : plan_(plan),
      random_(plan.seed),
      context_(synfire::context_desc(SYNFIRE_BACKEND_HOST, plan.threads)),
      network_(make_network(context_, plan)) {}

void Learner::record(Rows& rows) {
  constexpr std::size_t longest = 6000, rows_apart = 20;
  const Rooms rooms = draw_rooms(first_learnt + random_.below(1U << 30U));
  Body body(rooms);
  Progress progress(rooms);
  Pushes pushes(random_);
  std::vector<float> inputs;  // of all steps
  std::array<float, n_beams> input{};
  for (std::size_t t = 0; t < longest && !progress.arrived() && !progress.touched(); ++t) {
    if (t % steps_per_scan == 0) write_input(body.scan(rooms, random_), input.data());
    inputs.insert(inputs.end(), input.begin(), input.end());
    const Command command = teach(rooms, body, progress);
    if (t + 1 >= row_steps && t % rows_apart == 0) {
      std::array<float, n_outputs> target{};
      write_output(command, target.data());
      rows.inputs.insert(rows.inputs.end(), inputs.end() - row_steps * n_beams, inputs.end());
      if (random_.below(2) == 0) {  // left and right are the same
        target[1] = -target[1];
        for (auto frame = rows.inputs.end() - row_steps * n_beams; frame != rows.inputs.end(); frame += n_beams)
          std::reverse(frame, frame + n_beams);
      }
      rows.targets.insert(rows.targets.end(), target.begin(), target.end());
    }
    body.step(pushes.on(command));
    progress.note(body);
  }
}

// [learn]
void Learner::learn(const std::function<void(const Epoch&)>& done) {
  for (std::size_t epoch = 0; epoch < plan_.epochs; ++epoch) {
    Rows rows;
    for (std::size_t i = 0; i < plan_.drives; ++i) record(rows);
    const std::size_t n_rows = rows.targets.size() / n_outputs;
    synfire::Buffer inputs(context_, synfire::buffer_desc<float>({n_rows, row_steps, n_beams}, SYNFIRE_MEMORY_HOST)),
        targets(context_, synfire::buffer_desc<float>({n_rows, n_outputs}, SYNFIRE_MEMORY_HOST));
    std::copy(rows.inputs.begin(), rows.inputs.end(), inputs.data<float>().data());
    std::copy(rows.targets.begin(), rows.targets.end(), targets.data<float>().data());
    network_.set_data(SYNFIRE_DATA_TRAINING, static_cast<std::int64_t>(n_rows), inputs, nullptr, targets);
    // The rate falls from the whole to 0 along a cubic, which has the same bits everywhere.
    const double along = static_cast<double>(epoch) / static_cast<double>(plan_.epochs);
    network_.set_value("adam", "learning_rate", learning_rate * (1 - along * along * (3 - 2 * along)));
    done({epoch + 1, n_rows, network_.train(0).loss});
  }
}
// [learn]

void Learner::save(const std::string& file) const {
  synfire::check(synfire_network_save(network_, file.c_str()));
  // Once more, without what only the training needs.
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.inference = 1;
  desc.n_steps = desc.batch = 1;
  const synfire::Network drives = synfire::network_from_file(context_, file.c_str(), desc);
  synfire::check(synfire_network_save(drives, file.c_str()));
}

std::uint64_t Learner::hash_weights() const {
  struct Stage {
    const char* name;
    std::size_t n_weights;
  };
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a, the lowest byte of each weight first
  for (const Stage& stage : std::array<Stage, 3>{
           {{"to-seen", seen * n_beams}, {"to-turned", turned * seen}, {"to-wheels", n_outputs * turned}}}) {
    std::vector<float> weights(stage.n_weights);
    synfire::read(network_.synapse(stage.name), "weight", weights);
    for (const float weight : weights)
      for (std::uint32_t bits = std::bit_cast<std::uint32_t>(weight), i = 0; i < 4; ++i, bits >>= 8U)
        hash = (hash ^ (bits & 255U)) * 1099511628211U;
  }
  return hash;
}

}  // namespace robot
