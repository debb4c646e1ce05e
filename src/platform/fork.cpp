#include "fork.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace synfire::core {

constinit std::atomic<uint32_t> detail::fork_generation{0};

#if defined(_WIN32)

bool watch_forks() noexcept {
  return true;
}

#else

namespace {

constinit std::atomic<bool> watched{false};

void count_fork() noexcept {
  detail::fork_generation.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

bool watch_forks() noexcept {
  if (watched.load(std::memory_order_acquire)) return true;
  // Two threads at once make every fork count twice, which is harmless. A lock could be held across a fork.
  if (pthread_atfork(nullptr, nullptr, [] { count_fork(); }) != 0) return false;
  watched.store(true, std::memory_order_release);
  return true;
}

#endif

}  // namespace synfire::core
