// The functions of synfire.h for elementwise operations: copies, fills, scale-and-add. As in synfire.cpp: check, look
// up, call, translate.
#include "pins.hpp"

#include <operations/elementwise/copy.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/elementwise/scale_add.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::ScaleAddRequest request_of(const synfire_scale_add_desc& desc, const PinnedBuffer& source,
                                       const PinnedBuffer& destination) {
  return {source.get(), destination.get(), desc.scale, desc.keep};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_graph_record_copy(synfire_graph graph, const synfire_copy_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const synfire_copy_desc checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    const auto source = required(checked.source, "desc.source", *target->context());
    const auto destination = required(checked.destination, "desc.destination", *target->context());
    target->record([&](core::Recorder& recorder) {
      return operations::copy(
          {source.get(), checked.source_offset, destination.get(), checked.destination_offset, checked.bytes},
          recorder.on_host());
    });
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_fill(synfire_graph graph, const synfire_fill_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const synfire_fill_desc checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    const auto buffer = required(checked.buffer, "desc.buffer", *target->context());
    operations::record_fill(*target, *buffer, checked.value);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_scale_add(synfire_context context, const synfire_scale_add_desc* desc,
                                              synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const synfire_scale_add_desc checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    const auto source = required(checked.source, "desc.source", *owner);
    const auto destination = required(checked.destination, "desc.destination", *owner);
    return run_or_captured(core::run_now(
        *owner, operations::scale_add(request_of(checked, source, destination), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_scale_add(synfire_graph graph,
                                                           const synfire_scale_add_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const synfire_scale_add_desc checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    const auto source = required(checked.source, "desc.source", *target->context());
    const auto destination = required(checked.destination, "desc.destination", *target->context());
    operations::record_scale_add(*target, request_of(checked, source, destination));
    return SYNFIRE_OK;
  });
}

}  // extern "C"
