#include "mutex.hpp"

#include "error.hpp"

#include <platform/fork.hpp>

#include <new>
#include <thread>

namespace synfire::core {
namespace {

// Bits 63..32: the process; bits 30..0: how many of its threads hold the lock or wait for it.
constexpr uint64_t users = 0x7FFFFFFF;
constexpr uint64_t renewing = 0x80000000;  // by the thread that has taken over

uint64_t here() noexcept {
  return uint64_t{fork_generation()} << 32;
}
uint64_t process_of(uint64_t state) noexcept {
  return state >> 32 << 32;
}

}  // namespace

// A thread is counted before it requests the lock, so a lock with a count of 0 is free.
bool Mutex::enter() noexcept {
  const uint64_t process = here();
  uint64_t state = state_.load(std::memory_order_acquire);
  for (;;) {
    if (process_of(state) != process && (state & users) > 0) return false;
    if (process_of(state) == process && (state & renewing)) {
      std::this_thread::yield();
      state = state_.load(std::memory_order_acquire);
      continue;
    }
    const uint64_t counted = (process_of(state) == process ? state : process) + 1;
    if (state_.compare_exchange_weak(state, counted, std::memory_order_acquire)) break;
  }
  mutex_.lock();
  return true;
}

void Mutex::lock() {
  if (!enter())
    fail(SYNFIRE_ERROR_BUSY, "SYN-FORK-BUSY",
         "another thread was changing the object when this process was forked; this process can only destroy it");
}

void Mutex::take_over() noexcept {
  while (!enter()) {
    const uint64_t process = here();
    uint64_t state = state_.load(std::memory_order_acquire);
    if (process_of(state) == process ||
        !state_.compare_exchange_strong(state, process | renewing | 1, std::memory_order_acquire))
      continue;
    new (&mutex_) NativeMutex;
    mutex_.lock();
    state_.fetch_and(~renewing, std::memory_order_release);
    return;
  }
}

void Mutex::unlock() noexcept {
  mutex_.unlock();
  state_.fetch_sub(1, std::memory_order_release);
}

}  // namespace synfire::core
