// learner.cpp - see learner.hpp.
//
// SPDX-License-Identifier: MIT
#include "learner.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hash.hpp"
#include "run.hpp"

namespace balance {
namespace {

constexpr std::size_t hidden = 128;     // neurons
constexpr double learning_rate = 4e-3;  // of the first step; it falls along a cosine
constexpr float motion = 20;            // how much more the first weights are about motion than about places

// [network]
synfire::Network make_network(const synfire::Context& context, const Plan& plan) {
  synfire_network_desc desc = synfire::network_desc(synfire::steps(std::int64_t{window_steps}));
  desc.batch = std::int64_t{n_carts};
  desc.seed = plan.seed;
  desc.own_loss = SYNFIRE_OWN_LOSS_CONTINUES;  // a window goes on where the one before ended
  synfire::Network network(context, desc);
  network.add_input("positions", SYNFIRE_NETWORK_INPUT_VALUES, std::int64_t{n_seen});
  add_stage(network, synfire::Stage("neurons", "trace").reads("positions").set("model", "li").set("tau", 24));
  add_stage(network, synfire::Stage("concatenate", "seen").reads("positions").reads("trace", "v"));
  add_stage(network, synfire::Stage("synapse", "in").set("n_outputs", hidden));
  if (plan.recurrence) {  // its own spikes of the step before
    add_stage(network,
              synfire::Stage("synapse", "back").reads("hidden", "", 1).set("n_outputs", hidden).set("gain", 0.5));
    add_stage(network, synfire::Stage("sum", "both").reads("in").reads("back"));
  }
  add_stage(network,
            synfire::Stage("neurons", "hidden").set("model", "lif").set("undecayed_input", 1).set("reset", "soft"));
  network.set_scope("hidden", "tau", SYNFIRE_SCOPE_NEURON);
  add_stage(network, synfire::Stage("synapse", "to-motor").set("n_outputs", 1));
  add_stage(network, synfire::Stage("neurons", "motor").set("model", "li").set("tau", 4));
  network.add_readout("force", SYNFIRE_READOUT_STEPS);
  network.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM, learning_rate);
  network.set_value("adam", "clip_norm", 1);
  network.set_value("adam", "schedule", SYNFIRE_SCHEDULE_COSINE);
  network.set_value("adam", "schedule_steps", static_cast<double>(plan.epochs * epoch_steps));
  network.build();
  return network;
}
// [network]

// [start]
// A weight of now and the opposite one of a moment ago: so each neuron begins as one that sees something move.
void start_with_motion(synfire::Network& network) {
  const synfire::Synapse in = network.synapse("in");
  std::vector<float> weights(hidden * 2 * n_seen);
  synfire::read(in, "weight", weights);
  for (auto now = weights.begin(); now != weights.end(); now += 2 * n_seen)
    for (auto weight = now; weight != now + n_seen; ++weight) {
      float& before = *(weight + n_seen);
      before *= -motion;
      *weight -= before;
    }
  synfire::check(synfire_synapse_write(in, "weight", weights.data(), weights.size() * sizeof(float)));
  std::vector<double> taus;  // from 4 to 16 ms
  for (std::size_t i = 0; i < hidden; ++i) taus.push_back(2 + 6 * static_cast<double>(i) / (hidden - 1));
  network.layer("hidden").set_parameter("tau", taus);
}
// [start]

std::vector<Cart> make_carts(const std::string& model) {
  std::vector<Cart> carts;
  for (std::size_t i = 0; i < n_carts; ++i) carts.emplace_back(model);
  return carts;
}

// Anywhere from the upright to where it can just be saved.
State draw_any_state(learning::Random& random) {
  const double far = draw(random, 0, 1);
  return {far * draw(random, -0.8, 0.8), far * draw(random, -0.35, 0.35), far * draw(random, -1.5, 1.5),
          far * draw(random, -1.5, 1.5)};
}

}  // namespace

Learner::Learner(const std::string& model, const Plan& plan)
    : plan_(plan),
      random_(plan.seed),
      carts_(make_carts(model)),
      fallen_(n_carts, 1),
      teacher_(carts_[0]),
      context_(synfire::context_desc(SYNFIRE_BACKEND_HOST, plan.threads)),
      network_(make_network(context_, plan)) {
  start_with_motion(network_);
  for (std::size_t i = 0; i < n_carts; ++i) pushes_.emplace_back(random_, 0, learnt_push);
}

