// Lifetime of everything behind a handle: intrusive reference counts, and a process-wide list of objects that nobody
// refers to any more. Dropping the last reference never frees: it queues, so that it is safe in a finalizer, on any
// thread and during a capture. drain() frees, in calls that may block.
#ifndef SYNFIRE_CORE_OBJECT_HPP
#define SYNFIRE_CORE_OBJECT_HPP

#include <atomic>
#include <cstdint>
#include <utility>

namespace synfire::core {

class Context;

enum class ObjectType : uint8_t { context = 1, buffer = 2, layer = 3, graph = 4 };

class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  ObjectType type() const noexcept { return type_; }
  // The context it belongs to; a context belongs to itself.
  Context* context() const noexcept { return context_; }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  // Queues the object when this was the last reference.
  void release() noexcept;
  // Its handle is gone, though others may still refer to it: counts as "still queued" until freed.
  void abandon() noexcept;

 protected:
  Object(ObjectType type, Context* context) noexcept : type_(type), context_(context) {}
  virtual ~Object() = default;

 private:
  friend uint64_t drain() noexcept;

  const ObjectType type_;
  std::atomic<bool> abandoned_{false};
  std::atomic<uint32_t> references_{1};
  Context* const context_;
  Object* next_ = nullptr;
};

// Frees every queued object of the process, and what only they kept alive. Returns how many were freed.
uint64_t drain() noexcept;
// Objects whose handle is gone but which are not freed yet, in the whole process.
uint64_t abandoned_objects() noexcept;

// A strong reference.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) noexcept : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) noexcept : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace synfire::core

#endif
