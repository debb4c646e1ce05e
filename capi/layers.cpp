// The functions of synfire.h for layers: their parameters, their state and the two passes. As in synfire.cpp: check,
// look up, call, translate.
#include "requests.hpp"

using namespace synfire;
using namespace synfire::capi;

extern "C" {

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
      core::fail_argument("SYN-SURROGATE-NAME", "name is \"%.64s\"; this library has %s", name,
                          core::surrogate_names());
    *id = found->id;
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_query_memory(const synfire_layer_desc* desc,
                                                       synfire_layer_memory* memory) noexcept {
  return guarded(__func__, [&] {
    const synfire_layer_desc checked = read_descriptor(desc, "desc");
    const Answer out(memory, "memory");
    const core::LayerSpec spec(checked);
    synfire_layer_memory answer = SYNFIRE_LAYER_MEMORY_INIT;
    answer.checkpoint_interval = model::checkpoint_interval;
    answer.state_bytes = spec.state_bytes();
    answer.parameter_bytes = spec.parameter_bytes();
    answer.per_neuron_parameter_bytes = spec.per_neuron_bytes();
    answer.per_neuron_value_bytes = spec.value_bytes();
    answer.tape_bytes = spec.tape_bytes();
    answer.gradient_bytes = spec.gradient_bytes();
    answer.per_neuron_gradient_bytes = spec.slope_bytes();
    answer.stored_tape_bytes = spec.stored_tape_bytes();
    answer.narrow_tape_bytes = spec.narrow_tape_bytes();
    answer.narrow_tape_spike_bytes = spec.narrow_tape_spike_bytes();
    out.write(answer);
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
    const Answer out(info, "info");
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
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_reset_state(synfire_layer layer, synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    return run_or_captured(core::run_now(*found->context(), core::reset_rows(*found, {0, 0}, nullptr), stream));
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

}  // extern "C"
