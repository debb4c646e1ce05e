// options.hpp - the command line of `digits`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "learner.hpp"

namespace digits {

struct Options {
  std::string make_data;  // the folder; only makes the data
  std::string data;       // the folder; empty: makes the data in the output's folder
  std::string output = "digits-output";
  std::int32_t backend = 0;  // SYNFIRE_BACKEND_*
  std::int32_t device = 0;
  std::int32_t threads = 0;
  int ranks = 1;     // threads that share each batch
  bool mpi = false;  // this process is one of the ranks that mpirun has started
  Plan plan;
};

enum class Verdict { run, help, wrong };

/// With Verdict::help the help is on stdout; with Verdict::wrong the error and the usage are on stderr.
Verdict read_options(int argc, char** argv, Options& options);

}  // namespace digits
