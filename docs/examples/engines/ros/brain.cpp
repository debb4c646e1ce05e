// brain.cpp - see brain.hpp.
//
// SPDX-License-Identifier: MIT
#include "brain.hpp"

#include <algorithm>
#include <stdexcept>

namespace robot {
namespace {

constexpr std::size_t n_outputs = 2;

synfire::Network open(const synfire::Context& context, const std::string& file) {
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.inference = 1;
  desc.n_steps = desc.batch = 1;
  return synfire::network_from_file(context, file.c_str(), desc);
}

bool has_floats(const synfire::Buffer& buffer, std::size_t n) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire::check(synfire_buffer_get_desc(buffer, &desc));
  return desc.dtype == SYNFIRE_DTYPE_F32 && buffer.size() == n;
}

}  // namespace

void write_input(const Scan& scan, float* input) {
  for (std::size_t i = 0; i < n_beams; ++i)
    input[i] = std::max(0.0F, 1 / (1 + scan.at(i)) - 1 / (1 + static_cast<float>(farthest)));
}

Command to_command(const float* output) {
  return {fastest_forward * static_cast<double>(std::clamp(output[0], 0.0F, 1.0F)),
          fastest_turn * static_cast<double>(std::clamp(output[1], -1.0F, 1.0F))};
}

void write_output(const Command& command, float* output) {
  output[0] = static_cast<float>(command.forward / fastest_forward);
  output[1] = static_cast<float>(command.turn / fastest_turn);
}

// [open]
Brain::Brain(const std::string& file)
    : context_(synfire::context_desc(SYNFIRE_BACKEND_HOST, 1)),
      network_(open(context_, file)),
      graph_(network_.graph(SYNFIRE_NETWORK_GRAPH_INFERENCE)),
      input_(network_.buffer("input")),
      output_(network_.buffer("output")) {
  if (!has_floats(input_, n_beams) || !has_floats(output_, n_outputs))
    throw std::runtime_error(file + ": the network does not read the " + std::to_string(n_beams) +
                             " numbers of a scan and write the " + std::to_string(n_outputs) + " of a command");
  in_ = input_.data<float>().data();
  out_ = output_.data<float>().data();
}
// [open]

// [step]
Command Brain::step(const Scan& scan) {
  write_input(scan, in_);
  graph_.wait(graph_.launch());
  return to_command(out_);
}
// [step]

void Brain::reset() {
  network_.reset_state();
}

}  // namespace robot
