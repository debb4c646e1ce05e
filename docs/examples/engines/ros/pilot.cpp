// pilot.cpp - see pilot.hpp.
//
// SPDX-License-Identifier: MIT
#include "pilot.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "clock.h"

namespace robot {
namespace {

constexpr std::size_t most_times = 8192;
constexpr std::int64_t second = 1000000000, fresh = second / 4;
constexpr double slowest = 1, fastest = 1000;  // steps per second
constexpr int warm_up = 50;

std::int64_t period_of(double rate) {
  if (!(rate >= slowest && rate <= fastest))
    throw std::runtime_error("a rate of " + std::to_string(rate) + "; allowed: 1 to 1000 steps per second");
  return std::llround(static_cast<double>(second) / rate);
}

// The smallest time that at least this share of them does not exceed, in microseconds.
double percentile(const std::vector<std::int64_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return static_cast<double>(sorted.at(std::max<std::size_t>(rank, 1) - 1)) * 1e-3;
}

}  // namespace

Pilot::Pilot(const std::string& file, double rate, Act act)
    : brain_(file), period_(period_of(rate)), act_(std::move(act)) {
  times_.reserve(most_times);
  for (int i = 0; i < warm_up; ++i) brain_.step(scan_);
  brain_.reset();
  thread_ = std::thread([this] { run(); });
}

Pilot::~Pilot() {
  ends_ = true;
  thread_.join();
}

void Pilot::see(const float* ranges, std::size_t n, double first, double step) {
  const std::int64_t now = clock_now();
  const std::scoped_lock lock(shared_);
  take_scan(ranges, n, first, step, scan_);
  seen_ = now;
}

Report Pilot::report() {
  std::vector<std::int64_t> times;
  times.reserve(most_times);
  Report report;
  {
    const std::scoped_lock lock(shared_);
    if (failed_) std::rethrow_exception(failed_);
    times.swap(times_);
    report = report_;
  }
  std::sort(times.begin(), times.end());
  report.p50 = percentile(times, 0.5);
  report.p99 = percentile(times, 0.99);
  report.longest = percentile(times, 1);
  return report;
}

// Runs a part of the loop's thread, and keeps what it throws.
void Pilot::keep(const std::function<void()>& part) {
  try {
    part();
  } catch (...) {
    const std::scoped_lock lock(shared_);
    if (!failed_) failed_ = std::current_exception();
  }
}

// [loop]
void Pilot::run() {
  keep([this] {
    // A step is due at a point in time, not after a pause: one that woke late does not delay the next.
    for (std::int64_t due = clock_now() + period_; !ends_; due += period_) {
      clock_wait_until(due, false);
      const std::int64_t missed = (clock_now() - due) / period_;
      if (missed > 0) {  // the system ran something else: these steps are lost, and late
        const std::scoped_lock lock(shared_);
        report_.steps += static_cast<std::uint64_t>(missed);
        report_.late += static_cast<std::uint64_t>(missed);
        due += missed * period_;
      }
      step(due);
    }
  });
  keep([this] { act_({}); });  // stop, also if the loop has failed
}

void Pilot::step(std::int64_t due) {
  Scan scan;
  std::int64_t seen = 0;
  {
    const std::scoped_lock lock(shared_);
    scan = scan_;
    seen = seen_;
  }
  const bool blind = seen == 0 || due - seen > fresh;
  act_(blind ? Command{} : brain_.step(scan));
  const std::int64_t took = clock_now() - due;
  const std::scoped_lock lock(shared_);
  ++report_.steps;
  report_.late += took > period_ ? 1U : 0U;
  report_.blind += blind ? 1U : 0U;
  if (times_.size() < most_times) times_.push_back(took);
}
// [loop]

}  // namespace robot
