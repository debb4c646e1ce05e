// The functions of synfire.h for layers as objects. Operations on layers are in the files of their kinds.
#include "held.hpp"

#include <neurons/state/make_layer.hpp>

using namespace synfire;
using namespace synfire::capi;

extern "C" {

synfire_status SYNFIRE_CALL synfire_model_id(const char* name, int32_t* id) noexcept {
  return guarded(__func__, [&] {
    check_pointer(name, "name");
    check_pointer(id, "id");
    const core::ModelRow* const found = core::find_model(std::string_view(name));
    if (!found)
      core::fail_argument("SYN-MODEL-NAME", "name is \"%.64s\"%s; this library has %s", name,
                          core::suggested_model(name).c_str(), core::model_names());
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
      core::fail_argument("SYN-SURROGATE-NAME", "name is \"%.64s\"%s; this library has %s", name,
                          core::suggested_surrogate(name).c_str(), core::surrogate_names());
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
    answer.synapse_tape_bytes = spec.model->linear ? 0 : spec.stored_tape_bytes();
    answer.tape_bytes = spec.tape_bytes();
    answer.gradient_bytes = spec.gradient_bytes();
    answer.per_neuron_gradient_bytes = spec.slope_bytes();
    answer.stored_tape_bytes = spec.stored_tape_bytes();
    answer.narrow_tape_bytes = spec.narrow_tape_bytes();
    answer.narrow_tape_spike_bytes = spec.narrow_tape_spike_bytes();
    answer.recurrent_tape_bytes = spec.recurrent_tape_bytes();
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
    const auto owner = held(context);
    const synfire_layer_desc checked = read_descriptor(desc, "desc");
    const core::LayerSpec spec(checked);
    spec.check_context(*owner);
    *layer = registered<synfire_layer>(
        core::charged_to_new_account(SYNFIRE_TAG_LAYER, [&] { return operations::make_layer(*owner, spec); }));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_layer_destroy(synfire_layer layer) noexcept {
  capi::remove(value_of(layer), core::ObjectType::layer);
}

synfire_status SYNFIRE_CALL synfire_layer_get_desc(synfire_layer layer, synfire_layer_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    const Answer out(desc, "desc");
    const core::LayerSpec& spec = found->spec();
    synfire_layer_desc answer = SYNFIRE_LAYER_DESC_INIT;
    answer.model = spec.model->id;
    answer.n_steps = spec.extents.n_steps;
    answer.n_neurons = spec.extents.n_neurons;
    answer.batch = spec.extents.batch;
    answer.dtype = spec.dtype;
    answer.reset = spec.rules.delayed_reset ? SYNFIRE_RESET_SOFT_DELAYED
                   : spec.rules.soft_reset  ? SYNFIRE_RESET_SOFT
                                            : SYNFIRE_RESET_HARD;
    answer.surrogate = spec.model->never_fires ? SYNFIRE_SURROGATE_DEFAULT : spec.surrogate->id;
    answer.detach_reset = spec.rules.detach_reset && !spec.model->never_fires;
    answer.undecayed_input = spec.undecayed_input;
    answer.strict_threshold = spec.rules.strict_threshold;
    answer.refractory_steps = spec.rules.refractory_steps;
    answer.threads_per_block = static_cast<uint32_t>(spec.threads_per_block);
    answer.history_steps = spec.history_steps;
    out.write(answer);
    return SYNFIRE_OK;
  });
}

}  // extern "C"
