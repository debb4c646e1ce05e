// options.hpp - the command line of `robot`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "learner.hpp"

namespace robot {

enum class Task { train, drive, pace };

struct Options {
  Task task = Task::train;
  std::string file;                 // of the network
  Plan plan;                        // train
  std::size_t n_drives = 10;        // drive
  std::string svg;                  // drive; empty: no picture
  std::uint64_t first_seed = 1001;  // drive, pace
  double seconds = 20, rate = 200;  // pace
};

enum class Verdict { run, help, wrong };

/// With Verdict::help the help is on stdout; with Verdict::wrong the error and the usage are on stderr.
Verdict read_options(int argc, char** argv, Options& options);

}  // namespace robot
