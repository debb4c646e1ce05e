// pilot.hpp - the loop: a thread that runs the brain at a fixed rate, and counts the steps that are late. It includes
// nothing of ROS: whoever has a robot gives it scans and takes its commands.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "brain.hpp"
#include "scan.hpp"

namespace robot {

/// It tells how the loop keeps its time.
struct Report {
  std::uint64_t steps = 0;  // since it began: those that were due
  std::uint64_t late = 0;   // of them: not done, or not even begun, when the next one was due
  std::uint64_t blind = 0;  // of them: without a scan of the last 0.25 s, in which the command was to stop
  // From when a step was due until its command was out, in microseconds; 0 without steps.
  double p50 = 0, p99 = 0, longest = 0;
};

class Pilot {
 public:
  using Act = std::function<void(const Command&)>;

  /// Begins. The loop's thread calls `act` in each step; what it throws ends the loop. The rate is in steps per second.
  Pilot(const std::string& file, double rate, Act act);

  /// Ends, after a last command to stop.
  ~Pilot();
  Pilot(const Pilot&) = delete;
  Pilot& operator=(const Pilot&) = delete;

  /// Takes a scan as take_scan() does, from any thread.
  void see(const float* ranges, std::size_t n, double first, double step);

  /// Throws what has ended the loop, if anything has.
  Report report();

 private:
  void run();
  void keep(const std::function<void()>& part);
  void step(std::int64_t due);

  Brain brain_;
  std::int64_t period_;  // nanoseconds
  Act act_;
  std::mutex shared_;  // guards what follows, for moments
  Scan scan_{};
  std::int64_t seen_ = 0;  // when; 0: never
  Report report_;
  std::vector<std::int64_t> times_;  // of the steps since the last report, as far as they fit
  std::exception_ptr failed_;
  std::atomic<bool> ends_{false};
  std::thread thread_;  // the last one: it uses all others
};

}  // namespace robot
