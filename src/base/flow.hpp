// The shape of an array that flows between the stages of a network, or into a synapse and out of it: steps, rows, a
// map, and what its elements are. A View is its memory.
#ifndef SYNFIRE_BASE_FLOW_HPP
#define SYNFIRE_BASE_FLOW_HPP

#include <cstdint>

namespace synfire::core {

enum class Elements : int32_t {
  spikes,  // 0 or 1, packed or dense; in u8, every number but 0 is 1
  counts,  // integers from 0 to a bound of at most 255, in u8
  values,  // numbers
};

// An array [T, B, H * W * C]. Element (y, x, c) of a row is number (y * width + x) * channels + c.
struct Flow {
  // T; or 1 before T steps: the reader takes the one step T times (pitch 0) and sums its gradient over descending t.
  int64_t n_steps = 1;
  int64_t batch = 1;
  int64_t height = 1, width = 1;
  int64_t channels = 0;
  Elements elements = Elements::values;
  int32_t bound = 1;      // largest count, 1 to 255
  float count_scale = 1;  // value of a count of 1

  int64_t n_features() const noexcept { return height * width * channels; }
  bool is_map() const noexcept { return height != 1 || width != 1; }
};

// How many entries a parameter or a weight has for the elements of a row: neuron i reads entry 0, i % C, or i.
enum class Scope : int32_t { layer, channel, neuron };

constexpr int64_t n_entries(Scope scope, int64_t n_features, int64_t channels) noexcept {
  return scope == Scope::layer ? 1 : scope == Scope::channel ? channels : n_features;
}
constexpr int64_t entry_of(Scope scope, int64_t feature, int64_t channels) noexcept {
  return scope == Scope::layer ? 0 : scope == Scope::channel ? feature % channels : feature;
}

}  // namespace synfire::core

#endif
