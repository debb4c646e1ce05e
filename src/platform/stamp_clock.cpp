#include "stamp_clock.hpp"

#include <atomic>
#include <chrono>
#include <cmath>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace synfire::core {

int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

#if defined(__x86_64__)

namespace {

// AMD64 Architecture Programmer's Manual, volume 3, CPUID Fn8000_0007_EDX[8]; Intel SDM, volume 3, "Invariant TSC".
bool has_invariant_counter() noexcept {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}

struct Reading {
  int64_t ns, count, uncertain_ns;
};

// Reads both clocks at one moment: keeps the fastest of a few readings, so that an interruption does no harm.
Reading read_both() noexcept {
  Reading best = {0, 0, INT64_MAX};
  for (int i = 0; i < 8; ++i) {
    const int64_t before = now_ns();
    const auto count = static_cast<int64_t>(__rdtsc());
    const int64_t after = now_ns();
    if (after - before < best.uncertain_ns) best = {before + (after - before) / 2, count, after - before};
  }
  return best;
}

constexpr int64_t window_ns = 200'000;
constexpr double agreement = 1e-3;  // a reading is uncertain by 50 ns, 1/4000 of the window

}  // namespace

// Accepts a rate on which two windows agree. If none do, because of interruptions or a counter that is not constant
// after all, the steady clock is used.
StampClock StampClock::find() noexcept {
  StampClock clock;
  if (!has_invariant_counter()) return clock;
  Reading readings[3];
  for (int i = 0; i < 3; ++i) {
    if (i > 0)
      while (now_ns() - readings[i - 1].ns < window_ns) {
      }
    readings[i] = read_both();
  }
  double ns_per_count[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t counts = readings[i + 1].count - readings[i].count;
    if (counts <= 0) return clock;
    ns_per_count[i] = static_cast<double>(readings[i + 1].ns - readings[i].ns) / static_cast<double>(counts);
  }
  if (!(std::abs(ns_per_count[0] / ns_per_count[1] - 1) < agreement)) return clock;
  clock.counts_ = true;
  clock.ns_per_count_ =
      static_cast<double>(readings[2].ns - readings[0].ns) / static_cast<double>(readings[2].count - readings[0].count);
  return clock;
}

#else

StampClock StampClock::find() noexcept {
  return {};
}

#endif

namespace {

enum : int { unknown, being_written, known };
constinit std::atomic<int> found_state{unknown};
constinit StampClock the_clock;

}  // namespace

// No thread waits for another one, which might not exist after a fork: two threads at once both calibrate.
StampClock StampClock::of_this_machine() noexcept {
  if (found_state.load(std::memory_order_acquire) == known) return the_clock;
  const StampClock clock = find();
  int nothing = unknown;
  if (found_state.compare_exchange_strong(nothing, being_written, std::memory_order_relaxed)) {
    the_clock = clock;
    found_state.store(known, std::memory_order_release);
  }
  return clock;
}

}  // namespace synfire::core
