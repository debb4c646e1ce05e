#include "graph_statistics.hpp"

#include <algorithm>
#include <bit>

namespace synfire::core {

// Times below steps_per_octave have a bucket each; above, the position of the highest bit and the five bits after it.
int GraphStatistics::bucket_of(uint64_t ns) noexcept {
  if (ns < steps_per_octave) return static_cast<int>(ns);
  const int highest = 63 - std::countl_zero(ns), octave = highest - 4;  // 2^5 steps begin in octave 1
  const auto step = static_cast<int>((ns >> (highest - 5)) - steps_per_octave);
  return std::min(octave * steps_per_octave + step, n_buckets - 1);
}

uint64_t GraphStatistics::longest_in(int bucket) noexcept {
  if (bucket < steps_per_octave) return static_cast<uint64_t>(bucket);
  const int octave = bucket / steps_per_octave, shift = octave - 1;
  const auto first = static_cast<uint64_t>(steps_per_octave + bucket % steps_per_octave);
  return ((first + 1) << shift) - 1;
}

void GraphStatistics::seen_done(uint64_t ticket, uint64_t last_ticket) noexcept {
  uint64_t seen = last_seen_.load(std::memory_order_relaxed);
  do {
    if (ticket <= seen) return;
  } while (!last_seen_.compare_exchange_weak(seen, ticket, std::memory_order_relaxed));
  if (last_ticket - ticket >= n_launches) return;  // its launch time is overwritten
  const auto ns = static_cast<uint64_t>(ns_since_launch(ticket));
  buckets_[static_cast<size_t>(bucket_of(ns))].fetch_add(1, std::memory_order_relaxed);
  uint64_t longest = max_ns_.load(std::memory_order_relaxed);
  while (ns > longest && !max_ns_.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {
  }
}

void GraphStatistics::read(synfire_graph_statistics& statistics) const noexcept {
  std::array<uint64_t, n_buckets> counts;
  uint64_t total = 0;
  for (size_t i = 0; i < n_buckets; ++i) total += counts[i] = buckets_[i].load(std::memory_order_relaxed);
  const uint64_t before = last_before_reset_.load(std::memory_order_relaxed);  // not later than the other
  statistics.n_replays = last_launched_.load(std::memory_order_relaxed) - before;
  statistics.n_late_waits = n_late_waits_.load(std::memory_order_relaxed);
  statistics.n_seen = total;
  statistics.max_ns = max_ns_.load(std::memory_order_relaxed);
  const auto percentile = [&](uint64_t per_mille) -> uint64_t {
    if (total == 0) return 0;
    const uint64_t rank = std::max<uint64_t>((total * per_mille + 999) / 1000, 1);
    uint64_t below = 0;
    for (int i = 0; i < n_buckets; ++i)
      if ((below += counts[static_cast<size_t>(i)]) >= rank) return std::min(longest_in(i), statistics.max_ns);
    return statistics.max_ns;
  };
  statistics.p50_ns = percentile(500);
  statistics.p99_ns = percentile(990);
  statistics.p999_ns = percentile(999);
}

void GraphStatistics::reset() noexcept {
  for (auto& bucket : buckets_) bucket.store(0, std::memory_order_relaxed);
  last_before_reset_.store(last_launched_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  n_late_waits_.store(0, std::memory_order_relaxed);
  max_ns_.store(0, std::memory_order_relaxed);
}

}  // namespace synfire::core
