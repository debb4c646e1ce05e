// The functions of synfire.h check, look up, call and translate; they decide nothing. This file has the version and
// contexts; every other subject has a file of its own.
#include "held.hpp"
#include "select.hpp"

#include <base/log.hpp>
#include <platform/fork.hpp>

using namespace synfire;
using namespace synfire::capi;

namespace {

const char* reason_for_host(int32_t fallback_reason) {
  switch (fallback_reason) {
    case SYNFIRE_FALLBACK_NOT_BUILT:
      return "this library was built without CUDA";
    case SYNFIRE_FALLBACK_NO_DRIVER:
      return "there is no working NVIDIA driver";
    case SYNFIRE_FALLBACK_DRIVER_TOO_OLD:
      return "the NVIDIA driver is older than this library's CUDA runtime needs";
    case SYNFIRE_FALLBACK_NO_DEVICE:
      return "the driver reports none";
    default:
      return "it could not be used";
  }
}

void log_choice(const core::Context& context) {
  if (!core::is_logged(SYNFIRE_LOG_WARNING)) return;
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  context.describe(properties);
  if (properties.fallback_reason != SYNFIRE_FALLBACK_NONE)
    core::log_message(SYNFIRE_LOG_WARNING, "context: no GPU is used: %s", reason_for_host(properties.fallback_reason));
  if (properties.backend == SYNFIRE_BACKEND_HOST)
    core::log_message(SYNFIRE_LOG_CHOICE, "context: %s, %d threads", properties.name, properties.n_threads);
  else
    core::log_message(SYNFIRE_LOG_CHOICE, "context: %s, device %d, compute capability %d.%d, driver %d, runtime %d",
                      properties.name, properties.device, properties.compute_major, properties.compute_minor,
                      properties.driver_version, properties.runtime_version);
}

}  // namespace

extern "C" {

// ---- version --------------------------------------------------------------------------------------------------------

uint32_t SYNFIRE_CALL synfire_abi_version(void) noexcept {
  return SYNFIRE_ABI_VERSION;
}

const char* SYNFIRE_CALL synfire_version_string(void) noexcept {
  return capi::version_string();
}

const char* SYNFIRE_CALL synfire_status_name(synfire_status status) noexcept {
  switch (status) {
    case SYNFIRE_OK:
      return "SYNFIRE_OK";
    case SYNFIRE_PENDING:
      return "SYNFIRE_PENDING";
    case SYNFIRE_HOST_FALLBACK:
      return "SYNFIRE_HOST_FALLBACK";
    case SYNFIRE_CAPTURED:
      return "SYNFIRE_CAPTURED";
    case SYNFIRE_ERROR_INVALID_ARGUMENT:
      return "SYNFIRE_ERROR_INVALID_ARGUMENT";
    case SYNFIRE_ERROR_INVALID_HANDLE:
      return "SYNFIRE_ERROR_INVALID_HANDLE";
    case SYNFIRE_ERROR_STRUCT_SIZE:
      return "SYNFIRE_ERROR_STRUCT_SIZE";
    case SYNFIRE_ERROR_OUT_OF_MEMORY:
      return "SYNFIRE_ERROR_OUT_OF_MEMORY";
    case SYNFIRE_ERROR_NO_DEVICE:
      return "SYNFIRE_ERROR_NO_DEVICE";
    case SYNFIRE_ERROR_BUSY:
      return "SYNFIRE_ERROR_BUSY";
    case SYNFIRE_ERROR_CAPTURING:
      return "SYNFIRE_ERROR_CAPTURING";
    case SYNFIRE_ERROR_STALE_TAPE:
      return "SYNFIRE_ERROR_STALE_TAPE";
    case SYNFIRE_ERROR_WRONG_ORDER:
      return "SYNFIRE_ERROR_WRONG_ORDER";
    case SYNFIRE_ERROR_DEVICE_LOST:
      return "SYNFIRE_ERROR_DEVICE_LOST";
    case SYNFIRE_ERROR_UNSUPPORTED:
      return "SYNFIRE_ERROR_UNSUPPORTED";
    case SYNFIRE_ERROR_CUDA:
      return "SYNFIRE_ERROR_CUDA";
    case SYNFIRE_ERROR_CALLBACK:
      return "SYNFIRE_ERROR_CALLBACK";
    case SYNFIRE_ERROR_PEER_LOST:
      return "SYNFIRE_ERROR_PEER_LOST";
    case SYNFIRE_ERROR_INTERNAL:
      return "SYNFIRE_ERROR_INTERNAL";
    default:
      return "SYNFIRE_UNKNOWN_STATUS";
  }
}

// ---- contexts -------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_context_create(const synfire_context_desc* desc,
                                                   synfire_context* context) noexcept {
  return guarded(__func__, [&] {
    check_pointer(context, "context");
    *context = nullptr;
    if (!core::watch_forks()) core::fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-MEMORY-HOST", "no memory to count forks");
    core::drain();
    synfire_context_desc checked = SYNFIRE_CONTEXT_DESC_INIT;
    if (desc) checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    int32_t fallback_reason = SYNFIRE_FALLBACK_NONE;
    *context = registered<synfire_context>(core::charged_to_new_account(SYNFIRE_TAG_CONTEXT, [&] {
      auto device = capi::select_device(checked, fallback_reason);
      return new core::Context(std::move(device), fallback_reason);
    }));
    log_choice(*held(*context));
    return fallback_reason == SYNFIRE_FALLBACK_NONE ? SYNFIRE_OK : SYNFIRE_HOST_FALLBACK;
  });
}

void SYNFIRE_CALL synfire_context_destroy(synfire_context context) noexcept {
  capi::remove(value_of(context), core::ObjectType::context);
}

synfire_status SYNFIRE_CALL synfire_context_reclaim(synfire_context context, uint64_t* still_queued) noexcept {
  return guarded(__func__, [&] {
    if (!context) {
      core::drain();
      if (still_queued) *still_queued = core::abandoned_objects();
      return SYNFIRE_OK;
    }
    const auto owner = held(context);
    core::drain();
    if (still_queued) *still_queued = owner->abandoned();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_context_synchronize(synfire_context context) noexcept {
  return guarded(__func__, [&] {
    held(context)->device().synchronize();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_context_get_properties(synfire_context context,
                                                           synfire_context_properties* properties) noexcept {
  return guarded(__func__, [&] {
    const auto owner = held(context);
    const Answer out(properties, "properties");
    synfire_context_properties answer = SYNFIRE_CONTEXT_PROPERTIES_INIT;
    owner->describe(answer);
    out.write(answer);
    return SYNFIRE_OK;
  });
}

}  // extern "C"
