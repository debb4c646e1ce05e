#include "schedule.hpp"

#include <algorithm>

namespace synfire::cuda {

using namespace synfire::core;

namespace {

JoinedList joined_list(const DeviceState& device, const OperationList& entries) {
  JoinedList list;
  list.joins = device.operations.find_joins(entries, device.shape);
  if (list.joins.empty()) return list;
  auto next = list.joins.begin();
  for (size_t entry = 0; entry < entries.size();) {
    if (next == list.joins.end() || next->first != entry) {
      list.at.push_back(list.operations.size());
      list.operations.push_back(entries[entry++]);
      continue;
    }
    list.at.insert(list.at.end(), next->count, JoinedList::joined_entry);
    list.operations.push_back(std::move(next->operation));
    entry += next->count;
    ++next;
  }
  return list;
}

Branches branches_of(const DeviceState& device, const OperationList& list) {
  std::vector<uint8_t> leaves_room;
  leaves_room.reserve(list.size());
  for (const Operation& operation : list)
    leaves_room.push_back(operation.kind().hints(operation.data(), device.shape).leaves_room ? 1 : 0);
  return find_branches(list, leaves_room);
}

}  // namespace

// Callbacks run once for each slot, so that lists with native nodes are not captured again.
std::vector<JoinedList> joined_lists(const DeviceState& device, std::span<const OperationList> slots) {
  std::vector<JoinedList> lists;
  for (const OperationList& entries : slots) {
    for (const Operation& operation : entries)
      if (operation.kind().calls_back) return {};
    lists.push_back(joined_list(device, entries));
    if (lists.back().at.empty() || lists.back().at != lists.front().at) return {};
  }
  return lists;
}

Schedule schedule_of(const DeviceState& device, const OperationList& list, const JoinedList* joined,
                     std::span<const TransientArray> transients, bool eager) {
  const std::span<const Join> joins = joined ? std::span<const Join>(joined->joins) : std::span<const Join>();
  if (!eager) {
    Schedule schedule = {{}, branches_of(device, list), joined ? branches_of(device, joined->operations) : Branches{}};
    if (schedule.separate.count > 1 || schedule.joined.count > 1) {
      schedule.places = make_plan(list, transients, joins, schedule.separate, schedule.joined);
      if (schedule.places.arena_bytes <= most_bytes_of_branches(list, transients, joins)) return schedule;
    }
  }
  return {make_plan(list, transients, joins), {}, {}};
}

}  // namespace synfire::cuda
