// Plans the memory of a list's transient arrays, from the operands of its entries: when each array is in use, and where
// it lies in one arena. Arrays that are never in use at the same time may have the same memory.
#ifndef SYNFIRE_GRAPH_PLAN_HPP
#define SYNFIRE_GRAPH_PLAN_HPP

#include "machine_operations.hpp"
#include "transients.hpp"

namespace synfire::core {

struct Plan {
  std::vector<uint64_t> offsets;  // of array i + 1, in bytes from the beginning of the arena
  uint64_t arena_bytes = 0;       // 0: there are no transient arrays
};

// For a list that runs entry after entry, and, if there are joins, also for the one that runs joined operations in the
// place of their entries: two arrays share memory only if in both lists every use of one comes before every use of the
// other. Takes no more memory than a block for each recorded operation that has what its entries pass on and, after
// that, the scratch operands of the entry that has the most.
Plan make_plan(std::span<const Operation> entries, std::span<const TransientArray> arrays,
               std::span<const Join> joins = {});

// For each entry of a list whose transient arrays have been placed, the earlier entries that must have ended before it
// begins, in ascending order: those that write what it uses or use what it writes. What another one of them waits for
// may be left out. An entry that calls back waits for all before it, and all after it wait for it.
std::vector<std::vector<uint32_t>> dependencies(std::span<const Operation> entries);

}  // namespace synfire::core

#endif
