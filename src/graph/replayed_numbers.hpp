// Numbers the objects of a graph, such as layers, in the order of its list, for the names in DOT output and profiler
// ranges.
#ifndef SYNFIRE_GRAPH_REPLAYED_NUMBERS_HPP
#define SYNFIRE_GRAPH_REPLAYED_NUMBERS_HPP

#include "operation.hpp"

#include <algorithm>
#include <span>

namespace synfire::core {

class ReplayedNumbers {
 public:
  ReplayedNumbers() = default;
  // Copies may be added to the list without changing the numbers.
  explicit ReplayedNumbers(std::span<const Operation> operations) {
    for (const Operation& operation : operations)
      if (const Replayed* const object = operation.label().object; object && of(object) == objects_.size())
        objects_.push_back(object);
  }

  size_t of(const Replayed* object) const noexcept {
    return static_cast<size_t>(std::find(objects_.begin(), objects_.end(), object) - objects_.begin());
  }

 private:
  std::vector<const Replayed*> objects_;  // compared, never read
};

}  // namespace synfire::core

#endif
