// Ranges that profilers show: what is being enqueued, by direction, model and, in a graph, number of the layer. Without
// a profiler attached there is no domain, and a range costs a look at a pointer. What is not here: any other use of
// NVTX.
#ifndef SYNFIRE_CUDA_RANGES_HPP
#define SYNFIRE_CUDA_RANGES_HPP

#include <graph/layer_numbers.hpp>

#include <atomic>

namespace synfire::cuda {

// Asks once whether a profiler listens. Before that, ranges are silent.
void start_ranges() noexcept;

// The profiler's domain: null while none listens.
extern constinit std::atomic<void*> range_domain;

class Range {
 public:
  // A constant text.
  explicit Range(const char* text) noexcept : open_(listened() && push(text)) {}
  // "forward lif", "backward plif", "copy" ...; with a graph's numbers "forward lif 0", "backward plif 1".
  explicit Range(const core::Operation& operation, const core::LayerNumbers* numbers = nullptr) noexcept;
  ~Range() {
    if (open_) pop();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  static bool listened() noexcept { return range_domain.load(std::memory_order_relaxed) != nullptr; }
  static bool push(const char* text) noexcept;
  static void pop() noexcept;

  bool open_ = false;
};

}  // namespace synfire::cuda

#endif
