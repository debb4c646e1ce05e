// options.cpp - see options.hpp.
//
// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <cstdio>
#include <string_view>

#include "arguments.hpp"
#include "message.h"

namespace balance {
namespace {

constexpr const char* usage = "usage: balance train|run MODEL BRAIN [options]     (balance --help lists them)\n";

constexpr const char* help =
    "usage: balance train MODEL BRAIN [options]\n"
    "       balance run MODEL BRAIN [options]\n"
    "\n"
    "MODEL is the cart with its pole, cart_pole.xml.\n"
    "\n"
    "train  trains a network of spiking neurons to do what a controller does that also sees speeds, and writes it to\n"
    "       BRAIN\n"
    "  --epochs N            50 steps each, 1 to 10000 (default 60)\n"
    "  --without-recurrence  its neurons do not read their own spikes\n"
    "  --seed N              of the weights and of all that is drawn, 0 to 999999 (default 1)\n"
    "  --threads N           threads; 0 is automatic (default), 1 is this thread only; up to 1024\n"
    "\n"
    "run    balances with the network of BRAIN, and pushes the pole, faster than the clock\n"
    "  --runs N              how often, 1 to 10000 (default 10)\n"
    "  --seconds N           how long each time, 1 to 3600 (default 60)\n"
    "  --seed N              of the first run, 0 to 900000 (default 1001)\n"
    "  --forget              resets the network's state before each step\n"
    "  --realtime            runs once, by the clock, with 500 steps a second, and counts late steps\n"
    "  --film SVG            draws the last run, moving\n"
    "  --plot SVG            draws its angle, place and force, with the pushes\n"
    "  --latency SVG         draws how long the steps took, with --realtime\n"
    "\n"
    "Results are on stdout. Exit status: 0 success, 1 failure, 2 wrong usage.\n";

// The option without a value of this name; null if there is none. `task` is the one that has it.
bool* find_flag(std::string_view option, Options& options, Task& task) {
  task = option == "--without-recurrence" ? Task::train : Task::run;
  if (option == "--without-recurrence") return &options.plain;
  if (option == "--forget") return &options.forgets;
  return option == "--realtime" ? &options.by_clock : nullptr;
}

bool read_option(const char* name, const char* text, Options& options) {
  const std::string_view option = name;
  const bool runs = options.task == Task::run;
  long whole = 0;
  if (!runs && option == "--epochs") {
    if (!learning::read_whole(name, text, 1, 10000, whole)) return false;
    options.plan.epochs = static_cast<std::size_t>(whole);
  } else if (!runs && option == "--threads") {
    if (!learning::read_whole(name, text, 0, 1024, whole)) return false;
    options.plan.threads = static_cast<std::int32_t>(whole);
  } else if (option == "--seed") {
    if (!learning::read_whole(name, text, 0, runs ? 900000 : 999999, whole)) return false;
    options.plan.seed = options.first_seed = static_cast<std::uint64_t>(whole);
  } else if (runs && option == "--runs") {
    if (!learning::read_whole(name, text, 1, 10000, whole)) return false;
    options.n_runs = static_cast<std::size_t>(whole);
  } else if (runs && option == "--seconds") {
    if (!learning::read_whole(name, text, 1, 3600, whole)) return false;
    options.seconds = static_cast<std::size_t>(whole);
  } else if (runs && option == "--film") {
    options.film = text;
  } else if (runs && option == "--plot") {
    options.plot = text;
  } else if (runs && option == "--latency") {
    options.latency = text;
  } else {
    return complain("%s: unknown option of this task", name);
  }
  return true;
}

bool read_arguments(int argc, char** argv, Options& options) {
  if (argc < 2) return complain("no task");
  const std::string_view task = argv[1];
  if (task != "train" && task != "run") return complain("allowed: train, run");
  options.task = task == "train" ? Task::train : Task::run;
  if (argc < 4) return complain(argc < 3 ? "no MODEL" : "no BRAIN");
  options.model = argv[2];
  options.file = argv[3];
  for (int i = 4; i < argc; ++i) {
    Task task_of_flag = Task::run;
    if (bool* const flag = find_flag(argv[i], options, task_of_flag); flag != nullptr) {
      if (task_of_flag != options.task) return complain("%s: unknown option of this task", argv[i]);
      *flag = true;
      continue;
    }
    if (i + 1 >= argc) return complain("%s: needs a value", argv[i]);
    if (!read_option(argv[i], argv[i + 1], options)) return false;
    ++i;
  }
  if (!options.latency.empty() && !options.by_clock) return complain("--latency: needs --realtime");
  if (options.by_clock) options.n_runs = 1;
  options.plan.recurrence = !options.plain;
  return true;
}

}  // namespace

Verdict read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help") {
      std::fputs(help, stdout);
      return Verdict::help;
    }
  if (read_arguments(argc, argv, options)) return Verdict::run;
  std::fputs(usage, stderr);
  return Verdict::wrong;
}

}  // namespace balance
