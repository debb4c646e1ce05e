// Lifetime of everything behind a handle: intrusive reference counts, and a process-wide list of objects that nobody
// refers to any more. Dropping the last reference never frees: it queues, so that it is safe in a finalizer, on any
// thread and during a capture. drain() frees, in calls that may block.
// An object may also be remembered without being kept alive (WeakRef): what it holds is given back with the last
// reference, and only its shell stays until nobody remembers it.
#ifndef SYNFIRE_BASE_OBJECT_HPP
#define SYNFIRE_BASE_OBJECT_HPP

#include <atomic>
#include <cstdint>
#include <utility>

namespace synfire::core {

class Context;

enum class ObjectType : uint8_t { context = 1, buffer = 2, layer = 3, graph = 4, tape = 5 };

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
  // False when the last reference is gone.
  bool retain_if_used() noexcept;
  // Remembers the object, or forgets it.
  void watch() noexcept { watchers_.fetch_add(1, std::memory_order_relaxed); }
  void unwatch() noexcept;
  // Its handle is gone, though others may still refer to it: counts as "still queued" until freed.
  void abandon() noexcept;

 protected:
  Object(ObjectType type, Context* context) noexcept : type_(type), context_(context) {}
  virtual ~Object() = default;
  // Nobody refers to it any more, though somebody may remember it: gives back what is dear. Called by drain(), without
  // a lock; what it calls may come back to the library.
  virtual void dispose() noexcept {}

 private:
  friend uint64_t drain() noexcept;
  void enqueue() noexcept;
  static void free(Object* object) noexcept;

  const ObjectType type_;
  std::atomic<bool> abandoned_{false};
  std::atomic<uint32_t> references_{1};
  std::atomic<uint32_t> watchers_{1};  // all references together are one
  bool disposed_ = false;
  Context* const context_;
  Object* next_ = nullptr;
};

// Frees every queued object of the process, and what only they kept alive. Returns how many were freed. Called again by
// what it frees, it does nothing: the outer call goes on until the queue is empty, whose depth is then of no matter.
uint64_t drain() noexcept;
// Asked by an object that drain() frees: whether it must wait for the device. False when another one has waited since
// this one, and all that stand in the queue beside it, had nobody any more who could give the device work with them.
bool must_finish(const Context& context) noexcept;
// Objects whose handle is gone but which are not freed yet, in the whole process; one that is being freed counts.
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
  // Takes over a reference.
  static Ref adopt(T* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

// Remembers an object without keeping it alive.
template <class T>
class WeakRef {
 public:
  WeakRef() = default;
  explicit WeakRef(T* object) noexcept : object_(object) {
    if (object_) object_->watch();
  }
  WeakRef(const WeakRef& other) noexcept : WeakRef(other.object_) {}
  WeakRef(WeakRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  WeakRef& operator=(WeakRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~WeakRef() {
    if (object_) object_->unwatch();
  }

  // Null when the object is gone.
  Ref<T> lock() const noexcept { return object_ && object_->retain_if_used() ? Ref<T>::adopt(object_) : Ref<T>(); }

 private:
  T* object_ = nullptr;
};

}  // namespace synfire::core

#endif
