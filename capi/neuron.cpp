// The functions of synfire.h for the two passes of a layer.
#include "pins.hpp"

#include <operations/neuron/backward.hpp>
#include <operations/neuron/forward.hpp>

#include <string>
#include <vector>

namespace {

using namespace synfire;
using namespace synfire::capi;

class PinnedStates {
 public:
  PinnedStates(const synfire_state_buffer* list, uint64_t count, const char* list_name, const char* count_name,
               const core::Context& context) {
    if (count == 0) return;
    check_pointer(list, list_name);
    if (count > model::max_further_states)
      core::fail_argument("SYN-STATE-LIST", "%s is %llu; a model has at most %d variables beside V", count_name,
                          static_cast<unsigned long long>(count), model::max_further_states);
    for (uint64_t i = 0; i < count; ++i) {
      const std::string entry = std::string(list_name).append("[").append(std::to_string(i)).append("].");
      check_pointer(list[i].name, (entry + "name").c_str());
      names_.push_back(list[i].name);
      buffers_.push_back(required(list[i].buffer, (entry + "buffer").c_str(), context));
    }
  }
  std::vector<operations::StateRequest> requests() const {
    std::vector<operations::StateRequest> list;
    for (size_t i = 0; i < names_.size(); ++i) list.push_back({names_[i], buffers_[i].get()});
    return list;
  }

 private:
  std::vector<const char*> names_;
  std::vector<PinnedBuffer> buffers_;
};

class PinnedForward {
 public:
  PinnedForward(const synfire_forward_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        x_(desc_.synapse ? optional(desc_.x, "desc.x", context) : required(desc_.x, "desc.x", context)),
        spikes_(optional(desc_.spikes, "desc.spikes", context)),
        v_init_(optional(desc_.v_init, "desc.v_init", context)),
        v_final_(optional(desc_.v_final, "desc.v_final", context)),
        v_seq_(optional(desc_.v_seq, "desc.v_seq", context)),
        h_seq_(optional(desc_.h_seq, "desc.h_seq", context)),
        w_init_(optional(desc_.w_init, "desc.w_init", context)),
        w_final_(optional(desc_.w_final, "desc.w_final", context)),
        w_seq_(optional(desc_.w_seq, "desc.w_seq", context)),
        synapse_(optional(desc_.synapse, "desc.synapse", context)),
        synapse_input_(optional(desc_.synapse_input, "desc.synapse_input", context)),
        n_active_(optional(desc_.n_active, "desc.n_active", context)),
        state_init_(desc_.state_init, desc_.n_state_init, "desc.state_init", "desc.n_state_init", context),
        state_final_(desc_.state_final, desc_.n_state_final, "desc.state_final", "desc.n_state_final", context),
        state_seq_(desc_.state_seq, desc_.n_state_seq, "desc.state_seq", "desc.n_state_seq", context) {
    check_reserved(desc_.reserved, "desc.reserved");
    if (desc_.tape < SYNFIRE_TAPE_RECOMPUTE || desc_.tape > SYNFIRE_TAPE_STORE_NARROW)
      core::fail_argument("SYN-FORWARD-TAPE",
                          "desc.tape is %d; allowed are SYNFIRE_TAPE_RECOMPUTE (0), _NONE (1), _STORE (2) and "
                          "_STORE_NARROW (3)",
                          desc_.tape);
    check_flag(desc_.in_place, "SYN-IN-PLACE", "desc.in_place");
  }
  operations::ForwardRequest request() const {
    return {static_cast<core::TapeMode>(desc_.tape),
            desc_.in_place == 1,
            x_.get(),
            spikes_.get(),
            v_init_.get(),
            v_final_.get(),
            v_seq_.get(),
            h_seq_.get(),
            w_init_.get(),
            w_final_.get(),
            w_seq_.get(),
            state_init_.requests(),
            state_final_.requests(),
            state_seq_.requests(),
            synapse_.get(),
            synapse_input_.get(),
            n_active_.get()};
  }

 private:
  synfire_forward_desc desc_;
  PinnedBuffer x_, spikes_, v_init_, v_final_, v_seq_, h_seq_, w_init_, w_final_, w_seq_;
  PinnedSynapse synapse_;
  PinnedBuffer synapse_input_, n_active_;
  PinnedStates state_init_, state_final_, state_seq_;
};

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
        grad_w_init_(optional(desc_.grad_w_init, "desc.grad_w_init", context)),
        grad_synapse_input_(optional(desc_.grad_synapse_input, "desc.grad_synapse_input", context)),
        grad_state_seq_(desc_.grad_state_seq, desc_.n_grad_state_seq, "desc.grad_state_seq", "desc.n_grad_state_seq",
                        context),
        grad_state_final_(desc_.grad_state_final, desc_.n_grad_state_final, "desc.grad_state_final",
                          "desc.n_grad_state_final", context),
        grad_state_init_(desc_.grad_state_init, desc_.n_grad_state_init, "desc.grad_state_init",
                         "desc.n_grad_state_init", context) {
    check_reserved(desc_.reserved, "desc.reserved");
    check_flag(desc_.in_place, "SYN-IN-PLACE", "desc.in_place");
    check_flag(desc_.add_synapse_gradients, "SYN-SYNAPSE-FLAG", "desc.add_synapse_gradients");
    check_flag(desc_.add_input_gradient, "SYN-SYNAPSE-FLAG", "desc.add_input_gradient");
    check_flag(desc_.skip_synapse_gradients, "SYN-SYNAPSE-FLAG", "desc.skip_synapse_gradients");
    check_flag(desc_.add_parameter_gradients, "SYN-GRADIENT-ADD", "desc.add_parameter_gradients");
    if (desc_.n_parameter_gradients == 0) return;
    check_pointer(desc_.parameter_gradients, "desc.parameter_gradients");
    constexpr uint64_t most = 64;  // more than any layer has; the layer checks its own number
    if (desc_.n_parameter_gradients > most)
      core::fail_argument("SYN-GRADIENT-COUNT", "desc.n_parameter_gradients is %llu; at most %llu are plausible",
                          static_cast<unsigned long long>(desc_.n_parameter_gradients),
                          static_cast<unsigned long long>(most));
    for (uint64_t i = 0; i < desc_.n_parameter_gradients; ++i) {
      check_pointer(desc_.parameter_gradients[i].name, gradient_field(i, "name").c_str());
      gradients_.push_back(
          required(desc_.parameter_gradients[i].gradient, gradient_field(i, "gradient").c_str(), context));
    }
  }
  operations::BackwardRequest request(const core::Layer& layer) const {
    operations::BackwardRequest request = buffers();
    for (uint64_t i = 0; i < desc_.n_parameter_gradients; ++i)
      request.gradients.push_back(
          {layer.parameters().find(desc_.parameter_gradients[i].name, gradient_field(i, "name").c_str()),
           gradients_[i].get()});
    return request;
  }

