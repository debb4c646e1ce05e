// The functions of synfire.h that replace what is not finite. As in synfire.cpp: check, look up, call, translate.
#include "pins.hpp"

#include <operations/replace_nonfinite/replace_nonfinite.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

class PinnedReplaceNonfinite {
 public:
  PinnedReplaceNonfinite(const synfire_replace_nonfinite_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        source_(required(desc_.source, "desc.source", context)),
        count_(required(desc_.count, "desc.count", context)),
        destination_(required(desc_.destination, "desc.destination", context)) {
    if (desc_.accumulate != 0 && desc_.accumulate != 1)
      core::fail_argument("SYN-REPLACE-FLAG", "desc.accumulate is %d; allowed are 0 and 1", desc_.accumulate);
  }
  operations::ReplaceNonfiniteRequest request() const {
    return {desc_.accumulate == 1, desc_.n_steps, desc_.n_elements,  desc_.batch,
            source_.get(),         count_.get(),  destination_.get()};
  }

 private:
  synfire_replace_nonfinite_desc desc_;
  PinnedBuffer source_, count_, destination_;
};

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_replace_nonfinite(synfire_context context,
                                                      const synfire_replace_nonfinite_desc* desc,
                                                      synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedReplaceNonfinite replace(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::replace_nonfinite(replace.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_replace_nonfinite(
    synfire_graph graph, const synfire_replace_nonfinite_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedReplaceNonfinite replace(desc, *target->context());
    target->record(
        [&](core::Recorder& recorder) { return operations::replace_nonfinite(replace.request(), recorder.on_host()); });
    return SYNFIRE_OK;
  });
}

}  // extern "C"
