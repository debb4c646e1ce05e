// Runs an operation on the host: threads, and the slot of the replay.
#ifndef SYNFIRE_BACKENDS_HOST_HOST_LAUNCHER_HPP
#define SYNFIRE_BACKENDS_HOST_HOST_LAUNCHER_HPP

#include "parallel.hpp"
#include "places.hpp"

#include <platform/float_environment.hpp>

#include <algorithm>

namespace synfire::host {

class Launcher {
 public:
  Launcher(const Parallel& threads, uint32_t slot) noexcept : threads_(threads), slot_(slot) {}

  uint32_t slot() const noexcept { return slot_; }
  int n_threads() const noexcept { return threads_.n_threads(); }

  // Calls f(begin, end) for ranges that cover [0, count): one on this thread or, if it is long enough to share, a few
  // per thread, which balances the load of other programs. What this thread does alone takes no locked instruction and
  // no arithmetic: it may be over in 50 ns.
  template <class F>
  void for_each_range(int64_t count, bool share, F f) const {
    if (is_alone(share)) return f(int64_t{0}, count);  // under the guard of the C ABI's function
    const int64_t n = std::clamp<int64_t>(count, 1, int64_t{4} * n_threads());
    auto range = [&](int64_t index) {
      const core::FloatEnvironment ieee;  // other threads may not have the caller's
      f(part(count, index, n), part(count, index + 1, n));
    };
    threads_.for_each_block(n, range);
  }
  // Calls f(begin, end, place). Ranges that run at the same time have different places in [0, max(1, min(count,
  // Device::most_at_once()))), which are parts of the operation's memory.
  template <class F>
  void for_each_placed_range(int64_t count, bool share, F f) const {
    if (is_alone(share)) return f(int64_t{0}, count, int64_t{0});
    Places places(std::clamp<int64_t>(count, 1, threads_.most_at_once()));
    for_each_range(count, share, [&](int64_t begin, int64_t end) {
      const Places::Taken place(places);
      f(begin, end, place.number());
    });
  }

 private:
  bool is_alone(bool share) const noexcept { return !share || n_threads() == 1; }
  // The start of the index-th of n parts of a count, without overflow.
  static int64_t part(int64_t count, int64_t index, int64_t n) noexcept {
    return count / n * index + count % n * index / n;
  }

  const Parallel& threads_;
  const uint32_t slot_;
};

}  // namespace synfire::host

#endif
