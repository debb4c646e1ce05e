// main.cpp - `balance`: trains a network to keep a pole up, and runs it. `balance --help` lists the options.
//
// This file connects the parts. learner.cpp shows the training, brain.cpp the use of the trained network, loop.cpp the
// loop that keeps the time, body.c what MuJoCo needs.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "clock.h"
#include "files.h"
#include "learner.hpp"
#include "loop.hpp"
#include "message.h"
#include "options.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "run.hpp"

namespace {

void train(const balance::Options& options) {
  const std::int64_t start = clock_now();
  balance::Learner learner(options.model, options.plan);
  std::FILE* const file = files_open(options.file.c_str(), "ab");  // to find out before it learns
  if (file == nullptr) throw std::runtime_error(options.file + ": cannot be written: " + std::strerror(errno));
  std::fclose(file);
  {
    learning::Progress progress("epochs", options.plan.epochs);
    learner.learn([&](const balance::Epoch& epoch) {
      progress.clear();
      std::printf("epoch %3zu    loss %.5f, %zu falls\n", epoch.number, epoch.loss, epoch.falls);
      std::fflush(stdout);
      progress.advance("");
    });
  }
  learner.save(options.file);
  std::printf("learnt       in %.1f s\n", static_cast<double>(clock_now() - start) * 1e-9);
  std::printf("network      hash %016" PRIx64 "\n", learner.hash_weights());
}

void run(const balance::Options& options) {
  balance::Cart cart(options.model);
  balance::Brain brain(options.file);
  const auto steps = static_cast<std::size_t>(static_cast<double>(options.seconds) * balance::steps_per_second);
  balance::Run last;
  balance::Pace pace;
  std::size_t up = 0;
  for (std::size_t i = 0; i < options.n_runs; ++i) {
    const std::uint64_t seed = options.first_seed + i;
    const balance::Control control = balance::control_of(brain, options.forgets);
    last = options.by_clock ? balance::run_by_clock(cart, control, seed, steps, pace)
                            : balance::run(cart, control, seed, steps);
    up += last.fallen ? 0U : 1U;
    std::printf("run %-8" PRIu64 " %s %.2f s\n", seed, last.fallen ? "fell after" : "up for",
                static_cast<double>(last.moments.size()) / balance::steps_per_second);
  }
  std::printf("up           %zu of %zu\n", up, options.n_runs);
  if (options.by_clock) {
    std::printf("steps        %zu, %zu of them late\n", pace.steps, pace.late);
    std::printf("due->done    p50 %.1f us, p99 %.1f us, max %.1f us\n", balance::percentile(pace, 0.5),
                balance::percentile(pace, 0.99), balance::percentile(pace, 1));
  }
  if (!options.film.empty()) balance::draw_film(options.film, last);
  if (!options.plot.empty()) balance::draw_plot(options.plot, last);
  if (!options.latency.empty()) balance::draw_latency(options.latency, pace);
}

}  // namespace

int main(int argc, char** argv) {
  complain_as("balance");
  argv = files_arguments(argc, argv);
  if (argv == nullptr) {
    complain("the command line cannot be read");
    return EXIT_FAILURE;
  }
  try {
    balance::Options options;
    switch (balance::read_options(argc, argv, options)) {
      case balance::Verdict::help:
        return EXIT_SUCCESS;
      case balance::Verdict::wrong:
        return 2;
      case balance::Verdict::run:
        break;
    }
    if (options.task == balance::Task::train)
      train(options);
    else
      run(options);
    return EXIT_SUCCESS;
  } catch (const std::exception& failed) {
    complain("%s", failed.what());
    return EXIT_FAILURE;
  }
}
