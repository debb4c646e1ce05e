// The handle table: turns a handle's value (type tag, slot, generation) into an object, or into nothing. A lookup is
// lock-free and holds the object for one call. Destroying removes the handle at once, and drops the table's reference
// with the last hold. There is one table per process; nothing in it runs at process exit.
#ifndef SYNFIRE_CAPI_HANDLES_HPP
#define SYNFIRE_CAPI_HANDLES_HPP

#include <base/object.hpp>

#include <cstdint>

namespace synfire::capi {

// Takes ownership of the caller's reference. Throws OUT_OF_MEMORY if 2^24 handles are in use.
uint64_t register_object(core::Object* object);

struct Slot;
struct Hold {
  core::Object* object = nullptr;
  Slot* slot = nullptr;
};
// Returns no object if the handle is null, stale or of another type.
Hold hold(uint64_t handle, core::ObjectType type) noexcept;
void end_hold(Slot& slot) noexcept;

// Returns false if the handle is null, stale or of another type.
bool remove(uint64_t handle, core::ObjectType type) noexcept;

}  // namespace synfire::capi

#endif
