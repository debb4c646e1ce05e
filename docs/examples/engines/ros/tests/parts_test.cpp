// parts_test.cpp - scans that are broken, and the loop without scans, with a failing robot, and at wrong rates.
//
//     robot_parts_test BRAIN
//
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

#include "pilot.hpp"
#include "scan.hpp"

namespace {

int failures = 0;

void expect(bool good, const char* what) {
  if (good) return;
  std::printf("FAILED: %s\n", what);
  ++failures;
}

template <class Call>
std::string thrown(const Call& call) {
  try {
    call();
  } catch (const std::exception& failed) {
    return failed.what();
  }
  return "";
}

void wait_a_moment() {
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

void test_scans() {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  robot::Scan scan{}, sent{};
  scan.fill(2);
  sent.fill(3);
  sent[0] = NAN;
  sent[1] = infinite;
  sent[2] = -infinite;
  robot::take_scan(sent.data(), robot::n_beams, robot::first_angle, robot::angle_step, scan);
  expect(scan[0] == 2, "a beam that is not a number keeps its range");
  expect(scan[1] == static_cast<float>(robot::farthest), "a beam without an echo is far");
  expect(scan[2] == 0 && scan[3] == 3 && scan.back() == 3, "the other beams are taken");
  const robot::Scan before = scan;
  sent.fill(1);
  const auto refusal = [&](std::size_t n, double first, double step) {
    return thrown([&] { robot::take_scan(sent.data(), n, first, step, scan); });
  };
  expect(refusal(60, robot::first_angle, robot::angle_step).find("60 beams") != std::string::npos,
         "60 beams are refused");
  expect(!refusal(robot::n_beams, -1.5, robot::angle_step).empty(), "another first angle is refused");
  expect(!refusal(robot::n_beams, robot::first_angle, 0.05).empty(), "another step is refused");
  expect(!refusal(robot::n_beams, NAN, robot::angle_step).empty(), "an angle that is not a number is refused");
  expect(scan == before, "a scan that is refused changes nothing");
}

void test_loop(const std::string& brain) {
  for (const double rate : {0.0, 1000.5, -200.0, static_cast<double>(NAN)})
    expect(thrown([&] { robot::Pilot pilot(brain, rate, [](const robot::Command&) {}); }).find("a rate of ") == 0,
           "a wrong rate is refused");

  std::size_t moves = 0;
  {
    robot::Pilot pilot(brain, 200, [&](const robot::Command& command) { moves += command.forward != 0 ? 1U : 0U; });
    wait_a_moment();
    const robot::Report report = pilot.report();
    expect(report.steps > 0 && report.blind > 0, "steps without a scan are counted");
  }
  expect(moves == 0, "without a scan, the robot does not move");

  robot::Command last;
  {
    robot::Scan clear;
    clear.fill(static_cast<float>(robot::farthest));
    robot::Pilot pilot(brain, 200, [&](const robot::Command& command) {
      moves += command.forward != 0 ? 1U : 0U;
      last = command;
    });
    pilot.see(clear.data(), robot::n_beams, robot::first_angle, robot::angle_step);
    wait_a_moment();
  }
  expect(moves > 0, "with a scan, it moves");
  expect(last.forward == 0 && last.turn == 0, "the last command is to stop");

  robot::Pilot failing(brain, 200, [](const robot::Command&) { throw std::runtime_error("the wheels are gone"); });
  wait_a_moment();
  expect(thrown([&] { failing.report(); }) == "the wheels are gone", "the report throws what has ended the loop");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  test_scans();
  test_loop(argv[1]);
  if (failures == 0) std::printf("passed\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
