// The time stamps of launches agree with the steady clock.
#include <platform/stamp_clock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace synfire::core {
namespace {

constexpr int64_t ms = 1'000'000;

// Lies between readings of the steady clock around and inside it, however late the thread wakes up.
void expect_the_time_slept(const StampClock& clock) {
  const int64_t before = now_ns();
  const int64_t stamp = clock.now();
  const int64_t after = now_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const int64_t least = now_ns() - after;
  const int64_t passed = clock.ns_since(stamp);
  const int64_t most = now_ns() - before;
  EXPECT_GE(passed, 50 * ms - 50 * ms / 1000);
  EXPECT_GE(passed, least - least / 1000);
  EXPECT_LE(passed, most + most / 1000);
}

TEST(StampClock, MeasuresWhatTheSteadyClockDoes) {
  expect_the_time_slept(StampClock::of_this_machine());
  expect_the_time_slept(StampClock{});
}

TEST(StampClock, OfOneMachineThereIsOne) {
  const StampClock clock = StampClock::of_this_machine(), again = StampClock::of_this_machine();
  EXPECT_EQ(clock.is_steady_clock(), again.is_steady_clock());
  const int64_t stamp = clock.now();
  const int64_t first = again.ns_since(stamp), second = clock.ns_since(stamp);
  EXPECT_LE(first, second);
  EXPECT_TRUE(StampClock{}.is_steady_clock());
}

// If the processor does not guarantee a counter with a constant rate, none is used.
TEST(StampClock, CountsOnlyWhereTheRateIsConstant) {
  bool constant = false;
#if defined(__x86_64__)
  unsigned int a = 0, b = 0, c = 0, d = 0;
  constant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 0x100) != 0;
#endif
  if (!constant) {
    EXPECT_TRUE(StampClock::of_this_machine().is_steady_clock());
  }
}

TEST(StampClock, AStampOfLaterIsNoTimeAgo) {
  for (const StampClock& clock : {StampClock::of_this_machine(), StampClock{}}) {
    EXPECT_EQ(clock.ns_since(clock.now() + 1'000'000'000'000), 0);
    EXPECT_GT(clock.ns_since(clock.now() - 1'000'000'000), 0);
  }
}

// All threads share one clock: a stamp passed to another thread is never more than a microsecond in the future.
TEST(StampClock, OtherThreadsHaveTheSameTime) {
  const StampClock clock = StampClock::of_this_machine();
  for (int round = 0; round < 50; ++round) {
    const int64_t before = clock.now();
    int64_t theirs = 0;
    std::thread([&] { theirs = clock.now(); }).join();
    const int64_t between = clock.ns_since(theirs), whole = clock.ns_since(before);
    EXPECT_LE(between, whole + 1000);
  }
}

}  // namespace
}  // namespace synfire::core
