// Plans the memory of a list's transient arrays, from the operands of its entries: when each array is in use, and where
// it lies in one arena. Arrays that are never in use at the same time may have the same memory.
#ifndef SYNFIRE_GRAPH_MEMORY_PLAN_HPP
#define SYNFIRE_GRAPH_MEMORY_PLAN_HPP

#include "branches.hpp"
#include "machine_operations.hpp"
#include "transients.hpp"

namespace synfire::core {

struct Plan {
  std::vector<uint64_t> offsets;  // of array i + 1, in bytes from the beginning of the arena
  uint64_t arena_bytes = 0;       // 0: there are no transient arrays
};

// For a list that runs in these branches and, if there are joins, also for the one that runs joined operations in the
// place of their entries, which has branches of its own: two arrays share memory only if in both lists every use of one
// comes before every use of the other. With one branch it takes no more memory than a block for each recorded operation
// that has what its entries pass on and, after that, the scratch operands of the entry that has the most.
Plan make_plan(std::span<const Operation> entries, std::span<const TransientArray> arrays,
               std::span<const Join> joins = {}, const Branches& branches = {}, const Branches& joined_branches = {});

// The most memory that side-by-side branches may take: that of a plan of one branch in which each transient buffer has
// memory of its own, as an ordinary one has.
uint64_t most_bytes_of_branches(std::span<const Operation> entries, std::span<const TransientArray> arrays,
                                std::span<const Join> joins);

}  // namespace synfire::core

#endif
