// Memory of a GPU in which the events of all rows are sorted by their times.
#ifndef SYNFIRE_OPERATIONS_EVENTS_EVENTS_ORDER_HPP
#define SYNFIRE_OPERATIONS_EVENTS_EVENTS_ORDER_HPP

#include <cstdint>

namespace synfire::operations {

// Keys and events, each twice, because a pass of the sort reads one and writes the other, and the library's own memory.
struct EventsOrder {
  int64_t n_events;  // B * capacity

  uint64_t* keys(void* memory, int which) const { return static_cast<uint64_t*>(memory) + which * n_events; }
  uint64_t* events(void* memory, int which) const { return static_cast<uint64_t*>(memory) + (2 + which) * n_events; }
  void* workspace(void* memory) const { return static_cast<uint64_t*>(memory) + 4 * n_events; }
  // A radix sort takes 1 KiB for each tile of at least a thousand events, and a few tables.
  uint64_t workspace_bytes() const { return 2 * static_cast<uint64_t>(n_events) + (uint64_t{4} << 20); }
  uint64_t bytes() const { return 32 * static_cast<uint64_t>(n_events) + workspace_bytes(); }
};

}  // namespace synfire::operations

#endif
