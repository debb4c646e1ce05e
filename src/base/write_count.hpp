// Counts writes, as far as the library knows. Any thread may count, and the sum never falls. One writer may own a part
// of the sum, in which it counts without a locked instruction.
#ifndef SYNFIRE_BASE_WRITE_COUNT_HPP
#define SYNFIRE_BASE_WRITE_COUNT_HPP

#include <atomic>
#include <cstdint>

namespace synfire::core {

class WriteCount {
 public:
  // If two values read one after the other are equal, nothing was counted in between.
  uint64_t value() const noexcept {
    return anyones_.load(std::memory_order_acquire) + owners_.load(std::memory_order_acquire);
  }
  void add() noexcept { anyones_.fetch_add(1, std::memory_order_release); }

  // Returns false if the part already has an owner.
  bool claim(const void* writer) noexcept {
    const void* nobody = nullptr;
    return owner_.compare_exchange_strong(nobody, writer, std::memory_order_acquire, std::memory_order_relaxed);
  }
  // For the owner, one thread at a time.
  void add_as_owner() noexcept {
    owners_.store(owners_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void give_up() noexcept { owner_.store(nullptr, std::memory_order_release); }

 private:
  std::atomic<uint64_t> anyones_{0};
  std::atomic<uint64_t> owners_{0};
  std::atomic<const void*> owner_{nullptr};
};

}  // namespace synfire::core

#endif
