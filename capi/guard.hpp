// Guards every function of the ABI: exceptions become a status and a text, arithmetic is IEEE, arguments are checked.
#ifndef SYNFIRE_CAPI_GUARD_HPP
#define SYNFIRE_CAPI_GUARD_HPP

#include "handles.hpp"
#include "struct_sizes.hpp"

#include <base/context.hpp>
#include <base/error.hpp>
#include <platform/float_environment.hpp>

#include <algorithm>
#include <cstring>
#include <span>

namespace synfire::capi {

// Called in a catch block: stores this thread's error text and returns the status.
synfire_status report_current_exception(const char* function) noexcept;

template <class Body>
synfire_status guarded(const char* function, Body body) noexcept {
  const core::FloatEnvironment ieee;
  try {
    return body();
  } catch (...) {
    return report_current_exception(function);
  }
}

// ---- handles --------------------------------------------------------------------------------------------------------

[[noreturn]] void fail_invalid_handle(uint64_t handle, const char* name, core::ObjectType type);

// The memory that a call allocates is charged to the first object that it holds, except on the path of a launch.
enum class Charges : bool { no, yes };

template <class T>
class Held {
 public:
  Held() = default;
  Held(uint64_t handle, const char* name, core::ObjectType type, Charges charges = Charges::yes)
      : hold_(hold(handle, type)) {
    if (!hold_.object) [[unlikely]]
      fail_invalid_handle(handle, name, type);
    if (charges == Charges::yes) charging_.begin(hold_.object->charge());
  }
  Held(Held&& other) noexcept : hold_(std::exchange(other.hold_, {})), charging_(std::move(other.charging_)) {}
  Held& operator=(Held&&) = delete;
  ~Held() { let_go(); }

  // Ends the hold early. Nothing may be called on the object afterwards.
  void let_go() noexcept {
    charging_.end();
    if (hold_.object) end_hold(*hold_.slot);
    hold_ = {};
  }

  T* get() const noexcept { return static_cast<T*>(hold_.object); }
  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }

 private:
  Hold hold_;
  core::OutermostCharging charging_;
};

template <class Handle>
uint64_t value_of(Handle handle) noexcept {
  return reinterpret_cast<uint64_t>(handle);
}

void check_same_context(const core::Object& object, const core::Context& context, const char* name);

// ---- pointers and descriptors ---------------------------------------------------------------------------------------

[[noreturn]] void fail_null(const char* name);

template <class T>
void check_pointer(T* pointer, const char* name) {
  if (!pointer) fail_null(name);
}

// Returns the struct_size of a structure of the caller's version.
uint32_t checked_struct_size(const void* structure, std::span<const uint32_t> versions, const char* name);

// Copies a descriptor of any version into the layout known here; fields it lacks become zero.
template <class Desc>
Desc read_descriptor(const Desc* descriptor, const char* name) {
  check_pointer(descriptor, name);
  const uint32_t size = checked_struct_size(descriptor, StructSizes<Desc>::values, name);
  Desc copy = {};
  std::memcpy(&copy, descriptor, std::min<std::size_t>(size, sizeof(Desc)));
  return copy;
}

// Writes a result to a caller's structure of any version; fields that it lacks are not written.
template <class Properties>
class Answer {
 public:
  Answer(Properties* out, const char* name) : out_(out) {
    check_pointer(out, name);
    size_ = std::min<std::size_t>(checked_struct_size(out, StructSizes<Properties>::values, name), sizeof(Properties));
  }
  void write(const Properties& answer) const noexcept {
    constexpr std::size_t begin = sizeof answer.struct_size;
    std::memcpy(reinterpret_cast<char*>(out_) + begin, reinterpret_cast<const char*>(&answer) + begin, size_ - begin);
  }

 private:
  Properties* out_;
  std::size_t size_;
};

void check_reserved(uint32_t reserved, const char* name);

using core::check_flag;
// Throws INVALID_ARGUMENT with this rule unless the value is from first to last, or a sum of the constants in `known`;
// `allowed` has their names.
void check_choice(int32_t value, const char* rule, const char* name, int32_t first, int32_t last, const char* allowed);
void check_sum(uint32_t value, const char* rule, const char* name, uint32_t known, const char* allowed);

}  // namespace synfire::capi

#endif
