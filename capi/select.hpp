// Selects the backend of a context, and reports what this build can do.
#ifndef SYNFIRE_CAPI_SELECT_HPP
#define SYNFIRE_CAPI_SELECT_HPP

#include <base/device.hpp>

#include <memory>

namespace synfire::capi {

// Throws if a requested backend is not available. Automatic selection falls back to the host and reports why.
std::unique_ptr<core::Device> select_device(const synfire_context_desc& desc, int32_t& fallback_reason);

const char* version_string() noexcept;

}  // namespace synfire::capi

#endif
