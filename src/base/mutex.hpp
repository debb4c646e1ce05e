// A lock that no child waits for after fork(). It knows in which process it was taken, so that one that a thread of the
// parent held when the process forked is recognised: what it guards may be half changed, and nobody will open it.
#ifndef SYNFIRE_BASE_MUTEX_HPP
#define SYNFIRE_BASE_MUTEX_HPP

#include <atomic>
#include <cstdint>
#include <mutex>

namespace synfire::core {

class Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Throws BUSY where the lock was left behind.
  void lock();
  void unlock() noexcept;
  // Locks, or answers false where the lock was left behind.
  bool enter() noexcept;
  // Locks in any case: for what is whole at every moment.
  void take_over() noexcept;

 private:
  std::atomic<uint64_t> state_{0};  // whose it is
  std::mutex mutex_;
};

// Holds the lock for a scope, in places that must not throw: not where it was left behind.
class EnteredScope {
 public:
  explicit EnteredScope(Mutex& mutex) noexcept : mutex_(mutex.enter() ? &mutex : nullptr) {}
  ~EnteredScope() {
    if (mutex_) mutex_->unlock();
  }
  EnteredScope(const EnteredScope&) = delete;
  EnteredScope& operator=(const EnteredScope&) = delete;
  explicit operator bool() const noexcept { return mutex_ != nullptr; }

 private:
  Mutex* mutex_;
};

}  // namespace synfire::core

#endif
