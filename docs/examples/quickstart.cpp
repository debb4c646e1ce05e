// quickstart.cpp - quickstart.c in C++: 128 leaky integrate-and-fire neurons, 16 steps a replay.
//
// The example of the page on C++, compiled as C++17 and run by the tests.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <synfire/synfire.hpp>

namespace {

using namespace std::chrono_literals;

constexpr int frames = 1000, steps = 16, neurons = 128, words = neurons / 32;

// Stands for a microphone, a camera or a joint: every neuron gets a constant input, from 0 to twice the threshold.
void read_sensor(synfire::View<float> x) {
  int i = 0;
  for (float& value : x) value = 2.0F * static_cast<float>(i++ % neurons) / neurons;
}

unsigned long spikes_seen = 0;

// Stands for a motor or a screen: counts spikes. Bit i of word w is neuron 32 w + i.
void act(synfire::View<const std::uint32_t> frame) {
  for (const std::uint32_t word : frame)
    for (int bit = 0; bit < 32; ++bit) spikes_seen += word >> bit & 1U;
}

void run() {
  std::array<std::uint32_t, std::size_t{steps} * words> last{};  // no spikes before the first frame
  int late_frames = 0;

  /* [quickstart] */
  synfire::Context context;  // a GPU if one is usable, else the host

  synfire::Layer lif(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, synfire::steps{steps}, synfire::neurons{neurons}));
  lif.set_parameter("tau", 20.0);  // in steps: one value, or one per neuron

  synfire::Buffer x = lif.make_sequence<float>(SYNFIRE_MEMORY_PINNED);  // x [16, 1, 128]
  synfire::Buffer spikes = lif.make_spikes(SYNFIRE_MEMORY_PINNED);      // spikes [16, 1, 4], 32 a word

  synfire::Graph step(context);
  step.record_forward(lif, synfire::forward_desc(x, spikes));  // the state continues from replay to replay
  step.instantiate();                                          // everything slow happens here

  const auto input = x.data<float>();
  const auto output = spikes.data<std::uint32_t>();
  const synfire::View<const std::uint32_t> previous(last.data(), last.size());

  for (int frame = 0; frame < frames; ++frame) {
    read_sensor(input);
    const synfire::Ticket ticket = step.launch();  // one replay of the whole step; then wait 1 ms at most
    const bool late = step.wait(ticket, 1ms) == synfire::Waited::pending;
    act(late ? previous : output);  // a late frame is your decision
    if (late) step.wait(ticket);    // before buffers are used again
    std::copy(output.begin(), output.end(), last.begin());
    late_frames += late;
  }
  /* [quickstart] */

  std::printf("%d frames of %d steps: %lu spikes, %d late frames\n", frames, steps, spikes_seen, late_frames);
}

}  // namespace

int main() {
  try {
    run();
    synfire::reclaim();  // destroying only queues; this frees
    return EXIT_SUCCESS;
  } catch (const synfire::error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.status_name(), error.what());
    return EXIT_FAILURE;
  }
}
