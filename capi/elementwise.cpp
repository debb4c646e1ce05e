// The functions of synfire.h for elementwise operations: copies, fills, scale-and-add.
#include "operands.hpp"

#include <operations/elementwise/copy.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/elementwise/scale_add.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::CopyRequest request_of(const Operands<synfire_copy_desc>& given) {
  return {given.source.get(), given.desc.source_offset, given.destination.get(), given.desc.destination_offset,
          given.desc.bytes};
}
operations::ScaleAddRequest request_of(const Operands<synfire_scale_add_desc>& given) {
  return {given.source.get(), given.destination.get(), given.desc.scale, given.desc.keep};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_graph_record_copy(synfire_graph graph, const synfire_copy_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_copy_desc> given(desc, *target->context());
    target->record([&](core::Recorder& recorder) { return operations::copy(request_of(given), recorder.on_host()); });
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_fill(synfire_graph graph, const synfire_fill_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_fill_desc> given(desc, *target->context());
    operations::record_fill(*target, *given.buffer, given.desc.value);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_scale_add(synfire_context context, const synfire_scale_add_desc* desc,
                                              synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_scale_add_desc> given(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::scale_add(request_of(given), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_scale_add(synfire_graph graph,
                                                           const synfire_scale_add_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_scale_add_desc> given(desc, *target->context());
    operations::record_scale_add(*target, request_of(given));
    return SYNFIRE_OK;
  });
}

}  // extern "C"
