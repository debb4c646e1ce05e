// The functions of synfire.h for elementwise operations: copies, fills, scale-and-add.
#include "calls.hpp"

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
  return record(__func__, graph, desc, [](const auto& given) { return operations::copy(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_fill(synfire_graph graph, const synfire_fill_desc* desc) noexcept {
  return record_with(__func__, graph, desc, [](core::Graph& target, const auto& given) {
    operations::record_fill(target, *given.buffer, given.desc.value);
  });
}

synfire_status SYNFIRE_CALL synfire_scale_add(synfire_context context, const synfire_scale_add_desc* desc,
                                              synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::scale_add(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_scale_add(synfire_graph graph,
                                                           const synfire_scale_add_desc* desc) noexcept {
  return record_with(__func__, graph, desc, [](core::Graph& target, const auto& given) {
    operations::record_scale_add(target, request_of(given));
  });
}

}  // extern "C"
