// options.cpp - see options.hpp.
//
// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "message.h"

namespace robot {
namespace {

constexpr const char* usage = "usage: robot train|drive|pace FILE [options]     (robot --help lists them)\n";

constexpr const char* help =
    "usage: robot train FILE [options]\n"
    "       robot drive FILE [options]\n"
    "       robot pace FILE [options]\n"
    "\n"
    "train  records drives of a controller that sees everything, trains a network of spiking neurons to do the same "
    "from\n"
    "       a laser's scans, and writes it to FILE\n"
    "  --epochs N    how often it learns from new drives, 1 to 10000 (default 40)\n"
    "  --drives N    drives of each epoch, 1 to 10000 (default 24)\n"
    "  --seed N      of the weights and of all that is drawn, 0 to 999999 (default 1)\n"
    "  --threads N   threads; 0 is automatic (default), 1 is this thread only; up to 1024\n"
    "\n"
    "drive  drives through rooms with the network of FILE, faster than the clock\n"
    "  --drives N    how often, 1 to 10000, each time through other rooms (default 10)\n"
    "  --seed N      of the first rooms, 0 to 900000 (default 1001); the training has others\n"
    "  --svg SVG     draws the paths\n"
    "\n"
    "pace   drives by the clock, and counts late steps\n"
    "  --seconds N   how long, 1 to 3600 (default 20)\n"
    "  --rate N      steps per second, 1 to 1000 (default 200, for which the network is trained)\n"
    "  --seed N      of the rooms, as of drive\n"
    "\n"
    "Results are on stdout. Exit status: 0 success, 1 failure, 2 wrong usage.\n";

bool read_whole(const char* name, const char* text, long least, long most, long& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < least || value > most)
    return complain("%s %s: allowed: an integer from %ld to %ld", name, text, least, most);
  return true;
}

bool read_option(const char* name, const char* text, Options& options) {
  const std::string_view option = name;
  const Task task = options.task;
  long whole = 0;
  if (task == Task::train && option == "--epochs") {
    if (!read_whole(name, text, 1, 10000, whole)) return false;
    options.plan.epochs = static_cast<std::size_t>(whole);
  } else if (task == Task::train && option == "--threads") {
    if (!read_whole(name, text, 0, 1024, whole)) return false;
    options.plan.threads = static_cast<std::int32_t>(whole);
  } else if (task != Task::pace && option == "--drives") {
    if (!read_whole(name, text, 1, 10000, whole)) return false;
    options.plan.drives = options.n_drives = static_cast<std::size_t>(whole);
  } else if (option == "--seed") {
    if (!read_whole(name, text, 0, task == Task::train ? 999999 : 900000, whole)) return false;
    options.plan.seed = options.first_seed = static_cast<std::uint64_t>(whole);
  } else if (task == Task::drive && option == "--svg") {
    options.svg = text;
  } else if (task == Task::pace && option == "--seconds") {
    if (!read_whole(name, text, 1, 3600, whole)) return false;
    options.seconds = static_cast<double>(whole);
  } else if (task == Task::pace && option == "--rate") {
    if (!read_whole(name, text, 1, 1000, whole)) return false;
    options.rate = static_cast<double>(whole);
  } else {
    return complain("%s: unknown option of this task", name);
  }
  return true;
}

bool read_task(std::string_view name, Task& task) {
  if (name == "train")
    task = Task::train;
  else if (name == "drive")
    task = Task::drive;
  else if (name == "pace")
    task = Task::pace;
  else
    return complain("allowed: train, drive, pace");
  return true;
}

bool read_arguments(int argc, char** argv, Options& options) {
  if (argc < 2) return complain("no task");
  if (!read_task(argv[1], options.task)) return false;
  if (argc < 3) return complain("no FILE");
  options.file = argv[2];
  for (int i = 3; i < argc; i += 2) {
    if (i + 1 >= argc) return complain("%s: needs a value", argv[i]);
    if (!read_option(argv[i], argv[i + 1], options)) return false;
  }
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

}  // namespace robot
