// main.cpp - synfire-bench: measures the speed of layers through the C ABI. This file sets the exit statuses.
//
// SPDX-License-Identifier: MIT
#include <synfire/synfire.h>

#include <cstdio>
#include <exception>

#include "commands.hpp"
#include "machine.hpp"

namespace synfire_bench {
namespace {

constexpr int exit_done = 0;
constexpr int exit_failed = 1;
constexpr int exit_unusable = 2;

void run(const Options& options) {
  switch (options.command) {
    case Command::none:
      break;
    case Command::layer:
      return run_layer(options);
    case Command::sweep:
      return run_sweep(options);
    case Command::plot:
      return run_plot(options);
    case Command::tutorial:
      return run_tutorial(options);
    case Command::latency:
      return run_latency(options);
    case Command::context:
      return run_context(options);
    case Command::data:
      return run_data(options);
    case Command::events:
      return run_events(options);
    case Command::network:
      return run_network(options);
    case Command::conv2d:
      return run_conv2d(options);
    case Command::shapes:
      return run_shapes(options);
    case Command::loaded:
      return run_loaded(options);
  }
}

}  // namespace
}  // namespace synfire_bench

int main(int argument_count, char** arguments) {
  using namespace synfire_bench;
  try {
    const Options options = parse_options(argument_count, arguments);
    if (options.help) {
      std::printf("%s", usage(options.command).c_str());
    } else {
      run(options);
      check(synfire_context_reclaim(nullptr, nullptr), "synfire_context_reclaim");
    }
    if (std::fflush(stdout) != 0) {
      std::fprintf(stderr, "synfire-bench: the results could not be written\n");
      return exit_failed;
    }
    return exit_done;
  } catch (const UsageError& error) {
    // The usage of the command that was named, else that of the program.
    const Command command = argument_count >= 2 ? command_named(arguments[1]) : Command::none;
    std::fprintf(stderr, "synfire-bench: %s\n\n%s", error.text.c_str(), usage(command).c_str());
  } catch (const NoBackend& error) {
    std::fprintf(stderr, "synfire-bench: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "synfire-bench: %s\n", error.what());
    return exit_failed;
  }
  return exit_unusable;
}
