// options.cpp - see options.hpp.
//
// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <synfire/synfire.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "arguments.hpp"
#include "message.h"

namespace gestures {
namespace {

constexpr const char* usage = "usage: gestures [options]     (gestures --help lists them)\n";

constexpr const char* help =
    "usage: gestures [options]\n"
    "\n"
    "Learns to name what a hand does: it moves before a simulated event camera, and a network of two convolutions "
    "with\n"
    "spiking neurons learns ten gestures from the events and is tested on hands, speeds, lights and noise that it "
    "never\n"
    "saw. Or names gestures, millisecond by millisecond, with what was learnt.\n"
    "\n"
    "  --output DIR      where gestures.safetensors, namer.safetensors and the pictures go (default\n"
    "                    gestures-output)\n"
    "  --films N         films of each gesture to learn from, 1 to 10000 (default 250)\n"
    "  --tests N         films of each gesture to test with, 1 to 10000 (default 50)\n"
    "  --epochs N        how often the network sees all films, 1 to 10000 (default 20)\n"
    "  --seed N          of the weights and of all that is drawn, 0 to 1000000000 (default 1)\n"
    "  --without-time    the events of a film exchange their times, so that only where they were is left\n"
    "\n"
    "  --network FILE    learn nothing, but name what this network sees\n"
    "  --recording FILE  in a recording of a camera of 24 x 24 pixels; default: a hand moves before a simulated "
    "camera\n"
    "  --seconds N       how long it moves, 1 to 86400 (default 10)\n"
    "  --realtime        one step each millisecond by the clock, and count those that were late\n"
    "  --spin            wait for the next millisecond without sleeping\n"
    "  --record FILE     learn nothing, but write what the simulated camera sends as a recording, Prophesee's .dat\n"
    "\n"
    "  --backend NAME    auto, host or cuda (default auto: CUDA if a GPU is available, else the host)\n"
    "  --device N        which CUDA device (default 0)\n"
    "  --threads N       threads of the host backend; 0 is automatic (default), 1 is this thread only; up to 1024\n"
    "  --help            this text\n"
    "\n"
    "The results are on stdout, progress on stderr. Exit status: 0 success, 1 failure, 2 wrong usage.\n";

// An option whose value is a number, and its bounds.
struct Number {
  const char* name;
  long least, most;
};

constexpr std::array<Number, 7> numbers = {{{"--films", 1, 10000},
                                            {"--tests", 1, 10000},
                                            {"--epochs", 1, 10000},
                                            {"--seed", 0, 1000000000},
                                            {"--seconds", 1, 86400},
                                            {"--device", 0, 1023},
                                            {"--threads", 0, 1024}}};

void set_number(std::string_view option, long value, Options& options) {
  if (option == "--films") options.plan.films = static_cast<std::size_t>(value);
  if (option == "--tests") options.plan.tests = static_cast<std::size_t>(value);
  if (option == "--epochs") options.plan.epochs = static_cast<std::size_t>(value);
  if (option == "--seed") options.plan.seed = options.live.seed = static_cast<std::uint64_t>(value);
  if (option == "--seconds") options.live.seconds = static_cast<std::size_t>(value);
  if (option == "--device") options.device = static_cast<std::int32_t>(value);
  if (option == "--threads") options.threads = static_cast<std::int32_t>(value);
}

// An option without a value.
bool set_flag(std::string_view option, Options& options) {
  if (option == "--without-time")
    options.plan.without_time = true;
  else if (option == "--realtime")
    options.live.realtime = true;
  else if (option == "--spin")
    options.live.spins = true;
  else
    return false;
  return true;
}

// An option and its value; null: there is none.
bool read_option(const char* name, const char* text, Options& options) {
  const std::string_view option = name;
  std::string* folder = option == "--output" ? &options.output : nullptr;
  std::string* file = nullptr;
  if (option == "--network") file = &options.network;
  if (option == "--recording") file = &options.live.recording;
  if (option == "--record") file = &options.record;
  const auto* const number =
      std::find_if(numbers.begin(), numbers.end(), [&](const Number& one) { return option == one.name; });
  if (folder == nullptr && file == nullptr && number == numbers.end() && option != "--backend")
    return complain("%s: unknown option", name);
  if (text == nullptr) return complain("%s: needs a value", name);
  if (folder != nullptr) return learning::read_name(name, text, "folder", *folder);
  if (file != nullptr) return learning::read_name(name, text, "file", *file);
  if (option == "--backend") return learning::read_backend(text, options.backend);
  long value = 0;
  if (!learning::read_whole(name, text, number->least, number->most, value)) return false;
  set_number(option, value, options);
  return true;
}

bool read_arguments(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    if (set_flag(argv[i], options)) continue;
    if (!read_option(argv[i], i + 1 < argc ? argv[i + 1] : nullptr, options)) return false;
    ++i;
  }
  if (!options.record.empty() && !options.network.empty())
    return complain("--record and --network: only one of them is allowed");
  if (options.network.empty() && (!options.live.recording.empty() || options.live.realtime))
    return complain("--recording and --realtime: need the --network that names");
  return true;
}

}  // namespace

Verdict read_options(int argc, char** argv, Options& options) {
  options.backend = SYNFIRE_BACKEND_AUTO;
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help") {
      std::fputs(help, stdout);
      return Verdict::help;
    }
  if (read_arguments(argc, argv, options)) return Verdict::run;
  std::fputs(usage, stderr);
  return Verdict::wrong;
}

}  // namespace gestures
