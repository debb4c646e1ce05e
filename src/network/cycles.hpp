// The cycles of a network: stages that read each other over edges of which one at least has a delay.
#ifndef SYNFIRE_NETWORK_CYCLES_HPP
#define SYNFIRE_NETWORK_CYCLES_HPP

#include "design.hpp"

#include <vector>

namespace synfire::network {

struct Cycles {
  // All stages in an order in which graphs can record them, those of a cycle together. Without a cycle, it is that of
  // the design. Within a cycle, numbers ascend: edges without a delay come from a smaller one.
  std::vector<std::vector<uint32_t>> units;
  std::vector<uint8_t> has;  // 1 for each stage that is in a cycle

  explicit Cycles(const Design& design);

  bool any() const noexcept;
};

}  // namespace synfire::network

#endif
