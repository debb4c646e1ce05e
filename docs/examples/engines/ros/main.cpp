// main.cpp - `robot`: trains a network to drive, and drives with it without ROS. `robot --help` lists the options.
//
// This file connects the parts. learner.cpp shows the training, brain.cpp the use of the trained network, pilot.cpp the
// loop around it.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "body.hpp"
#include "clock.h"
#include "drive.hpp"
#include "files.h"
#include "learner.hpp"
#include "message.h"
#include "options.hpp"
#include "picture.hpp"
#include "pilot.hpp"

namespace {

void train(const robot::Options& options) {
  std::FILE* const file = files_open(options.file.c_str(), "ab");  // to find out before it learns
  if (file == nullptr) throw std::runtime_error(options.file + ": cannot be written: " + std::strerror(errno));
  std::fclose(file);
  const std::int64_t start = clock_now();
  robot::Learner learner(options.plan);
  learner.learn([](const robot::Epoch& epoch) {
    std::printf("epoch %3zu    %zu rows, loss %.5f\n", epoch.number, epoch.rows, epoch.loss);
    std::fflush(stdout);
  });
  learner.save(options.file);
  std::printf("learnt       in %.1f s\n", static_cast<double>(clock_now() - start) * 1e-9);
  std::printf("weights      hash %016" PRIx64 "\n", learner.hash_weights());
}

void drive(const robot::Options& options) {
  robot::Brain brain(options.file);
  std::vector<robot::Drive> drives;
  std::size_t arrived = 0;
  for (std::size_t i = 0; i < options.n_drives; ++i) {
    drives.push_back(robot::drive(brain, options.first_seed + i));
    const robot::Drive& last = drives.back();
    arrived += last.arrived && !last.touched ? 1U : 0U;
    std::printf("rooms %-6" PRIu64 " %s %.1f s\n", options.first_seed + i,
                last.touched ? "a wall touched after" : (last.arrived ? "arrived after" : "not arrived after"),
                last.seconds);
  }
  std::printf("arrived      %zu of %zu\n", arrived, drives.size());
  if (!options.svg.empty()) robot::draw_paths(options.svg, drives, options.first_seed);
}

// Here is the simulated robot, in a thread of its own is the pilot: as the two nodes of ROS.
void pace(const robot::Options& options) {
  std::mutex shared;
  robot::Command command;
  robot::Pilot pilot(options.file, options.rate, [&](const robot::Command& next) {
    const std::scoped_lock lock(shared);
    command = next;
  });
  std::int64_t due = clock_now();
  const std::int64_t end = due + static_cast<std::int64_t>(options.seconds * 1e9);
  std::size_t arrived = 0, touched = 0;
  for (std::uint64_t seed = options.first_seed; due < end; ++seed) {
    const robot::Rooms rooms = robot::draw_rooms(seed);
    robot::Body body(rooms);
    robot::Progress progress(rooms);
    robot::Random random(seed);
    for (std::size_t t = 0; due < end && !progress.arrived() && !progress.touched(); ++t) {
      if (t % robot::steps_per_scan == 0)
        pilot.see(body.scan(rooms, random).data(), robot::n_beams, robot::first_angle, robot::angle_step);
      due += static_cast<std::int64_t>(1e9 / robot::steps_per_second);
      clock_wait_until(due, false);
      const std::scoped_lock lock(shared);
      body.step(command);
      progress.note(body);
    }
    arrived += progress.arrived() ? 1U : 0U;
    touched += progress.touched() ? 1U : 0U;
  }
  const robot::Report report = pilot.report();
  std::printf("drives       %zu arrived, %zu touched a wall\n", arrived, touched);
  std::printf("steps        %" PRIu64 ", %" PRIu64 " of them late, %" PRIu64 " without a fresh scan\n", report.steps,
              report.late, report.blind);
  std::printf("due->done    p50 %.1f us, p99 %.1f us, max %.1f us\n", report.p50, report.p99, report.longest);
}

}  // namespace

int main(int argc, char** argv) {
  complain_as("robot");
  argv = files_arguments(argc, argv);
  if (argv == nullptr) {
    complain("the command line cannot be read");
    return EXIT_FAILURE;
  }
  try {
    robot::Options options;
    switch (robot::read_options(argc, argv, options)) {
      case robot::Verdict::help:
        return EXIT_SUCCESS;
      case robot::Verdict::wrong:
        return 2;
      case robot::Verdict::run:
        break;
    }
    switch (options.task) {
      case robot::Task::train:
        train(options);
        break;
      case robot::Task::drive:
        drive(options);
        break;
      case robot::Task::pace:
        pace(options);
        break;
    }
    return EXIT_SUCCESS;
  } catch (const std::exception& failed) {
    complain("%s", failed.what());
    return EXIT_FAILURE;
  }
}
