// main.cpp - `digits`: learns to name spoken digits, and shows how well. `digits --help` lists the options.
//
// This file connects the parts. learner.cpp shows how to use Synfire: the network, its data, its training.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "clock.h"
#include "data.hpp"
#include "files.h"
#include "learner.hpp"
#include "message.h"
#include "options.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "report.hpp"
#include "stream.hpp"

namespace {

double seconds_since(std::int64_t start) {
  return static_cast<double>(clock_now() - start) * 1e-9;
}

// Learns, on every rank, and shows how well, on the first one.
void learn(const digits::Options& options, const digits::Data& data, const digits::Rank& rank) {
  digits::Learner learner(rank.context, data, options.plan, rank.together);
  if (!rank.is_first) {
    learner.learn([](const digits::Epoch&) {});
    return;
  }
  std::printf("%s", synfire::summary(learner.network()).c_str());
  const std::int64_t start = clock_now();
  {
    learning::Progress progress("learning", options.plan.epochs);
    learner.learn([&](const digits::Epoch& epoch) {
      progress.clear();
      digits::report_epoch(epoch);
      progress.advance("");
    });
  }
  std::printf("learnt       in %.1f s\n", seconds_since(start));
  digits::report_weights(digits::hash_weights(learner.network(), learner.plan()));
  digits::report_confusion(learner.unheard(), learner.name(learner.unheard()));
  const std::string file = options.output + "/digits.safetensors";
  synfire::check(synfire_network_save(learner.network(), file.c_str()));
  digits::report_stream(digits::name_stream(rank.context, file, learner.unheard()));
  digits::draw_picture(options.output + "/picture.svg", learner);
}

void run(const digits::Options& options) {
  if (!options.make_data.empty()) {
    digits::make_data(options.make_data, options.plan.manners);
    digits::report_data(digits::read_data(options.make_data));
    return;
  }
  if (!files_make_folder(options.output.c_str()) && !files_is_folder(options.output.c_str()))
    throw std::runtime_error(options.output + ": cannot be created");
  if (options.data.empty()) {
    const std::int64_t start = clock_now();
    digits::make_data(options.output, options.plan.manners);
    std::printf("data made    in %.1f s\n", seconds_since(start));
  }
  const digits::Data data = digits::read_data(options.data.empty() ? options.output : options.data);
  digits::on_ranks(options, [&](const digits::Rank& rank) {
    if (rank.is_first) digits::report_data(data);
    learn(options, data, rank);
  });
}

}  // namespace

int main(int argc, char** argv) {
  complain_as("digits");
  argv = files_arguments(argc, argv);
  if (argv == nullptr) {
    complain("the command line cannot be read");
    return EXIT_FAILURE;
  }
  try {
    digits::Options options;
    switch (digits::read_options(argc, argv, options)) {
      case digits::Verdict::help:
        return EXIT_SUCCESS;
      case digits::Verdict::wrong:
        return 2;
      case digits::Verdict::run:
        break;
    }
    run(options);
    return EXIT_SUCCESS;
  } catch (const std::exception& failed) {
    complain("%s", failed.what());
    return EXIT_FAILURE;
  }
}
