// namer.cpp - see namer.hpp.
//
// SPDX-License-Identifier: MIT
#include "namer.hpp"

#include <algorithm>
#include <stdexcept>

namespace gestures {
namespace {

synfire::Network read_network(const synfire::Context& context, const std::string& file) {
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.inference = 1;
  desc.n_steps = static_cast<std::int64_t>(steps);
  desc.batch = 1;
  return synfire::network_from_file(context, file.c_str(), desc);
}

}  // namespace

Namer::Namer(const synfire::Context& context, const std::string& file)
    : network_(read_network(context, file)),
      input_(network_.buffer("input")),
      output_(network_.buffer("output")),
      events_(context, synfire::buffer_desc<std::uint64_t>(capacity, SYNFIRE_MEMORY_PINNED)),
      event_counts_(context, synfire::counts_desc(1, SYNFIRE_MEMORY_PINNED)),
      window_(context, synfire::counts_desc(2, SYNFIRE_MEMORY_PINNED)),
      faults_(context, synfire::counts_desc(5, SYNFIRE_MEMORY_PINNED)),
      binning_(context),
      inference_(network_.graph(SYNFIRE_NETWORK_GRAPH_INFERENCE)) {
  if (input_.size() != steps * row_words || output_.size() != names.size())
    throw std::runtime_error(file + ": a network that does not read " + std::to_string(view) + " x " +
                             std::to_string(view) + " x 2 spikes in " + std::to_string(steps) + " steps and name " +
                             std::to_string(names.size()) + " gestures");
  // [bin]
  // The neurons forget the millisecond before. The newest events lie in a ring, and are binned straight into the input
  // of the network.
  for (const char* const neurons : {"edges", "motions", "gestures"})
    binning_.record_reset_rows(network_.layer(neurons), synfire::state_desc());
  synfire_bin_events_desc desc =
      synfire::bin_events_desc(events_, event_counts_, input_, faults_, synfire::steps(16), capacity, side, side);
  desc.keep = SYNFIRE_EVENTS_KEEP_NEWEST;
  desc.crop_top = desc.crop_left = (side - view) / 2;
  desc.crop_height = desc.crop_width = view;
  desc.window = window_;
  binning_.record_bin_events(desc);
  binning_.instantiate();
  // [bin]
  // The first replays are slower than all others.
  for (int i = 0; i < 50; ++i) replay(0);
}

void Namer::see(std::uint64_t event) {
  // An integer that is never near its end: what counts is the place in the ring, and whether the ring is full.
  if (seen_ >= 2 * capacity) seen_ -= std::uint32_t{capacity};
  events_.data<std::uint64_t>()[seen_++ % capacity] = event;
}

// [replay]
void Namer::replay(std::uint32_t now) {
  event_counts_.data<std::uint32_t>()[0] = seen_;
  window_.data<std::uint32_t>()[0] = now - row_microseconds;
  window_.data<std::uint32_t>()[1] = step_microseconds;
  binning_.wait(binning_.launch());
  inference_.wait(inference_.launch());
}
// [replay]

Motion Namer::name(std::uint32_t now) {
  replay(now);
  const auto said = output_.data<float>();
  for (std::size_t c = 0; c < names.size(); ++c) scores_.at(c) += (said[c] - scores_.at(c)) / 16;
  return static_cast<Motion>(std::max_element(scores_.begin(), scores_.end()) - scores_.begin());
}

void save_namer(const synfire::Context& context, const std::string& file, const std::string& smaller) {
  const synfire::Network network = read_network(context, file);
  synfire::check(synfire_network_save(network, smaller.c_str()));
}

}  // namespace gestures
