// The functions of synfire.h for spikes: conversions and counts, at once. As in synfire.cpp: check, look up, call,
// translate.
#include "requests.hpp"

using namespace synfire;
using namespace synfire::capi;

extern "C" {

synfire_status SYNFIRE_CALL synfire_convert_spikes(synfire_context context, const synfire_convert_spikes_desc* desc,
                                                   synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedConvertSpikes conversion(desc, *owner);
    return run_or_captured(core::run_now(
        *owner, core::convert_spikes(conversion.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_count_spikes(synfire_context context, const synfire_count_spikes_desc* desc,
                                                 synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedCountSpikes count(desc, *owner);
    return run_or_captured(core::run_now(
        *owner, core::count_spikes(count.request(), owner->device().is_host()), stream));
  });
}

}  // extern "C"
