// Ranges for profilers: the work that is being enqueued, by direction, model and, in a graph, number of the layer.
// Without a profiler a range only checks a pointer.
#ifndef SYNFIRE_BACKENDS_CUDA_RANGES_HPP
#define SYNFIRE_BACKENDS_CUDA_RANGES_HPP

#include <graph/replayed_numbers.hpp>

#include <atomic>

namespace synfire::cuda {

// Checks once whether a profiler is attached. Before that, ranges do nothing.
void start_ranges() noexcept;

extern constinit std::atomic<void*> range_domain;

class Range {
 public:
  explicit Range(const char* text) noexcept : open_(listened() && push(text)) {}
  // "forward lif", "backward plif", "copy" ...; with a graph's numbers "forward lif 0", "backward plif 1".
  explicit Range(const core::Operation& operation, const core::ReplayedNumbers* numbers = nullptr) noexcept;
  ~Range() {
    if (open_) pop();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  static bool listened() noexcept { return range_domain.load(std::memory_order_relaxed) != nullptr; }

 private:
  static bool push(const char* text) noexcept;
  static void pop() noexcept;

  bool open_ = false;
};

}  // namespace synfire::cuda

#endif
