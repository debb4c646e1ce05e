// Descriptors of synfire.h that calls at once and records of graphs share, with their buffers pinned while the call
// lasts.
#ifndef SYNFIRE_CAPI_REQUESTS_HPP
#define SYNFIRE_CAPI_REQUESTS_HPP

#include "pins.hpp"

#include <string>
#include <vector>

namespace synfire::capi {

inline void check_in_place(int32_t in_place) {
  if (in_place != 0 && in_place != 1)
    core::fail_argument("SYN-IN-PLACE", "desc.in_place is %d; allowed are 0 and 1", in_place);
}

// The two buffers of a conversion or a count of spikes.
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

// The buffers of a forward.
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
    return {static_cast<core::Tape>(desc_.tape),
            desc_.in_place == 1,
            x_.get(),
            spikes_.get(),
            v_init_.get(),
            v_final_.get(),
            v_seq_.get(),
            h_seq_.get(),
            w_init_.get(),
            w_final_.get(),
            w_seq_.get()};
  }

 private:
  synfire_forward_desc desc_;
  PinnedBuffer x_, spikes_, v_init_, v_final_, v_seq_, h_seq_, w_init_, w_final_, w_seq_;
};

// The buffers of a backward.
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
      request.gradients.push_back(
          {layer.parameters().find(desc_.parameter_gradients[i].name, gradient_field(i, "name").c_str()),
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
  PinnedBuffer grad_spike_seq_, grad_v_seq_, grad_v_final_, grad_x_seq_, grad_v_init_, grad_w_seq_, grad_w_final_,
      grad_w_init_;
  std::vector<PinnedBuffer> gradients_;
};

}  // namespace synfire::capi

#endif
