// frame_loop.cpp - a game's loop: a varying number of agents think while the picture is drawn, and no frame ever waits
// for them.
//
// The listing of the page on control loops for frame loops, as a program: frame_loop [FRAMES]. Senses, actions and
// drawing are stand-ins.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <synfire/synfire.hpp>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int most_agents = 32, neurons = 64, steps = 4, slots = 3;

// Stands for what the agents see: x [steps, most_agents, neurons], filled for the agents that are alive.
void sense(float* x, int alive) {
  for (int t = 0; t < steps; ++t)
    for (int i = 0; i < alive * neurons; ++i)
      x[t * most_agents * neurons + i] = 0.25F * static_cast<float>((i + t) % 8);
}

// Stands for what the agents do with their spikes [steps, most_agents, neurons].
long act(const float* spikes, int alive) {
  long moves = 0;
  for (int i = 0; i < alive * neurons; ++i) moves += spikes[i] != 0.0F;
  return moves;
}

void draw() {
  std::this_thread::sleep_for(1ms);
}

// One more agent every ten frames. Every fifteenth frame one agent starts over.
int population(int frame) {
  return std::min(most_agents, 4 + frame / 10);
}
int reborn(int frame) {
  return frame % 15 == 14 ? frame % 4 : -1;
}

void run(int frames) {
  /* [prepare] */
  synfire::Context context;  // while the level loads
  synfire::Layer minds(
      context, synfire::layer_desc(SYNFIRE_MODEL_LIF, synfire::steps{steps}, synfire::neurons{neurons}, most_agents));
  synfire::Buffer x = minds.make_sequence<float>(SYNFIRE_MEMORY_PINNED);
  synfire::Buffer spikes = minds.make_spikes<float>(SYNFIRE_MEMORY_PINNED);
  synfire::Buffer respawn(context, synfire::buffer_desc<std::uint8_t>(most_agents, SYNFIRE_MEMORY_PINNED));

  synfire_graph_desc desc = SYNFIRE_GRAPH_DESC_INIT;
  desc.n_slots = slots;  // several frames may be in flight while others are drawn
  synfire::Graph step(context, desc);
  step.record_reset_rows(minds, synfire::state_desc(0, 0, nullptr, respawn));  // agents whose byte is not 0 start over
  step.record_forward(minds, synfire::forward_desc(x, spikes));
  step.instantiate();
  /* [prepare] */

  long moves = 0;
  int skipped = 0;
  /* [frame] */
  synfire::Ticket newest = 0, acted = 0;  // launched last; used last
  int thinking[slots] = {};               // number of agents of the tickets that still own their slots
  for (int frame = 0; frame < frames; ++frame) {
    const int alive = population(frame);
    minds.set_n_active(alive);  // from the next launch on, without recording again

    if (auto* const input = static_cast<float*>(step.slot(0, x).data)) {  // null: every slot is in flight
      sense(input, alive);
      auto* const mask = static_cast<std::uint8_t*>(step.slot(0, respawn).data);
      for (int agent = 0; agent < most_agents; ++agent) mask[agent] = agent == reborn(frame);
      newest = step.launch();
      thinking[newest % slots] = alive;
    } else {
      ++skipped;
    }

    draw();  // drawn while the agents think

    // Uses the newest result that is ready; no frame waits for one. Older tickets have lost their slots.
    for (synfire::Ticket ticket = newest; ticket > acted && ticket + slots > newest; --ticket) {
      if (step.wait(ticket, 0ns) == synfire::Waited::pending) continue;
      moves += act(static_cast<const float*>(step.slot(ticket, spikes).data), thinking[ticket % slots]);
      acted = ticket;
    }
  }
  /* [frame] */
  if (newest != 0) step.wait(newest);
  std::printf("%d frames, %d agents at the end: %ld moves, %d frames without a new thought\n", frames,
              population(frames - 1), moves, skipped);
}

}  // namespace

int main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 300;
  if (argc > 2 || frames < 1) {
    std::fprintf(stderr, "usage: frame_loop [FRAMES]\n");
    return 2;
  }
  try {
    run(frames);
    synfire::reclaim();
    return EXIT_SUCCESS;
  } catch (const synfire::error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.status_name(), error.what());
    return EXIT_FAILURE;
  }
}