 private:
  static std::string gradient_field(uint64_t index, const char* field) {
    return std::string("desc.parameter_gradients[").append(std::to_string(index)).append("].").append(field);
  }
  operations::BackwardRequest buffers() const {
    return {grad_spike_seq_.get(),
            grad_v_seq_.get(),
            grad_v_final_.get(),
            grad_x_seq_.get(),
            grad_v_init_.get(),
            grad_w_seq_.get(),
            grad_w_final_.get(),
            grad_w_init_.get(),
            grad_state_seq_.requests(),
            grad_state_final_.requests(),
            grad_state_init_.requests(),
            {},
            desc_.in_place == 1,
            desc_.add_parameter_gradients == 1,
            desc_.forward == 0 ? std::nullopt : std::optional<uint32_t>(desc_.forward - 1),
            grad_synapse_input_.get(),
            desc_.add_synapse_gradients == 1,
            desc_.add_input_gradient == 1,
            desc_.skip_synapse_gradients == 1};
  }

  synfire_backward_desc desc_;
  PinnedBuffer grad_spike_seq_, grad_v_seq_, grad_v_final_, grad_x_seq_, grad_v_init_, grad_w_seq_, grad_w_final_,
      grad_w_init_, grad_synapse_input_;
  PinnedStates grad_state_seq_, grad_state_final_, grad_state_init_;
  std::vector<PinnedBuffer> gradients_;
};

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_layer_forward(synfire_layer layer, const synfire_forward_desc* desc,
                                                  synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    const PinnedForward forward(desc, *found->context());
    return run_or_captured(operations::run_forward(*found, forward.request(), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_layer_backward(synfire_layer layer, const synfire_backward_desc* desc,
                                                   synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto found = pinned(layer);
    const PinnedBackward backward(desc, *found->context());
    return run_or_captured(operations::run_backward(*found, backward.request(*found), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_forward(synfire_graph graph, synfire_layer layer,
                                                         const synfire_forward_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const auto found = pinned(layer);
    check_same_context(*found, *target->context(), "layer");
    const PinnedForward forward(desc, *target->context());
    operations::record_forward(*target, *found, forward.request());
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
    operations::record_backward(*target, *found, backward.request(*found));
    return SYNFIRE_OK;
  });
}

}  // extern "C"
