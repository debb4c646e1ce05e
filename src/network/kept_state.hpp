// A copy of the state that a computing call on a network changes: the states of all stages, and the positions of the
// inference graph's random numbers. It is put back if the call fails.
#ifndef SYNFIRE_NETWORK_KEPT_STATE_HPP
#define SYNFIRE_NETWORK_KEPT_STATE_HPP

#include "held_graphs.hpp"

#include <base/buffer.hpp>
#include <graph/operation.hpp>

#include <vector>

namespace synfire::network {

struct Parts;

class KeptState {
 public:
  // Makes room for the copy, in memory that counts as the network's.
  explicit KeptState(Parts& parts);

  // Both work in the order of the context's own stream, and wait. The inference graph must be held.
  void keep(const HeldGraphs& held);
  // Cannot fail on the host. On a GPU it may lack memory, and can be tried again.
  void put_back(const HeldGraphs& held) const;

 private:
  void run(const core::OperationList& copies) const;

  Parts& parts_;
  std::vector<core::Ref<core::Buffer>> copies_;  // one for each
  core::OperationList keep_, put_back_;
  std::vector<uint64_t> offsets_;  // of the inference graph's values
};

}  // namespace synfire::network

#endif