// [record]
// For a fifth of a second at a time, either the teacher acts or the network; the network sees what that leads to. A
// cart that has fallen begins anew with the next window, and so do some others.
Learner::Recording Learner::record(double share) {
  constexpr std::size_t n_steps = n_windows * window_steps, turn = 100, settled = 32;
  Brain brain(synfire::save_to_memory(network_), n_carts);
  Recording recording;
  recording.inputs.resize(n_steps * n_carts * n_seen);
  recording.targets.resize(n_steps * n_carts);
  recording.counts.resize(n_steps * n_carts);
  recording.begins.assign(n_windows * n_carts, 0);
  std::fill_n(recording.begins.begin(), n_carts, 1);  // its neurons forget; most of the carts go on
  std::vector<char> teaches(n_carts, 1);
  std::vector<std::size_t> age(n_carts, 0);
  for (char& fallen : fallen_) fallen = static_cast<char>(fallen != 0 || draw(random_, 0, 1) < 0.3);
  for (std::size_t t = 0; t < n_steps; ++t) {
    float* const inputs = &recording.inputs[t * n_carts * n_seen];
    for (std::size_t i = 0; i < n_carts; ++i) {
      if (t % window_steps == 0 && fallen_[i] != 0) {
        carts_[i].place(draw_any_state(random_));
        brain.reset(i);
        recording.begins[t / window_steps * n_carts + i] = 1;
        fallen_[i] = 0;
        age[i] = 0;
      }
      write_input(carts_[i].state(), inputs + i * n_seen);
    }
    std::copy_n(inputs, n_carts * n_seen, brain.inputs());
    const float* const outputs = brain.step();
    for (std::size_t i = 0; i < n_carts; ++i) {
      const State state = carts_[i].state();
      const double right = teacher_.force(state);
      if ((t + 7 * i) % turn == 0) teaches[i] = static_cast<char>(draw(random_, 0, 1) < share);
      const bool knows = age[i]++ >= settled;
      recording.targets[t * n_carts + i] = to_output(right);
      recording.counts[t * n_carts + i] = knows && fallen_[i] == 0 ? 1.0F : 0.0F;
      if (fallen_[i] != 0) continue;
      carts_[i].step(knows && teaches[i] == 0 ? to_force(outputs[i]) : right, pushes_[i].next());
      if (fell(carts_[i].state())) {
        fallen_[i] = 1;
        ++recording.falls;
      }
    }
  }
  return recording;
}
// [record]

// [learn]
// One step of the training for each window. The gradient is that of the mean squared error, where errors above 10 N
// count as one of 10 N. Left and right are the same:
// half of the carts are seen in a mirror.
double Learner::learn(const Recording& recording) {
  constexpr std::size_t n_samples = window_steps * n_carts;
  synfire::Graph forward = network_.graph(SYNFIRE_NETWORK_GRAPH_FORWARD),
                 backward = network_.graph(SYNFIRE_NETWORK_GRAPH_BACKWARD);
  synfire::Buffer in = network_.buffer("input"), out = network_.buffer("output"),
                  wrong = network_.buffer("force.gradient");
  float* const inputs = in.data<float>().data();
  const float* const outputs = out.data<float>().data();
  float* const gradient = wrong.data<float>().data();
  std::array<float, n_carts> side{};
  for (float& sign : side) sign = random_.below(2) == 0 ? 1.0F : -1.0F;
  double sum = 0, n = 0;
  for (std::size_t window = 0; window < n_windows; ++window) {
    const std::size_t first = window * n_samples;
    for (std::size_t i = 0; i < n_carts; ++i)
      if (recording.begins[window * n_carts + i] != 0)
        synfire::check(synfire_network_reset_rows(network_, static_cast<std::int64_t>(i), 1));
    for (std::size_t i = 0; i < n_samples * n_seen; ++i)
      inputs[i] = side.at(i / n_seen % n_carts) * recording.inputs[first * n_seen + i];
    forward.wait(forward.launch());
    double counted = 0;
    for (std::size_t i = 0; i < n_samples; ++i) counted += static_cast<double>(recording.counts[first + i]);
    for (std::size_t i = 0; i < n_samples; ++i) {
      const float count = recording.counts[first + i],
                  error = outputs[i] - side.at(i % n_carts) * recording.targets[first + i];
      sum += static_cast<double>(count * error * error);
      gradient[i] = 2 * count * std::clamp(error, -1.0F, 1.0F) / static_cast<float>(std::max(counted, 1.0));
    }
    n += counted;
    backward.wait(backward.launch());
  }
  return sum / std::max(n, 1.0);
}

void Learner::learn(const std::function<void(const Epoch&)>& done) {
  constexpr std::size_t kept = 12;
  std::vector<Recording> recordings;
  for (std::size_t epoch = 0; epoch < plan_.epochs; ++epoch) {
    // At first the teacher acts; from a tenth of the training on, the network alone.
    const double along = static_cast<double>(epoch) / static_cast<double>(plan_.epochs);
    if (recordings.size() == kept) recordings.erase(recordings.begin());
    recordings.push_back(record(std::max(0.0, 1 - 10 * along)));
    const double loss = learn(recordings.back());
    for (std::size_t i = 1; i < n_recordings; ++i)
      learn(recordings[random_.below(static_cast<std::uint32_t>(recordings.size()))]);
    done({epoch + 1, loss, recordings.back().falls});
  }
}
// [learn]

void Learner::save(const std::string& file) const {
  // Without what only the training needs.
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.inference = 1;
  desc.n_steps = desc.batch = 1;
  const synfire::Network runs = synfire::network_from_memory(context_, synfire::save_to_memory(network_), desc);
  synfire::check(synfire_network_save(runs, file.c_str()));
}

std::uint64_t Learner::hash_weights() const {
  learning::Hash hash;
  for (const unsigned char byte : synfire::save_to_memory(network_)) hash.add(byte);
  return hash.value();
}

}  // namespace balance
