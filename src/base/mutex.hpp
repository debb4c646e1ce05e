// A lock that records the process that locked it. After fork(), a child recognises a lock that another thread of the
// parent held as abandoned instead of waiting for ever; the data that it guards may be half changed.
#ifndef SYNFIRE_BASE_MUTEX_HPP
#define SYNFIRE_BASE_MUTEX_HPP

#include <platform/native_mutex.hpp>

#include <atomic>
#include <cstdint>

namespace synfire::core {

class Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Throws BUSY if the lock is abandoned.
  void lock();
  void unlock() noexcept;
  // Locks, or returns false if the lock is abandoned.
  bool enter() noexcept;
  // Locks even an abandoned lock, for data that is consistent at every moment.
  void take_over() noexcept;

 private:
  std::atomic<uint64_t> state_{0};  // whose it is
  NativeMutex mutex_;
};

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
