// The functions of synfire.h for the state of layers.
#include "calls.hpp"

#include <neurons/state/state_rows.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

using Rows = Operands<synfire_state_desc>;

operations::RowRange range_of(const Rows& rows) {
  return {rows.desc.first_row, rows.desc.n_rows};
}

core::Buffer& buffer_of(const Rows& rows) {
  check_pointer(rows.buffer.get(), "desc.buffer");
  return *rows.buffer;
}

// A snapshot in memory of the host: of all rows without a descriptor, which names no buffer.
Rows host_rows(const synfire_state_desc* desc, const core::Context& context) {
  static constexpr synfire_state_desc all = SYNFIRE_STATE_DESC_INIT;
  return {desc ? desc : &all, context};
}
void check_no_buffer(const Rows& rows) {
  if (rows.buffer.get())
    core::fail_argument("SYN-STATE-BUFFER", "desc.buffer is given; a snapshot in memory of the host takes none");
}

using RowsOperation = core::OperationList(core::Layer&, const Rows&);

core::OperationList reset_of(core::Layer& layer, const Rows& rows) {
  return operations::reset_rows(layer, range_of(rows), rows.buffer.get());
}
core::OperationList read_of(core::Layer& layer, const Rows& rows) {
  return operations::read_rows(layer, rows.desc.name, range_of(rows), buffer_of(rows));
}
core::OperationList write_of(core::Layer& layer, const Rows& rows) {
  return operations::write_rows(layer, rows.desc.name, range_of(rows), buffer_of(rows));
}
core::OperationList snapshot_of(core::Layer& layer, const Rows& rows) {
  return operations::snapshot_rows(layer, range_of(rows), buffer_of(rows));
}
core::OperationList restore_of(core::Layer& layer, const Rows& rows) {
  return operations::restore_rows(layer, range_of(rows), buffer_of(rows));
}
core::OperationList copy_of(core::Layer& layer, const Operands<synfire_copy_rows_desc>& given) {
  return operations::copy_rows(*given.source, {given.desc.first_row, given.desc.n_rows}, layer,
                               given.desc.destination_row);
}

synfire_status record_rows(const char* function, synfire_graph graph, synfire_layer layer,
                           const synfire_state_desc* desc, RowsOperation operation) noexcept {
  return record_on(function, graph, layer, "layer", desc,
                   [=](core::Graph& target, core::Layer& found, const Rows& rows) {
                     target.record([&](core::Recorder&) { return operation(found, rows); });
                   });
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_layer_reset_state(synfire_layer layer, synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    return run_or_captured(core::run_now(*found->context(), operations::reset_rows(*found, {0, 0}, nullptr), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_layer_read_state(synfire_layer layer, const char* name, void* values,
                                                     uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    check_pointer(name, "name");
    found->read_state(name, values, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_write_state(synfire_layer layer, const char* name, const void* values,
                                                      uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    check_pointer(name, "name");
    found->write_state(name, values, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_reset_rows(synfire_layer layer, const synfire_state_desc* desc,
                                                     synfire_stream stream) noexcept {
  return run_now_on(__func__, layer, desc, stream, reset_of);
}
synfire_status SYNFIRE_CALL synfire_layer_read_rows(synfire_layer layer, const synfire_state_desc* desc,
                                                    synfire_stream stream) noexcept {
  return run_now_on(__func__, layer, desc, stream, read_of);
}
synfire_status SYNFIRE_CALL synfire_layer_write_rows(synfire_layer layer, const synfire_state_desc* desc,
                                                     synfire_stream stream) noexcept {
  return run_now_on(__func__, layer, desc, stream, write_of);
}

synfire_status SYNFIRE_CALL synfire_layer_copy_rows(synfire_layer layer, const synfire_copy_rows_desc* desc,
                                                    synfire_stream stream) noexcept {
  return run_now_on(__func__, layer, desc, stream, copy_of);
}

synfire_status SYNFIRE_CALL synfire_layer_snapshot(synfire_layer layer, const synfire_state_desc* desc, void* data,
                                                   uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    const Rows rows = host_rows(desc, *found->context());
    check_no_buffer(rows);
    check_pointer(bytes, "bytes");
    const uint64_t needed = operations::snapshot_bytes(*found, range_of(rows));
    if (data && *bytes < needed)
      core::fail_argument("SYN-SNAPSHOT-SIZE", "bytes is %llu; the snapshot takes %llu",
                          static_cast<unsigned long long>(*bytes), static_cast<unsigned long long>(needed));
    if (data) operations::take_snapshot(*found, range_of(rows), data);
    *bytes = needed;
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_restore(synfire_layer layer, const synfire_state_desc* desc, const void* data,
                                                  uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    const Rows rows = host_rows(desc, *found->context());
    check_no_buffer(rows);
    check_pointer(data, "data");
    operations::put_snapshot(*found, range_of(rows), data, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_reset_rows(synfire_graph graph, synfire_layer layer,
                                                            const synfire_state_desc* desc) noexcept {
  return record_rows(__func__, graph, layer, desc, reset_of);
}
synfire_status SYNFIRE_CALL synfire_graph_record_read_rows(synfire_graph graph, synfire_layer layer,
                                                           const synfire_state_desc* desc) noexcept {
  return record_rows(__func__, graph, layer, desc, read_of);
}
synfire_status SYNFIRE_CALL synfire_graph_record_write_rows(synfire_graph graph, synfire_layer layer,
                                                            const synfire_state_desc* desc) noexcept {
  return record_rows(__func__, graph, layer, desc, write_of);
}
synfire_status SYNFIRE_CALL synfire_graph_record_snapshot(synfire_graph graph, synfire_layer layer,
                                                          const synfire_state_desc* desc) noexcept {
  return record_rows(__func__, graph, layer, desc, snapshot_of);
}
synfire_status SYNFIRE_CALL synfire_graph_record_restore(synfire_graph graph, synfire_layer layer,
                                                         const synfire_state_desc* desc) noexcept {
  return record_rows(__func__, graph, layer, desc, restore_of);
}

synfire_status SYNFIRE_CALL synfire_graph_record_copy_rows(synfire_graph graph, synfire_layer layer,
                                                           const synfire_copy_rows_desc* desc) noexcept {
  return record_on(__func__, graph, layer, "layer", desc,
                   [](core::Graph& target, core::Layer& found, const Operands<synfire_copy_rows_desc>& given) {
                     target.record([&](core::Recorder&) { return copy_of(found, given); });
                   });
}

}  // extern "C"
