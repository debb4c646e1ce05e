// Which backend a context gets, and what this build can do.
#ifndef SYNFIRE_CAPI_SELECT_HPP
#define SYNFIRE_CAPI_SELECT_HPP

#include <base/device.hpp>

#include <memory>

namespace synfire::capi {

// Throws when the backend asked for by name is not to be had; automatic selection ends on the host and says why.
std::unique_ptr<core::Device> select_device(const synfire_context_desc& desc, int32_t& fallback_reason);

const char* version_string() noexcept;

}  // namespace synfire::capi

#endif
