// The functions of synfire.h that replace numbers that are not finite.
#include "operands.hpp"

#include <operations/replace_nonfinite/replace_nonfinite.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::ReplaceNonfiniteRequest request_of(const Operands<synfire_replace_nonfinite_desc>& given) {
  return {given.desc.accumulate == 1, given.desc.n_steps, given.desc.n_elements,  given.desc.batch,
          given.source.get(),         given.count.get(),  given.destination.get()};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_replace_nonfinite(synfire_context context,
                                                      const synfire_replace_nonfinite_desc* desc,
                                                      synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_replace_nonfinite_desc> replace(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::replace_nonfinite(request_of(replace), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_replace_nonfinite(
    synfire_graph graph, const synfire_replace_nonfinite_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_replace_nonfinite_desc> replace(desc, *target->context());
    target->record([&](core::Recorder& recorder) {
      return operations::replace_nonfinite(request_of(replace), recorder.on_host());
    });
    return SYNFIRE_OK;
  });
}

}  // extern "C"
