// The handle table: turns a handle's value (type tag, slot, generation) into an object, or into nothing. Looking up is
// lock-free and pins the object for the duration of one call; destroying removes the handle at once and drops the
// table's reference when the last pin is gone. One table for the process; nothing in it runs at process exit.
#ifndef SYNFIRE_CAPI_HANDLES_HPP
#define SYNFIRE_CAPI_HANDLES_HPP

#include <base/object.hpp>

#include <cstdint>

namespace synfire::capi {

// Registers an object and takes over the caller's reference. Throws OUT_OF_MEMORY when 2^24 handles are in use.
uint64_t register_object(core::Object* object);

// Pins the object behind a handle; null when the handle is null, stale or of another type.
core::Object* pin(uint64_t handle, core::ObjectType type) noexcept;
void unpin(uint64_t handle) noexcept;

// Removes a handle; false when it is null, stale or of another type.
bool remove(uint64_t handle, core::ObjectType type) noexcept;

}  // namespace synfire::capi

#endif
