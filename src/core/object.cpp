#include "object.hpp"

#include "context.hpp"

namespace synfire::core {
namespace {

// Trivially destructible: nothing runs at process exit.
constinit std::atomic<Object*> queue{nullptr};
constinit std::atomic<uint64_t> n_abandoned{0};

}  // namespace

void Object::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  next_ = queue.load(std::memory_order_relaxed);
  while (!queue.compare_exchange_weak(next_, this, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void Object::abandon() noexcept {
  n_abandoned.fetch_add(1, std::memory_order_relaxed);
  context_->count_abandoned(1);
  abandoned_.store(true, std::memory_order_release);
}

uint64_t drain() noexcept {
  uint64_t freed = 0;
  // Freeing a child may queue its parent: go on until nothing is left.
  while (Object* object = queue.exchange(nullptr, std::memory_order_acquire)) {
    while (object) {
      Object* const next = object->next_;
      if (object->abandoned_.load(std::memory_order_acquire)) {
        n_abandoned.fetch_sub(1, std::memory_order_relaxed);
        object->context_->count_abandoned(-1);
      }
      delete object;
      ++freed;
      object = next;
    }
  }
  return freed;
}

uint64_t abandoned_objects() noexcept { return n_abandoned.load(std::memory_order_relaxed); }

}  // namespace synfire::core
