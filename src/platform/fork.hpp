// After fork(), a child has only the thread that forked; what the parent's other threads had begun stays unfinished.
#ifndef SYNFIRE_PLATFORM_FORK_HPP
#define SYNFIRE_PLATFORM_FORK_HPP

#include <atomic>
#include <cstdint>

namespace synfire::core {

namespace detail {
extern constinit std::atomic<uint32_t> fork_generation;
}

// Called before a child could inherit anything. Returns false if there is no memory for it.
bool watch_forks() noexcept;

// Differs between a process and its children.
inline uint32_t fork_generation() noexcept {
  return detail::fork_generation.load(std::memory_order_relaxed);
}

}  // namespace synfire::core

#endif
