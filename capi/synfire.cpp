// The functions of synfire.h: check, look up, call, translate. Nothing is decided here.
#include "pins.hpp"
#include "select.hpp"

#include <core/graph.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

template <class Handle>
Handle registered(core::Object* object) {
  try {
    return reinterpret_cast<Handle>(capi::register_object(object));
  } catch (...) {
    object->release();
    throw;
  }
}

void check_in_place(int32_t in_place) {
  if (in_place != 0 && in_place != 1)
    core::fail_argument("SYN-IN-PLACE", "desc.in_place is %d; allowed are 0 and 1", in_place);
}

// The two buffers of a conversion or a count of spikes, pinned while the call lasts.
class PinnedConvertSpikes {
 public:
  PinnedConvertSpikes(const synfire_convert_spikes_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        source_(required(desc_.source, "desc.source", context)),
        destination_(required(desc_.destination, "desc.destination", context)) {
    check_reserved(desc_.reserved, "desc.reserved");
  }
  core::ConvertSpikesRequest request() const {
    return {{desc_.n_steps, desc_.batch, desc_.n_neurons}, source_.get(), destination_.get()};
  }

 private:
  synfire_convert_spikes_desc desc_;
  PinnedBuffer source_, destination_;
};

class PinnedCountSpikes {
 public:
  PinnedCountSpikes(const synfire_count_spikes_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        spikes_(required(desc_.spikes, "desc.spikes", context)),
        counts_(required(desc_.counts, "desc.counts", context)) {
    if (desc_.kind < SYNFIRE_COUNT_PER_NEURON || desc_.kind > SYNFIRE_COUNT_TOTAL)
      core::fail_argument("SYN-COUNT-KIND",
                          "desc.kind is %d; allowed are SYNFIRE_COUNT_PER_NEURON (0), _PER_STEP (1) and _TOTAL (2)",
                          desc_.kind);
  }
  core::CountSpikesRequest request() const {
    return {static_cast<core::CountKind>(desc_.kind), {desc_.n_steps, desc_.batch, desc_.n_neurons}, spikes_.get(),
            counts_.get()};
  }

 private:
  synfire_count_spikes_desc desc_;
  PinnedBuffer spikes_, counts_;
};

// The buffers of a native node, pinned while the call lasts.
class PinnedNative {
 public:
  PinnedNative(const synfire_native_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")) {
    check_reserved(desc_.reserved, "desc.reserved");
    if (!desc_.callback) core::fail_argument("SYN-ARGUMENT-NULL", "desc.callback is null");
    pin(desc_.reads, desc_.n_reads, "reads", context, reads_);
    pin(desc_.writes, desc_.n_writes, "writes", context, writes_);
  }
  core::NativeRequest request() const {
    core::NativeRequest request = {desc_.name, desc_.callback, desc_.user, {}, {}};
    for (const PinnedBuffer& buffer : reads_) request.reads.push_back(buffer.get());
    for (const PinnedBuffer& buffer : writes_) request.writes.push_back(buffer.get());
    return request;
  }

 private:
  static void pin(const synfire_buffer* buffers, uint64_t count, const char* field, const core::Context& context,
                  std::vector<PinnedBuffer>& pinned_buffers) {
    constexpr uint64_t most = 64;
    const std::string name = std::string("desc.").append(field);
    if (count == 0) return;
    check_pointer(buffers, name.c_str());
    if (count > most)
      core::fail_argument("SYN-GRAPH-NATIVE-COUNT", "desc.n_%s is %llu; at most %llu are allowed", field,
                          static_cast<unsigned long long>(count), static_cast<unsigned long long>(most));
    for (uint64_t i = 0; i < count; ++i)
      pinned_buffers.push_back(
          required(buffers[i], std::string(name).append("[").append(std::to_string(i)).append("]").c_str(), context));
  }

