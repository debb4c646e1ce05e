// Ranges that profilers show: what is being enqueued, by direction, model and, in a graph, number of the layer. Without
// a profiler there is no domain, and a range only checks a pointer.
#ifndef SYNFIRE_CUDA_RANGES_HPP
#define SYNFIRE_CUDA_RANGES_HPP

#include <graph/replayed_numbers.hpp>

#include <atomic>

namespace synfire::cuda {

// Checks once whether a profiler is attached. Before that, ranges do nothing.
void start_ranges() noexcept;

// The profiler's domain; null if none is attached.
extern constinit std::atomic<void*> range_domain;

class Range {
 public:
  // A constant text.
  explicit Range(const char* text) noexcept : open_(listened() && push(text)) {}
  // "forward lif", "backward plif", "copy" ...; with a graph's numbers "forward lif 0", "backward plif 1".
  explicit Range(const core::Operation& operation, const core::ReplayedNumbers* numbers = nullptr) noexcept;
  ~Range() {
    if (open_) pop();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  // Whether a profiler shows ranges.
  static bool listened() noexcept { return range_domain.load(std::memory_order_relaxed) != nullptr; }

 private:
  static bool push(const char* text) noexcept;
  static void pop() noexcept;

  bool open_ = false;
};

}  // namespace synfire::cuda

#endif
