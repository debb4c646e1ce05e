// options.hpp - the command line of `balance`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "learner.hpp"

namespace balance {

enum class Task { train, run };

struct Options {
  Task task = Task::train;
  std::string model;        // of MuJoCo
  std::string file;         // of the network
  Plan plan;                // train
  bool plain = false;       // train: without recurrence
  std::size_t n_runs = 10;  // what follows: run
  std::size_t seconds = 60;
  std::uint64_t first_seed = 1001;
  bool forgets = false, by_clock = false;
  std::string film, plot, latency;  // empty: no picture
};

enum class Verdict { run, help, wrong };

/// With Verdict::help the help is on stdout; with Verdict::wrong the error and the usage are on stderr.
Verdict read_options(int argc, char** argv, Options& options);

}  // namespace balance
