// What a child after fork() must know: of its parent's threads it has only the one that forked. What others had begun
// is left as it was, and nobody will finish it.
#ifndef SYNFIRE_BASE_FORK_HPP
#define SYNFIRE_BASE_FORK_HPP

#include <atomic>
#include <cstdint>

namespace synfire::core {

namespace detail {
extern constinit std::atomic<uint32_t> fork_generation;
}

// From here on forks are counted. Called before there is anything that a child could inherit; throws OUT_OF_MEMORY.
void watch_forks();

// Differs between a process and its children.
inline uint32_t fork_generation() noexcept {
  return detail::fork_generation.load(std::memory_order_relaxed);
}

}  // namespace synfire::core

#endif
