// The memory that the machine, or the control groups of this process, can provide. It is read each time, because limits
// and usage change. Systems other than Linux report the installed memory at most.
#ifndef SYNFIRE_PLATFORM_PHYSICAL_MEMORY_HPP
#define SYNFIRE_PLATFORM_PHYSICAL_MEMORY_HPP

#include <cstdint>

namespace synfire::core {

enum class Paging { pageable, pinned };  // whether the memory may be swapped out

struct MemoryBound {
  uint64_t bytes = UINT64_MAX;
  bool of_group = false;  // set by a control group, not by the machine
};

struct PhysicalMemory {
  MemoryBound total;      // what exists; UINT64_MAX: not known
  MemoryBound available;  // an upper bound of what is available now, with all caches dropped
  uint64_t resident = 0;  // what this process has touched, including swapped-out pages
};

PhysicalMemory read_physical_memory(Paging paging);

}  // namespace synfire::core

#endif
