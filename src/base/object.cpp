#include "object.hpp"

#include "context.hpp"

namespace synfire::core {
namespace {

constinit std::atomic<Object*> queue{nullptr};
constinit std::atomic<uint64_t> n_abandoned{0};
// True while drain() runs on this thread.
thread_local constinit bool draining = false;
thread_local constinit const Context* finished = nullptr;  // the context whose device was synchronised last

}  // namespace

void Object::enqueue() noexcept {
  next_ = queue.load(std::memory_order_relaxed);
  while (!queue.compare_exchange_weak(next_, this, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void Object::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) enqueue();
}

bool Object::retain_if_used() noexcept {
  uint32_t references = references_.load(std::memory_order_relaxed);
  while (references != 0)
    if (references_.compare_exchange_weak(references, references + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed))
      return true;
  return false;
}

// drain() drops the share of all references last, so an object that is queued here was already disposed of.
void Object::unwatch() noexcept {
  if (watchers_.fetch_sub(1, std::memory_order_acq_rel) == 1) enqueue();
}

void Object::abandon() noexcept {
  n_abandoned.fetch_add(1, std::memory_order_relaxed);
  context_->count_abandoned(1);
  abandoned_.fetch_add(1, std::memory_order_release);
}

void Object::free(Object* object) noexcept {
  if (object->disposed_) {
    delete object;
    return;
  }
  const uint32_t abandoned = object->abandoned_.load(std::memory_order_acquire);
  const Ref<Context> context(object->context_ == object ? nullptr : object->context_);
  object->disposed_ = true;
  object->dispose();
  if (object->watchers_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object;
  // Counted down last, so that a caller who reads 0 may rely on it.
  if (abandoned == 0) return;
  if (context) context->count_abandoned(-int64_t{abandoned});
  n_abandoned.fetch_sub(abandoned, std::memory_order_release);
}

uint64_t drain() noexcept {
  if (draining) return 0;
  draining = true;
  uint64_t freed = 0;
  Object* used = nullptr;
  const auto keep = [&used](Object* object) { object->next_ = std::exchange(used, object); };
  for (bool ended = true; ended;) {
    // Freeing a child may queue its parent, so continue until the queue is empty.
    while (Object* object = queue.exchange(nullptr, std::memory_order_acquire)) {
      finished = nullptr;
      while (object) {
        Object* const next = object->next_;
        if (object->in_use()) {
          keep(object);
        } else {
          Object::free(object);
          ++freed;
        }
        object = next;
      }
    }
    ended = false;
    for (Object* object = std::exchange(used, nullptr); object;) {
      Object* const next = object->next_;
      if (object->in_use()) {
        keep(object);
      } else {
        object->enqueue();
        ended = true;
      }
      object = next;
    }
  }
  while (used) {
    Object* const next = used->next_;
    used->enqueue();
    used = next;
  }
  draining = false;
  return freed;
}

bool must_finish(const Context& context) noexcept {
  return std::exchange(finished, &context) != &context;
}

uint64_t abandoned_objects() noexcept {
  return n_abandoned.load(std::memory_order_acquire);
}

}  // namespace synfire::core
