// options.cpp - see options.hpp.
//
// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <synfire/synfire.h>
#include <cstdio>
#include <string_view>

#include "arguments.hpp"
#include "message.h"

namespace digits {
namespace {

constexpr const char* usage = "usage: digits [options]     (digits --help lists them)\n";

constexpr const char* help =
    "usage: digits [options]\n"
    "\n"
    "Learns to name the spoken digits zero to nine: espeak-ng speaks them with many voices, a silicon cochlea makes\n"
    "spikes of them, and a network of two layers of spiking neurons learns most of the voices and is tested on "
    "others.\n"
    "\n"
    "  --output DIR      where picture.svg, digits.safetensors and, without --data, the data go (default "
    "digits-output)\n"
    "  --data DIR        the folder of data made before, for a machine without espeak-ng\n"
    "  --make-data DIR   only make the data\n"
    "  --epochs N        how often the network hears everything, 1 to 10000 (default 50)\n"
    "  --sounds N        neurons of the first layer, 1 to 4096 (default 127)\n"
    "  --parts N         neurons of the second layer, 1 to 4096 (default 77)\n"
    "  --recurrent N     the second layer also reads its own spikes, of N frames before, 1 to 100 (default 0: not)\n"
    "  --delays N        every connection from a fibre learns a delay of up to N frames, 1 to 50 (default 0: none)\n"
    "  --manners N       only the first N of the manners in which each voice speaks, 1 to 1000 (default: all)\n"
    "  --seed N          of the weights and of all that is drawn, 0 to 1000000000 (default 1)\n"
    "  --weight-bits N   of the weights on their grid, 8, 16 or 24 (default 24)\n"
    "  --backend NAME    auto, host or cuda (default auto: CUDA if a GPU is available, else the host)\n"
    "  --device N        which CUDA device (default 0)\n"
    "  --threads N       threads of the host backend; 0 is automatic (default), 1 is this thread only; up to 1024\n"
    "  --ranks N         N threads, 1 to 64, that each learn a part of every batch; or mpi: the processes that mpirun\n"
    "                    has started do so, with --data. The result has the same bits\n"
    "  --help            this text\n"
    "\n"
    "The results are on stdout, progress on stderr. Exit status: 0 success, 1 failure, 2 wrong usage.\n";

bool read_count(const char* name, const char* text, long least, long most, std::size_t& count) {
  long whole = 0;
  if (!learning::read_whole(name, text, least, most, whole)) return false;
  count = static_cast<std::size_t>(whole);
  return true;
}

// An option and its value.
bool read_option(const char* name, const char* text, Options& options) {
  const std::string_view option = name;
  long whole = 0;
  if (option == "--output") return learning::read_name(name, text, "folder", options.output);
  if (option == "--data") return learning::read_name(name, text, "folder", options.data);
  if (option == "--make-data") return learning::read_name(name, text, "folder", options.make_data);
  if (option == "--backend") return learning::read_backend(text, options.backend);
  if (option == "--epochs") return read_count(name, text, 1, 10000, options.plan.epochs);
  if (option == "--sounds") return read_count(name, text, 1, 4096, options.plan.sounds);
  if (option == "--parts") return read_count(name, text, 1, 4096, options.plan.parts);
  if (option == "--recurrent") return read_count(name, text, 0, 100, options.plan.recurrent);
  if (option == "--delays") return read_count(name, text, 0, 50, options.plan.delays);
  if (option == "--manners") return read_count(name, text, 1, 1000, options.plan.manners);
  if (option == "--seed") {
    if (!learning::read_whole(name, text, 0, 1000000000, whole)) return false;
    options.plan.seed = static_cast<std::uint64_t>(whole);
  } else if (option == "--weight-bits") {
    if (!learning::read_whole(name, text, 8, 24, whole)) return false;
    if (whole % 8 != 0) return complain("--weight-bits: allowed: 8, 16, 24");
    options.plan.weight_bits = static_cast<int>(whole);
  } else if (option == "--ranks") {
    options.mpi = std::string_view(text) == "mpi";
    if (options.mpi) return true;
    if (!learning::read_whole(name, text, 1, 64, whole)) return false;
    options.ranks = static_cast<int>(whole);
  } else if (option == "--device") {
    if (!learning::read_whole(name, text, 0, 1023, whole)) return false;
    options.device = static_cast<std::int32_t>(whole);
  } else {
    if (!learning::read_whole(name, text, 0, 1024, whole)) return false;
    options.threads = static_cast<std::int32_t>(whole);
  }
  return true;
}

bool is_option(std::string_view name) {
  for (const char* const known :
       {"--output", "--data", "--make-data", "--backend", "--epochs", "--sounds", "--parts", "--recurrent", "--delays",
        "--manners", "--seed", "--weight-bits", "--ranks", "--device", "--threads"})
    if (name == known) return true;
  return false;
}

bool read_arguments(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i += 2) {
    if (!is_option(argv[i])) return complain("%s: unknown option", argv[i]);
    if (i + 1 >= argc) return complain("%s: needs a value", argv[i]);
    if (!read_option(argv[i], argv[i + 1], options)) return false;
  }
  if (!options.make_data.empty() && !options.data.empty())
    return complain("--make-data and --data: only one of them is allowed");
  if (options.mpi && options.data.empty()) return complain("--ranks mpi: needs --data, made before");
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

}  // namespace digits
