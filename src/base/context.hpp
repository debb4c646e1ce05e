// A context: one device and the lifetime of everything on it.
#ifndef SYNFIRE_BASE_CONTEXT_HPP
#define SYNFIRE_BASE_CONTEXT_HPP

#include "device.hpp"
#include "mutex.hpp"
#include "object.hpp"

#include <mutex>
#include <vector>

namespace synfire::core {

class Context final : public Object {
 public:
  Context(std::unique_ptr<Device> device, int32_t fallback_reason) noexcept
      : Object(ObjectType::context, this), device_(std::move(device)), fallback_reason_(fallback_reason) {}

  ~Context() override {
    for (void* const memory : kept_) device_->release(SYNFIRE_MEMORY_DEVICE, memory);
  }
  Device& device() const noexcept { return *device_; }
  // Device memory that lives as long as the context.
  void* allocate_kept(uint64_t bytes) {
    const std::lock_guard lock(kept_mutex_);
    kept_.reserve(kept_.size() + 1);
    return kept_.emplace_back(device_->allocate(SYNFIRE_MEMORY_DEVICE, bytes));
  }

  void describe(synfire_context_properties& properties) const {
    device_->describe(properties);
    properties.fallback_reason = fallback_reason_;
  }

  void count_abandoned(int64_t change) noexcept { abandoned_.fetch_add(change, std::memory_order_acq_rel); }
  uint64_t abandoned() const noexcept { return static_cast<uint64_t>(abandoned_.load(std::memory_order_acquire)); }

 private:
  std::unique_ptr<Device> device_;
  int32_t fallback_reason_;
  std::atomic<int64_t> abandoned_{0};
  Mutex kept_mutex_;
  std::vector<void*> kept_;
};

// Base of everything that is created on a context and keeps it alive.
class Child : public Object {
 public:
  // True if processors compute what is done with it.
  bool on_host() const noexcept { return context()->device().is_host(); }

 protected:
  Child(ObjectType type, Context& context) noexcept : Object(type, &context), parent_(&context) {}
  Device& device() const noexcept { return context()->device(); }

 private:
  Ref<Context> parent_;
};

}  // namespace synfire::core

#endif
