// options.hpp - the command line of `gestures`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "learner.hpp"
#include "live.hpp"

namespace gestures {

struct Options {
  std::string output = "gestures-output";  // the folder
  std::string record;                      // a recording to write; nothing is learnt
  std::string network;                     // the file of the network that names; nothing is learnt
  std::int32_t backend = 0;                // SYNFIRE_BACKEND_*
  std::int32_t device = 0;
  std::int32_t threads = 0;
  Plan plan;
  Live live;
};

enum class Verdict { run, help, wrong };

/// With Verdict::help the help is on stdout; with Verdict::wrong the error and the usage are on stderr.
Verdict read_options(int argc, char** argv, Options& options);

}  // namespace gestures
