// Objects that handles name: their reference counts, and a process-wide queue of those without a reference. Dropping
// the last reference only queues, so it is safe in a finalizer, on any thread and in a capture. drain() frees, in calls
// that may block. An object releases what it holds with its last reference; its shell lasts as long as its WeakRefs.
#ifndef SYNFIRE_BASE_OBJECT_HPP
#define SYNFIRE_BASE_OBJECT_HPP

#include "account.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace synfire::core {

class Context;
class Replayed;
class SharedObject;
class Versioned;

enum class ObjectType : uint8_t {
  context = 1,
  buffer = 2,
  layer = 3,
  graph = 4,
  tape = 5,
  synapse = 6,
  optimizer = 7,
  network = 8,
  model = 9,
  surrogate = 10,
  communicator = 11
};

class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  ObjectType type() const noexcept { return type_; }
  // The context that it belongs to; a context belongs to itself.
  Context* context() const noexcept { return context_; }
  // Its memory, and the memory of work that is done with it, is charged to this.
  const Charge& charge() const noexcept { return charge_; }
  // This object as one of these; null if it is not.
  virtual Replayed* replayed() noexcept { return nullptr; }
  virtual SharedObject* shared() noexcept { return nullptr; }
  virtual Versioned* versioned() noexcept { return nullptr; }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;
  // False if the last reference is gone.
  bool retain_if_used() noexcept;
  void watch() noexcept { watchers_.fetch_add(1, std::memory_order_relaxed); }
  void unwatch() noexcept;
  // A handle of the object is destroyed: until it is freed, the object counts as "still queued" once per such handle.
  void abandon() noexcept;

 protected:
  Object(ObjectType type, Context* context) noexcept : type_(type), context_(context) {}
  virtual ~Object() = default;
  // Called by drain(), without a lock: releases what the object holds. May re-enter the library.
  virtual void dispose() noexcept {}
  // True if a call is using the object without a reference. drain() then leaves it queued.
  virtual bool in_use() const noexcept { return false; }

 private:
  friend uint64_t drain() noexcept;
  void enqueue() noexcept;
  static void free(Object* object) noexcept;

  const ObjectType type_;
  std::atomic<uint32_t> abandoned_{0};
  std::atomic<uint32_t> references_{1};
  std::atomic<uint32_t> watchers_{1};  // all strong references together count as one
  bool disposed_ = false;
  Context* const context_;
  Object* next_ = nullptr;
  const Charge charge_ = Charge::current();
};

// Frees every queued object of the process that no call is using, and everything that only they kept alive. Returns how
// many were freed. Objects in use stay queued for a later call. A nested call, from an object that is being freed, does
// nothing: the outer call continues until the queue is empty, so chains of any length need no stack.
uint64_t drain() noexcept;
// Returns true if an object that drain() frees must wait for the device. False if another object has waited since this
// one became unreachable, because no later work can use it. A graph may be in use until just before it is freed, but
// freeing it is what queues the objects of its replays.
bool must_finish(const Context& context) noexcept;
// Objects of the process whose handle is destroyed but which are not freed yet, including one that is being freed.
uint64_t abandoned_objects() noexcept;

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

  Ref<T> lock() const noexcept { return object_ && object_->retain_if_used() ? Ref<T>::adopt(object_) : Ref<T>(); }

 private:
  T* object_ = nullptr;
};

}  // namespace synfire::core

#endif
