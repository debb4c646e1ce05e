// The plan of a replay: its list and the one with joined operations, their branches, and where transient arrays lie.
#ifndef SYNFIRE_BACKENDS_CUDA_SCHEDULE_HPP
#define SYNFIRE_BACKENDS_CUDA_SCHEDULE_HPP

#include "device_state.hpp"

#include <graph/memory_plan.hpp>

namespace synfire::cuda {

// A list with joined entries, and where every entry of the list is in it.
struct JoinedList {
  static constexpr size_t joined_entry = SIZE_MAX;

  core::OperationList operations;
  std::vector<size_t> at;         // joined_entry: its operation is part of another one
  std::vector<core::Join> joins;  // without their operations
};

// For each slot, what gains from joining; empty if nothing does.
std::vector<JoinedList> joined_lists(const DeviceState& device, std::span<const core::OperationList> slots);

struct Schedule {
  core::Plan places;
  core::Branches separate, joined;
};

// For a list of any slot, whose transient arrays have no places yet, and the joined list of this slot, if there is one.
Schedule schedule_of(const DeviceState& device, const core::OperationList& list, const JoinedList* joined,
                     std::span<const core::TransientArray> transients, bool eager);

}  // namespace synfire::cuda

#endif
