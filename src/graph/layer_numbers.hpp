// Numbers the layers of a graph in the order in which they appear in its list, so that DOT output and profiler ranges
// use the same names.
#ifndef SYNFIRE_GRAPH_LAYER_NUMBERS_HPP
#define SYNFIRE_GRAPH_LAYER_NUMBERS_HPP

#include "operation.hpp"

#include <algorithm>
#include <span>

namespace synfire::core {

class LayerNumbers {
 public:
  LayerNumbers() = default;
  // Copies may be added to the list without changing the numbers.
  explicit LayerNumbers(std::span<const Operation> operations) {
    for (const Operation& operation : operations)
      if (const Layer* const layer = operation.label().layer; layer && of(layer) == layers_.size())
        layers_.push_back(layer);
  }

  // Of a layer in the list.
  size_t of(const Layer* layer) const noexcept {
    return static_cast<size_t>(std::find(layers_.begin(), layers_.end(), layer) - layers_.begin());
  }

 private:
  std::vector<const Layer*> layers_;  // compared, never read
};

}  // namespace synfire::core

#endif
