// The functions of synfire.h for the state of layers.
#include "operands.hpp"

#include <operations/state/state.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

class PinnedRows {
 public:
  PinnedRows(const synfire_state_desc* descriptor, const core::Context& context, bool may_be_null = false)
      : desc_(may_be_null && !descriptor ? synfire_state_desc SYNFIRE_STATE_DESC_INIT
                                         : read_descriptor(descriptor, "desc")),
        buffer_(optional(desc_.buffer, "desc.buffer", context)) {
    check_reserved(desc_.reserved, "desc.reserved");
  }

  core::OperationList reset(core::Layer& layer) const { return operations::reset_rows(layer, rows(), buffer_.get()); }
  core::OperationList read(core::Layer& layer) const {
    return operations::read_rows(layer, desc_.name, rows(), buffer());
  }
  core::OperationList write(core::Layer& layer) const {
    return operations::write_rows(layer, desc_.name, rows(), buffer());
  }
  core::OperationList snapshot(core::Layer& layer) const { return operations::snapshot_rows(layer, rows(), buffer()); }
  core::OperationList restore(core::Layer& layer) const { return operations::restore_rows(layer, rows(), buffer()); }
  operations::RowRange rows() const { return {desc_.first_row, desc_.n_rows}; }
  void check_no_buffer() const {
    if (desc_.buffer)
      core::fail_argument("SYN-STATE-BUFFER", "desc.buffer is given; a snapshot in memory of the host takes none");
  }

 private:
  core::Buffer& buffer() const {
    check_pointer(buffer_.get(), "desc.buffer");
    return *buffer_;
  }

  synfire_state_desc desc_;
  PinnedBuffer buffer_;
};

core::OperationList copy_rows(const Operands<synfire_copy_rows_desc>& given, core::Layer& layer) {
  return operations::copy_rows(*given.source, {given.desc.first_row, given.desc.n_rows}, layer,
                               given.desc.destination_row);
}

using RowsOperation = core::OperationList (PinnedRows::*)(core::Layer&) const;

synfire_status run_rows(const char* function, synfire_layer layer, const synfire_state_desc* desc,
                        RowsOperation operation, synfire_stream stream) noexcept {
  return guarded(function, [&] {
    const auto found = pinned(layer);
    const PinnedRows rows(desc, *found->context());
    return run_or_captured(core::run_now(*found->context(), (rows.*operation)(*found), stream));
  });
}

synfire_status record_rows(const char* function, synfire_graph graph, synfire_layer layer,
                           const synfire_state_desc* desc, RowsOperation operation) noexcept {
  return guarded(function, [&] {
    const auto target = pinned(graph);
    const auto found = required(layer, "layer", *target->context());
    const PinnedRows rows(desc, *target->context());
    target->record([&](core::Recorder&) { return (rows.*operation)(*found); });
    return SYNFIRE_OK;
  });
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_layer_reset_state(synfire_layer layer, synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    return run_or_captured(core::run_now(*found->context(), operations::reset_rows(*found, {0, 0}, nullptr), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_layer_read_state(synfire_layer layer, const char* name, void* values,
                                                     uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    check_pointer(name, "name");
    found->read_state(name, values, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_write_state(synfire_layer layer, const char* name, const void* values,
                                                      uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    check_pointer(name, "name");
    found->write_state(name, values, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_reset_rows(synfire_layer layer, const synfire_state_desc* desc,
                                                     synfire_stream stream) noexcept {
  return run_rows(__func__, layer, desc, &PinnedRows::reset, stream);
}
synfire_status SYNFIRE_CALL synfire_layer_read_rows(synfire_layer layer, const synfire_state_desc* desc,
                                                    synfire_stream stream) noexcept {
  return run_rows(__func__, layer, desc, &PinnedRows::read, stream);
}
synfire_status SYNFIRE_CALL synfire_layer_write_rows(synfire_layer layer, const synfire_state_desc* desc,
                                                     synfire_stream stream) noexcept {
  return run_rows(__func__, layer, desc, &PinnedRows::write, stream);
}

synfire_status SYNFIRE_CALL synfire_layer_copy_rows(synfire_layer layer, const synfire_copy_rows_desc* desc,
                                                    synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    const Operands<synfire_copy_rows_desc> copy(desc, *found->context());
    return run_or_captured(core::run_now(*found->context(), copy_rows(copy, *found), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_layer_snapshot(synfire_layer layer, const synfire_state_desc* desc, void* data,
                                                   uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    const PinnedRows rows(desc, *found->context(), true);
    rows.check_no_buffer();
    check_pointer(bytes, "bytes");
    const uint64_t needed = operations::snapshot_bytes(*found, rows.rows());
    if (data && *bytes < needed)
      core::fail_argument("SYN-SNAPSHOT-SIZE", "bytes is %llu; the snapshot takes %llu",
                          static_cast<unsigned long long>(*bytes), static_cast<unsigned long long>(needed));
    if (data) operations::take_snapshot(*found, rows.rows(), data);
    *bytes = needed;
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_restore(synfire_layer layer, const synfire_state_desc* desc, const void* data,
                                                  uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    const PinnedRows rows(desc, *found->context(), true);
    rows.check_no_buffer();
    check_pointer(data, "data");
    operations::put_snapshot(*found, rows.rows(), data, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_reset_rows(synfire_graph graph, synfire_layer layer,
                                                            const synfire_state_desc* desc) noexcept {
  return record_rows(__func__, graph, layer, desc, &PinnedRows::reset);
}
synfire_status SYNFIRE_CALL synfire_graph_record_read_rows(synfire_graph graph, synfire_layer layer,
                                                           const synfire_state_desc* desc) noexcept {
  return record_rows(__func__, graph, layer, desc, &PinnedRows::read);
}
synfire_status SYNFIRE_CALL synfire_graph_record_write_rows(synfire_graph graph, synfire_layer layer,
                                                            const synfire_state_desc* desc) noexcept {
  return record_rows(__func__, graph, layer, desc, &PinnedRows::write);
}
synfire_status SYNFIRE_CALL synfire_graph_record_snapshot(synfire_graph graph, synfire_layer layer,
                                                          const synfire_state_desc* desc) noexcept {
  return record_rows(__func__, graph, layer, desc, &PinnedRows::snapshot);
}
synfire_status SYNFIRE_CALL synfire_graph_record_restore(synfire_graph graph, synfire_layer layer,
                                                         const synfire_state_desc* desc) noexcept {
  return record_rows(__func__, graph, layer, desc, &PinnedRows::restore);
}

synfire_status SYNFIRE_CALL synfire_graph_record_copy_rows(synfire_graph graph, synfire_layer layer,
                                                           const synfire_copy_rows_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const auto found = required(layer, "layer", *target->context());
    const Operands<synfire_copy_rows_desc> copy(desc, *target->context());
    target->record([&](core::Recorder&) { return copy_rows(copy, *found); });
    return SYNFIRE_OK;
  });
}

}  // extern "C"
