// The functions of synfire.h for the two passes of a layer.
#include "calls.hpp"

#include <neurons/passes/backward.hpp>
#include <neurons/passes/forward.hpp>
#include <neurons/passes/pointers.hpp>

#include <optional>
#include <vector>

namespace {

using namespace synfire;
using namespace synfire::capi;

std::vector<operations::StateRequest> states_of(const HeldList<synfire_state_buffer>& list) {
  std::vector<operations::StateRequest> states;
  for (size_t i = 0; i < list.size(); ++i) states.push_back({list[i].name, list.buffer(i)});
  return states;
}

std::vector<operations::GradientRequest> gradients_of(const HeldList<synfire_parameter_gradient>& list,
                                                      const core::Layer& layer) {
  std::vector<operations::GradientRequest> gradients;
  for (size_t i = 0; i < list.size(); ++i)
    gradients.push_back({layer.parameters().find(list[i].name, list.text_of(i, ".name").c_str()), list.buffer(i)});
  return gradients;
}

operations::ForwardRequest request_of(const Operands<synfire_forward_desc>& given) {
  return {.tape = static_cast<core::TapeMode>(given.desc.tape),
          .in_place = given.desc.in_place == 1,
          .x = given.x.get(),
          .spikes = given.spikes.get(),
          .v_init = given.v_init.get(),
          .v_final = given.v_final.get(),
          .v_seq = given.v_seq.get(),
          .h_seq = given.h_seq.get(),
          .w_init = given.w_init.get(),
          .w_final = given.w_final.get(),
          .w_seq = given.w_seq.get(),
          .state_init = states_of(given.state_init),
          .state_final = states_of(given.state_final),
          .state_seq = states_of(given.state_seq),
          .synapse = given.synapse.get(),
          .synapse_input = given.synapse_input.get(),
          .n_active = given.n_active.get(),
          .recurrent = {given.recurrent_synapse.get(), given.desc.recurrent_delay},
          .spikes_init = given.spikes_init.get(),
          .spikes_final = given.spikes_final.get()};
}

operations::BackwardRequest request_of(const Operands<synfire_backward_desc>& given, const core::Layer& layer) {
  const synfire_backward_desc& desc = given.desc;
  return {.grad_spike_seq = given.grad_spike_seq.get(),
          .grad_v_seq = given.grad_v_seq.get(),
          .grad_v_final = given.grad_v_final.get(),
          .grad_x_seq = given.grad_x_seq.get(),
          .grad_v_init = given.grad_v_init.get(),
          .grad_w_seq = given.grad_w_seq.get(),
          .grad_w_final = given.grad_w_final.get(),
          .grad_w_init = given.grad_w_init.get(),
          .grad_state_seq = states_of(given.grad_state_seq),
          .grad_state_final = states_of(given.grad_state_final),
          .grad_state_init = states_of(given.grad_state_init),
          .gradients = gradients_of(given.parameter_gradients, layer),
          .in_place = desc.in_place == 1,
          .add_gradients = desc.add_parameter_gradients == 1,
          .forward = desc.forward == 0 ? std::nullopt : std::optional<uint32_t>(desc.forward - 1),
          .grad_synapse_input = given.grad_synapse_input.get(),
          .add_synapse_gradients = desc.add_synapse_gradients == 1,
          .add_input_gradient = desc.add_input_gradient == 1,
          .skip_synapse_gradients = desc.skip_synapse_gradients == 1,
          .grad_spikes_final = given.grad_spikes_final.get(),
          .grad_spikes_init = given.grad_spikes_init.get()};
}

void check_tape(int32_t tape, const char* name) {
  check_choice(tape, "SYN-FORWARD-TAPE", name, SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE_NARROW,
               "SYNFIRE_TAPE_RECOMPUTE (0), _NONE (1), _STORE (2) and _STORE_NARROW (3)");
}

synfire_pointers_desc pointers_of(const synfire_pointers_desc* desc) {
  const synfire_pointers_desc checked = read_descriptor(desc, "desc");
  check_tape(checked.tape, "desc.tape");
  check_flag(checked.add_parameter_gradients, "SYN-GRADIENT-ADD", "desc.add_parameter_gradients");
  return checked;
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_layer_forward(synfire_layer layer, const synfire_forward_desc* desc,
                                                  synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    const Operands<synfire_forward_desc> given(desc, *found->context());
    return run_or_captured(operations::run_forward(*found, request_of(given), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_layer_backward(synfire_layer layer, const synfire_backward_desc* desc,
                                                   synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    const Operands<synfire_backward_desc> given(desc, *found->context());
    return run_or_captured(operations::run_backward(*found, request_of(given, *found), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_layer_get_run_memory(synfire_layer layer, int32_t tape, int64_t n_steps,
                                                         int64_t batch, uint64_t n_gradients, uint64_t* tape_bytes,
                                                         uint64_t* scratch_bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    check_pointer(tape_bytes, "tape_bytes");
    check_pointer(scratch_bytes, "scratch_bytes");
    check_tape(tape, "tape");
    const auto memory = operations::run_memory(*found, static_cast<core::TapeMode>(tape), n_steps, batch, n_gradients);
    *tape_bytes = memory.tape_bytes;
    *scratch_bytes = memory.scratch_bytes;
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_layer_run_forward(synfire_layer layer, const synfire_pointers_desc* desc,
                                                      synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    return run_or_captured(operations::run_forward(*found, value_of(layer), pointers_of(desc), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_layer_run_backward(synfire_layer layer, const synfire_pointers_desc* desc,
                                                       synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(layer);
    return run_or_captured(operations::run_backward(*found, value_of(layer), pointers_of(desc), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_forward(synfire_graph graph, synfire_layer layer,
                                                         const synfire_forward_desc* desc) noexcept {
  return record_on(__func__, graph, layer, "layer", desc,
                   [](core::Graph& target, core::Layer& found, const auto& given) {
                     operations::record_forward(target, found, request_of(given));
                   });
}

synfire_status SYNFIRE_CALL synfire_graph_record_backward(synfire_graph graph, synfire_layer layer,
                                                          const synfire_backward_desc* desc) noexcept {
  return record_on(__func__, graph, layer, "layer", desc,
                   [](core::Graph& target, core::Layer& found, const auto& given) {
                     operations::record_backward(target, found, request_of(given, found));
                   });
}

}  // extern "C"
