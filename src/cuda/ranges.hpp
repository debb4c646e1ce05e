// Ranges that profilers show: what is being enqueued, by direction, model and, in a graph, number of the layer. Without
// a profiler attached there is no domain, and a range costs a look at a pointer. What is not here: any other use of
// NVTX.
#ifndef SYNFIRE_CUDA_RANGES_HPP
#define SYNFIRE_CUDA_RANGES_HPP

#include <core/layer_numbers.hpp>

namespace synfire::cuda {

// Asks once whether a profiler listens. Before that, ranges are silent.
void start_ranges() noexcept;

class Range {
 public:
  // A constant text.
  explicit Range(const char* text) noexcept;
  // "forward lif", "backward plif", "copy" ...; with a graph's numbers "forward lif 0", "backward plif 1".
  explicit Range(const core::Operation& operation, const core::LayerNumbers* numbers = nullptr) noexcept;
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  bool open_;
};

}  // namespace synfire::cuda

#endif
