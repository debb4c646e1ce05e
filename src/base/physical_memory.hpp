// How much memory the machine, or the control groups of this process, can give: read from the operating system each
// time, because limits change and memory comes and goes. Linux tells all of it; elsewhere only what is installed is
// known, or nothing.
#ifndef SYNFIRE_BASE_PHYSICAL_MEMORY_HPP
#define SYNFIRE_BASE_PHYSICAL_MEMORY_HPP

#include <cstdint>

namespace synfire::core {

enum class Paging { pageable, pinned };  // whether the memory may be swapped out

// The least of several bounds, and whose it is.
struct MemoryBound {
  uint64_t bytes = UINT64_MAX;
  bool of_group = false;  // a control group's, not the machine's
};

struct PhysicalMemory {
  MemoryBound total;      // what can be had at all; UINT64_MAX: not known
  MemoryBound available;  // what can be had now, all caches given up: an upper bound
  uint64_t resident = 0;  // what this process has touched, swapped out or not
};

PhysicalMemory read_physical_memory(Paging paging);

}  // namespace synfire::core

#endif
