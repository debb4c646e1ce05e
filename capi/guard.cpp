#include "guard.hpp"

#include <base/heap.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <cstdio>
#include <new>

namespace synfire::capi {
namespace {

struct LastError {
  int32_t cuda_error;
  char text[1280];
};
thread_local constinit LastError last_error = {};

const char* type_name(core::ObjectType type) {
  switch (type) {
    case core::ObjectType::context:
      return "context";
    case core::ObjectType::buffer:
      return "buffer";
    case core::ObjectType::layer:
      return "layer";
    case core::ObjectType::graph:
      return "graph";
    case core::ObjectType::synapse:
      return "synapse";
    case core::ObjectType::optimizer:
      return "optimizer";
    case core::ObjectType::network:
      return "network";
    case core::ObjectType::model:
      return "model";
    case core::ObjectType::surrogate:
      return "surrogate";
    case core::ObjectType::communicator:
      return "communicator";
    case core::ObjectType::tape:  // has no handle
      break;
  }
  return "object";
}

}  // namespace

synfire_status report_current_exception(const char* function) noexcept {
  // Texts quote names, which may contain any bytes, and printf may cut a character in two.
  char raw[sizeof last_error.text];
  const auto report = [&](const char* rule, const char* text) {
    std::snprintf(raw, sizeof raw, "[%s] %s: %s", rule, function, text);
    core::copy_printable(raw, last_error.text, sizeof last_error.text);
  };
  last_error.cuda_error = 0;
  try {
    throw;
  } catch (const core::Failure& failure) {
    last_error.cuda_error = failure.cuda_error;
    report(failure.rule, failure.text.c_str());
    return failure.status;
  } catch (const core::MisalignedMemory& exception) {
    report("SYN-MEMORY-ALIGNMENT", exception.what());
    return SYNFIRE_ERROR_OUT_OF_MEMORY;
  } catch (const std::bad_alloc&) {
    report("SYN-MEMORY-HOST", "host memory is exhausted");
    return SYNFIRE_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& exception) {
    report("SYN-INTERNAL", exception.what());
    return SYNFIRE_ERROR_INTERNAL;
  } catch (...) {
    report("SYN-INTERNAL", "unknown exception");
    return SYNFIRE_ERROR_INTERNAL;
  }
}

void fail_invalid_handle(uint64_t handle, const char* name, core::ObjectType type) {
  if (handle == 0)
    core::fail(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "%s is null; a live %s is needed", name,
               type_name(type));
  core::fail(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-STALE",
             "%s is 0x%016llx, which is not a live %s: it was destroyed, never created, or is of another type", name,
             static_cast<unsigned long long>(handle), type_name(type));
}

void check_same_context(const core::Object& object, const core::Context& context, const char* name) {
  if (object.context() != &context)
    core::fail(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-FOREIGN",
               "%s belongs to another context; everything in one call must belong to one", name);
}

void fail_null(const char* name) {
  core::fail_argument("SYN-ARGUMENT-NULL", "%s is null", name);
}

uint32_t checked_struct_size(const void* structure, std::span<const uint32_t> versions, const char* name) {
  uint32_t size = 0;
  std::memcpy(&size, structure, sizeof size);
  if (size < versions.front())
    core::fail(SYNFIRE_ERROR_STRUCT_SIZE, "SYN-STRUCT-SMALL",
               "%s->struct_size is %u; at least %u is needed (initialise it with its _INIT macro)", name, size,
               versions.front());
  // A size this large comes from an uninitialised structure, not from a newer version.
  constexpr uint32_t largest = 4096;
  if (size > largest)
    core::fail(SYNFIRE_ERROR_STRUCT_SIZE, "SYN-STRUCT-SIZE",
               "%s->struct_size is %u; at most %u is plausible (initialise it with its _INIT macro)", name, size,
               largest);
  const uint32_t known = versions.back();
  if (size < known && std::ranges::find(versions, size) == versions.end())
    core::fail(SYNFIRE_ERROR_STRUCT_SIZE, "SYN-STRUCT-SIZE",
               "%s->struct_size is %u; no version of the structure has this size (initialise it with its _INIT macro)",
               name, size);
  const auto* bytes = static_cast<const unsigned char*>(structure);
  for (uint32_t i = known; i < size; ++i)
    if (bytes[i] != 0)
      core::fail(SYNFIRE_ERROR_STRUCT_SIZE, "SYN-STRUCT-NEW",
                 "%s has a non-zero byte at offset %u, in a field that this library (ABI %u.%u) does not know", name, i,
                 SYNFIRE_ABI_MAJOR, SYNFIRE_ABI_MINOR);
  return size;
}

void check_reserved(uint32_t reserved, const char* name) {
  if (reserved != 0) core::fail_argument("SYN-RESERVED", "%s is %u; it must be 0", name, reserved);
}

void check_choice(int32_t value, const char* rule, const char* name, int32_t first, int32_t last, const char* allowed) {
  if (value < first || value > last) core::fail_argument(rule, "%s is %d; allowed are %s", name, value, allowed);
}

void check_sum(uint32_t value, const char* rule, const char* name, uint32_t known, const char* allowed) {
  if ((value & ~known) != 0) core::fail_argument(rule, "%s is %u; allowed are %s", name, value, allowed);
}

}  // namespace synfire::capi

extern "C" uint64_t SYNFIRE_CALL synfire_last_error(char* text, uint64_t capacity, int32_t* cuda_error) noexcept {
  using synfire::capi::last_error;
  const uint64_t length = std::strlen(last_error.text);
  if (text && capacity > 0) {
    uint64_t copied = std::min(length, capacity - 1);
    while (copied > 0 && (static_cast<unsigned char>(last_error.text[copied]) & 0xC0) == 0x80)
      --copied;  // at a character boundary
    std::memcpy(text, last_error.text, copied);
    text[copied] = '\0';
  }
  if (cuda_error) *cuda_error = last_error.cuda_error;
  return length + 1;
}
