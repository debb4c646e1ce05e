// Two clocks: the steady clock, and cheaper stamps from the processor's counter for the path of a launch.
#ifndef SYNFIRE_PLATFORM_STAMP_CLOCK_HPP
#define SYNFIRE_PLATFORM_STAMP_CLOCK_HPP

#include <cstdint>

namespace synfire::core {

// Nanoseconds of a steady clock.
int64_t now_ns() noexcept;

// Stamps have their clock's unit. Those of two threads may differ by the offset between their processors' counters.
class StampClock {
 public:
  // Stamps are nanoseconds of the steady clock.
  StampClock() = default;
  // The cheapest clock of this machine, determined once per process in less than a millisecond.
  static StampClock of_this_machine() noexcept;

  int64_t now() const noexcept {
#if defined(__x86_64__)
    // __rdtsc() without the header that declares it, which nearly every file of the library would parse.
    if (counts_) return static_cast<int64_t>(__builtin_ia32_rdtsc());
#endif
    return now_ns();
  }
  int64_t ns_since(int64_t stamp) const noexcept {
    const int64_t passed = now() - stamp;
    return passed <= 0 ? 0 : static_cast<int64_t>(static_cast<double>(passed) * ns_per_count_);
  }
  bool is_steady_clock() const noexcept {
    return !counts_;
  }

 private:
  static StampClock find() noexcept;

  bool counts_ = false;  // the processor's counter, if its rate is constant
  double ns_per_count_ = 1;
};

}  // namespace synfire::core

#endif
