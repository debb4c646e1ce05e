// The functions of synfire.h that replace numbers that are not finite.
#include "calls.hpp"

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
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::replace_nonfinite(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_replace_nonfinite(
    synfire_graph graph, const synfire_replace_nonfinite_desc* desc) noexcept {
  return record(__func__, graph, desc,
                [](const auto& given) { return operations::replace_nonfinite(request_of(given)); });
}

}  // extern "C"
