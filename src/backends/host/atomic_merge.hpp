// Maxima and sums of integers that several threads find; the order in which they arrive does not matter.
#ifndef SYNFIRE_BACKENDS_HOST_ATOMIC_MERGE_HPP
#define SYNFIRE_BACKENDS_HOST_ATOMIC_MERGE_HPP

#include <atomic>
#include <cstdint>

namespace synfire::host {

// A maximum.
inline void merge(uint32_t& into, uint32_t value) {
  const std::atomic_ref<uint32_t> most(into);
  uint32_t held = most.load(std::memory_order_relaxed);
  while (held < value && !most.compare_exchange_weak(held, value, std::memory_order_relaxed)) {
  }
}
// A sum.
inline void merge(int64_t& into, int64_t value) {
  std::atomic_ref(into).fetch_add(value, std::memory_order_relaxed);
}

}  // namespace synfire::host

#endif
