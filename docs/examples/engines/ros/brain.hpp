// brain.hpp - the network that drives: of a scan it makes a command, step by step. It includes nothing of ROS.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <synfire/synfire.hpp>

#include "scan.hpp"

namespace robot {

/// Writes what the network reads of a scan [n_beams]: how near everything is, from 0 (far) to 1.
void write_input(const Scan& scan, float* input);

/// Both numbers of a network's output are at most 1 in size: shares of the fastest command.
Command to_command(const float* output);
void write_output(const Command& command, float* output);

class Brain {
 public:
  /// The network of a file, on the calling thread alone. Throws std::exception if the file is damaged, or if its
  /// network does not read a scan and write a command.
  explicit Brain(const std::string& file);

  /// One step of 5 ms. The state of the neurons goes on from step to step.
  Command step(const Scan& scan);

  /// Forgets what it has seen.
  void reset();

 private:
  synfire::Context context_;
  synfire::Network network_;
  synfire::Graph graph_;
  synfire::Buffer input_, output_;
  float *in_ = nullptr, *out_ = nullptr;
};

}  // namespace robot