  synfire_native_desc desc_;
  std::vector<PinnedBuffer> reads_, writes_;
};

// The buffers of a forward, pinned while the call lasts.
class PinnedForward {
 public:
  PinnedForward(const synfire_forward_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        x_(required(desc_.x, "desc.x", context)),
        spikes_(optional(desc_.spikes, "desc.spikes", context)),
        v_init_(optional(desc_.v_init, "desc.v_init", context)),
        v_final_(optional(desc_.v_final, "desc.v_final", context)),
        v_seq_(optional(desc_.v_seq, "desc.v_seq", context)),
        h_seq_(optional(desc_.h_seq, "desc.h_seq", context)),
        w_init_(optional(desc_.w_init, "desc.w_init", context)),
        w_final_(optional(desc_.w_final, "desc.w_final", context)),
        w_seq_(optional(desc_.w_seq, "desc.w_seq", context)) {
    check_reserved(desc_.reserved, "desc.reserved");
    if (desc_.tape < SYNFIRE_TAPE_RECOMPUTE || desc_.tape > SYNFIRE_TAPE_STORE_NARROW)
      core::fail_argument("SYN-FORWARD-TAPE",
                          "desc.tape is %d; allowed are SYNFIRE_TAPE_RECOMPUTE (0), _NONE (1), _STORE (2) and "
                          "_STORE_NARROW (3)",
                          desc_.tape);
    check_in_place(desc_.in_place);
  }
  core::ForwardRequest request() const {
    return {static_cast<core::Tape>(desc_.tape), desc_.in_place == 1, x_.get(), spikes_.get(), v_init_.get(), v_final_.get(),
            v_seq_.get(), h_seq_.get(), w_init_.get(), w_final_.get(), w_seq_.get()};
  }

 private:
  synfire_forward_desc desc_;
  PinnedBuffer x_, spikes_, v_init_, v_final_, v_seq_, h_seq_, w_init_, w_final_, w_seq_;
};

// The buffers of a backward, pinned while the call lasts.
class PinnedBackward {
 public:
  PinnedBackward(const synfire_backward_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        grad_spike_seq_(optional(desc_.grad_spike_seq, "desc.grad_spike_seq", context)),
        grad_v_seq_(optional(desc_.grad_v_seq, "desc.grad_v_seq", context)),
        grad_v_final_(optional(desc_.grad_v_final, "desc.grad_v_final", context)),
        grad_x_seq_(optional(desc_.grad_x_seq, "desc.grad_x_seq", context)),
        grad_v_init_(optional(desc_.grad_v_init, "desc.grad_v_init", context)),
        grad_w_seq_(optional(desc_.grad_w_seq, "desc.grad_w_seq", context)),
        grad_w_final_(optional(desc_.grad_w_final, "desc.grad_w_final", context)),
        grad_w_init_(optional(desc_.grad_w_init, "desc.grad_w_init", context)) {
    check_in_place(desc_.in_place);
    if (desc_.n_parameter_gradients == 0) return;
    check_pointer(desc_.parameter_gradients, "desc.parameter_gradients");
    constexpr uint64_t most = 64;  // more than any layer has; the layer checks its own number
    if (desc_.n_parameter_gradients > most)
      core::fail_argument("SYN-GRADIENT-COUNT", "desc.n_parameter_gradients is %llu; at most %llu are believable",
                          static_cast<unsigned long long>(desc_.n_parameter_gradients),
                          static_cast<unsigned long long>(most));
    for (uint64_t i = 0; i < desc_.n_parameter_gradients; ++i) {
      check_pointer(desc_.parameter_gradients[i].name, gradient_field(i, "name").c_str());
      gradients_.push_back(
          required(desc_.parameter_gradients[i].gradient, gradient_field(i, "gradient").c_str(), context));
    }
  }
  core::BackwardRequest request(const core::Layer& layer) const {
    core::BackwardRequest request = buffers();
    for (uint64_t i = 0; i < desc_.n_parameter_gradients; ++i)
      request.gradients.push_back({layer.parameters().find(desc_.parameter_gradients[i].name, gradient_field(i, "name").c_str()),
                                   gradients_[i].get()});
    return request;
  }

 private:
  static std::string gradient_field(uint64_t index, const char* field) {
    return std::string("desc.parameter_gradients[").append(std::to_string(index)).append("].").append(field);
  }
  core::BackwardRequest buffers() const {
    return {grad_spike_seq_.get(), grad_v_seq_.get(), grad_v_final_.get(), grad_x_seq_.get(),
            grad_v_init_.get(),    grad_w_seq_.get(), grad_w_final_.get(), grad_w_init_.get(), {},
            desc_.in_place == 1};
  }

  synfire_backward_desc desc_;
  PinnedBuffer grad_spike_seq_, grad_v_seq_, grad_v_final_, grad_x_seq_, grad_v_init_, grad_w_seq_, grad_w_final_, grad_w_init_;
  std::vector<PinnedBuffer> gradients_;
};

}  // namespace

extern "C" {

// ---- version --------------------------------------------------------------------------------------------------------

uint32_t SYNFIRE_CALL synfire_abi_version(void) noexcept { return SYNFIRE_ABI_VERSION; }

const char* SYNFIRE_CALL synfire_version_string(void) noexcept { return capi::version_string(); }

const char* SYNFIRE_CALL synfire_status_name(synfire_status status) noexcept {
  switch (status) {
    case SYNFIRE_OK: return "SYNFIRE_OK";
    case SYNFIRE_PENDING: return "SYNFIRE_PENDING";
    case SYNFIRE_HOST_FALLBACK: return "SYNFIRE_HOST_FALLBACK";
    case SYNFIRE_CAPTURED: return "SYNFIRE_CAPTURED";
    case SYNFIRE_ERROR_INVALID_ARGUMENT: return "SYNFIRE_ERROR_INVALID_ARGUMENT";
    case SYNFIRE_ERROR_INVALID_HANDLE: return "SYNFIRE_ERROR_INVALID_HANDLE";
    case SYNFIRE_ERROR_STRUCT_SIZE: return "SYNFIRE_ERROR_STRUCT_SIZE";
    case SYNFIRE_ERROR_OUT_OF_MEMORY: return "SYNFIRE_ERROR_OUT_OF_MEMORY";
    case SYNFIRE_ERROR_NO_DEVICE: return "SYNFIRE_ERROR_NO_DEVICE";
    case SYNFIRE_ERROR_BUSY: return "SYNFIRE_ERROR_BUSY";
    case SYNFIRE_ERROR_CAPTURING: return "SYNFIRE_ERROR_CAPTURING";
    case SYNFIRE_ERROR_STALE_TAPE: return "SYNFIRE_ERROR_STALE_TAPE";
    case SYNFIRE_ERROR_WRONG_ORDER: return "SYNFIRE_ERROR_WRONG_ORDER";
    case SYNFIRE_ERROR_DEVICE_LOST: return "SYNFIRE_ERROR_DEVICE_LOST";
    case SYNFIRE_ERROR_UNSUPPORTED: return "SYNFIRE_ERROR_UNSUPPORTED";
    case SYNFIRE_ERROR_CUDA: return "SYNFIRE_ERROR_CUDA";
    case SYNFIRE_ERROR_CALLBACK: return "SYNFIRE_ERROR_CALLBACK";
    case SYNFIRE_ERROR_INTERNAL: return "SYNFIRE_ERROR_INTERNAL";
    default: return "SYNFIRE_UNKNOWN_STATUS";
  }
}

// ---- contexts -------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_context_create(const synfire_context_desc* desc, synfire_context* context) noexcept {
  return guarded(__func__, [&] {
    check_pointer(context, "context");
    *context = nullptr;
    core::drain();
    synfire_context_desc checked = SYNFIRE_CONTEXT_DESC_INIT;
    if (desc) checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    int32_t fallback_reason = SYNFIRE_FALLBACK_NONE;
    auto device = capi::select_device(checked, fallback_reason);
    *context = registered<synfire_context>(new core::Context(std::move(device), fallback_reason));
    return fallback_reason == SYNFIRE_FALLBACK_NONE ? SYNFIRE_OK : SYNFIRE_HOST_FALLBACK;
  });
}

void SYNFIRE_CALL synfire_context_destroy(synfire_context context) noexcept {
  capi::remove(value_of(context), core::ObjectType::context);
}

synfire_status SYNFIRE_CALL synfire_context_reclaim(synfire_context context, uint64_t* still_queued) noexcept {
  return guarded(__func__, [&] {
    if (!context) {
      core::drain();
      if (still_queued) *still_queued = core::abandoned_objects();
      return SYNFIRE_OK;
    }
    const auto owner = pinned(context);
    core::drain();
    if (still_queued) *still_queued = owner->abandoned();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_context_synchronize(synfire_context context) noexcept {
  return guarded(__func__, [&] {
    pinned(context)->device().synchronize();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_context_get_properties(synfire_context context,
                                                           synfire_context_properties* properties) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    read_descriptor(properties, "properties");
    synfire_context_properties answer = SYNFIRE_CONTEXT_PROPERTIES_INIT;
    owner->describe(answer);
    capi::write_properties(answer, properties);
    return SYNFIRE_OK;
  });
}

// ---- buffers --------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_buffer_create(synfire_context context, const synfire_buffer_desc* desc,
                                                  synfire_buffer* buffer) noexcept {
  return guarded(__func__, [&] {
    check_pointer(buffer, "buffer");
    *buffer = nullptr;
    core::drain();
    const auto owner = pinned(context);
    const synfire_buffer_desc checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    *buffer = registered<synfire_buffer>(new core::Buffer(*owner, checked));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_buffer_destroy(synfire_buffer buffer) noexcept {
  capi::remove(value_of(buffer), core::ObjectType::buffer);
}

synfire_status SYNFIRE_CALL synfire_buffer_get_data(synfire_buffer buffer, void** data, uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(buffer);
    if (data) *data = found->array().data;
    if (bytes) *bytes = found->array().bytes;
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_buffer_upload(synfire_buffer buffer, uint64_t offset, const void* source,
                                                  uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    pinned(buffer)->upload(offset, source, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_buffer_download(synfire_buffer buffer, uint64_t offset, void* destination,
                                                    uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    pinned(buffer)->download(offset, destination, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_buffer_fill(synfire_buffer buffer, double value) noexcept {
  return guarded(__func__, [&] {
    pinned(buffer)->fill(value);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_buffer_mark_written(synfire_buffer buffer) noexcept {
  return guarded(__func__, [&] {
    pinned(buffer)->mark_written();
    return SYNFIRE_OK;
  });
}

// ---- layers ---------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_model_id(const char* name, int32_t* id) noexcept {
  return guarded(__func__, [&] {
    check_pointer(name, "name");
    check_pointer(id, "id");
    const core::ModelRow* const found = core::find_model(std::string_view(name));
    if (!found)
      core::fail_argument("SYN-MODEL-NAME", "name is \"%.64s\"; this library has %s", name, core::model_names());
    *id = found->id;
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_surrogate_id(const char* name, int32_t* id) noexcept {
  return guarded(__func__, [&] {
    check_pointer(name, "name");
    check_pointer(id, "id");
    const core::SurrogateRow* const found = core::find_surrogate(std::string_view(name));
    if (!found)
      core::fail_argument("SYN-SURROGATE-NAME", "name is \"%.64s\"; this library has %s", name, core::surrogate_names());
    *id = found->id;
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_query_memory(const synfire_layer_desc* desc,
                                                       synfire_layer_memory* memory) noexcept {
  return guarded(__func__, [&] {
    const synfire_layer_desc checked = read_descriptor(desc, "desc");
    read_descriptor(memory, "memory");
    const core::LayerSpec spec(checked);
    synfire_layer_memory answer = SYNFIRE_LAYER_MEMORY_INIT;
    answer.checkpoint_interval = model::checkpoint_interval;
    answer.state_bytes = spec.state_bytes();
    answer.parameter_bytes = spec.block_bytes();
    answer.per_neuron_parameter_bytes = spec.per_neuron_bytes();
    answer.tape_bytes = spec.tape_bytes();
    answer.gradient_bytes = spec.gradient_bytes();
    answer.per_neuron_gradient_bytes = spec.slope_bytes();
    answer.stored_tape_bytes = spec.stored_tape_bytes();
    answer.narrow_tape_bytes = spec.narrow_tape_bytes();
    answer.narrow_tape_spike_bytes = spec.narrow_tape_spike_bytes();
    capi::write_properties(answer, memory);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_create(synfire_context context, const synfire_layer_desc* desc,
                                                 synfire_layer* layer) noexcept {
  return guarded(__func__, [&] {
    check_pointer(layer, "layer");
    *layer = nullptr;
    core::drain();
    const auto owner = pinned(context);
    const synfire_layer_desc checked = read_descriptor(desc, "desc");
    *layer = registered<synfire_layer>(new core::Layer(*owner, core::LayerSpec(checked)));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_layer_destroy(synfire_layer layer) noexcept {
  capi::remove(value_of(layer), core::ObjectType::layer);
}

synfire_status SYNFIRE_CALL synfire_layer_set_parameter(synfire_layer layer, const char* name, const double* values,
                                                        uint64_t count) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    check_pointer(name, "name");
    const core::ParameterName parameter = found->parameters().find(name);
    check_pointer(values, "values");
    const core::ParameterValues one = {parameter, {values, count}};
    found->set_parameters({&one, 1});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_get_parameter(synfire_layer layer, const char* name, double* values,
                                                        uint64_t count) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    check_pointer(name, "name");
    const core::ParameterName parameter = found->parameters().find(name);
    check_pointer(values, "values");
    found->get_parameter(parameter, name, {values, count});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_get_parameter_info(synfire_layer layer, uint32_t index,
                                                             synfire_parameter_info* info) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    read_descriptor(info, "info");
    const core::ParameterSet& parameters = found->parameters();
    if (index >= parameters.size())
      core::fail_argument("SYN-PARAMETER-INDEX", "index is %u; this layer has %u parameters", index, parameters.size());
    const auto lock = found->lock_parameters();
    const auto& spec = parameters.spec(index);
    synfire_parameter_info answer = SYNFIRE_PARAMETER_INFO_INIT;
    answer.open_range = spec.open_range;
    answer.length = parameters.values(index).size();
    answer.default_value = spec.default_value;
    answer.minimum = spec.minimum;
    answer.maximum = spec.maximum;
    answer.name = spec.name;
    capi::write_properties(answer, info);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_reset_state(synfire_layer layer, synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    return run_or_captured(core::run(*found->context(), core::reset_rows(*found, {0, 0}, nullptr), stream));
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

synfire_status SYNFIRE_CALL synfire_layer_forward(synfire_layer layer, const synfire_forward_desc* desc,
                                                  synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    const PinnedForward forward(desc, *found->context());
    return run_or_captured(core::run_forward(*found, forward.request(), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_layer_backward(synfire_layer layer, const synfire_backward_desc* desc,
                                                   synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    const PinnedBackward backward(desc, *found->context());
    return run_or_captured(core::run_backward(*found, backward.request(*found), stream));
  });
}

// ---- spikes ---------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_convert_spikes(synfire_context context, const synfire_convert_spikes_desc* desc,
                                                   synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedConvertSpikes conversion(desc, *owner);
    return run_or_captured(core::run_convert_spikes(*owner, conversion.request(), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_count_spikes(synfire_context context, const synfire_count_spikes_desc* desc,
                                                 synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedCountSpikes count(desc, *owner);
    return run_or_captured(core::run_count_spikes(*owner, count.request(), stream));
  });
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_graph_create(synfire_context context, const synfire_graph_desc* desc,
                                                 synfire_graph* graph) noexcept {
  return guarded(__func__, [&] {
    check_pointer(graph, "graph");
    *graph = nullptr;
    core::drain();
    const auto owner = pinned(context);
    synfire_graph_desc checked = SYNFIRE_GRAPH_DESC_INIT;
    if (desc) checked = read_descriptor(desc, "desc");
    if (checked.n_slots > core::Graph::most_slots)
      core::fail_argument("SYN-GRAPH-SLOT-COUNT", "desc.n_slots is %u; allowed are 0 (one, not guarded) to %u",
                          checked.n_slots, core::Graph::most_slots);
    *graph = registered<synfire_graph>(new core::Graph(*owner, checked.n_slots));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_graph_destroy(synfire_graph graph) noexcept {
  capi::remove(value_of(graph), core::ObjectType::graph);
}

synfire_status SYNFIRE_CALL synfire_graph_record_forward(synfire_graph graph, synfire_layer layer,
                                                         const synfire_forward_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const auto found = pinned(layer);
    check_same_context(*found, *target->context(), "layer");
    const PinnedForward forward(desc, *target->context());
    target->record_forward(*found, forward.request());
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_backward(synfire_graph graph, synfire_layer layer,
                                                          const synfire_backward_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const auto found = pinned(layer);
    check_same_context(*found, *target->context(), "layer");
    const PinnedBackward backward(desc, *target->context());
    target->record_backward(*found, backward.request(*found));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_copy(synfire_graph graph, const synfire_copy_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const synfire_copy_desc checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    const auto source = required(checked.source, "desc.source", *target->context());
    const auto destination = required(checked.destination, "desc.destination", *target->context());
    target->record_copy(*source, checked.source_offset, *destination, checked.destination_offset, checked.bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_convert_spikes(synfire_graph graph,
                                                                const synfire_convert_spikes_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedConvertSpikes conversion(desc, *target->context());
    target->record_convert_spikes(conversion.request());
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_count_spikes(synfire_graph graph,
                                                              const synfire_count_spikes_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedCountSpikes count(desc, *target->context());
    target->record_count_spikes(count.request());
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_native(synfire_graph graph, const synfire_native_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedNative native(desc, *target->context());
    target->record_native(native.request());
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_get_last_operation(synfire_graph graph, int32_t* operation) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    check_pointer(operation, "operation");
    *operation = target->last_operation();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_instantiate(synfire_graph graph) noexcept {
  return guarded(__func__, [&] {
    pinned(graph)->instantiate();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_set_enabled(synfire_graph graph, int32_t operation, int32_t enabled) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    if (enabled != 0 && enabled != 1)
      core::fail_argument("SYN-GRAPH-ENABLED", "enabled is %d; allowed are 0 and 1", enabled);
    target->set_enabled(operation, enabled == 1);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_rebind(synfire_graph graph, synfire_buffer old_buffer,
                                                 synfire_buffer new_buffer) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const auto before = required(old_buffer, "old_buffer", *target->context());
    const auto now = required(new_buffer, "new_buffer", *target->context());
    target->rebind(*before, *now);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_launch(synfire_graph graph, synfire_stream stream, uint64_t* ticket) noexcept {
  return guarded(__func__, [&] {
    const core::Launched launched = pinned(graph)->launch(stream);
    if (ticket) *ticket = launched.ticket;
    return run_or_captured(launched.captured);
  });
}

synfire_status SYNFIRE_CALL synfire_graph_wait(synfire_graph graph, uint64_t ticket, int32_t policy,
                                               int64_t timeout_ns) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(graph);
    if (policy < SYNFIRE_WAIT_SPIN || policy > SYNFIRE_WAIT_BLOCK)
      core::fail_argument("SYN-WAIT-POLICY",
                          "policy is %d; allowed are SYNFIRE_WAIT_SPIN (0), _YIELD (1) and _BLOCK (2)", policy);
    const synfire_status status = found->wait(ticket, static_cast<core::WaitPolicy>(policy), timeout_ns);
    // Freeing may wait for the device, longer than a time-out allows.
    if (policy == SYNFIRE_WAIT_BLOCK && timeout_ns < 0) core::drain();
    return status;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_poll(synfire_graph graph, uint64_t ticket) noexcept {
  return guarded(__func__, [&] { return pinned(graph)->wait(ticket, core::WaitPolicy::spin, 0); });
}

synfire_status SYNFIRE_CALL synfire_graph_get_slot(synfire_graph graph, uint64_t ticket, synfire_buffer buffer,
                                                   void** data, uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    check_pointer(data, "data");
    const auto found = pinned(graph);
    const auto memory = required(buffer, "buffer", *found->context());
    const core::SlotMemory slot = found->slot_memory(ticket, *memory);
    *data = slot.data;
    if (bytes) *bytes = slot.bytes;
    return slot.data ? SYNFIRE_OK : SYNFIRE_PENDING;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_write_dot(synfire_graph graph, char* text, uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    check_pointer(bytes, "bytes");
    const std::string dot = pinned(graph)->dot();
    const uint64_t capacity = *bytes, needed = dot.size() + 1;
    *bytes = needed;
    if (!text) return SYNFIRE_OK;
    if (capacity < needed)
      core::fail_argument("SYN-TEXT-SIZE", "bytes is %llu; the text needs %llu", static_cast<unsigned long long>(capacity),
                          static_cast<unsigned long long>(needed));
    std::memcpy(text, dot.c_str(), needed);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_get_statistics(synfire_graph graph,
                                                         synfire_graph_statistics* statistics) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(graph);
    read_descriptor(statistics, "statistics");
    synfire_graph_statistics answer = SYNFIRE_GRAPH_STATISTICS_INIT;
    found->read_statistics(answer);
    capi::write_properties(answer, statistics);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_reset_statistics(synfire_graph graph) noexcept {
  return guarded(__func__, [&] {
    pinned(graph)->reset_statistics();
    return SYNFIRE_OK;
  });
}

}  // extern "C"
