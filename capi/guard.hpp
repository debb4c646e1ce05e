// The guard around every function of the ABI: exceptions become a status and a text, descriptors and handles are
// checked. Each function of synfire.h is one call of guarded().
#ifndef SYNFIRE_CAPI_GUARD_HPP
#define SYNFIRE_CAPI_GUARD_HPP

#include "handles.hpp"

#include <core/context.hpp>
#include <core/error.hpp>

#include <cstring>

namespace synfire::capi {

// Called in a catch block: stores this thread's error text and returns the status.
synfire_status report_current_exception(const char* function) noexcept;

template <class Body>
synfire_status guarded(const char* function, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return report_current_exception(function);
  }
}

// ---- handles --------------------------------------------------------------------------------------------------------

[[noreturn]] void fail_invalid_handle(uint64_t handle, const char* name, core::ObjectType type);

// An object looked up by handle and pinned for the duration of a call.
template <class T>
class Pinned {
 public:
  Pinned() = default;
  Pinned(uint64_t handle, const char* name, core::ObjectType type)
      : handle_(handle), object_(static_cast<T*>(pin(handle, type))) {
    if (!object_) fail_invalid_handle(handle, name, type);
  }
  Pinned(Pinned&& other) noexcept : handle_(other.handle_), object_(std::exchange(other.object_, nullptr)) {}
  Pinned& operator=(Pinned&&) = delete;
  ~Pinned() {
    if (object_) unpin(handle_);
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }

 private:
  uint64_t handle_ = 0;
  T* object_ = nullptr;
};

template <class Handle>
uint64_t value_of(Handle handle) noexcept {
  return reinterpret_cast<uint64_t>(handle);
}

// Throws INVALID_HANDLE unless the object belongs to this context.
void check_same_context(const core::Object& object, const core::Context& context, const char* name);

// ---- pointers and descriptors ---------------------------------------------------------------------------------------

[[noreturn]] void fail_null(const char* name);

template <class T>
void check_pointer(T* pointer, const char* name) {
  if (!pointer) fail_null(name);
}

void check_struct_size(const void* descriptor, uint32_t size, uint64_t known, uint64_t smallest, const char* name);

// Copies a descriptor of any version into the layout known here; fields it lacks become zero. `smallest` is the size
// the structure had when it was introduced.
template <class Desc>
Desc read_descriptor(const Desc* descriptor, const char* name, uint64_t smallest = sizeof(Desc)) {
  check_pointer(descriptor, name);
  uint32_t size = 0;
  std::memcpy(&size, descriptor, sizeof size);
  check_struct_size(descriptor, size, sizeof(Desc), smallest, name);
  Desc copy = {};
  std::memcpy(&copy, descriptor, size < sizeof(Desc) ? size : sizeof(Desc));
  return copy;
}

// Copies an answer into a structure that the caller may know in a smaller or larger version.
template <class Properties>
void write_properties(const Properties& answer, Properties* out) {
  uint32_t size = 0;
  std::memcpy(&size, out, sizeof size);
  std::memcpy(reinterpret_cast<char*>(out) + sizeof size, reinterpret_cast<const char*>(&answer) + sizeof size,
              (size < sizeof answer ? size : sizeof answer) - sizeof size);
}

void check_reserved(uint32_t reserved, const char* name);

}  // namespace synfire::capi

#endif
