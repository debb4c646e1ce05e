// The functions of synfire.h for what stands between the passes of a step: fill, scale-and-add, parameters, state. As
// in synfire.cpp: check, look up, call, translate.
#include "pins.hpp"

namespace {

using namespace synfire;
using namespace synfire::capi;

core::ScaleAddRequest request_of(const synfire_scale_add_desc& desc, const PinnedBuffer& source,
                                 const PinnedBuffer& destination) {
  return {source.get(), destination.get(), desc.scale, desc.keep};
}

// A description of rows, with its buffer pinned while the call lasts.
class PinnedRows {
 public:
  PinnedRows(const synfire_state_desc* descriptor, const core::Context& context, bool may_be_null = false)
      : desc_(may_be_null && !descriptor ? synfire_state_desc SYNFIRE_STATE_DESC_INIT
                                         : read_descriptor(descriptor, "desc")),
        buffer_(optional(desc_.buffer, "desc.buffer", context)) {
    check_reserved(desc_.reserved, "desc.reserved");
  }

  core::OperationList reset(core::Layer& layer) const { return core::reset_rows(layer, rows(), buffer_.get()); }
  core::OperationList read(core::Layer& layer) const { return core::read_rows(layer, desc_.name, rows(), buffer()); }
  core::OperationList write(core::Layer& layer) const { return core::write_rows(layer, desc_.name, rows(), buffer()); }
  core::OperationList snapshot(core::Layer& layer) const { return core::snapshot_rows(layer, rows(), buffer()); }
  core::OperationList restore(core::Layer& layer) const { return core::restore_rows(layer, rows(), buffer()); }
  core::RowRange rows() const { return {desc_.first_row, desc_.n_rows}; }
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

class PinnedCopyRows {
 public:
  PinnedCopyRows(const synfire_copy_rows_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")), source_(required(desc_.source, "desc.source", context)) {
    check_reserved(desc_.reserved, "desc.reserved");
  }
  core::OperationList to(core::Layer& layer) const {
    return core::copy_rows(*source_, {desc_.first_row, desc_.n_rows}, layer, desc_.destination_row);
  }

 private:
  synfire_copy_rows_desc desc_;
  PinnedLayer source_;
};

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
    target->record((rows.*operation)(*found));
    return SYNFIRE_OK;
  });
}

}  // namespace

extern "C" {

// ---- parameters -----------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_layer_set_parameters(synfire_layer layer, const synfire_parameter_values* list,
                                                         uint64_t n_values) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    check_pointer(list, "list");
    const core::ParameterSet& parameters = found->parameters();
    if (n_values == 0 || n_values > parameters.size())
      core::fail_argument("SYN-PARAMETER-LIST",
                          "n_values is %llu; this layer has %u parameters, of which at least 1 is to be set",
                          static_cast<unsigned long long>(n_values), parameters.size());
    core::ParameterValues entries[model::max_parameters];
    for (uint64_t i = 0; i < n_values; ++i) {
      const auto field = [&](const char* name) {
        return std::string("list[").append(std::to_string(i)).append("].").append(name);
      };
      if (!list[i].name) fail_null(field("name").c_str());
      if (!list[i].values) fail_null(field("values").c_str());
      entries[i] = {parameters.find(list[i].name, "list[].name"), {list[i].values, list[i].count}};
    }
    found->set_parameters({entries, n_values});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_set_n_active(synfire_layer layer, int64_t n_rows) noexcept {
  return guarded(__func__, [&] {
    pinned(layer)->set_n_active(n_rows);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_update_parameter(synfire_graph graph, synfire_layer layer,
                                                                  const synfire_update_parameter_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const auto found = required(layer, "layer", *target->context());
    const synfire_update_parameter_desc checked = read_descriptor(desc, "desc");
    constexpr uint32_t known = SYNFIRE_BOUND_LOWER | SYNFIRE_BOUND_UPPER;
    if ((checked.bounds & ~known) != 0)
      core::fail_argument("SYN-UPDATE-BOUNDS",
                          "desc.bounds is %u; allowed are SYNFIRE_BOUND_LOWER (1) and _UPPER (2), added up",
                          checked.bounds);
    check_pointer(checked.name, "desc.name");
    const auto gradient = required(checked.gradient, "desc.gradient", *target->context());
    const core::UpdateRequest request = {found->parameters().find(checked.name, "desc.name"), gradient.get(),
                                         (checked.bounds & SYNFIRE_BOUND_LOWER) != 0 ? &checked.lower : nullptr,
                                         (checked.bounds & SYNFIRE_BOUND_UPPER) != 0 ? &checked.upper : nullptr};
    target->record_update(*found, request, checked.learning_rate);
    return SYNFIRE_OK;
  });
}

// ---- elements -------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_scale_add(synfire_context context, const synfire_scale_add_desc* desc,
                                              synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const synfire_scale_add_desc checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    const auto source = required(checked.source, "desc.source", *owner);
    const auto destination = required(checked.destination, "desc.destination", *owner);
    return run_or_captured(core::run_now(
        *owner, core::scale_add(request_of(checked, source, destination), owner->device().is_host()), stream));
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
    target->record_scale_add(request_of(checked, source, destination));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_fill(synfire_graph graph, const synfire_fill_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const synfire_fill_desc checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    const auto buffer = required(checked.buffer, "desc.buffer", *target->context());
    target->record_fill(*buffer, checked.value);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_set_value(synfire_graph graph, int32_t operation, const char* name,
                                                    double value) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    check_pointer(name, "name");
    target->set_value(operation, name, value);
    return SYNFIRE_OK;
  });
}

// ---- state ----------------------------------------------------------------------------------------------------------

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
    const PinnedCopyRows copy(desc, *found->context());
    return run_or_captured(core::run_now(*found->context(), copy.to(*found), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_layer_snapshot(synfire_layer layer, const synfire_state_desc* desc, void* data,
                                                   uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    const PinnedRows rows(desc, *found->context(), true);
    rows.check_no_buffer();
    check_pointer(bytes, "bytes");
    const uint64_t needed = core::snapshot_bytes(*found, rows.rows());
    if (data && *bytes < needed)
      core::fail_argument("SYN-SNAPSHOT-SIZE", "bytes is %llu; the snapshot takes %llu",
                          static_cast<unsigned long long>(*bytes), static_cast<unsigned long long>(needed));
    if (data) core::take_snapshot(*found, rows.rows(), data);
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
    core::put_snapshot(*found, rows.rows(), data, bytes);
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
    const PinnedCopyRows copy(desc, *target->context());
    target->record(copy.to(*found));
    return SYNFIRE_OK;
  });
}

}  // extern "C"
