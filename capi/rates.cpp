// The functions of synfire.h for rate losses. As in synfire.cpp: check, look up, call, translate.
#include "pins.hpp"

#include <operations/rate_loss/rate_loss.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

void check_flag(int32_t value, const char* name) {
  if (value != 0 && value != 1) core::fail_argument("SYN-RATE-FLAG", "desc.%s is %d; allowed are 0 and 1", name, value);
}

class PinnedRateLoss {
 public:
  PinnedRateLoss(const synfire_rate_loss_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        spikes_(required(desc_.spikes, "desc.spikes", context)),
        lengths_(optional(desc_.lengths, "desc.lengths", context)),
        n_active_(optional(desc_.n_active, "desc.n_active", context)),
        loss_(optional(desc_.loss, "desc.loss", context)),
        grad_(optional(desc_.grad_spike_seq, "desc.grad_spike_seq", context)) {
    check_flag(desc_.whole_layer, "whole_layer");
    check_flag(desc_.accumulate_loss, "accumulate_loss");
    check_flag(desc_.accumulate, "accumulate");
  }
  operations::RateLossRequest request() const {
    return {{desc_.n_steps, desc_.batch, desc_.n_neurons},
            desc_.whole_layer == 1,
            spikes_.get(),
            lengths_.get(),
            n_active_.get(),
            loss_.get(),
            grad_.get(),
            desc_.accumulate_loss == 1,
            desc_.accumulate == 1,
            desc_.target,
            desc_.strength};
  }

 private:
  synfire_rate_loss_desc desc_;
  PinnedBuffer spikes_, lengths_, n_active_, loss_, grad_;
};

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_rate_loss(synfire_context context, const synfire_rate_loss_desc* desc,
                                              synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedRateLoss loss(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::rate_loss(loss.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_rate_loss(synfire_graph graph,
                                                           const synfire_rate_loss_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedRateLoss loss(desc, *target->context());
    operations::record_rate_loss(*target, loss.request());
    return SYNFIRE_OK;
  });
}

}  // extern "C"
