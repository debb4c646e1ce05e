// Statistics of a graph's replays: their number, late waits, and a histogram of the times from launch to seen done.
// Constant memory, no locks. One thread launches; any number of threads wait.
#ifndef SYNFIRE_GRAPH_GRAPH_STATISTICS_HPP
#define SYNFIRE_GRAPH_GRAPH_STATISTICS_HPP

#include <platform/stamp_clock.hpp>

#include <synfire/synfire.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace synfire::core {

class GraphStatistics {
 public:
  // Buckets are 1/32 of an octave wide: a percentile is at most 3.2 % above the actual time.
  static constexpr int steps_per_octave = 32;
  static constexpr int n_octaves = 40;
  static constexpr int n_buckets = n_octaves * steps_per_octave;
  // Launches whose times are remembered; waits for older tickets count no time.
  static constexpr uint64_t n_launches = 256;

  explicit GraphStatistics(const StampClock& clock) noexcept : clock_(clock) {}

  int64_t stamp() const noexcept { return clock_.now(); }
  void launched(uint64_t ticket, int64_t stamp) noexcept {
    launch_stamps_[ticket % n_launches].store(stamp, std::memory_order_relaxed);
    last_launched_.store(ticket, std::memory_order_relaxed);
  }
  int64_t ns_since_launch(uint64_t ticket) const noexcept {
    return clock_.ns_since(launch_stamps_[ticket % n_launches].load(std::memory_order_relaxed));
  }
  // A wait found the replay done. Only the first of several waits for a ticket counts.
  void seen_done(uint64_t ticket, uint64_t last_ticket) noexcept;
  void late() noexcept { n_late_waits_.fetch_add(1, std::memory_order_relaxed); }

  void read(synfire_graph_statistics& statistics) const noexcept;
  void reset() noexcept;

  static int bucket_of(uint64_t ns) noexcept;
  static uint64_t longest_in(int bucket) noexcept;

 private:
  const StampClock clock_;
  std::atomic<uint64_t> last_launched_{0}, last_before_reset_{0};  // tickets, which count launches
  std::atomic<uint64_t> n_late_waits_{0}, max_ns_{0};
  std::atomic<uint64_t> last_seen_{0};
  std::array<std::atomic<int64_t>, n_launches> launch_stamps_ = {};
  std::array<std::atomic<uint64_t>, n_buckets> buckets_ = {};
};

}  // namespace synfire::core

#endif
