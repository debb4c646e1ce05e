// options.hpp - the command line of synfire-bench: every option with its default.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_OPTIONS_HPP
#define SYNFIRE_TOOLS_BENCH_OPTIONS_HPP

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "names.hpp"

namespace synfire_bench {

/// A wrong command line: exit status 2, with the usage.
struct UsageError {
  std::string text;
};

enum class Command {
  none,
  layer,
  sweep,
  plot,
  tutorial,
  latency,
  context,
  data,
  events,
  network,
  conv2d,
  shapes,
  loaded
};
enum class Format { text, csv, json };

/// The chains that `latency` measures; null or 0 means not chosen.
struct LatencyChoice {
  std::uint64_t layers = 0, steps = 0, neurons = 0, replays = 0;
  const DirectionName* direction = nullptr;
  const Policy* policy = nullptr;
  const LoadName* load = nullptr;
  const PriorityName* priority = nullptr;

  bool narrowed() const {
    return layers != 0 || steps != 0 || neurons != 0 || direction != nullptr || policy != nullptr || load != nullptr ||
           priority != nullptr;
  }
};

/// The network that `network` measures; without sizes, a list of named ones.
struct NetworkChoice {
  std::string name;                     ///< one of the named ones, or a file
  std::vector<std::uint64_t> sizes;     ///< "300-700-90-11"
  std::uint64_t steps = 0, batch = 0;   ///< 0: those of the network
  std::uint64_t side = 0, divisor = 1;  ///< of a published network: of its map (0: as published), of its channels
  std::uint32_t weight_bits = 0;        ///< 0: those of the network
  const NetworkMode* mode = &network_modes[0];
  double input_percent = std::numeric_limits<double>::quiet_NaN();  ///< not chosen
  bool values = false, taus = false, profile = false, transient = false;
};

/// The convolutions that `conv2d` measures: one, or all of them.
struct Conv2dChoice {
  const NamedConv2d* shape = nullptr;
  double input_percent = 10;
};

/// The shapes that `shapes` measures; null or 0 means not chosen.
struct ShapesChoice {
  const ShapesPart* part = nullptr;  ///< null until all options are read
  const Dtype* dtype = nullptr;
  const DirectionName* direction = nullptr;
  std::uint64_t seed = 1;
  std::uint64_t largest = 0;  ///< elements
  bool sources = false;
};

struct Options {
  Command command = Command::none;
  bool help = false;
  // what is measured
  const Model* model = &models.front();
  const Surrogate* surrogate = &surrogates.front();
  const Dtype* dtype = &dtypes[0];
  const SpikeFormat* spikes = &spike_formats[0];
  const Tape* tape = &tapes[0];
  const DirectionName* direction = &directions[2];
  const CacheName* cache = &caches[0];
  Shape shape;
  LatencyChoice latency;
  NetworkChoice network;
  Conv2dChoice conv2d;
  ShapesChoice shapes;
  std::uint64_t loaded_seed = 1;  ///< of the random shapes of `loaded`
  // where and how
  const Backend* backend = &backends[0];
  std::uint32_t threads = 0;
  std::uint32_t threads_per_block = 0;
  std::uint32_t rounds = 15;
  std::uint32_t copy_mib = 0;  ///< 0: the default of the machine
  std::uint32_t data_mib = 0;  ///< 0: the default of the machine
  std::uint32_t events = 0;    ///< 0: the default of the machine
  bool full = false;
  double limit_seconds = 0;  ///< 0: the default of the machine
  // output
  Format format = Format::text;
  std::string csv_file;
  std::string json_file;
  std::string svg_file;
  std::string input;
  std::string output;
};

/// The command of that name, or `none` if there is none.
Command command_named(std::string_view name);

Options parse_options(int argument_count, char** arguments);

/// The usage of one command, or of the program.
std::string usage(Command command);

}  // namespace synfire_bench

#endif
