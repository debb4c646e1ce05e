#include "fork.hpp"

#include "error.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace synfire::core {

constinit std::atomic<uint32_t> detail::fork_generation{0};

#if defined(_WIN32)

void watch_forks() {}

#else

namespace {

constinit std::atomic<bool> watched{false};

void count_fork() noexcept {
  detail::fork_generation.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void watch_forks() {
  if (watched.load(std::memory_order_acquire)) return;
  // Two threads at once make every fork count twice, which is harmless. A lock could be held across a fork.
  if (pthread_atfork(nullptr, nullptr, [] { count_fork(); }) != 0)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-MEMORY-HOST", "no memory to count forks");
  watched.store(true, std::memory_order_release);
}

#endif

}  // namespace synfire::core
