#include "passed_on.hpp"

#include <algorithm>

namespace synfire::core {

void PassedOn::plan(std::span<const uint8_t> enabled) noexcept {
  missing_.reset();
  std::fill(writers_.begin(), writers_.end(), Writer{});
  for (const Use& use : uses_) {
    Writer& writer = writers_[use.array];
    const bool runs = enabled[use.operation] != 0;
    if (runs && use.reads && !writer.enabled) {
      missing_ = Missing{use.operation, writer.operation};
      return;
    }
    if (use.writes) writer = {use.operation, writer.enabled || runs};
  }
}

}  // namespace synfire::core
