// main.cpp - `gestures`: learns to name what a hand does before an event camera. `gestures --help` lists the options.
//
// This file connects the parts. learner.cpp shows how to learn from events, namer.cpp how to name them in a loop.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "clock.h"
#include "files.h"
#include "learner.hpp"
#include "live.hpp"
#include "message.h"
#include "namer.hpp"
#include "options.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace {

double seconds_since(std::int64_t start) {
  return static_cast<double>(clock_now() - start) * 1e-9;
}

void learn(const synfire::Context& context, const gestures::Options& options) {
  if (!files_make_folder(options.output.c_str()) && !files_is_folder(options.output.c_str()))
    throw std::runtime_error(options.output + ": cannot be created");
  const gestures::Plan& plan = options.plan;
  std::int64_t start = clock_now();
  std::vector<gestures::Film> films = gestures::make_films(plan.films, false, plan.seed, options.threads),
                              unseen = gestures::make_films(plan.tests, true, plan.seed, options.threads);
  if (plan.without_time) {
    gestures::exchange_times(films, plan.seed);
    gestures::exchange_times(unseen, plan.seed);
  }
  std::printf("filmed       in %.1f s\n", seconds_since(start));
  gestures::report_films("films", films);
  gestures::report_films("unseen", unseen);

  gestures::Learner learner(context, films, unseen, plan);
  std::printf("%s", synfire::summary(learner.network()).c_str());
  start = clock_now();
  {
    learning::Progress progress("learning", plan.epochs);
    learner.learn([&](const gestures::Epoch& epoch) {
      progress.clear();
      gestures::report_epoch(epoch);
      progress.advance("");
    });
  }
  std::printf("learnt       in %.1f s\n", seconds_since(start));
  const std::string file = options.output + "/gestures.safetensors";
  synfire::check(synfire_network_save(learner.network(), file.c_str()));
  gestures::report_weights(gestures::hash_weights(learner.network()));
  gestures::save_namer(context, file, options.output + "/namer.safetensors");

  const std::vector<std::uint32_t> named = learner.name_unseen();
  const gestures::Confusion counts = gestures::confuse(unseen, named);
  gestures::report_confusion(counts);
  gestures::draw_events(options.output + "/events.svg", unseen, named);
  gestures::draw_spikes(options.output + "/spikes.svg", unseen.front(), learner.look_inside(unseen.front()));
  gestures::draw_confusion(options.output + "/confusion.svg", counts);
}

void run(const gestures::Options& options) {
  if (!options.record.empty()) {
    gestures::record_live(options.record, options.live);
    return;
  }
  synfire_context_desc desc = synfire::context_desc(options.backend, options.threads);
  desc.device = options.device;
  const synfire::Context context(desc);
  if (options.network.empty())
    learn(context, options);
  else
    gestures::name_live(context, options.network, options.live);
}

}  // namespace

int main(int argc, char** argv) {
  complain_as("gestures");
  argv = files_arguments(argc, argv);
  if (argv == nullptr) {
    complain("the command line cannot be read");
    return EXIT_FAILURE;
  }
  try {
    gestures::Options options;
    switch (gestures::read_options(argc, argv, options)) {
      case gestures::Verdict::help:
        return EXIT_SUCCESS;
      case gestures::Verdict::wrong:
        return 2;
      case gestures::Verdict::run:
        break;
    }
    run(options);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw std::runtime_error("the results cannot be written");
    return EXIT_SUCCESS;
  } catch (const std::exception& failed) {
    complain("%s", failed.what());
    return EXIT_FAILURE;
  }
}
